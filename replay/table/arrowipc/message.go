package arrowipc

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/pierrec/lz4/v4"

	"github.com/replayd/replayd/replay/table"
)

// message is what an IPC message of rows has: for every array in preorder its length and the number of its missing values, and the
// bytes of its buffers, of which the first marks missing values.
type message struct {
	rows  int
	nodes []node
	parts [][]byte
}

type node struct{ length, nulls int }

// workspace is the memory that encoding a table takes, whose messages it holds: those of the dictionaries, whose ids are their indices,
// and that of the rows. The writer of Arrow's library would make about a hundred objects for each column.
type workspace struct {
	record message
	names  []message
	packed bool   // buffers are compressed
	bytes  []byte // contents of buffers that are not those of columns
	head   []byte // what an entry has before its messages
	lz4    *lz4.Compressor
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// begin returns a workspace for a table with so many rows.
func begin(rows int) *workspace {
	w := workspaces.Get().(*workspace)
	w.record.rows, w.packed, w.bytes = rows, false, w.bytes[:0]
	return w
}

// free empties the workspace, so that it does not hold the columns' memory, and gives it back.
func (w *workspace) free() {
	for _, m := range w.all {
		clear(m.parts)
		m.nodes, m.parts = m.nodes[:0], m.parts[:0]
	}
	w.names = w.names[:0]
	workspaces.Put(w)
}

// take returns n more bytes. Those that were taken before stay where they are.
func (w *workspace) take(n int) []byte {
	if n > cap(w.bytes)-len(w.bytes) {
		w.bytes = make([]byte, 0, 2*cap(w.bytes)+n)
	}
	begin := len(w.bytes)
	w.bytes = w.bytes[:begin+n]
	return w.bytes[begin:]
}

func (m *message) node(length, nulls int, parts ...[]byte) {
	m.nodes = append(m.nodes, node{length, nulls})
	m.parts = append(m.parts, parts...)
}

// shown yields the columns that are not Off, each with its index and those below it.
func shown(columns []table.Column) iter.Seq2[int, []table.Column] {
	return func(yield func(int, []table.Column) bool) {
		for at := 0; at < len(columns); at += columns[at].Width() {
			if c := columns[at:]; !c[0].Off && !yield(at, c[:c[0].Width()]) {
				return
			}
		}
	}
}

func (w *workspace) addAll(columns []table.Column) {
	for _, c := range shown(columns) {
		w.add(c)
	}
}

// add adds a column, with the columns below it.
func (w *workspace) add(columns []table.Column) {
	c, m := &columns[0], &w.record
	m.node(c.Len, c.Nulls, valid(c))
	typ := c.Field.Type
	if typ == table.Text || typ == table.Binary || typ == table.List {
		m.parts = append(m.parts, bytesOf(c.Offsets))
	}
	if typ != table.List && typ != table.Struct {
		m.parts = append(m.parts, c.Data)
	}
	if typ == table.Name {
		w.addNames(c.Names.Len(), bytesOf(c.Names.Offsets), c.Names.Data)
	}
	w.addAll(columns[1:])
}

// addNames adds the dictionary of a column.
func (w *workspace) addNames(n int, offsets, texts []byte) {
	w.names = slices.Grow(w.names, 1)[:len(w.names)+1]
	d := &w.names[len(w.names)-1]
	d.rows = n
	d.node(n, 0, nil, offsets, texts)
}

// valid returns the bits that mark the missing values.
func valid(c *table.Column) []byte {
	if c.Nulls == 0 {
		return nil
	}
	return c.Valid
}

func bytesOf(o []int32) []byte { return arrow.Int32Traits.CastToBytes(o) }

// pack compresses all buffers for which it pays.
func (w *workspace) pack() {
	if w.packed = true; w.lz4 == nil {
		w.lz4 = new(lz4.Compressor)
	}
	for _, m := range w.all {
		for i, part := range m.parts {
			if len(part) > 0 {
				most := w.take(lengthBytes + len(part))
				m.parts[i] = appendPacked(most[:0], part, w.lz4)
				w.bytes = w.bytes[:len(w.bytes)-len(most)+len(m.parts[i])]
			}
		}
	}
}

// all yields the messages with the ids of the dictionaries.
func (w *workspace) all(yield func(int, *message) bool) {
	for i := range w.names {
		if !yield(i, &w.names[i]) {
			return
		}
	}
	yield(noDictionary, &w.record)
}

// size returns the number of bytes of the messages.
func (w *workspace) size() int {
	n := dictionaryBytes * len(w.names)
	for _, m := range w.all {
		n += headBytes + structBytes*(len(m.nodes)+len(m.parts)) + m.size()
	}
	return n
}

// append appends the messages.
func (w *workspace) append(b []byte) []byte {
	for id, m := range w.all {
		b = m.append(m.appendHead(b, id, w.packed))
	}
	return b
}

// The sizes of what a message has before its body.
const (
	prefixBytes     = 8                     // ones, and the size of the metadata
	headBytes       = prefixBytes + 40 + 64 // with the tables Message and RecordBatch, and without the elements of lists
	dictionaryBytes = 32                    // the table DictionaryBatch
	structBytes     = 16                    // an element of the lists of nodes and buffers
	noDictionary    = -1
)

// appendHead appends what the message, of a dictionary or of rows, has before its body. The metadata are a flatbuffer (Message.fbs of
// Arrow). A table begins with the distance back to its vtable, which holds the table's size and the places of its fields, of which 0 is a
// missing one. A reference is the distance from itself. All is aligned to 8 bytes, counted from behind the prefix.
func (m *message) appendHead(b []byte, dictionary int, compressed bool) []byte {
	const version, ofDictionary, ofRows = 4, 2, 3
	lists := structBytes * (len(m.nodes) + len(m.parts))
	meta, kind := headBytes-prefixBytes+lists, ofRows
	if dictionary != noDictionary {
		meta, kind = meta+dictionaryBytes, ofDictionary
	}
	b = words(b, meta<<32|0xffff_ffff, 20) // the last is the reference to Message, and padding
	b = words(vtable(b, 20, 16, 18, 12, 4), m.size(), 20|version<<32|kind<<48)
	if dictionary != noDictionary {
		b = words(vtable(b, 16, 4, 12, 0, 0), dictionary, 20)
	}
	compression := uint16(0)
	if compressed {
		compression = 20
	}
	b = words(vtable(b, 24, 4, 12, 16, compression), m.rows, 28|(32+structBytes*len(m.nodes))<<32,
		12, 4<<32|4<<16|4) // BodyCompression with its defaults: each buffer as a frame of LZ4
	b = words(b, len(m.nodes)<<32)
	for _, n := range m.nodes {
		b = words(b, n.length, n.nulls)
	}
	b = words(b, len(m.parts)<<32)
	at := 0
	for _, part := range m.parts {
		b = words(b, at, len(part))
		at += padded(len(part))
	}
	return b
}

// size returns the number of bytes of the body.
func (m *message) size() (n int) {
	for _, part := range m.parts {
		n += padded(len(part))
	}
	return n
}

// append appends the body.
func (m *message) append(b []byte) []byte {
	for _, part := range m.parts {
		b = append(append(b, part...), zeros[:padded(len(part))-len(part)]...)
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

// vtable appends a vtable of four fields, and the beginning of its table.
func vtable(b []byte, size uint16, fields ...uint16) []byte {
	const bytes = 12
	b = binary.LittleEndian.AppendUint32(b, bytes|uint32(size)<<16)
	for _, place := range fields {
		b = binary.LittleEndian.AppendUint16(b, place)
	}
	return binary.LittleEndian.AppendUint32(b, bytes)
}

var zeros [8]byte

func padded(n int) int { return (n + 7) &^ 7 }

// lengthBytes is the size of the length before a compressed buffer.
const lengthBytes = 8

// frames are the beginnings of frames of LZ4 whose blocks have at most so many bytes: without sums, and the last byte is the header's.
var frames = [...]struct {
	most  int
	begin string
}{
	{64 << 10, "\x04\x22\x4d\x18\x60\x40\x82"},
	{256 << 10, "\x04\x22\x4d\x18\x60\x50\xfb"},
	{1 << 20, "\x04\x22\x4d\x18\x60\x60\x51"},
	{4 << 20, "\x04\x22\x4d\x18\x60\x70\x73"},
}

// appendPacked appends a buffer with its length before it: as a frame of one block if that saves a tenth, otherwise as it is, with a
// length of -1.
func appendPacked(b, part []byte, c *lz4.Compressor) []byte {
	const least = 128 // below that a frame saves little
	for _, f := range frames {
		if len(part) > f.most || len(part) < least {
			continue
		}
		begin := len(b) + lengthBytes + len(f.begin) + 4
		end := len(b) + lengthBytes + len(part)*9/10 - 4
		n, err := c.CompressBlock(part, b[begin:end:end])
		if n == 0 || err != nil {
			break
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(len(part)))
		b = binary.LittleEndian.AppendUint32(append(b, f.begin...), uint32(n))
		return binary.LittleEndian.AppendUint32(b[:len(b)+n], 0)
	}
	return append(binary.LittleEndian.AppendUint64(b, 1<<64-1), part...)
}
