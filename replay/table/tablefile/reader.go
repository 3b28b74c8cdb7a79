package tablefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Reader reads the rows of a Parquet file that a Writer has written. It holds a page of each column. It may not be used concurrently.
type Reader struct {
	from   io.ReaderAt
	size   int64
	meta   format.FileMetaData
	schema *arrow.Schema
	nodes  []*node
	leaves []*leafReader
	left   int64
}

// ErrForeign means that a file is damaged, or not one that a Writer has written.
var ErrForeign = errors.New("no table of this program, or a damaged one")

func foreign(what string, a ...any) error {
	return fmt.Errorf("%w: %w", ErrForeign, fmt.Errorf(what, a...))
}

// maxFooter is the largest end of a file that is read.
const maxFooter = 64 << 20

// NewReader returns a reader of a file of some size.
func NewReader(from io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{from: from, size: size}
	var end [8]byte
	if size < int64(len(parquetMagic)+len(end)) {
		return nil, foreign("it has %d bytes", size)
	}
	if _, err := from.ReadAt(end[:], size-int64(len(end))); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != parquetMagic || n > min(size-int64(len(end)), maxFooter) {
		return nil, foreign("its end is not that of a Parquet file")
	}
	footer := make([]byte, n)
	if _, err := from.ReadAt(footer, size-int64(len(end))-n); err != nil {
		return nil, err
	}
	if _, err := decodeThrift(footer, &r.meta); err != nil {
		return nil, foreign("its end: %w", err)
	}
	if len(r.meta.Schema) == 0 {
		return nil, foreign("it has no schema")
	}
	rest := []format.SchemaElement(r.meta.Schema[1:])
	var fields []arrow.Field
	for range r.meta.Schema[0].NumChildren.V {
		f, n, err := r.node(&rest, node{}, 0)
		if err != nil {
			return nil, err
		}
		fields, r.nodes = append(fields, f), append(r.nodes, n)
	}
	var keys, values []string
	for _, kv := range r.meta.KeyValueMetadata {
		keys, values = append(keys, kv.Key), append(values, kv.Value)
	}
	about := arrow.NewMetadata(keys, values)
	r.schema = arrow.NewSchema(fields, &about)
	for i, g := range r.meta.RowGroups {
		if len(g.Columns) != len(r.leaves) || g.NumRows < 0 {
			return nil, foreign("row group %d has %d columns and %d rows", i, len(g.Columns), g.NumRows)
		}
		r.left += g.NumRows
	}
	return r, nil
}

// Schema returns the schema, whose metadata are those of the file.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Read returns the next n rows, fewer at the end of the file, and then io.EOF.
func (r *Reader) Read(n int) (arrow.RecordBatch, error) {
	rows := min(int64(n), r.left)
	if rows <= 0 {
		return nil, io.EOF
	}
	for _, l := range r.leaves {
		if err := l.take(int(rows)); err != nil {
			return nil, err
		}
	}
	columns := make([]arrow.Array, len(r.nodes))
	for i, n := range r.nodes {
		data, err := n.build()
		if err != nil {
			return nil, err
		}
		if int64(data.Len()) != rows {
			return nil, foreign("column %s has %d rows in place of %d", r.schema.Field(i).Name, data.Len(), rows)
		}
		columns[i] = array.MakeFromData(data)
	}
	r.left -= rows
	return array.NewRecordBatch(r.schema, columns, rows), nil
}

// decodeThrift decodes a value of Thrift's compact protocol, and returns its length.
func decodeThrift(b []byte, v any) (int, error) {
	r := new(thrift.CompactProtocol).NewReaderFromBytes(b)
	err := thrift.NewDecoder(&boundedReader{r, len(b)}).Decode(v)
	return r.BytesRead(), err
}

// boundedReader refuses lists that are longer than the bytes that are there.
type boundedReader struct {
	thrift.BytesReader

	size int
}

// ReadList implements thrift.Reader.
func (r *boundedReader) ReadList() (thrift.List, error) {
	l, err := r.BytesReader.ReadList()
	if err == nil && (l.Size < 0 || int(l.Size) > r.size-r.BytesRead()) {
		err = fmt.Errorf("a list of %d", l.Size)
	}
	return l, err
}

// node is a column, or what is below one.
type node struct {
	typ   arrow.DataType
	below []*node
	leaf  *leafReader // the first one below
	// A level of repetition of at most rep begins a place for a value, if the level of definition is at least slot. The value is there
	// if that is at least def.
	rep, slot, def uint8
}

