package position

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
)

// Room is by how much the index of an event is larger than that of the event before at the same offset, if nothing else is said.
// It is decoders.Room.
const Room = 128

// The tags of the two fields. Each is one byte, and both are packed.
const (
	tagOffsets = byte(protoscan.BatchOffsets<<3) | byte(protowire.BytesType)
	tagIndexes = byte(protoscan.BatchIndexes<<3) | byte(protowire.BytesType)
)

// List is the positions of a batch's events, encoded. The zero value has none.
type List struct {
	offsets, indexes []byte // the elements of the packed fields
	offset, index    int64  // of the last event
}

// Add adds an event's position. Positions come in the order of the replay.
func (l *List) Add(offset, index int64) {
	if d := uint64(offset - l.offset - 1); d < 63 && index == 0 { // nearly all events
		l.offsets = append(l.offsets, byte(d+1)<<1)
		l.offset, l.index = offset, 0
		return
	}
	l.add(offset, index)
}

func (l *List) add(offset, index int64) {
	d, expected := offset-l.offset, int64(0)
	if d == 0 {
		expected = l.index + Room
	}
	if index != expected {
		l.indexes = protowire.AppendVarint(l.indexes, protowire.EncodeZigZag(index-l.index))
		d = ^d
	}
	l.offsets = protowire.AppendVarint(l.offsets, protowire.EncodeZigZag(d))
	l.offset, l.index = offset, index
}

// AddRun adds n positions, of which the first is step bytes behind the last one and each of the others as much behind the one
// before. All have the index 0. A step has at most 63 bytes.
func (l *List) AddRun(n int, step uint8) {
	if n == 0 {
		return
	}
	at := len(l.offsets)
	for range n {
		l.offsets = append(l.offsets, step<<1)
	}
	l.offset, l.index = l.offset+int64(len(l.offsets)-at)*int64(step), 0
}

// Set makes the list a copy of another one.
func (l *List) Set(from *List) {
	l.offsets, l.indexes = append(l.offsets[:0], from.offsets...), append(l.indexes[:0], from.indexes...)
	l.offset, l.index = from.offset, from.index
}

// Clone returns a copy of the list, in memory of its own.
func (l *List) Clone() *List {
	c := new(List)
	c.Set(l)
	return c
}

// Append appends the list to b as fields of an EventBatch.
func (l *List) Append(b []byte) []byte {
	if len(l.offsets) > 0 {
		b = protowire.AppendBytes(append(b, tagOffsets), l.offsets)
	}
	if len(l.indexes) > 0 {
		b = protowire.AppendBytes(append(b, tagIndexes), l.indexes)
	}
	return b
}

// Size returns how many bytes Append appends.
func (l *List) Size() (n int) {
	if len(l.offsets) > 0 {
		n = 1 + protowire.SizeBytes(len(l.offsets))
	}
	if len(l.indexes) > 0 {
		n += 1 + protowire.SizeBytes(len(l.indexes))
	}
	return n
}

// Len returns how many bytes the positions take.
func (l *List) Len() int { return len(l.offsets) + len(l.indexes) }

// Held returns how much memory the list holds, in bytes.
func (l *List) Held() int { return cap(l.offsets) + cap(l.indexes) }

// Reset empties the list and keeps its memory.
func (l *List) Reset() {
	l.offsets, l.indexes, l.offset, l.index = l.offsets[:0], l.indexes[:0], 0, 0
}

// Reader returns a reader of the list's positions. It is valid until the list is changed.
func (l *List) Reader() Reader { return Reader{offsets: l.offsets, indexes: l.indexes} }
