// Package frame makes and sends responses of a stream as ready bytes. The events of a batch are wire bytes already; a
// Frame puts the envelope before them, and Codec hands it to gRPC without marshalling or copying. What goes over the
// network is ordinary protobuf of the .proto, so that every client just works.
package frame

import (
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec that Codec falls back to
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	pb "google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/encode/wire"
)

// Frame is one response, marshalled. Whoever holds one must either send it once or Free it.
type Frame struct {
	bytes mem.BufferSlice
}

// Buffer returns the frame's bytes in one piece. The caller frees it.
func (f *Frame) Buffer() mem.Buffer { return f.bytes.MaterializeToBuffer(mem.DefaultBufferPool()) }

// Len is the number of the frame's bytes.
func (f *Frame) Len() int { return f.bytes.Len() }

// Free gives the frame's buffers back.
func (f *Frame) Free() { f.bytes.Free() }

// Of marshals a response that has no events.
func Of(r *replaydv1.StreamEventsResponse) (*Frame, error) {
	b, err := pb.MarshalOptions{Deterministic: true}.Marshal(r) // headers have maps
	if err != nil {
		return nil, err
	}
	return &Frame{mem.BufferSlice{mem.SliceBuffer(b)}}, nil
}

// Head is the envelope of a batch.
type Head struct {
	Cursor      []byte
	First, Next uint64           // sequence numbers
	List        protowire.Number // the field of EventBatch in which the events travel
}

// The fields that a batch's envelope is made of; see stream.proto. A test proves that they are these.
const (
	tagCursor = 0x0a // StreamEventsResponse.cursor
	tagBatch  = 0x1a // StreamEventsResponse.batch
	tagFirst  = 0x08 // EventBatch.first_sequence
	tagNext   = 0x10 // EventBatch.next_sequence
)

// Batch makes the response with a batch whose event list consists of those parts. The frame takes over the caller's
// references of the parts.
func Batch(h Head, parts ...mem.Buffer) *Frame {
	n := 0
	for _, p := range parts {
		n += p.Len()
	}
	inner := make([]byte, 0, 32) // what stands in EventBatch before the list's contents
	if h.First != 0 {
		inner = wire.Varint(append(inner, tagFirst), h.First)
	}
	if h.Next != 0 {
		inner = wire.Varint(append(inner, tagNext), h.Next)
	}
	inner = protowire.AppendTag(inner, h.List, protowire.BytesType)
	inner = wire.Varint(inner, uint64(n))

	head := make([]byte, 0, len(h.Cursor)+len(inner)+16)
	head = wire.Bytes(append(head, tagCursor), h.Cursor)
	head = wire.Varint(append(head, tagBatch), uint64(len(inner)+n))
	head = append(head, inner...)
	bytes := make(mem.BufferSlice, 0, 1+len(parts))
	bytes = append(bytes, mem.SliceBuffer(head))
	for _, p := range parts {
		bytes = append(bytes, p)
	}
	return &Frame{bytes}
}

// Codec is gRPC's protobuf codec, but that it passes a *Frame, to be sent, and a *Raw, to be received, through as they
// are. Sending a Frame consumes it.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*Frame); ok {
		return f.bytes, nil
	}
	return c.CodecV2.Marshal(v)
}

// Raw receives a message as its wire bytes, in a client whose codec is Codec.
type Raw struct{ Bytes []byte }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*Raw); ok {
		r.Bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// Pool lends byte slices of one capacity and takes them back.
type Pool struct {
	size int
	pool sync.Pool
}

// NewPool returns a pool of slices with at least that capacity.
func NewPool(size int) *Pool {
	p := &Pool{size: size}
	p.pool.New = func() any { b := make([]byte, 0, size); return &b }
	return p
}

var _ mem.BufferPool = (*Pool)(nil)

// Get returns a slice of that length. gRPC's interface asks for it.
func (p *Pool) Get(length int) *[]byte {
	b := p.pool.Get().(*[]byte)
	if cap(*b) < length {
		*b = make([]byte, length)
	}
	*b = (*b)[:length]
	return b
}

// Put takes a slice back. Slices that grew far beyond the pool's capacity are left to the garbage collector, so that one
// large event does not cost its memory for ever.
func (p *Pool) Put(b *[]byte) {
	if cap(*b) > 4*p.size {
		return
	}
	p.pool.Put(b)
}

// Buffer makes a reference-counted buffer of b, which goes back to the pool when the last reference is freed.
func (p *Pool) Buffer(b *[]byte) mem.Buffer { return mem.NewBuffer(b, p) }