// maxDepth is how many structs and lists may be in each other.
const maxDepth = 32

// node makes a node of the next elements of the schema.
func (r *Reader) node(rest *[]format.SchemaElement, above node, depth int) (f arrow.Field, _ *node, _ error) {
	if len(*rest) == 0 || depth > maxDepth {
		return f, nil, foreign("its schema is not complete")
	}
	e := &(*rest)[0]
	*rest = (*rest)[1:]
	n := &node{rep: above.rep, slot: above.slot, def: above.def}
	f = arrow.Field{Name: e.Name, Nullable: e.RepetitionType.V == format.Optional}
	if e.FieldID > 0 {
		f.Metadata = arrow.NewMetadata([]string{FieldID}, []string{strconv.Itoa(int(e.FieldID))})
	}
	if f.Nullable {
		n.def++
	}
	first, inside := len(r.leaves), *n
	_, list := e.LogicalType.Value.(*format.ListType)
	switch {
	case list:
		if len(*rest) == 0 || (*rest)[0].RepetitionType.V != format.Repeated || (*rest)[0].NumChildren.V != 1 {
			return f, nil, foreign("list %s is in another form", e.Name)
		}
		*rest = (*rest)[1:]
		inside.rep++
		inside.def++
		inside.slot = inside.def
		element, below, err := r.node(rest, inside, depth+1)
		if err != nil {
			return f, nil, err
		}
		n.below, f.Type = []*node{below}, arrow.ListOfField(element)
	case e.NumChildren.V > 0:
		var fields []arrow.Field
		for range e.NumChildren.V {
			field, below, err := r.node(rest, inside, depth+1)
			if err != nil {
				return f, nil, err
			}
			fields, n.below = append(fields, field), append(n.below, below)
		}
		f.Type = arrow.StructOf(fields...)
	default:
		if f.Type = typeOf(e); f.Type == nil {
			return f, nil, foreign("column %s has a type that is not written", e.Name)
		}
		r.leaves = append(r.leaves, &leafReader{file: r, index: len(r.leaves), physical: e.Type.V, rep: n.rep, def: n.def})
	}
	n.leaf, n.typ = r.leaves[first], f.Type
	return f, n, nil
}

// typeOf returns the type of a column's values: what typed makes of it. It returns nil for others.
func typeOf(e *format.SchemaElement) arrow.DataType {
	for _, t := range []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.String,
	} {
		var want format.SchemaElement
		if typed(&want, t.ID()) && want.Type == e.Type && want.ConvertedType == e.ConvertedType {
			return t
		}
	}
	return nil
}

// build makes an array of what the leaves have taken.
func (n *node) build() (arrow.ArrayData, error) {
	l := n.leaf
	b := &arrayBuilder{kind: n.typ.ID()}
	value, items := 0, 0
	for i := range l.entries() {
		rep, def := l.levels(i)
		if def >= l.def && n.below == nil { // a value, which belongs to a place
			value++
		}
		element := len(n.below) == 1 && b.kind == arrow.LIST && rep <= n.rep+1 && def > n.def
		if rep <= n.rep && def >= n.slot {
			b.place(def >= n.def, items)
			if n.below == nil && def >= l.def {
				b.value(l, value-1)
			}
		}
		if element {
			items++
		}
	}
	b.end(items)
	for _, below := range n.below {
		data, err := below.build()
		if err != nil {
			return nil, err
		}
		if want := b.length(items); data.Len() != want {
			return nil, foreign("columns of one struct or list have different numbers of values")
		}
		b.below = append(b.below, data)
	}
	return b.data(n.typ)
}

// take takes n rows.
func (l *leafReader) take(n int) error {
	l.taken = entries{rep: l.taken.rep[:0], def: l.taken.def[:0], numbers: l.taken.numbers[:0], texts: l.taken.texts[:0]}
	for n > 0 {
		if l.page.count == l.at {
			if err := l.next(); err != nil {
				return err
			}
			continue
		}
		to := l.page.count
		if l.rep == 0 {
			to = min(to, l.at+n)
			n -= to - l.at
		} else {
			for i := l.at; i < to; i++ {
				if l.page.rep[i] != 0 {
					continue
				}
				if n == 0 {
					to = i
					break
				}
				n--
			}
		}
		l.move(to)
	}
	// The rest of the last row is on the same page: rows are not divided.
	if l.rep > 0 {
		to := l.at
		for to < l.page.count && l.page.rep[to] != 0 {
			to++
		}
		l.move(to)
	}
	return nil
}

