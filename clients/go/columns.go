package replayd

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
)

// Columns holds a batch's events of one kind as arrays, one for each field. The daemon sends them with ENCODING_COLUMNS. The
// format's messages whose names end in "Columns" define which kinds have columns and the names of the arrays.
//
// Each Append method decodes one array; the other arrays cost nothing. Columns are immutable.
type Columns struct {
	typ    *columnType
	wire   []byte
	arrays [][]byte // the packed arrays, in the order of columnType.fields
	len    int
}

// Columns returns the events of a kind as columns, or nil if the batch has no columns of that kind.
func (b *Batch) Columns(kind string) *Columns {
	for i := range b.columns {
		if b.columns[i].typ.kind == kind {
			return &b.columns[i]
		}
	}
	return nil
}

// Kind returns the name of the events' kind.
func (c *Columns) Kind() string { return c.typ.kind }

// Len returns the number of events, which is the length of each array.
func (c *Columns) Len() int { return c.len }

// Message unmarshals all arrays into the generated message, such as a *teehistorianv1.PlayerDiffColumns.
func (c *Columns) Message() (proto.Message, error) {
	m := c.typ.message.New().Interface()
	if err := proto.Unmarshal(c.wire, m); err != nil {
		return nil, fmt.Errorf("replayd: %w", err)
	}
	return m, nil
}

// AppendInt32 appends the array of that name to dst. Its type must be int32, sint32, sfixed32 or an enum.
func (c *Columns) AppendInt32(dst []int32, name string) ([]int32, error) {
	f, array, err := c.array(name)
	if err != nil {
		return dst, err
	}
	switch f.kind {
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		return appendVarints(dst, array, c.len)
	case protoreflect.Sint32Kind:
		from := len(dst)
		if dst, err = appendVarints(dst, array, c.len); err != nil {
			return dst, err
		}
		for i, v := range dst[from:] {
			dst[from+i] = int32(uint32(v)>>1) ^ -(v & 1)
		}
		return dst, nil
	case protoreflect.Sfixed32Kind:
		return appendFixed(dst, array, c.len, func(v uint32) int32 { return int32(v) }), nil
	}
	return dst, c.mistyped(name, f)
}

// AppendUint32 appends the array of that name to dst. Its type must be uint32 or fixed32. One such array is "place", which holds
// the index of each event in the batch. The event's sequence number is the batch's First plus its place.
func (c *Columns) AppendUint32(dst []uint32, name string) ([]uint32, error) {
	f, array, err := c.array(name)
	if err != nil {
		return dst, err
	}
	switch f.kind {
	case protoreflect.Uint32Kind:
		return appendVarints(dst, array, c.len)
	case protoreflect.Fixed32Kind:
		return appendFixed(dst, array, c.len, func(v uint32) uint32 { return v }), nil
	}
	return dst, c.mistyped(name, f)
}

// AppendBool appends the array of that name to dst. Its type must be bool.
func (c *Columns) AppendBool(dst []bool, name string) ([]bool, error) {
	f, array, err := c.array(name)
	if err != nil {
		return dst, err
	}
	if f.kind != protoreflect.BoolKind {
		return dst, c.mistyped(name, f)
	}
	for range c.len {
		v, rest, ok := protoscan.Varint(array)
		if !ok {
			return dst, errMalformed
		}
		dst, array = append(dst, v != 0), rest
	}
	return dst, nil
}

// AppendFloat32 appends the array of that name to dst. Its type must be float.
func (c *Columns) AppendFloat32(dst []float32, name string) ([]float32, error) {
	f, array, err := c.array(name)
	if err != nil {
		return dst, err
	}
	if f.kind != protoreflect.FloatKind {
		return dst, c.mistyped(name, f)
	}
	return appendFixed(dst, array, c.len, math.Float32frombits), nil
}

func (c *Columns) array(name string) (*columnField, []byte, error) {
	for i := range c.typ.fields {
		if f := &c.typ.fields[i]; f.name == name {
			return f, c.arrays[i], nil
		}
	}
	return nil, nil, fmt.Errorf("replayd: %s has no field %q", c.typ.message.Descriptor().FullName(), name)
}

func (c *Columns) mistyped(name string, f *columnField) error {
	return fmt.Errorf("replayd: %s.%s is of type %v", c.typ.message.Descriptor().FullName(), name, f.kind)
}

// continuationBits masks the continuation bit of each of eight bytes of varints.
const continuationBits = 0x8080808080808080

