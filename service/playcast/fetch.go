package playcast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/replayd/replayd/decoders/dem/broadcast"
)

// Limits of what a relay may send.
const (
	maxSync     = 64 << 10
	maxHeaders  = 64 << 10
	maxRedirect = 3
)

// maxBody limits a fragment, inflated. They take less than 1 MiB. It is a variable for tests.
var maxBody int64 = 32 << 20

// Limits of time. A body that comes more slowly than this is of no use to follow a match.
const (
	connectTimeout = 5 * time.Second
	requestTimeout = 20 * time.Second
	longestPause   = 15 * time.Second
)

var (
	// errAbsent means that the relay does not have what was asked for: not yet, or no more.
	errAbsent = errors.New("the relay does not have it")
	// errRefused means that asking again cannot help.
	errRefused = errors.New("refused")
	// errAddress means that a host has an address that may not be reached.
	errAddress = errors.New("an address in a network that is neither public nor allowed")
)

// remote is a relay elsewhere, which is asked no more often than it may be.
type remote struct {
	base   *url.URL
	client *http.Client
	dialer *net.Dialer
	pace   time.Duration
	next   time.Time // when the next request may begin
	agent  string
	last   place     // what sync said last
	said   time.Time // and when
}

func newRemote(base *url.URL, networks []netip.Prefix, pace time.Duration, agent string) *remote {
	literal, _ := netip.ParseAddr(base.Hostname())
	dialer := &net.Dialer{Timeout: connectTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address) // behind the look-up of the name, so no other address is connected to
		if err != nil || !reachable(at.Addr().Unmap(), literal.Unmap(), networks) {
			return fmt.Errorf("%s: %w", address, errAddress)
		}
		return nil
	}}
	return &remote{base: base, pace: pace, agent: agent, dialer: dialer, client: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: connectTimeout,
			MaxResponseHeaderBytes: maxHeaders, MaxIdleConnsPerHost: 1, MaxConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			below := strings.HasPrefix(path.Clean(to.URL.Path), strings.TrimRight(base.Path, "/")+"/")
			if to.URL.Scheme != base.Scheme || to.URL.Host != base.Host || !below || len(via) > maxRedirect {
				return fmt.Errorf("a redirect to %s: %w", to.URL.Host, errRefused)
			}
			return nil
		},
	}}
}

// reachable reports whether an address may be connected to: a public one, the one that the URL itself has, or one in a network that the
// operator named.
func reachable(at, literal netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(at) {
			return true
		}
	}
	return at == literal || at.IsGlobalUnicast() && !at.IsPrivate() && !shared.Contains(at)
}

// shared is the address space that providers use behind their translation of addresses (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// get returns the body of a path below the base, from a fragment on if that is not 0. errAbsent and errRefused tell what kind of failure it was; any other may pass.
func (r *remote) get(ctx context.Context, limit int64, from int, elem ...string) ([]byte, error) {
	if err := sleep(ctx, time.Until(r.next)); err != nil {
		return nil, err
	}
	r.next = time.Now().Add(r.pace)
	at := r.base.JoinPath(elem...)
	if from > 0 {
		query := "fragment=" + strconv.Itoa(from)
		if at.RawQuery != "" {
			query = at.RawQuery + "&" + query
		}
		at.RawQuery = query
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	request.Header.Set("User-Agent", r.agent)
	what := strings.Join(elem, "/")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", what, bare(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch code := response.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return nil, fmt.Errorf("%s: %w", what, errAbsent)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, fmt.Errorf("%s: %s: %w", what, response.Status, errRefused)
	case code != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", what, response.Status)
	}
	body, err := read(response.Body, response.ContentLength, limit)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, bare(err))
	}
	return body, nil
}

// errLong means that a body is longer than it may be.
var errLong = errors.New("it is too long")

// presized is how much memory a body gets because its sender says that it will be so long.
const presized = 1 << 20

