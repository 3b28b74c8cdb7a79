package sc2replay

import (
	"math"
	"strconv"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// maxFields bounds the number of values in the tree of one event.
const maxFields = 1 << 13

// tree reads events without their own message into trees of named values.
type tree struct {
	left int
}

// packed reads a struct of the bit-packed encoding.
func (t *tree) packed(r *wire.Packed, typ *protocol.Type, dst []Field) []Field {
	t.left = maxFields
	for _, f := range typ.Fields {
		dst = t.packedField(r, f.Text, f.Type, dst)
	}
	return dst
}

func (t *tree) packedField(r *wire.Packed, name []byte, typ *protocol.Type, dst []Field) []Field {
	if typ.Kind == protocol.Optional {
		if !r.Bool() {
			return dst
		}
		typ = typ.Elem
	}
	if t.left--; t.left < 0 || r.Failed() {
		r.Fail()
		return dst
	}
	dst = oneMore(dst)
	f := &dst[len(dst)-1]
	f.Name = name
	switch typ.Kind {
	case protocol.Int:
		f.setInt(int64(r.Bits(uint(typ.Bits)))+typ.Offset, typ)
	case protocol.Bool:
		f.ValueCase, f.BoolValue = FieldValueBoolValue, r.Bool()
	case protocol.Blob:
		f.ValueCase, f.BytesValue = FieldValueBytesValue, r.Bytes(packedSize(r, typ, 8))
	case protocol.FourCC:
		f.ValueCase, f.BytesValue = FieldValueBytesValue, nil
		for range 4 {
			f.BytesValue = append(f.BytesValue, byte(r.Bits(8)))
		}
	case protocol.BitArray:
		n := packedSize(r, typ, 1)
		f.ValueCase, f.BitsValue = FieldValueBitsValue, BitMask{Size: uint32(n), Bits: r.AppendBits(f.BitsValue.Bits, n)}
	case protocol.Array:
		for range packedSize(r, typ, 1) {
			f.Fields = t.packedField(r, nil, typ.Elem, f.Fields)
		}
	case protocol.Struct:
		for _, inner := range typ.Fields {
			f.Fields = t.packedField(r, inner.Text, inner.Type, f.Fields)
		}
	case protocol.Choice:
		number := int(int64(r.Bits(uint(typ.Bits))) + typ.Offset)
		found := false
		for _, alt := range typ.Fields {
			if alt.Tag == number {
				f.Fields, found = t.packedField(r, alt.Text, alt.Type, f.Fields), true
			}
		}
		if !found {
			r.Fail()
		}
	case protocol.Null:
	default:
		r.Fail()
	}
	return dst
}

// oneMore returns fields with another, empty field. It reuses the memory of an earlier field.
func oneMore(fields []Field) []Field {
	n := len(fields)
	if n == cap(fields) {
		return append(fields, Field{})
	}
	fields = fields[:n+1]
	f := &fields[n]
	*f = Field{Fields: f.Fields[:0], BitsValue: BitMask{Bits: f.BitsValue.Bits[:0]}}
	return fields
}

// setInt stores a number of the given type.
func (f *Field) setInt(v int64, typ *protocol.Type) {
	if v < 0 && !typ.Signed() {
		f.ValueCase, f.UintValue = FieldValueUintValue, uint64(v)
		return
	}
	f.ValueCase, f.IntValue = FieldValueIntValue, v
}

// packedSize reads the length of a list whose elements have at least the given number of bits. It checks that enough
// bits are left.
func packedSize(r *wire.Packed, typ *protocol.Type, bits int) int {
	n := int64(r.Bits(uint(typ.Bits))) + typ.Offset
	if n*int64(bits) > int64(r.Remaining()) {
		r.Fail()
		return 0
	}
	return int(n)
}

// versioned reads a value of the versioned encoding. typ gives the names of its fields and may be nil. Fields that it
// does not have are named by their tag.
func (t *tree) versioned(r *wire.Versioned, typ *protocol.Type, dst []Field) []Field {
	t.left = maxFields
	var root Field
	t.versionedValue(r, typ, &root, 0)
	return append(dst, root.Fields...)
}

func (t *tree) versionedValue(r *wire.Versioned, typ *protocol.Type, f *Field, depth int) {
	if t.left--; t.left < 0 || depth > 32 || r.Failed() {
		r.Fail()
		return
	}
	inner := func(name string, typ *protocol.Type) {
		field := Field{Name: []byte(name)}
		t.versionedValue(r, typ, &field, depth+1)
		f.Fields = append(f.Fields, field)
	}
	switch tag := r.Tag(); tag {
	case wire.TagArray:
		for n := r.Count(); n > 0 && !r.Failed(); n-- {
			inner("", elemOf(typ, protocol.Array))
		}
	case wire.TagBits:
		n := r.Int()
		if n < 0 || n > math.MaxInt32 {
			r.Fail()
			return
		}
		f.ValueCase, f.BitsValue = FieldValueBitsValue, BitMask{Size: uint32(n), Bits: r.Bytes(int(n+7) / 8)}
	case wire.TagBlob:
		f.ValueCase, f.BytesValue = FieldValueBytesValue, r.Bytes(r.Count())
	case wire.TagChoice:
		name, alt := fieldOf(typ, protocol.Choice, r.Int())
		inner(name, alt)
	case wire.TagOptional:
		if r.Byte() != 0 {
			t.versionedValue(r, elemOf(typ, protocol.Optional), f, depth+1)
		}
	case wire.TagStruct:
		for n := r.Count(); n > 0 && !r.Failed(); n-- {
			name, field := fieldOf(typ, protocol.Struct, r.Int())
			inner(name, field)
		}
	case wire.TagWord:
		if typ != nil && typ.Kind == protocol.FourCC {
			f.ValueCase, f.BytesValue = FieldValueBytesValue, r.Bytes(4)
			return
		}
		var v uint64
		for _, b := range r.Bytes(4) {
			v = v<<8 | uint64(b)
		}
		f.ValueCase, f.IntValue = FieldValueIntValue, int64(v)
	case wire.TagLong:
		for _, b := range r.Bytes(8) {
			f.UintValue = f.UintValue<<8 | uint64(b)
		}
		f.ValueCase = FieldValueUintValue
	case wire.TagByte:
		if b := r.Byte(); typ != nil && typ.Kind == protocol.Bool {
			f.ValueCase, f.BoolValue = FieldValueBoolValue, b != 0
		} else {
			f.ValueCase, f.IntValue = FieldValueIntValue, int64(b)
		}
	case wire.TagInt:
		f.ValueCase, f.IntValue = FieldValueIntValue, r.Int()
	default:
		r.Fail()
	}
}

// elemOf returns the type of a list's elements, or nil when the table has another kind there.
func elemOf(t *protocol.Type, k protocol.Kind) *protocol.Type {
	if t == nil || t.Kind != k {
		return nil
	}
	return t.Elem
}

// fieldOf returns the name and type of the field with a tag. Unknown fields are named by the tag.
func fieldOf(t *protocol.Type, k protocol.Kind, tag int64) (string, *protocol.Type) {
	if t != nil && t.Kind == k {
		for _, f := range t.Fields {
			if int64(f.Tag) == tag {
				return f.Name, f.Type
			}
		}
	}
	return "#" + strconv.FormatInt(tag, 10), nil
}
