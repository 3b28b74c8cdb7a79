// Package frame makes the responses of a stream as wire bytes. The events of a batch already are wire bytes. A Frame puts the
// envelope before them, and rawcodec passes it to gRPC without marshalling or copying. The bytes on the network are ordinary
// protobuf of the .proto, so that every client can read them.
package frame

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/table"
)

// Frame is one marshalled response. Its owner must either send it once or Free it.
type Frame struct {
	bytes mem.BufferSlice
	// head is the envelope before the events, list is events that others may have, too, and last is the cursor. room is memory for the
	// envelope, and parts is memory for bytes, so that a frame is one allocation.
	head  mem.SliceBuffer
	list  mem.SliceBuffer
	last  receipt
	room  [maxHead]byte
	parts [4]mem.Buffer

	response *replaydv1.StreamEventsResponse // nil if the response has events
	columns  *table.Set                      // for columns that are passed on without encoding
	cursor   []byte
}

// Response returns a response without events, which must not be modified. It returns nil for a response with events.
func (f *Frame) Response() *replaydv1.StreamEventsResponse { return f.response }

// Columns returns the columns of a batch for the same process, nil for any other response. They are valid until Send returns, which must
// not send the frame: it has no bytes.
func (f *Frame) Columns() *table.Set { return f.columns }

// Cursor returns the cursor of the response. Like its tables it is valid until the frame is freed.
func (f *Frame) Cursor() []byte { return f.cursor }

// Buffer returns the frame's bytes in one piece. The caller frees it.
func (f *Frame) Buffer() mem.Buffer { return f.bytes.MaterializeToBuffer(mem.DefaultBufferPool()) }

// WireBytes implements [rawcodec.Marshaled]. Sending a frame consumes it.
func (f *Frame) WireBytes() mem.BufferSlice { return f.bytes }

// Len returns the number of the frame's bytes.
func (f *Frame) Len() int { return f.bytes.Len() }

// Free returns the frame's buffers to their pools.
func (f *Frame) Free() { f.bytes.Free() }

var _ rawcodec.Marshaled = (*Frame)(nil)

// Head is the envelope of a batch.
type Head struct {
	First, Next uint64           // sequence numbers
	List        protowire.Number // the field of EventBatch that holds the events
	Size        int              // the list's size in bytes
}

// The tags in a batch's envelope. Each is one byte.
const (
	tagCursor = byte(protoscan.ResponseCursor<<3) | byte(protowire.BytesType)
	tagState  = byte(protoscan.ResponseState<<3) | byte(protowire.BytesType)
	tagBatch  = byte(protoscan.ResponseBatch<<3) | byte(protowire.BytesType)

	tagFirst = byte(protoscan.BatchFirst<<3) | byte(protowire.VarintType)
	tagNext  = byte(protoscan.BatchNext<<3) | byte(protowire.VarintType)

	tagComplete = byte(protoscan.StateComplete<<3) | byte(protowire.VarintType)
)

// maxHead is the largest size of an envelope: three tags of one byte, one of five, and four numbers.
const maxHead = 3 + 5 + 4*10

// append appends the envelope of an event list. rest is the size of the list and of the batch's bytes after it.
func (h *Head) append(b []byte, rest int) []byte {
	b = h.appendSequences(b, protowire.SizeTag(h.List)+protowire.SizeVarint(uint64(h.Size))+rest)
	return protoappend.Varint(protowire.AppendTag(b, h.List, protowire.BytesType), uint64(h.Size))
}

// appendSequences appends the envelope before the events. inner is the size of the batch's bytes after it.
func (h *Head) appendSequences(b []byte, inner int) []byte {
	for _, number := range []uint64{h.First, h.Next} {
		if number != 0 {
			inner += 1 + protowire.SizeVarint(number)
		}
	}
	b = protoappend.Varint(append(b, tagBatch), uint64(inner))
	if h.First != 0 {
		b = protoappend.Varint(append(b, tagFirst), h.First)
	}
	if h.Next != 0 {
		b = protoappend.Varint(append(b, tagNext), h.Next)
	}
	return b
}
