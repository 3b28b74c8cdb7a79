package admission

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Resource is a limited resource.
type Resource int

// The resources.
const (
	Streams   Resource = iota // streams of events, uploads and watches
	Calls                     // other running calls
	Feeds                     // live replays, each decoded once for all its followers
	Memory                    // bytes
	Spool                     // bytes on disk
	Temporary                 // replays that clients have stored
	resources
)

var resourceNames = [resources]string{"streams", "calls", "feeds", "memory", "spool", "temporary replays"}

// String returns the resource's name, such as "memory".
func (r Resource) String() string { return resourceNames[r] }

// label returns the resource's name as the value of a label of metrics.
func (r Resource) label() string { return strings.ReplaceAll(r.String(), " ", "_") }

// Amounts holds an amount of each resource. In a limit, 0 means no limit.
type Amounts [resources]int64

// Limits holds how much of each resource may be taken.
type Limits struct {
	// All limits all callers together. 0 means no limit.
	All Amounts
	// Caller limits each token, and all callers from one address together. 0 means no limit.
	Caller Amounts
}

// Who identifies the caller that takes a resource. An empty key identifies no caller and has no limit.
type Who struct {
	Token   string  // the key of the caller's token
	Address string  // the key of the caller's address
	Limits  Amounts // of the token; 0 means the limit in Limits.Caller
	Rate    float64 // calls per second of the token; 0 means no limit
}

// RefusedError means that a resource could not be taken because a limit is reached.
type RefusedError struct {
	Resource Resource
	// Whose says which limit is reached: "" for the limit of all callers, "token", "address", or "rate" for the token's call
	// rate.
	Whose string
	// Limit is the limit, in units of the resource.
	Limit int64
	// Retry is how long to wait before trying again.
	Retry time.Duration
	// Never is true if the call alone needs more than the limit: trying again does not help.
	Never bool
}

func (e *RefusedError) Error() string {
	if e.Never {
		return fmt.Sprintf("this needs more %s than one call may ever have (%d)", e.Resource, e.Limit)
	}
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

// retryAfter is how long a refused caller waits before it tries again. Streams run long, so trying sooner is useless.
const retryAfter = 5 * time.Second

// Control counts what is taken and enforces the limits. It is safe for concurrent use.
type Control struct {
	limits Limits

	mu      sync.Mutex
	all     Amounts
	callers map[string]*caller // by "token " or "address " and the key

	refused *prometheus.CounterVec
	pacer   *pacer // nil if Pace was not called
}

// caller holds what one token or one address has taken.
type caller struct {
	taken   Amounts
	tickets int
	// A token bucket that fills at the caller's rate. It holds the calls of one second, but at least one.
	filled time.Time
	calls  float64
}

// New returns a Control that enforces l.
func New(l Limits) *Control {
	c := &Control{limits: l, callers: map[string]*caller{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "refused_total",
		Help: "What was not given to callers, by resource and by whose share was used up: all, token, address or rate.",
	}, []string{"resource", "whose"})}
	for r := range resources {
		c.refused.WithLabelValues(r.label(), "all")
	}
	return c
}

// Register registers metrics of the taken amounts and the limits with Prometheus.
func (c *Control) Register(reg prometheus.Registerer) {
	reg.MustRegister(c.refused)
	for r := range resources {
		labels := prometheus.Labels{"resource": r.label()}
		reg.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Namespace: "replayd", Name: "taken", Help: "How much is taken of what is limited.", ConstLabels: labels,
			}, func() float64 { return float64(c.Taken(r)) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Namespace: "replayd", Name: "limit", Help: "How much may be taken in all; 0 for no limit.", ConstLabels: labels,
			}, func() float64 { return float64(c.limits.All[r]) }))
	}
}

// Taken returns how much of a resource is taken.
func (c *Control) Taken(r Resource) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[r]
}

// Limit returns the total limit of a resource, 0 for no limit.
func (c *Control) Limit(r Resource) int64 { return c.limits.All[r] }

// Enter begins a call of the caller w, and takes one of r for it: Streams, Calls, or Temporary for a replay that outlives its
// call. It returns a *RefusedError if a limit is reached. The caller must call Return on the ticket.
func (c *Control) Enter(w Who, r Resource) (*Ticket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.ticket(w)
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

// Hold returns a ticket of the caller w that has taken nothing, for what outlives the call that made it. The caller must call
// Return on it.
func (c *Control) Hold(w Who) *Ticket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ticket(w)
}

// ticket returns a ticket of the caller w. The control must be locked.
func (c *Control) ticket(w Who) *Ticket {
	t := &Ticket{control: c}
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
	return t
}

// call reports whether the rate allows a call now, and counts the call if so.
func (one *caller) call(rate float64, now time.Time) bool {
	most := max(rate, 1)
	one.calls = min(one.calls+max(now.Sub(one.filled).Seconds(), 0)*rate, most) // the clock may be set back
	one.filled = now
	if one.calls < 1 {
		return false
	}
	one.calls--
	return true
}

// take takes n of a resource for a ticket, or gives back -n of it. The control must be locked.
func (c *Control) take(t *Ticket, r Resource, n int64) error {
	if limit := c.limits.All[r]; n > 0 && limit > 0 && c.all[r]+n > limit {
		return c.refuse(&RefusedError{Resource: r, Limit: limit, Retry: retryAfter, Never: t.taken[r]+n > limit})
	}
	for _, s := range t.shares {
		if limit := s.limits[r]; n > 0 && limit > 0 && s.of.taken[r]+n > limit {
			return c.refuse(&RefusedError{Resource: r, Whose: s.whose, Limit: limit, Retry: retryAfter, Never: t.taken[r]+n > limit})
		}
	}
	c.add(t, r, n)
	return nil
}

// add counts n of a resource for a ticket. The control must be locked.
func (c *Control) add(t *Ticket, r Resource, n int64) {
	c.all[r] += n
	t.taken[r] += n
	for _, s := range t.shares {
		s.of.taken[r] += n
	}
}

func (c *Control) refuse(e *RefusedError) error {
	whose := e.Whose
	if whose == "" {
		whose = "all"
	}
	c.refused.WithLabelValues(e.Resource.label(), whose).Inc()
	return e
}

// forgetAfter is the number of callers above which a caller without tickets is forgotten although it has a call rate.
const forgetAfter = 10_000

// leave removes a ticket from its callers. The control must be locked.
func (c *Control) leave(t *Ticket) {
	for i, s := range t.shares {
		if s.of.tickets--; s.of.tickets == 0 && (s.of.filled.IsZero() || len(c.callers) > forgetAfter) {
			delete(c.callers, t.keys[i])
		}
	}
	t.shares = nil
}
