package frame

import (
	"sync/atomic"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	pb "google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec/protoappend"
)

// Outbox makes the frames of one stream and knows when they have left: the sender frees their bytes when those
// are written to the network. The zero value is ready for use; it must not be copied. Frames are made by one goroutine at a
// time.
type Outbox struct {
	waiting receipts
}

// Empty reports that no frame waits to be written. A client to whom nothing waits to be written can be sent the next frame
// without waiting: it holds nothing back.
func (o *Outbox) Empty() bool { return o.waiting.count.Load() == 0 }

// Of makes the frame of a response that has no events, with a cursor.
func (o *Outbox) Of(r *replaydv1.StreamEventsResponse, cursor []byte) (*Frame, error) {
	b, err := pb.MarshalOptions{Deterministic: true}.Marshal(r) // headers have maps
	if err != nil {
		return nil, err
	}
	f := new(Frame)
	f.bytes = append(f.parts[:0], mem.SliceBuffer(b))
	o.seal(f, cursor)
	return f, nil
}

// Batch makes the frame of a batch whose event list consists of those parts. The frame takes over the caller's references
// of the parts.
func (o *Outbox) Batch(h Head, cursor []byte, parts ...mem.Buffer) *Frame {
	n := 0
	for _, p := range parts {
		n += p.Len()
	}
	f := new(Frame)
	positions := h.appendPositions(nil)
	f.head = h.append(f.room[:0], n, len(positions))
	f.bytes = append(append(f.parts[:0], &f.head), parts...)
	if len(positions) > 0 {
		f.bytes = append(f.bytes, mem.SliceBuffer(positions))
	}
	o.seal(f, cursor)
	return f
}

// State makes the frame of a part of a state, whose event list, in that field of StateBatch, is list; complete says that it
// is the last part.
func (o *Outbox) State(field protowire.Number, list []byte, complete bool, cursor []byte) *Frame {
	n := 0
	if len(list) > 0 {
		n = protowire.SizeTag(field) + protowire.SizeBytes(len(list))
	}
	if complete {
		n += 2
	}
	b := protoappend.Varint(append(make([]byte, 0, n+8), tagState), uint64(n))
	if len(list) > 0 {
		b = protoappend.Bytes(protowire.AppendTag(b, field, protowire.BytesType), list)
	}
	if complete {
		b = append(b, tagComplete, 1)
	}
	f := new(Frame)
	f.bytes = append(f.parts[:0], mem.SliceBuffer(b))
	o.seal(f, cursor)
	return f
}

// seal adds the cursor as the last part of a frame: when that is freed, all of the frame has left. A response without a
// cursor is not counted; it is its stream's only one.
func (o *Outbox) seal(f *Frame, cursor []byte) {
	if len(cursor) == 0 {
		return
	}
	b := o.waiting.Get(0)
	*b = protoappend.Bytes(append(*b, tagCursor), cursor)
	f.bytes = append(f.bytes, mem.NewBuffer(b, &o.waiting))
}

// receipts hands out the memory of frames' last parts, and counts those that were not freed yet.
type receipts struct {
	count atomic.Int32
	// first is for the frame that is made while no other waits: of a client that keeps up, for each.
	first []byte
	room  [receiptBytes]byte
}

var _ mem.BufferPool = (*receipts)(nil)

// receiptBytes is how much memory a last part has: gRPC counts the references of buffers of more than 1 KiB only.
const receiptBytes = 1<<10 + 64

// more is where the memory comes from while other frames wait.
var more = NewPool(receiptBytes)

// Get implements mem.BufferPool.
func (r *receipts) Get(length int) *[]byte {
	if r.count.Add(1) > 1 {
		return more.Get(length)
	}
	r.first = r.room[:length]
	return &r.first
}

// Put implements mem.BufferPool.
func (r *receipts) Put(b *[]byte) {
	if b != &r.first {
		more.Put(b)
	}
	r.count.Add(-1)
}
