package admission

import "context"

// Ticket holds what a call has taken. It is safe for concurrent use. The nil *Ticket allows everything and counts nothing.
type Ticket struct {
	control *Control
	keys    []string
	shares  []sharer
	taken   Amounts
	over    bool
}

// sharer is a token or an address from whose share a ticket takes.
type sharer struct {
	whose  string
	of     *caller
	limits Amounts
}

// Take takes n of a resource, or returns a *RefusedError and takes nothing. A negative n gives back. After Return it does
// nothing.
func (t *Ticket) Take(r Resource, n int64) error {
	if t == nil || n == 0 {
		return nil
	}
	if err := t.take(r, n); err != nil {
		return err
	}
	if r == Memory {
		t.control.pace()
	}
	return nil
}

// Charge counts n of a resource, even beyond the limits, because another limit bounds it. After Return it does nothing.
func (t *Ticket) Charge(r Resource, n int64) {
	if t == nil {
		return
	}
	t.charge(r, n)
	if r == Memory {
		t.control.pace()
	}
}

func (t *Ticket) charge(r Resource, n int64) {
	t.control.mu.Lock()
	defer t.control.mu.Unlock()
	if !t.over {
		t.control.add(t, r, n)
	}
}

func (t *Ticket) take(r Resource, n int64) error {
	t.control.mu.Lock()
	defer t.control.mu.Unlock()
	if t.over {
		return nil
	}
	return t.control.take(t, r, n)
}

// Memory takes n bytes of memory, like Take.
func (t *Ticket) Memory(n int64) error { return t.Take(Memory, n) }

// Spool takes n bytes on disk, like Take.
func (t *Ticket) Spool(n int64) error { return t.Take(Spool, n) }

// Return gives back everything that the call has taken. It may be called more than once.
func (t *Ticket) Return() {
	if t == nil {
		return
	}
	t.giveBack()
	t.control.pace()
}

func (t *Ticket) giveBack() {
	c := t.control
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	for r, n := range t.taken {
		c.all[r] -= n
		for _, s := range t.shares {
			s.of.taken[r] -= n
		}
	}
	c.leave(t)
}

type ticketKey struct{}

// With returns a context that holds the ticket of a call.
func With(ctx context.Context, t *Ticket) context.Context {
	return context.WithValue(ctx, ticketKey{}, t)
}

// Of returns the ticket of the call to which ctx belongs, or nil.
func Of(ctx context.Context) *Ticket {
	t, _ := ctx.Value(ticketKey{}).(*Ticket)
	return t
}
