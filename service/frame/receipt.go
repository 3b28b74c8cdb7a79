package frame

import (
	"sync/atomic"

	"google.golang.org/grpc/mem"

	"github.com/replayd/replayd/replay/cursor"
)

// receipt is the last part of a frame. It counts references, which gRPC's own buffers only do from 1 KiB on. gRPC does not split or slice
// what it sends, which would not be counted.
type receipt struct {
	mem.SliceBuffer

	of   *Outbox
	refs atomic.Int32
	room [2 + cursor.MaxLen]byte // memory for the part
}

// Ref implements mem.Buffer.
func (r *receipt) Ref() { r.refs.Add(1) }

// Free implements mem.Buffer.
func (r *receipt) Free() {
	switch n := r.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("a frame was freed twice") //nolint:forbidigo // as gRPC's own buffers do: its bytes may be those of another one by now
	}
	o := r.of
	if o.waiting.Load() == 1 { // no other frame waits, so that its own memory is that of this one, or free
		o.own = Frame{} // else it would keep its parts until the next one
	}
	o.waiting.Add(-1)
}
