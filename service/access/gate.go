package access

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	// ErrUnauthenticated says that a caller showed nothing that lets him in. It does not say whether that was known once.
	ErrUnauthenticated = errors.New("no valid token: one is sent as \"authorization: Bearer TOKEN\"")
	// ErrForbidden says that a caller is known and may not do that.
	ErrForbidden = errors.New("this token does not allow that")
	// ErrRevoked is the cause for which calls end whose caller is no longer let in.
	ErrRevoked = errors.New("the token is no longer valid")
	// ErrChanged is the cause for which calls end whose caller may do other things now.
	ErrChanged = errors.New("what the token allows has changed; ask again")
)

// Options are a Gate's settings.
type Options struct {
	// TokenFile holds what lets in; see ParseRules. Without one everybody is.
	TokenFile string
	// Proxies are believed when they say for whom they call. See ParseProxy.
	Proxies []netip.Prefix
	// Hosts are names by which the web may be asked for, besides its addresses on this machine. See HostAllowed.
	Hosts []string
	// Log gets a line for each call. Required.
	Log *slog.Logger
	// Metrics, unless nil, get what the gate counts.
	Metrics prometheus.Registerer
}

// Gate lets callers in. It is safe for concurrent use.
type Gate struct {
	Options

	rules  atomic.Pointer[Rules] // nil while nothing is demanded
	denied *prometheus.CounterVec

	mu    sync.Mutex
	calls map[*call]struct{}
}

// call is one that runs.
type call struct {
	grant *Grant
	end   context.CancelCauseFunc
}

// NewGate returns a gate. It returns the error of a file of tokens that cannot be read; see ParseRules.
func NewGate(o Options) (*Gate, error) {
	g := &Gate{Options: o, calls: map[*call]struct{}{}, denied: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "denied_calls_total", Help: "Calls that were not let in, by why: token, power or host.",
	}, []string{"reason"})}
	for _, reason := range []string{deniedToken, deniedPower, deniedHost} {
		g.denied.WithLabelValues(reason)
	}
	if o.Metrics != nil {
		o.Metrics.MustRegister(g.denied)
	}
	if err := g.Reload(); err != nil {
		return nil, err
	}
	return g, nil
}

const (
	deniedToken = "token"
	deniedPower = "power"
	deniedHost  = "host"
)

// Demands reports whether callers must show something.
func (g *Gate) Demands() bool { return g.rules.Load() != nil }

// Reload reads the file of tokens again. Calls end whose callers are no longer let in, or may do other things now. On an
// error all stays as it was.
func (g *Gate) Reload() error {
	if g.TokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(g.TokenFile)
	if err != nil {
		return err
	}
	rules, err := ParseRules(string(text), g.TokenFile)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules.Store(rules)
	for c := range g.calls {
		switch now := rules.grants[c.grant.id]; {
		case now == nil:
			c.end(ErrRevoked)
		case !now.same(c.grant):
			c.end(ErrChanged)
		}
	}
	return nil
}

// Expire ends calls whose grants have expired by now. Their contexts do that too, but by the monotonic clock: when the
// machine's clock is set forward, they are late.
func (g *Gate) Expire(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.calls {
		if c.grant.expired(now) {
			c.end(ErrRevoked)
		}
	}
}

// Shown is what a caller shows.
type Shown struct {
	// Token is a bearer token; nil when he shows none.
	Token *string
	// Certificate is his, and was verified; nil when he has none.
	Certificate *x509.Certificate
}

// Admit returns who it is that shows something, or ErrUnauthenticated. A token that is not valid is not made good by a
// certificate.
func (g *Gate) Admit(s Shown) (*Grant, error) {
	rules := g.rules.Load()
	if rules == nil {
		name := ""
		if s.Certificate != nil {
			name = s.Certificate.Subject.CommonName
		}
		return Everybody(name), nil
	}
	grant := rules.find(s)
	if grant == nil || grant.expired(time.Now()) {
		g.denied.WithLabelValues(deniedToken).Inc()
		return nil, ErrUnauthenticated
	}
	return grant, nil
}

// find returns the grant of what is shown.
func (r *Rules) find(s Shown) *Grant {
	if s.Token != nil {
		return r.grants[idOf(*s.Token)]
	}
	if s.Certificate == nil {
		return nil
	}
	for _, name := range namesOf(s.Certificate) {
		if grant := r.grants[certPrefix+name]; grant != nil {
			return grant
		}
	}
	return nil
}

// namesOf returns all names of a certificate, what it is foremost first.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{c.Subject.CommonName}, c.DNSNames...)
	names = append(names, c.EmailAddresses...)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	return names
}

// Demand returns ErrForbidden when the caller does not have a power.
func (g *Gate) Demand(grant *Grant, p Power) error {
	if !grant.May(p) {
		g.denied.WithLabelValues(deniedPower).Inc()
		return ErrForbidden
	}
	return nil
}

// enter notes that a call begins. Its context ends when the caller is no longer let in, with ErrRevoked or ErrChanged as
// the cause. leave ends it.
func (g *Gate) enter(ctx context.Context, grant *Grant) (_ context.Context, leave func()) {
	ctx, end := context.WithCancelCause(With(ctx, grant))
	if grant.id == "" {
		return ctx, func() { end(nil) }
	}
	expire := func() {}
	if !grant.Expires.IsZero() {
		ctx, expire = context.WithDeadlineCause(ctx, grant.Expires, ErrRevoked)
	}
	c := &call{grant, end}
	g.mu.Lock()
	g.calls[c] = struct{}{}
	if now := g.rules.Load().grants[grant.id]; now == nil || !now.same(grant) { // since it was admitted
		end(ErrChanged)
	}
	g.mu.Unlock()
	return ctx, func() {
		g.mu.Lock()
		delete(g.calls, c)
		g.mu.Unlock()
		expire()
		end(nil)
	}
}