// read reads a body of at most limit bytes. length is what its sender says, -1 for nothing.
func read(body io.Reader, length, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(length, 0), limit, presized)) + bytes.MinRead) // ReadFrom grows a buffer that has no room for more
	if n, err := b.ReadFrom(io.LimitReader(body, limit+1)); err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	} else if n > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", errLong, limit)
	}
	return b.Bytes(), nil
}

// fragment implements source.
func (r *remote) fragment(ctx context.Context, token string, number int, part broadcast.Part) ([]byte, error) {
	return r.get(ctx, maxBody, 0, token, strconv.Itoa(number), part.String())
}

// another implements source: the URL is of one broadcast.
func (*remote) another(context.Context, string, int) bool { return false }

// lag implements source. It takes a game to go on as fast as its server said.
func (r *remote) lag(tick int32, caught bool) (behind [2]time.Duration) {
	if !(r.last.TicksPerSecond > 0) {
		return behind
	}
	since := func(from int32) time.Duration {
		return time.Duration(float64(from-tick)/r.last.TicksPerSecond*float64(time.Second)) + time.Since(r.said)
	}
	if !caught && r.last.MaxTick > 0 {
		behind[relayLag] = since(r.last.MaxTick)
	}
	if r.last.Tick > 0 {
		behind[gameLag] = since(r.last.Tick) + time.Duration(r.last.RTDelay*float64(time.Second))
	}
	return behind
}

func (r *remote) close() { r.client.CloseIdleConnections() }

// bare returns an error of net/http without the URL, which may have a secret in it.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// place is where a broadcast is, as the relay's sync says.
type place struct {
	Tick             int32   `json:"tick"`
	EndTick          int32   `json:"endtick"`
	MaxTick          int32   `json:"maxtick"`
	RTDelay          float64 `json:"rtdelay"` // the age of the fragment, in seconds
	ReceiveAge       float64 `json:"rcvage"`  // for how long the relay has heard nothing from the game, in seconds
	Fragment         int     `json:"fragment"`
	SignupFragment   int     `json:"signup_fragment"`
	TicksPerSecond   float64 `json:"tps"`
	KeyframeInterval float64 `json:"keyframe_interval"` // in seconds
	Protocol         int     `json:"protocol"`
	Map              string  `json:"map,omitempty"`
	TokenRedirect    string  `json:"token_redirect,omitempty"` // a path below the base, where the fragments are
}

const protocol = 5

// defaultInterval is the length of a fragment where sync does not have it.
const defaultInterval = 3 * time.Second

// interval returns how long a fragment takes.
func (p *place) interval() time.Duration {
	if p.KeyframeInterval > 0 && p.KeyframeInterval <= 60 {
		return time.Duration(p.KeyframeInterval * float64(time.Second))
	}
	return defaultInterval
}

// redirect is what a token_redirect may be: no path that leads elsewhere.
var redirect = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// sync implements source.
func (r *remote) sync(ctx context.Context, from next) (place, error) {
	var p place
	body, err := r.get(ctx, maxSync, from.fragment, "sync")
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return p, fmt.Errorf("reading sync: %w", err)
	}
	switch {
	case p.Protocol != protocol:
		return p, fmt.Errorf("sync: a broadcast of protocol %d, and not %d: %w", p.Protocol, protocol, errRefused)
	case p.TokenRedirect != "" && !redirect.MatchString(p.TokenRedirect):
		return p, fmt.Errorf("sync: token_redirect is no path below the broadcast: %w", errRefused)
	case p.Fragment < 0 || p.SignupFragment < 0:
		return p, fmt.Errorf("sync: fragment %d, start in %d", p.Fragment, p.SignupFragment)
	}
	r.last, r.said = p, time.Now()
	return p, nil
}

// pause is how long to wait after the nth failure in a row, from 0: with jitter, so that not all who follow a relay ask again at once.
func pause(n int, first time.Duration) time.Duration {
	d := min(first<<min(n, 8), longestPause)
	return d/2 + rand.N(d/2+1) //nolint:gosec // no secret
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
