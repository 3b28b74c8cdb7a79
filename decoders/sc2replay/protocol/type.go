package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values, as described in docs/formats/sc2replay.md, "Encodings".
const (
	Invalid  Kind = iota
	Int           // Bits wide, plus Offset
	Bool          // one bit
	Null          // no data
	FourCC        // four bytes
	Optional      // Elem, or nothing
	Blob          // bytes; the length is an integer of Bits plus Offset
	BitArray      // bits; the length is an integer of Bits plus Offset
	Array         // of Elem; the length is an integer of Bits plus Offset
	Choice        // one of Fields; the number is an integer of Bits plus Offset and equals a field's Tag
	Struct        // Fields one after another
)

// Type is the layout of one value. It must not be modified.
type Type struct {
	Kind   Kind
	Bits   uint8 // 0 to 64
	Offset int64
	Elem   *Type
	Fields []Field
}

// Field is a member of a struct or an alternative of a choice.
type Field struct {
	Name string
	// Text is Name. It must not be modified.
	Text []byte
	// Tag is the field's number in the versioned encoding, or NoTag if the table gives none. In a choice it is the
	// number of the alternative.
	Tag  int
	Type *Type
}

// NoTag is the Tag of a field that occurs only in the bit-packed encoding.
const NoTag = -1

// Parent is the name of a field that stands for its struct: its value's fields belong to the struct.
const Parent = "__parent"

// Signed reports whether an integer's values may be negative.
func (t *Type) Signed() bool { return t.Kind == Int && t.Offset < 0 }

// String returns the type in the notation of the tables.
func (t *Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Type) write(b *strings.Builder) {
	switch t.Kind {
	case Int:
		b.WriteString(bounds(t.Bits, t.Offset))
	case Bool:
		b.WriteString("bool")
	case Null:
		b.WriteString("null")
	case FourCC:
		b.WriteString("fourcc")
	case Optional:
		b.WriteByte('?')
		t.Elem.write(b)
	case Blob:
		b.WriteString("blob(" + bounds(t.Bits, t.Offset) + ")")
	case BitArray:
		b.WriteString("bits(" + bounds(t.Bits, t.Offset) + ")")
	case Array:
		b.WriteString("[" + bounds(t.Bits, t.Offset) + "]")
		t.Elem.write(b)
	case Choice:
		b.WriteString("choice(" + bounds(t.Bits, t.Offset) + ")")
		t.writeFields(b, func(f Field) string { return strconv.Itoa(f.Tag) + ":" + f.Name })
	case Struct:
		t.writeFields(b, func(f Field) string {
			if f.Tag == NoTag {
				return f.Name
			}
			return f.Name + "#" + strconv.Itoa(f.Tag)
		})
	default:
		b.WriteString("invalid")
	}
}

func (t *Type) writeFields(b *strings.Builder, name func(Field) string) {
	b.WriteByte('{')
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(f) + " ")
		f.Type.write(b)
	}
	b.WriteByte('}')
}

// bounds formats an integer: u8, i32 (whose negative offset is half of the range), u4+1.
func bounds(bits uint8, offset int64) string {
	switch {
	case offset == 0:
		return fmt.Sprintf("u%d", bits)
	case bits > 0 && offset == -1<<(bits-1):
		return fmt.Sprintf("i%d", bits)
	default:
		return fmt.Sprintf("u%d%+d", bits, offset)
	}
}
