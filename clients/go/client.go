package replayd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Client is a connection to one daemon. It is safe for concurrent use.
type Client struct {
	conn    *connection
	service replaydv1.ReplayServiceClient
	retry   Retry
}

// Option changes how [Dial] connects.
type Option func(*options)

type options struct {
	tls      *tls.Config
	insecure bool
	token    string
	retry    Retry
	grpc     []grpc.DialOption
}

// WithTLS connects by TLS with these settings, such as a client certificate or the authorities to trust. Nil means the
// default settings.
func WithTLS(config *tls.Config) Option {
	return func(o *options) {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS13}
		}
		o.tls, o.insecure = config, false
	}
}

// WithInsecure connects without TLS, also to other machines: everybody on the network path can read and change what is
// sent, the token included.
func WithInsecure() Option { return func(o *options) { o.tls, o.insecure = nil, true } }

// WithToken sends a bearer token with each call; see the daemon's --token-file.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithRetry changes how streams that broke are resumed.
func WithRetry(r Retry) Option { return func(o *options) { o.retry = r } }

// WithDialOptions adds options of gRPC, behind this package's.
func WithDialOptions(more ...grpc.DialOption) Option {
	return func(o *options) { o.grpc = append(o.grpc, more...) }
}

const (
	keepaliveTime    = 12 * time.Second // the daemon allows 10 s and more
	keepaliveTimeout = 8 * time.Second
	connectTimeout   = 10 * time.Second

	// How much of a stream may be on its way. Larger than gRPC's default, which halves the throughput of small machines,
	// and fixed, so that what a slow reader leaves unread is bounded.
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
)

// Dial returns a client of the daemon at an address, "host:port" or any other target of gRPC. It does not wait for the
// connection: a daemon that cannot be reached is an error of the first call.
//
// Unless an option says otherwise it connects by TLS, except to addresses of this machine ("localhost:7171",
// "127.0.0.1:7171", "unix:/run/replayd.sock"), where the daemon listens without TLS by default.
func Dial(addr string, opts ...Option) (*Client, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.tls == nil && !o.insecure && !isLocal(addr) {
		WithTLS(nil)(&o)
	}
	creds := insecure.NewCredentials()
	if o.tls != nil {
		creds = credentials.NewTLS(o.tls)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow),
	}
	if o.token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer{o.token, o.tls != nil}))
	}
	dial = append(dial, o.grpc...)
	conn := &connection{dial: func() (*grpc.ClientConn, error) { return grpc.NewClient(addr, dial...) }}
	var err error
	if conn.now, err = conn.dial(); err != nil {
		return nil, fmt.Errorf("replayd: %s: %w", addr, err)
	}
	return &Client{conn: conn, service: replaydv1.NewReplayServiceClient(conn), retry: o.retry.withDefaults()}, nil
}

// isLocal reports whether an address is of this machine.
func isLocal(addr string) bool {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") {
		return true
	}
	addr = strings.TrimPrefix(strings.TrimPrefix(addr, "passthrough:///"), "dns:///")
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bearer is a token that goes with each call.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials]. It is false with [WithInsecure] and for a daemon on
// this machine.
func (b bearer) RequireTransportSecurity() bool { return b.secure }

// Close closes the connection. Calls and streams that run end with an error.
func (c *Client) Close() error { return c.conn.close() }

// Service returns the generated client on the same connection, for calls that this package has no method for.
func (c *Client) Service() replaydv1.ReplayServiceClient { return c.service }

// Conn returns the connection, for other services of the daemon, such as grpc.health.v1.Health.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Info describes the daemon: its version, formats with their kinds, limits, roots.
func (c *Client) Info(ctx context.Context) (*replaydv1.GetServerInfoResponse, error) {
	r, err := c.service.GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{})
	if err != nil {
		return nil, explain(err)
	}
	return r, nil
}

// Replay describes a replay: header, players, map, length.
func (c *Client) Replay(ctx context.Context, name string) (*replaydv1.Replay, error) {
	r, err := c.service.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name})
	if err != nil {
		return nil, explain(err)
	}
	return r.GetReplay(), nil
}

// Replays lists the replays that the request selects, ordered by name, and fetches page after page. A nil request lists
// all. The iterator ends with the first error.
func (c *Client) Replays(ctx context.Context, req *replaydv1.ListReplaysRequest) iter.Seq2[*replaydv1.Replay, error] {
	return func(yield func(*replaydv1.Replay, error) bool) {
		page := &replaydv1.ListReplaysRequest{}
		if req != nil {
			page = proto.CloneOf(req)
		}
		for {
			r, err := c.service.ListReplays(ctx, page)
			if err != nil {
				yield(nil, explain(err))
				return
			}
			for _, replay := range r.GetReplays() {
				if !yield(replay, nil) {
					return
				}
			}
			if page.PageToken = r.GetNextPageToken(); page.PageToken == "" {
				return
			}
		}
	}
}

// Change is a change of a replay.
type Change struct {
	// Kind is what happened.
	Kind replaydv1.ChangeKind
	// Replay is the replay, without header and players; of one that was removed only its name.
	Replay *replaydv1.Replay
	// Initial says that the replay was there when the watch began.
	Initial bool
}

// Watch streams the replays that are there, and then each change until ctx ends. A nil request watches all.
//
// A connection that breaks ends it with an error: a new Watch begins with the replays that are there then.
func (c *Client) Watch(ctx context.Context, req *replaydv1.WatchReplaysRequest) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if req == nil {
			req = &replaydv1.WatchReplaysRequest{}
		}
		call, err := c.service.WatchReplays(ctx, req)
		if err != nil {
			yield(Change{}, explain(err))
			return
		}
		dog := newWatchdog(silence(req.GetHeartbeatInterval()), cancel)
		defer dog.stop()
		initial := true
		for {
			dog.start()
			r, err := call.Recv()
			dog.stop()
			if err != nil {
				yield(Change{}, broken(ctx, err))
				return
			}
			for _, change := range r.GetChanges() {
				if !yield(Change{change.GetKind(), change.GetReplay(), initial}, nil) {
					return
				}
			}
			initial = initial && !r.GetInitialDone()
		}
	}
}

// Kinds returns a filter for events of these kinds, for a request's Include or Exclude.
func Kinds(kinds ...string) []*replaydv1.EventFilter {
	return []*replaydv1.EventFilter{{Kinds: kinds}}
}

var errClosed = errors.New("replayd: a Stream is for one loop")
