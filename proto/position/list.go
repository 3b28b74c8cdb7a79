package position

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
)

// Room is the difference between the indices of two consecutive events at the same offset, unless stated otherwise. It equals
// decoders.Room.
const Room = 128

// The tags of the two fields. Each is one byte, and both are packed.
const (
	tagOffsets = byte(protoscan.BatchOffsets<<3) | byte(protowire.BytesType)
	tagIndexes = byte(protoscan.BatchIndexes<<3) | byte(protowire.BytesType)
)

// List holds the encoded positions of a batch's events. The zero value has none.
type List struct {
	offsets, indexes []byte // the elements of the packed fields
	offset, index    int64  // of the last event
}

// AddNear adds an event's position if it is near the previous one, as nearly all are, and reports whether it did. It is small
// enough to be inlined in hot loops.
func (l *List) AddNear(offset, index int64) bool {
	d, n := offset-l.offset, len(l.offsets)
	if index|d>>6 != 0 || d == 0 || n == cap(l.offsets) {
		return false
	}
	l.offsets = l.offsets[:n+1]
	l.offsets[n] = byte(d) << 1
	l.offset, l.index = offset, 0
	return true
}

// Add adds an event's position. Positions come in the order of the replay.
func (l *List) Add(offset, index int64) {
	d := offset - l.offset
	if index|d>>6 == 0 && d != 0 || d == 0 && index == l.index+Room { // nearly all events
		l.offsets = append(l.offsets, byte(d)<<1)
		l.offset, l.index = offset, index
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

// MaxStep is the longest step of AddRun.
const MaxStep = 63

// AddRun adds n positions, at least one. Each but the first is step bytes after the previous one, with an index of 0. It writes
// a run with a few stores.
func (l *List) AddRun(offset, index int64, n int, step uint8) {
	d, at := offset-l.offset, len(l.offsets)
	if usual := index == 0 && d != 0 || d == 0 && index == l.index+Room; d>>6 != 0 || !usual {
		if l.add(offset, index); n > 1 {
			l.AddRun(offset+int64(step), 0, n-1, step)
		}
		return
	}
	const word, ones = 8, 0x0101010101010101
	b, steps := l.offsets, uint64(step)<<1*ones
	if cap(b)-at < n+word {
		b = slices.Grow(b, n+word)
	}
	b = b[:at+n+word]
	binary.LittleEndian.PutUint64(b[at:], steps&^0xff|uint64(d)<<1)
	if n > 1 {
		index = 0
		for i := at + word; i < at+n; i += word {
			binary.LittleEndian.PutUint64(b[i:], steps)
		}
	}
	l.offsets, l.offset, l.index = b[:at+n], offset+int64(n-1)*int64(step), index
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