// appendVarints decodes n varints. Most are a single byte; eight of those in a row are decoded together.
func appendVarints[T int32 | uint32](dst []T, array []byte, n int) ([]T, error) {
	from := len(dst)
	dst = append(dst, make([]T, n)...)
	for out := dst[from:]; len(out) > 0; {
		if len(array) >= 8 && len(out) >= 8 {
			if v := binary.LittleEndian.Uint64(array); v&continuationBits == 0 {
				for i := range out[:8] {
					out[i] = T(byte(v >> (8 * i)))
				}
				array, out = array[8:], out[8:]
				continue
			}
			if array[0] >= 0x80 && array[1] < 0x80 { // most longer varints have two bytes
				out[0] = T(array[0]&0x7f) | T(array[1])<<7
				array, out = array[2:], out[1:]
				continue
			}
		}
		v, rest, ok := protoscan.Varint(array)
		if !ok {
			return dst[:from], errMalformed
		}
		out[0] = T(v)
		array, out = rest, out[1:]
	}
	return dst, nil
}

func appendFixed[T any](dst []T, array []byte, n int, convert func(uint32) T) []T {
	for i := range n { // newColumns has checked the length
		dst = append(dst, convert(binary.LittleEndian.Uint32(array[4*i:])))
	}
	return dst
}

// columnType describes a Columns message of the .proto.
type columnType struct {
	kind    string
	message protoreflect.MessageType
	fields  []columnField
	small   [64]int8 // by field number: index in fields plus 1, or 0
	place   int      // index of the array "place" in fields
	row     []rowPart
}

// columnField is one array.
type columnField struct {
	name   string
	number protowire.Number
	kind   protoreflect.Kind
	typ    protowire.Type // of an element
}

// rowPart is a field of an event that is rebuilt from columns: a number from an array, or a message of further parts.
type rowPart struct {
	tag    uint64
	field  int // index in columnType.fields
	inner  []rowPart
	nested bool
}

const placeField = "place"

// newColumnType finds the event field of each array. "at_tick" is a field of Event itself, and "place" is not a field. Each other
// array has the name of a field in the kind's message. Names of fields in nested messages are joined by "_".
func newColumnType(event, columns protoreflect.MessageDescriptor) (*columnType, bool) {
	t := &columnType{message: messageType(columns), place: -1}
	var kind protoreflect.FieldDescriptor
	fields := event.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() != nil && f.ContainingOneof() != nil && f.Message().Name()+"Columns" == columns.Name() {
			kind = f
		}
	}
	if kind == nil {
		return nil, false
	}
	t.kind = string(kind.Name())
	inner := rowPart{tag: protowire.EncodeTag(kind.Number(), protowire.BytesType), nested: true}
	for i := range columns.Fields().Len() {
		f := columns.Fields().Get(i)
		typ, ok := elementType(f.Kind())
		if !f.IsList() || !ok || int(f.Number()) >= len(t.small) {
			return nil, false
		}
		t.fields = append(t.fields, columnField{string(f.Name()), f.Number(), f.Kind(), typ})
		t.small[f.Number()] = int8(i + 1)
		switch name := string(f.Name()); {
		case name == placeField:
			t.place = i
		case name == "at_tick" && fields.ByName("at_tick") != nil:
			tag := protowire.EncodeTag(fields.ByName("at_tick").Number(), typ)
			t.row = append(t.row, rowPart{tag: tag, field: i})
		case !inner.add(kind.Message(), name, i, typ):
			return nil, false
		}
	}
	t.row = append(t.row, inner)
	return t, t.place >= 0
}

// add adds the part for the array called name, which is a field of m or of a message nested in m. It reports whether m has it.
func (p *rowPart) add(m protoreflect.MessageDescriptor, name string, field int, typ protowire.Type) bool {
	if f := m.Fields().ByName(protoreflect.Name(name)); f != nil && f.Message() == nil {
		p.inner = append(p.inner, rowPart{tag: protowire.EncodeTag(f.Number(), typ), field: field})
		return true
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		rest, ok := strings.CutPrefix(name, string(f.Name())+"_")
		if !ok || f.Message() == nil {
			continue
		}
		tag := protowire.EncodeTag(f.Number(), protowire.BytesType)
		for j := range p.inner {
			if p.inner[j].tag == tag {
				return p.inner[j].add(f.Message(), rest, field, typ)
			}
		}
		nested := rowPart{tag: tag, nested: true}
		if nested.add(f.Message(), rest, field, typ) {
			p.inner = append(p.inner, nested)
			return true
		}
	}
	return false
}

func elementType(k protoreflect.Kind) (protowire.Type, bool) {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return 0, false
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type, true
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type, true
	default:
		return protowire.VarintType, true
	}
}

// newColumns parses a Columns message and checks that all arrays have the same length.
func newColumns(t *columnType, wire []byte) (Columns, error) {
	c := Columns{typ: t, wire: wire, arrays: make([][]byte, len(t.fields)), len: -1}
	for b := wire; len(b) > 0; {
		field, rest, ok := protoscan.Next(b)
		if !ok {
			return c, errMalformed
		}
		b = rest
		if int(field.Number) >= len(t.small) || t.small[field.Number] == 0 || field.Type != protowire.BytesType {
			continue
		}
		c.arrays[t.small[field.Number]-1] = field.Bytes
	}
	for i, array := range c.arrays {
		var n int
		switch t.fields[i].typ {
		case protowire.Fixed32Type:
			n = len(array) / 4
		case protowire.Fixed64Type:
			n = len(array) / 8
		default:
			n = countVarints(array)
		}
		if c.len >= 0 && n != c.len {
			return c, fmt.Errorf("%w: columns of different lengths", errMalformed)
		}
		c.len = n
	}
	return c, nil
}

