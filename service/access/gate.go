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
	// ErrUnauthenticated means that a caller has no valid credential. It does not reveal whether the credential was ever valid.
	ErrUnauthenticated = errors.New("no valid token: one is sent as \"authorization: Bearer TOKEN\"")
	// ErrForbidden means that an admitted caller lacks the power that the call requires.
	ErrForbidden = errors.New("this token does not allow that")
	// ErrRevoked means that a running call ended because its credential was removed or has expired.
	ErrRevoked = errors.New("the token is no longer valid")
	// ErrChanged means that a running call ended because the grant of its credential changed.
	ErrChanged = errors.New("what the token allows has changed; ask again")
)

// Options are the settings of a Gate.
type Options struct {
	// TokenFile is the file of credentials; see ParseRules. If it is empty, every caller is admitted.
	TokenFile string
	// Together lists the groups of roots for ParseRules.
	Together [][]string
	// Proxies are the trusted proxies, whose X-Forwarded-For headers are used. See ParseProxy.
	Proxies []netip.Prefix
	// Hosts are the host names that the web answers for. See HostAllowed.
	Hosts []string
	// Log gets a line for each call. It is required.
	Log *slog.Logger
	// Metrics, unless nil, is where the gate registers its counters.
	Metrics prometheus.Registerer
}

// Gate admits callers and checks what they may do. It is safe for concurrent use.
type Gate struct {
	Options

	rules  atomic.Pointer[Rules] // nil if no credential is required
	denied *prometheus.CounterVec

	mu    sync.Mutex
	calls map[*call]struct{}
}

// call is a call that the gate has let in.
type call struct {
	grant *Grant
	end   context.CancelCauseFunc
}

// NewGate returns a gate, or an error if the token file cannot be read or parsed; see ParseRules.
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

// Demands reports whether callers must have a credential.
func (g *Gate) Demands() bool { return g.rules.Load() != nil }

// Reload reads the token file again. It ends running calls whose credential was removed or whose grant changed. On an error it
// changes nothing.
func (g *Gate) Reload() error {
	if g.TokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(g.TokenFile)
	if err != nil {
		return err
	}
	rules, err := ParseRules(string(text), g.TokenFile, g.Together)
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

// Expire ends calls whose grants have expired by now. The contexts of the calls have deadlines, but these follow the monotonic
// clock: they come too late when the machine's clock is set forward.
func (g *Gate) Expire(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.calls {
		if c.grant.expired(now) {
			c.end(ErrRevoked)
		}
	}
}

// Shown holds the credentials that a caller presents.
type Shown struct {
	// Token is the bearer token, nil if the caller sent none.
	Token *string
	// Certificate is the verified client certificate, nil if there is none.
	Certificate *x509.Certificate
}

// Admit returns the grant of a caller, or ErrUnauthenticated. An invalid token is refused even if the certificate is valid.
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

// find returns the grant of the presented credentials, or nil.
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

// namesOf returns all names of a certificate, the common name first.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{c.Subject.CommonName}, c.DNSNames...)
	names = append(names, c.EmailAddresses...)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	return names
}

// Demand returns ErrForbidden if the caller does not have the power p.
func (g *Gate) Demand(grant *Grant, p Power) error {
	if !grant.May(p) {
		g.denied.WithLabelValues(deniedPower).Inc()
		return ErrForbidden
	}
	return nil
}

// enter registers a call. Its context ends, with ErrRevoked or ErrChanged as the cause, when the caller's grant is removed,
// changes or expires. leave ends the call.
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
	if now := g.rules.Load().grants[grant.id]; now == nil || !now.same(grant) { // its grant changed after it was admitted
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
