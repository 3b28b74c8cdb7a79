package arrowipc

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/replayd/replayd/replay/table"
)

// message is an IPC message of rows, of which there are as many as values in its first array.
type message struct {
	nodes   []byte   // for every array in preorder its length and the number of its missing values
	buffers []byte   // for every buffer its place in the body and its size
	parts   [][]byte // the bytes of these buffers, of which the first of an array marks missing values
	body    int      // the size of the body, which has the buffers
	zeros   int      // the size of the last buffer of zeros in it, and its place. Shorter ones behind it are in the same place
	zerosAt int
	head    []byte // what the message has before its body, once it is sealed
}

// workspace is the memory that encoding a table takes, whose messages it holds: those of the dictionaries, whose ids are their indices,
// and that of the rows. The writer of Arrow's library would make about a hundred objects for each column.
type workspace struct {
	record   message
	names    []message
	compress bool
	bytes    []byte // contents of buffers that are not those of columns
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// begin returns a workspace for a table.
func begin(compress bool) *workspace {
	w := workspaces.Get().(*workspace)
	w.compress, w.bytes = compress, w.bytes[:0]
	return w
}

// free empties the workspace, so that it does not hold the columns' memory, and gives it back.
func (w *workspace) free() {
	for _, m := range w.all {
		clear(m.parts)
		*m = message{nodes: m.nodes[:0], buffers: m.buffers[:0], parts: m.parts[:0], head: m.head}
	}
	w.names = w.names[:0]
	workspaces.Put(w)
}

// take returns n values in memory of w, which the caller must set. Those that were taken before stay as they are.
func take[N any](w *workspace, n int) []N {
	begin := bitutil.CeilByte(len(w.bytes))
	end := begin + n*int(unsafe.Sizeof(*new(N)))
	w.bytes = slices.Grow(w.bytes, end-len(w.bytes))[:end]
	return unsafe.Slice((*N)(unsafe.Pointer(unsafe.SliceData(w.bytes[begin:]))), n)
}

// all yields the messages, in their order, those of dictionaries with their ids.
func (w *workspace) all(yield func(int, *message) bool) {
	for i := range w.names {
		if !yield(i, &w.names[i]) {
			return
		}
	}
	yield(len(w.names), &w.record)
}

// addColumns adds columns, with those below them.
func (w *workspace) addColumns(columns []table.Column) {
	for _, below := range table.Shown(columns) {
		c, room := &below[0], [3][]byte{}
		w.add(&w.record, c.Len, c.Nulls, appendParts(room[:0], c)...)
		if c.Names != nil {
			w.addNames(c.Names)
		}
		w.addColumns(below[1:])
	}
}

// appendParts appends the buffers of a column.
func appendParts(to [][]byte, c *table.Column) [][]byte {
	to = append(to, c.Valid)
	if c.Offsets != nil {
		to = append(to, arrow.GetBytes(c.Offsets))
	}
	if c.Field.Type != table.List && c.Field.Type != table.Struct {
		to = append(to, c.Data)
	}
	return to
}

// addNames adds the dictionary of a column.
func (w *workspace) addNames(all *table.Names) {
	w.names = slices.Grow(w.names, 1)[:len(w.names)+1]
	w.add(&w.names[len(w.names)-1], all.Len(), 0, nil, arrow.GetBytes(all.Offsets), all.Data)
}

// add adds an array to a message.
func (w *workspace) add(m *message, length, nulls int, parts ...[]byte) {
	m.nodes = words(m.nodes, length, nulls)
	for _, part := range parts {
		if w.compress && len(part) > 0 {
			part = w.pack(part)
		}
		at, size := m.body, len(part)
		switch {
		case size == 0, !bytes.HasPrefix(zeros[:], part):
		case size <= m.zeros:
			at, part = m.zerosAt, nil
		default:
			m.zerosAt, m.zeros = at, size
		}
		m.buffers = words(m.buffers, at, size)
		m.parts = append(m.parts, part)
		m.body += bitutil.CeilByte(len(part))
	}
}

// zeros are those of padding, and of the buffers of columns without values unless these are larger.
var zeros [1 << 20]byte

// prefixBytes is the size of what is before the metadata of a message: ones, and the size of the metadata.
const prefixBytes = 8

// seal makes what the messages have before their bodies, and returns the size of all. The metadata are a flatbuffer (Message.fbs of Arrow).
// A table begins with the distance back to its vtable, which holds the table's size and the places of its fields, of which 0 is a missing
// one. A reference is the distance from itself. All is aligned to 8 bytes, counted from behind the prefix.
func (w *workspace) seal() (size int) {
	const version, ofDictionary, ofRows, structBytes = 4, 2, 3, 16
	compression := 0
	if w.compress {
		compression = 20
	}
	for id, m := range w.all {
		b := words(m.head[:0], 0, 20) // the prefix, set below; the reference to Message, and padding
		if m == &w.record {
			b = words(vtable(b, 20, 16, 18, 12, 4), m.body, 20|version<<32|ofRows<<48)
		} else {
			b = words(vtable(b, 20, 16, 18, 12, 4), m.body, 20|version<<32|ofDictionary<<48)
			b = words(vtable(b, 16, 4, 12, 0, 0), id, 20)
		}
		b = words(vtable(b, 24, 4, 12, 16, compression), int(binary.LittleEndian.Uint64(m.nodes)), 28|(32+len(m.nodes))<<32,
			12, 4<<32|4<<16|4) // BodyCompression with its defaults: each buffer as a frame of LZ4
		for _, list := range [][]byte{m.nodes, m.buffers} {
			b = append(words(b, len(list)/structBytes<<32), list...)
		}
		words(b[:0], (len(b)-prefixBytes)<<32|0xffff_ffff)
		m.head = b
		size += len(b) + m.body
	}
	return size
}

// appendBody appends the body.
func (m *message) appendBody(b []byte) []byte {
	for _, part := range m.parts {
		b = append(append(b, part...), zeros[:bitutil.CeilByte(len(part))-len(part)]...)
	}
	return b
}

// words appends numbers of 64 bits.
func words(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// vtable appends a vtable of four fields, which takes 12 bytes, and the beginning of its table.
func vtable(b []byte, size, first, second, third, fourth int) []byte {
	return words(b, 12|size<<16|first<<32|second<<48, third|fourth<<16|12<<32)
}
