// Package pb reads protobuf messages field by field, without generated code and without copying.
package pb

import (
	"encoding/binary"
	"math"
)

// Reader walks over the fields of a protobuf message. It copies nothing: returned bytes alias the message.
//
//	for m := pb.NewReader(data); m.Next(); {
//		switch m.Num {
//		case 1:
//			name = m.Raw
//		}
//	}
//
// Fields whose wire type is not the expected one read as zero or as no bytes. A message that ends inside a field, or
// that uses groups, sets Bad; the fields before that are good.
type Reader struct {
	Num  int    // the field's number
	Val  uint64 // the value of a varint, fixed32 or fixed64
	Raw  []byte // the contents of a length-delimited field; they alias the message
	Type byte   // its wire type: Varint, Fixed64, Bytes or Fixed32
	Bad  bool   // the message is malformed from here on

	differences bool // fields may have the wire type Reset
	buf         []byte
	shape       *Shape
	log         *Log
}

// NewReader returns a reader of the fields of a message.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Rest returns the bytes that are still to read. They alias the message.
func (m *Reader) Rest() []byte { return m.buf }

// The wire types.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
	// Reset is not part of protobuf. In the differences between two messages, a field of that type has no value.
	Reset = 7
)

// Differences returns a reader of the differences between two messages, in which fields may have the wire type Reset. It is otherwise like
// NewReader.
func Differences(b []byte) Reader { return Reader{buf: b, differences: true} }

// Next moves to the next field. It reports whether there is one.
func (m *Reader) Next() bool {
	for len(m.buf) > 0 {
		b := m.buf
		tag := uint64(b[0])
		if tag < 0x80 {
			b = b[1:]
		} else {
			var n int
			if tag, n = binary.Uvarint(b); n <= 0 {
				return m.Fail()
			}
			b = b[n:]
		}
		num, typ := tag>>3, byte(tag&7)
		if num == 0 || num > 1<<29 {
			return m.Fail()
		}
		m.Num, m.Type = int(num), typ
		switch {
		case typ == Varint && len(b) > 0 && b[0] < 0x80: // most fields
			m.Val, m.Raw, m.buf = uint64(b[0]), nil, b[1:]
		case typ == Bytes && len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b):
			n := int(b[0]) + 1
			m.Val, m.Raw, m.buf = 0, b[1:n], b[n:]
		case !m.value(b):
			return m.Fail()
		}
		if m.shape == nil || m.shape.knows(m.Num, typ) {
			return true
		}
		m.passOver()
	}
	return false
}

// To moves to the next field with a number. It is Next for a message of which only one field is wanted: it passes over others,
// and counts unknown ones.
func (m *Reader) To(num int) bool {
	for {
		m.buf = m.behind(num, m.buf)
		if !m.Next() {
			return false
		}
		if m.Num == num {
			return true
		}
	}
}

// behind returns the rest of b after known fields with other numbers and short heads.
func (m *Reader) behind(num int, b []byte) []byte {
	for len(b) > 1 {
		field, typ := int(b[0]>>3), b[0]&7
		if b[0] >= 0x80 || field == num || field == 0 || m.shape != nil && !m.shape.knows(field, typ) {
			break
		}
		n := 1
		switch typ {
		case Varint:
			for n < len(b) && b[n] >= 0x80 {
				n++
			}
			if n++; n > binary.MaxVarintLen64 {
				return b
			}
		case Bytes:
			if b[1] >= 0x80 {
				return b
			}
			n = 2 + int(b[1])
		case Fixed32:
			n = 5
		default:
			return b
		}
		if n > len(b) {
			break
		}
		b = b[n:]
	}
	return b
}

// value reads the value of a field, at the beginning of b. It returns false if the bytes end inside it, or if messages have no such values.
func (m *Reader) value(b []byte) bool {
	m.Val, m.Raw = 0, nil
	n := 0
	switch m.Type {
	case Varint:
		if m.Val, n = binary.Uvarint(b); n <= 0 {
			return false
		}
	case Bytes:
		size, head := binary.Uvarint(b)
		if head <= 0 || size > uint64(len(b)-head) {
			return false
		}
		n = head + int(size)
		m.Raw = b[head:n]
	case Fixed64:
		if n = 8; len(b) < n {
			return false
		}
		m.Val = binary.LittleEndian.Uint64(b)
	case Fixed32:
		if n = 4; len(b) < n {
			return false
		}
		m.Val = uint64(binary.LittleEndian.Uint32(b))
	case Reset:
		if !m.differences {
			return false
		}
	default:
		return false
	}
	m.buf = b[n:]
	return true
}

// IsMessage reports whether bytes have the form of a message with at least one field. Other bytes may have it, too.
func IsMessage(b []byte) bool {
	m := NewReader(b)
	for m.Next() {
	}
	return !m.Bad && len(b) > 0
}

// Fail marks the message as malformed and ends it. It returns false.
func (m *Reader) Fail() bool {
	m.Bad, m.buf = true, nil
	return false
}

// Uvarint reads a base-128 number. n is 0 when the bytes end inside it, negative when it is too long.
func Uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

// Bool returns the field's value as a bool. It and the following methods are for numbers.
func (m *Reader) Bool() bool { return m.Val != 0 }

// Int32 returns the value of an int32 or an enum.
func (m *Reader) Int32() int32 { return int32(m.Val) }

// Uint32 returns the value of a uint32 or a fixed32.
func (m *Reader) Uint32() uint32 { return uint32(m.Val) }

// Sint32 returns the value of a sint32.
func (m *Reader) Sint32() int32 { return int32(uint32(m.Val)>>1) ^ -int32(m.Val&1) }

// Float32 returns the value of a float.
func (m *Reader) Float32() float32 { return math.Float32frombits(uint32(m.Val)) }

// maxRepeated bounds lists of numbers.
const maxRepeated = 1 << 16

// AppendInt32s appends the values of a repeated number, packed or not. It sets Bad when there are more than 65,536.
func (m *Reader) AppendInt32s(dst []int32) []int32 {
	dst, ok := appendNumbers(dst, m.Type, m.Val, m.Raw)
	m.Bad = m.Bad || !ok
	return dst
}

// AppendUint32s is like AppendInt32s.
func (m *Reader) AppendUint32s(dst []uint32) []uint32 {
	dst, ok := appendNumbers(dst, m.Type, m.Val, m.Raw)
	m.Bad = m.Bad || !ok
	return dst
}

func appendNumbers[T int32 | uint32](dst []T, typ byte, v uint64, packed []byte) (_ []T, ok bool) {
	if typ != Bytes {
		if len(dst) >= maxRepeated {
			return dst, false
		}
		return append(dst, T(v)), true
	}
	for b := packed; len(b) > 0; {
		v, n := Uvarint(b)
		if n <= 0 || len(dst) >= maxRepeated {
			return dst, false
		}
		dst = append(dst, T(v))
		b = b[n:]
	}
	return dst, true
}
