package dem

import (
	"encoding/binary"
	"math"
)

// wire walks over the fields of a protobuf message. It copies nothing: what it returns aliases the message.
//
//	for m := newWire(data); m.next(); {
//		switch m.num {
//		case 1:
//			name = m.data
//		}
//	}
//
// Fields whose wire type is not the expected one read as zero or as no bytes. A message that ends inside a field, or
// that uses groups, sets bad; the fields before are good.
type wire struct {
	buf []byte
	num int    // the field's number
	typ byte   // its wire type
	val uint64 // the value of a varint, fixed32 or fixed64
	raw []byte // the bytes of a length-delimited field
	bad bool
}

// newWire returns a reader of the fields of a message.
func newWire(b []byte) wire { return wire{buf: b} }

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// next moves to the next field.
func (m *wire) next() bool {
	if len(m.buf) == 0 {
		return false
	}
	tag, n := uvarint(m.buf)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
		return m.fail()
	}
	m.buf = m.buf[n:]
	m.num, m.typ, m.val, m.raw = int(tag>>3), byte(tag&7), 0, nil
	switch m.typ {
	case wireVarint:
		v, n := uvarint(m.buf)
		if n <= 0 {
			return m.fail()
		}
		m.val, m.buf = v, m.buf[n:]
	case wireFixed64:
		if len(m.buf) < 8 {
			return m.fail()
		}
		m.val, m.buf = binary.LittleEndian.Uint64(m.buf), m.buf[8:]
	case wireBytes:
		v, n := uvarint(m.buf)
		if n <= 0 || v > uint64(len(m.buf)-n) {
			return m.fail()
		}
		m.raw, m.buf = m.buf[n:n+int(v)], m.buf[n+int(v):]
	case wireFixed32:
		if len(m.buf) < 4 {
			return m.fail()
		}
		m.val, m.buf = uint64(binary.LittleEndian.Uint32(m.buf)), m.buf[4:]
	default:
		return m.fail()
	}
	return true
}

func (m *wire) fail() bool {
	m.bad, m.buf = true, nil
	return false
}

// uvarint reads a base-128 number. n is 0 when the bytes end inside it, negative when it is too long.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

func (m *wire) bool() bool       { return m.val != 0 }
func (m *wire) int32() int32     { return int32(m.val) }
func (m *wire) uint32() uint32   { return uint32(m.val) }
func (m *wire) sint32() int32    { return int32(uint32(m.val)>>1) ^ -int32(m.val&1) }
func (m *wire) float32() float32 { return math.Float32frombits(uint32(m.val)) }

// maxRepeated bounds lists of numbers.
const maxRepeated = 1 << 16

// appendInt32s appends the values of a repeated number, packed or not.
func (m *wire) appendInt32s(dst []int32) []int32 {
	if m.typ != wireBytes {
		if len(dst) >= maxRepeated {
			m.bad = true
			return dst
		}
		return append(dst, m.int32())
	}
	for b := m.raw; len(b) > 0; {
		v, n := uvarint(b)
		if n <= 0 || len(dst) >= maxRepeated {
			m.bad = true
			break
		}
		dst = append(dst, int32(v))
		b = b[n:]
	}
	return dst
}
