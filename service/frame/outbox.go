package frame

import (
	"sync/atomic"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	pb "google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/table"
)

// Outbox makes the frames of one stream and counts those not written yet. The sender frees a frame's bytes when they are
// written to the network. The zero value is ready for use. An Outbox must not be copied. Only one goroutine at a time may make
// frames.
type Outbox struct {
	waiting atomic.Int32 // how many frames wait to be written
	own     Frame        // memory for a frame: empty, or in use by one that waits
}

// Empty reports whether no frame waits to be written. If so, the client keeps up, and the next frame can be sent at once.
func (o *Outbox) Empty() bool { return o.waiting.Load() == 0 }

// Of returns the frame of a response without events, with a cursor.
func (o *Outbox) Of(r *replaydv1.StreamEventsResponse, cursor []byte) (*Frame, error) {
	b, err := pb.MarshalOptions{Deterministic: true}.Marshal(r) // headers have maps
	if err != nil {
		return nil, err
	}
	f := &Frame{response: r}
	f.bytes = append(f.parts[:0], mem.SliceBuffer(b))
	o.seal(f, cursor)
	return f, nil
}

// Batch returns the frame of a batch. list is the beginning of its event list or all of it, which nobody may modify any more. The parts are
// the rest of the list, and then further fields of EventBatch. The frame takes ownership of the caller's references to the parts.
func (o *Outbox) Batch(h Head, cursor, list []byte, parts ...mem.Buffer) *Frame {
	n := len(list)
	for _, p := range parts {
		n += p.Len()
	}
	f := o.take(cursor)
	f.head, f.list = h.append(f.room[:0], n), list
	f.bytes = append(append(f.parts[:0], &f.head, &f.list), parts...)
	o.seal(f, cursor)
	return f
}

// Tables returns the frame of a batch of tables. encoded holds its entries of EventBatch.tables. The frame takes ownership of
// encoded.
func (o *Outbox) Tables(h Head, cursor []byte, encoded mem.Buffer) *Frame {
	f := o.take(cursor)
	f.head = h.appendSequences(f.room[:0], encoded.Len())
	f.bytes = append(f.parts[:0], &f.head, encoded)
	o.seal(f, cursor)
	return f
}

// Columns returns the frame of a batch of tables whose columns are passed on within the process, with a cursor that is valid as long as
// they are.
func (o *Outbox) Columns(set *table.Set, cursor []byte) *Frame {
	return &Frame{columns: set, cursor: cursor}
}

// StateTables returns the frame of a part of a state as tables. encoded holds its entries of StateBatch.tables. The frame takes
// ownership of encoded.
func (o *Outbox) StateTables(encoded mem.Buffer, complete bool, cursor []byte) *Frame {
	n := encoded.Len()
	f := new(Frame)
	if complete {
		n += 2
	}
	f.head = protoappend.Varint(append(f.room[:0], tagState), uint64(n))
	if complete {
		f.head = append(f.head, tagComplete, 1)
	}
	f.bytes = append(f.parts[:0], &f.head, encoded)
	o.seal(f, cursor)
	return f
}

// State returns the frame of a part of a state. list is the event list, and field is its field of StateBatch. complete reports
// whether this is the last part.
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
	f := o.take(cursor)
	f.bytes = append(f.parts[:0], mem.SliceBuffer(b))
	o.seal(f, cursor)
	return f
}

// take returns memory for a frame: the outbox's own while no frame waits, so that a stream whose client keeps up makes no garbage. Frames
// without a cursor are not counted, and thus have memory of their own.
func (o *Outbox) take(cursor []byte) *Frame {
	if len(cursor) == 0 || !o.Empty() {
		return new(Frame)
	}
	return &o.own
}

// seal adds the cursor as the last part of a frame. When that part is freed, the whole frame was written. A response without a
// cursor is the only one of its stream, and is not counted.
func (o *Outbox) seal(f *Frame, cursor []byte) {
	if len(cursor) == 0 {
		return
	}
	o.waiting.Add(1)
	r := &f.last
	r.of = o
	r.refs.Store(1)
	r.SliceBuffer = protoappend.Bytes(append(r.room[:0], tagCursor), cursor)
	f.cursor = r.SliceBuffer[len(r.SliceBuffer)-len(cursor):]
	f.bytes = append(f.bytes, r)
}
