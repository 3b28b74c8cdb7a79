package access

import (
	"context"
	"sync/atomic"
	"time"
)

// Use is what a call takes: for the log, and for who limits it.
type Use struct {
	// Who calls, from where, and what.
	Who, Address, Method string

	grant          *Grant
	began          time.Time
	sent, received atomic.Int64 // bytes
	name           atomic.Value // string: the replay or the directory that was asked for
}

type useKey struct{}

// UseOf is the use of the call that a context is of. It is never nil.
func UseOf(ctx context.Context) *Use {
	if u, ok := ctx.Value(useKey{}).(*Use); ok {
		return u
	}
	return &Use{}
}

// Sent counts bytes that were sent. It may be called by any goroutine.
func (u *Use) Sent(n int) { u.sent.Add(int64(n)) }

// maxLogged is how many bytes of a name the log gets.
const maxLogged = 256

// note takes from a request what the log is to say.
func (u *Use) note(req any) {
	if m, ok := req.(interface{ GetData() []byte }); ok {
		u.received.Add(int64(len(m.GetData())))
	}
	if u.name.Load() != nil {
		return
	}
	name := ""
	switch m := req.(type) {
	case interface{ GetReplay() string }:
		name = m.GetReplay()
	case interface{ GetDirectory() string }:
		name = m.GetDirectory()
	}
	if name != "" {
		u.name.Store(name[:min(len(name), maxLogged)])
	}
}
