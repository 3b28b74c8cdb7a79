package admission

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Resource is something of which there is so much.
type Resource int

// The resources.
const (
	Streams Resource = iota // streams of events and watchers; uploads are among them
	Calls                   // other calls that run
	Feeds                   // live replays that are decoded for all who follow them
	Memory                  // bytes
	Spool                   // bytes on disk
	resources
)

var resourceNames = [resources]string{"streams", "calls", "feeds", "memory", "spool"}

// String returns the resource's name, such as "memory".
func (r Resource) String() string { return resourceNames[r] }

// Amounts is how much of each resource. In limits 0 stands for as much as there is.
type Amounts [resources]int64

// Limits are how much may be taken.
type Limits struct {
	// All is by everybody together. 0 does not limit.
	All Amounts
	// Caller is by one token, or by all who come from one address. 0 does not limit.
	Caller Amounts
}

// Who is for whom something is taken. An empty key is of nobody in particular, and not limited.
type Who struct {
	Token   string  // the caller's key of tokens
	Address string  // the caller's key of addresses
	Limits  Amounts // of the token; 0 for those of Limits.Caller
	Rate    float64 // calls a second of the token; 0 does not limit
}

// RefusedError says that something was not given.
type RefusedError struct {
	Resource Resource
	// Whose is what is used up: "", which is all of it, "token" or "address".
	Whose string
	// Limit is how much there is.
	Limit int64
	// Retry is when to try again.
	Retry time.Duration
}

func (e *RefusedError) Error() string {
	switch e.Whose {
	case "token":
		return fmt.Sprintf("this token has used up its %s (%d)", e.Resource, e.Limit)
	case "address":
		return fmt.Sprintf("the callers from this address have used up their %s (%d)", e.Resource, e.Limit)
	case "rate":
		return "this token calls too often"
	}
	return fmt.Sprintf("the %s of this daemon are used up (%d)", e.Resource, e.Limit)
}

// retryAfter is when it makes sense to try again: streams last.
const retryAfter = 5 * time.Second

// Control knows what is taken. It is safe for concurrent use.
type Control struct {
	limits Limits

	mu      sync.Mutex
	all     Amounts
	callers map[string]*caller // by "token " or "address ", and the key

	refused *prometheus.CounterVec
	pacer   *pacer // nil without
}

// caller is what one has taken.
type caller struct {
	taken   Amounts
	tickets int
	// A bucket that fills by calls a second, up to a second's worth.
	filled time.Time
	calls  float64
}

// New returns a Control.
func New(l Limits) *Control {
	c := &Control{limits: l, callers: map[string]*caller{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "refused_total",
		Help: "What was not given to callers, by resource and by whose share was used up: all, token, address or rate.",
	}, []string{"resource", "whose"})}
	for r := range resources {
		c.refused.WithLabelValues(r.String(), "all")
	}
	return c
}

// Register makes what is taken, and may be, known to Prometheus.
func (c *Control) Register(reg prometheus.Registerer) {
	reg.MustRegister(c.refused)
	for r := range resources {
		labels := prometheus.Labels{"resource": r.String()}
		reg.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Namespace: "replayd", Name: "taken", Help: "How much is taken of what is limited.", ConstLabels: labels,
			}, func() float64 { return float64(c.Taken(r)) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Namespace: "replayd", Name: "limit", Help: "How much may be taken in all; 0 for no limit.", ConstLabels: labels,
			}, func() float64 { return float64(c.limits.All[r]) }))
	}
}

// Taken is how much of a resource is taken.
func (c *Control) Taken(r Resource) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[r]
}

// Limit is how much of a resource there is in all; 0 for no limit.
func (c *Control) Limit(r Resource) int64 { return c.limits.All[r] }

// Enter begins a call of somebody, and takes one of a resource for it: a stream or a call. Every ticket must be returned.
func (c *Control) Enter(w Who, r Resource) (*Ticket, error) {
	t := &Ticket{control: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range []struct{ whose, key string }{{"token", w.Token}, {"address", w.Address}} {
		if k.key == "" {
			continue
		}
		key := k.whose + " " + k.key
		one := c.callers[key]
		if one == nil {
			one = &caller{}
			c.callers[key] = one
		}
		one.tickets++
		t.keys = append(t.keys, key)
		s := sharer{whose: k.whose, of: one, limits: c.limits.Caller}
		if k.whose == "token" {
			for i, n := range w.Limits {
				if n > 0 {
					s.limits[i] = n
				}
			}
		}
		t.shares = append(t.shares, s)
	}
	if w.Token != "" && w.Rate > 0 && !t.shares[0].of.call(w.Rate, time.Now()) {
		c.leave(t)
		return nil, c.refuse(&RefusedError{
			Resource: Calls, Whose: "rate", Limit: int64(w.Rate), Retry: time.Duration(float64(time.Second) / w.Rate),
		})
	}
	if err := c.take(t, r, 1); err != nil {
		c.leave(t)
		return nil, err
	}
	return t, nil
}

// call counts a call and reports whether it comes too early.
func (one *caller) call(rate float64, now time.Time) bool {
	most := max(rate, 1)
	one.calls = min(one.calls+max(now.Sub(one.filled).Seconds(), 0)*rate, most) // a clock that was set back takes nothing
	one.filled = now
	if one.calls < 1 {
		return false
	}
	one.calls--
	return true
}

// take takes for a ticket. The control must be locked.
func (c *Control) take(t *Ticket, r Resource, n int64) error {
	if limit := c.limits.All[r]; n > 0 && limit > 0 && c.all[r]+n > limit {
		return c.refuse(&RefusedError{Resource: r, Limit: limit, Retry: retryAfter})
	}
	for _, s := range t.shares {
		if limit := s.limits[r]; n > 0 && limit > 0 && s.of.taken[r]+n > limit {
			return c.refuse(&RefusedError{Resource: r, Whose: s.whose, Limit: limit, Retry: retryAfter})
		}
	}
	c.all[r] += n
	t.taken[r] += n
	for _, s := range t.shares {
		s.of.taken[r] += n
	}
	return nil
}

func (c *Control) refuse(e *RefusedError) error {
	whose := e.Whose
	if whose == "" {
		whose = "all"
	}
	c.refused.WithLabelValues(e.Resource.String(), whose).Inc()
	return e
}

// forgetAfter is how long a caller is remembered who has nothing, for how often he calls.
const forgetAfter = 10_000

// leave forgets a ticket. The control must be locked.
func (c *Control) leave(t *Ticket) {
	for i, s := range t.shares {
		if s.of.tickets--; s.of.tickets == 0 && (s.of.filled.IsZero() || len(c.callers) > forgetAfter) {
			delete(c.callers, t.keys[i])
		}
	}
	t.shares = nil
}