// move takes the entries of the page up to one.
func (l *leafReader) move(to int) {
	values := to - l.at
	if l.def > 0 {
		values = 0
		for _, def := range l.page.def[l.at:to] {
			if def == l.def {
				values++
			}
		}
		l.taken.def = append(l.taken.def, l.page.def[l.at:to]...)
	}
	if l.rep > 0 {
		l.taken.rep = append(l.taken.rep, l.page.rep[l.at:to]...)
	}
	if l.physical == format.ByteArray {
		l.taken.texts = append(l.taken.texts, l.page.texts[l.used:l.used+values]...)
	} else {
		l.taken.numbers = append(l.taken.numbers, l.page.numbers[l.used:l.used+values]...)
	}
	l.taken.count += to - l.at
	l.at, l.used = to, l.used+values
}

// entries returns the number of taken entries.
func (l *leafReader) entries() int { return l.taken.count }

// levels returns the levels of a taken entry.
func (l *leafReader) levels(i int) (rep, def uint8) {
	if l.rep > 0 {
		rep = l.taken.rep[i]
	}
	if l.def > 0 {
		def = l.taken.def[i]
	}
	return rep, def
}

// arrayBuilder makes the buffers of an array.
type arrayBuilder struct {
	kind    arrow.Type
	n, null int
	valid   []byte
	offsets []int32 // of lists and texts
	values  []byte
	below   []arrow.ArrayData
}

// place adds a place for a value. items is the number of elements of lists before it.
func (b *arrayBuilder) place(valid bool, items int) {
	if b.n&7 == 0 {
		b.valid = append(b.valid, 0)
	}
	if valid {
		b.valid[b.n>>3] |= 1 << (b.n & 7)
	} else {
		b.null++
	}
	b.n++
	switch b.kind {
	case arrow.LIST:
		b.offsets = append(b.offsets, int32(items))
	case arrow.STRING, arrow.BINARY:
		b.offsets = append(b.offsets, int32(len(b.values)))
	case arrow.BOOL:
		if (b.n-1)&7 == 0 {
			b.values = append(b.values, 0)
		}
	case arrow.STRUCT:
	default:
		b.values = append(b.values, make([]byte, widthOf(b.kind))...)
	}
}

// value sets the value of the last place.
func (b *arrayBuilder) value(l *leafReader, i int) {
	switch b.kind {
	case arrow.STRING, arrow.BINARY:
		b.values = append(b.values, l.taken.texts[i]...)
	case arrow.BOOL:
		b.values[len(b.values)-1] |= byte(l.taken.numbers[i]&1) << ((b.n - 1) & 7)
	default:
		v, w := l.taken.numbers[i], widthOf(b.kind)
		if w == 4 {
			binary.LittleEndian.PutUint32(b.values[len(b.values)-w:], uint32(v))
		} else {
			binary.LittleEndian.PutUint64(b.values[len(b.values)-w:], v)
		}
	}
}

// end adds what comes after the last place.
func (b *arrayBuilder) end(items int) {
	switch b.kind {
	case arrow.LIST:
		b.offsets = append(b.offsets, int32(items))
	case arrow.STRING, arrow.BINARY:
		b.offsets = append(b.offsets, int32(len(b.values)))
	default:
	}
}

// length returns the number of places below this one.
func (b *arrayBuilder) length(items int) int {
	if b.kind == arrow.LIST {
		return items
	}
	return b.n
}

// widthOf returns the bytes of a number.
func widthOf(kind arrow.Type) int {
	switch kind {
	case arrow.INT32, arrow.UINT32, arrow.FLOAT32, arrow.DATE32:
		return 4
	default:
		return 8
	}
}

// maxTexts is the most bytes of the texts of one array.
const maxTexts = 1 << 30

// data returns the array.
func (b *arrayBuilder) data(t arrow.DataType) (arrow.ArrayData, error) {
	if len(b.values) > maxTexts {
		return nil, foreign("texts of %d bytes in a few rows", len(b.values))
	}
	buffers := buffersOf(slices.Clip(b.valid), b.null == 0)
	switch b.kind {
	case arrow.STRUCT:
	case arrow.LIST:
		buffers = append(buffers, bufferOf(arrow.Int32Traits.CastToBytes(b.offsets)))
	case arrow.STRING, arrow.BINARY:
		buffers = append(buffers, bufferOf(arrow.Int32Traits.CastToBytes(b.offsets)), bufferOf(b.values))
	default:
		buffers = append(buffers, bufferOf(b.values))
	}
	return array.NewData(t, b.n, buffers, b.below, b.null, 0), nil
}
