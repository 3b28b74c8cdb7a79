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

// WithTLS connects over TLS with this configuration, such as a client certificate or the certificate authorities to trust. Nil
// means the default configuration, with TLS 1.3 or later.
func WithTLS(config *tls.Config) Option {
	return func(o *options) {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS13}
		}
		o.tls, o.insecure = config, false
	}
}

// WithInsecure connects without TLS, even to other machines. Anyone on the network path can then read and modify all data,
// including the token.
func WithInsecure() Option { return func(o *options) { o.tls, o.insecure = nil, true } }

// WithToken sends a bearer token with each call; see the daemon's --token-file.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithRetry sets how interrupted streams are resumed.
func WithRetry(r Retry) Option { return func(o *options) { o.retry = r } }

// WithDialOptions adds gRPC options. They are applied after this package's own, so they take precedence.
func WithDialOptions(more ...grpc.DialOption) Option {
	return func(o *options) { o.grpc = append(o.grpc, more...) }
}

const (
	keepaliveTime    = 12 * time.Second // the daemon permits 10 s or more
	keepaliveTimeout = 8 * time.Second
	connectTimeout   = 10 * time.Second

	// Flow-control windows, in bytes. They are larger than gRPC's default, which halves the throughput of small machines. They
	// are fixed, so that the data buffered for a slow reader is bounded.
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
)

// Dial returns a client of the daemon at an address: "host:port" or any other gRPC target. It does not wait for the connection.
// If the daemon cannot be reached, the first call fails.
//
// By default, Dial uses TLS for other machines. It does not use TLS for local addresses ("localhost:7171", "127.0.0.1:7171",
// "unix:/run/replayd.sock"), on which the daemon listens without TLS by default.
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

// isLocal reports whether an address is on this machine: a loopback address or a Unix socket.
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

// bearer is a token that is sent with each call.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials]. It returns false with [WithInsecure] and for a daemon on
// this machine.
func (b bearer) RequireTransportSecurity() bool { return b.secure }

// Close closes the connection. Calls and streams in progress end with an error.
func (c *Client) Close() error { return c.conn.close() }

// Service returns the generated client on the same connection, for calls without a method in this package.
func (c *Client) Service() replaydv1.ReplayServiceClient { return c.service }

// Conn returns the connection, for other services of the daemon, such as grpc.health.v1.Health.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Info returns the daemon's version, formats with their kinds, limits and roots.
func (c *Client) Info(ctx context.Context) (*replaydv1.GetServerInfoResponse, error) {
	r, err := c.service.GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{})
	if err != nil {
		return nil, explain(err)
	}
	return r, nil
}

// Replay returns a replay's header, players, map and length.
func (c *Client) Replay(ctx context.Context, name string) (*replaydv1.Replay, error) {
	return c.View(ctx, name, replaydv1.ReplayView_REPLAY_VIEW_FULL)
}

// View returns the part of a replay's description that a view has, such as everybody who took part in a game.
func (c *Client) View(ctx context.Context, name string, view replaydv1.ReplayView) (*replaydv1.Replay, error) {
	r, err := c.service.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name, View: view})
	if err != nil {
		return nil, explain(err)
	}
	return r.GetReplay(), nil
}

// Report returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now if tick is nil.
func (c *Client) Report(ctx context.Context, name string, tick *int32) (*replaydv1.Report, error) {
	r, err := c.service.GetReport(ctx, &replaydv1.GetReportRequest{Replay: name, Tick: tick})
	if err != nil {
		return nil, explain(err)
	}
	return r.GetReport(), nil
}

// FollowBroadcast has the server follow the HTTP broadcast of a running match, and returns the name under which to stream it, with Follow.
// A URL is followed once, however often it is asked for.
func (c *Client) FollowBroadcast(ctx context.Context, url string) (name string, err error) {
	r, err := c.service.FollowBroadcast(ctx, &replaydv1.FollowBroadcastRequest{Url: url})
	if err != nil {
		return "", explain(err)
	}
	return r.GetReplay(), nil
}

// Replays lists the replays that the request selects, ordered by name. It fetches further pages as the loop needs them. A nil
// request lists all replays. The iterator ends after the first error.
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
	// Kind is the kind of change.
	Kind replaydv1.ChangeKind
	// Replay is the replay without header and players. For a removed replay only the name is set.
	Replay *replaydv1.Replay
	// Initial reports that the replay existed when the watch began.
	Initial bool
}

// Watch streams the existing replays and then each change until ctx ends. A nil request watches all replays.
//
// Watch ends with an error if the connection breaks. It is not resumed; a new Watch begins with the replays that exist then.
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

// Kinds returns a filter that matches events of these kinds, for a request's Include or Exclude.
func Kinds(kinds ...string) []*replaydv1.EventFilter {
	return []*replaydv1.EventFilter{{Kinds: kinds}}
}

var errUsed = errors.New("replayd: a Stream can be looped over only once")
