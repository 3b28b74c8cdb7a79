package access

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"
)

// Use describes a call and what it uses, for the log and for the limits.
type Use struct {
	// Who is the name of the caller, Address is the caller's address, and Method is the name of the called method.
	Who, Address, Method string

	grant          *Grant
	began          time.Time
	sent, received atomic.Int64 // bytes
	name           atomic.Value // string: the requested replay or directory
}

type useKey struct{}

// UseOf returns the Use of the call to which ctx belongs. It is never nil.
func UseOf(ctx context.Context) *Use {
	if u, ok := ctx.Value(useKey{}).(*Use); ok {
		return u
	}
	return &Use{}
}

// Near reports whether the call came from this machine: from the caller, or from a proxy here that the daemon does not believe.
func (u *Use) Near() bool {
	addr, err := netip.ParseAddr(u.Address)
	return u.Address == "unix" || err == nil && addr.IsLoopback()
}

// Sent adds n to the bytes that the call has sent. It is safe for concurrent use.
func (u *Use) Sent(n int) { u.sent.Add(int64(n)) }

// maxLogged is the maximum number of bytes of a name in the log.
const maxLogged = 256

// note records the logged values of a request.
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