// countVarints returns the number of varints in b: the number of bytes that end one.
func countVarints(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		// Each byte without a continuation bit gives a 1. The multiplication sums them in the highest byte.
		ends := ^binary.LittleEndian.Uint64(b) & continuationBits >> 7
		n += int(ends * 0x0101010101010101 >> 56)
	}
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// cell is the source of one event of a batch with columns.
type cell struct {
	columns int32 // index in Batch.columns plus 1; 0 for an event that is not in columns
	row     int32
}

// eachOfColumns is each for a batch with columns. It rebuilds the bytes of the events in columns.
func (b *Batch) eachOfColumns(yield func(Event, error) bool) bool {
	cells := make([]cell, b.Len())
	values := make([][][]uint64, len(b.columns))
	for i := range b.columns {
		c := &b.columns[i]
		var ok bool
		if values[i], ok = c.values(); !ok {
			yield(Event{}, errMalformed)
			return false
		}
		for row, place := range values[i][c.typ.place] {
			if place >= uint64(len(cells)) || cells[place].columns != 0 {
				yield(Event{}, fmt.Errorf("%w: columns with invalid places", errMalformed))
				return false
			}
			cells[place] = cell{int32(i + 1), int32(row)}
		}
	}
	var made []byte
	e := Event{Sequence: b.First, State: b.State, batch: b}
	list := b.list
	for _, from := range cells {
		var wire []byte
		if from.columns == 0 {
			var ok bool
			if wire, list, ok = nextRow(list); !ok || wire == nil {
				yield(Event{}, errMalformed)
				return false
			}
		} else {
			if cap(made)-len(made) < maxRow { // events may be kept, so their memory is never reused
				made = make([]byte, 0, rowsChunk)
			}
			at := len(made)
			made = appendRow(made, b.columns[from.columns-1].typ.row, values[from.columns-1], from.row)
			wire = made[at:len(made):len(made)]
		}
		if !e.parse(wire) {
			yield(Event{}, errMalformed)
			return false
		}
		if !yield(e, nil) {
			return false
		}
		if !b.State {
			e.Sequence++
		}
	}
	return true
}

const (
	rowsChunk = 16 << 10
	maxRow    = 64 * 12 // 64 fields, each a tag and at most 10 bytes
)

// values decodes all arrays to wire values, without undoing zigzag or float encodings.
func (c *Columns) values() ([][]uint64, bool) {
	all := make([]uint64, len(c.arrays)*c.len)
	values := make([][]uint64, len(c.arrays))
	for i, array := range c.arrays {
		values[i], all = all[:c.len:c.len], all[c.len:]
		at := 0
		for j := range values[i] {
			switch c.typ.fields[i].typ {
			case protowire.Fixed32Type:
				values[i][j] = uint64(binary.LittleEndian.Uint32(array[4*j:]))
			case protowire.Fixed64Type:
				values[i][j] = binary.LittleEndian.Uint64(array[8*j:])
			default:
				if values[i][j] = uint64(array[at]); values[i][j] < 0x80 {
					at++
				} else if values[i][j], at = protoscan.VarintAt(array, at); at < 0 {
					return nil, false
				}
			}
		}
	}
	return values, true
}

// appendRow appends an event's wire bytes. It omits numbers that are 0, as protobuf does.
func appendRow(b []byte, parts []rowPart, values [][]uint64, row int32) []byte {
	for i := range parts {
		p := &parts[i]
		if p.nested {
			b = protowire.AppendVarint(b, p.tag)
			at := len(b) + 1
			b = appendRow(append(b, 0), p.inner, values, row)
			if n := len(b) - at; n < 0x80 {
				b[at-1] = byte(n)
			} else { // the length needs more than the one byte reserved for it
				size := protowire.SizeVarint(uint64(n))
				b = append(b, make([]byte, size-1)...)
				copy(b[at-1+size:], b[at:at+n])
				protowire.AppendVarint(b[:at-1], uint64(n))
			}
			continue
		}
		v := values[p.field][row]
		if v == 0 {
			continue
		}
		b = protowire.AppendVarint(b, p.tag)
		switch protowire.Type(p.tag & 7) {
		case protowire.Fixed32Type:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case protowire.Fixed64Type:
			b = binary.LittleEndian.AppendUint64(b, v)
		default:
			b = protowire.AppendVarint(b, v)
		}
	}
	return b
}
