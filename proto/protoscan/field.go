package protoscan

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is one field of a message.
type Field struct {
	Number protowire.Number
	Type   protowire.Type
	Value  uint64 // of a number as encoded: zigzag and the like are not undone
	Bytes  []byte // of a string, bytes, a message or a packed list; they belong to the message
}

// Next takes the first field off a message, which is not empty. ok reports whether there is one.
func Next(b []byte) (f Field, rest []byte, ok bool) {
	number, typ, value, from, to := First(b)
	if to < 0 {
		return f, nil, false
	}
	f = Field{Number: number, Type: typ, Value: value}
	if typ == protowire.BytesType {
		f.Bytes = b[from:to:to]
	}
	return f, b[to:], true
}

// First reads what Next does. The field ends at b[to], and its Bytes, if it has some, are b[from:to]. If there is no field, to is -1.
//
// It runs for every field of every event that is printed: all that it returns fits into registers, as a Field does not, and values
// below 128 and field numbers below 16, which are nearly all, take no loop.
func First(b []byte) (number protowire.Number, typ protowire.Type, value uint64, from, to int) {
	if len(b) < 2 {
		return 0, 0, 0, 0, -1
	}
	tag, from := uint64(b[0]), 1
	if tag >= 0x80 {
		tag, from = VarintAt(b, 0)
	}
	if from < 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return 0, 0, 0, 0, -1
	}
	number, typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	switch typ {
	case protowire.VarintType, protowire.BytesType:
		if to = from + 1; from < len(b) && b[from] < 0x80 {
			value = uint64(b[from])
		} else {
			value, to = VarintAt(b, from)
		}
		if typ == protowire.VarintType || to < 0 {
			return number, typ, value, to, to
		}
		if value > uint64(len(b)-to) {
			return 0, 0, 0, 0, -1
		}
		return number, typ, 0, to, to + int(value)
	case protowire.Fixed32Type, protowire.Fixed64Type:
		value, rest, ok := Number(typ, b[from:])
		if !ok {
			return 0, 0, 0, 0, -1
		}
		return number, typ, value, len(b) - len(rest), len(b) - len(rest)
	default:
		n := protowire.ConsumeFieldValue(number, typ, b[from:])
		if n < 0 {
			return 0, 0, 0, 0, -1
		}
		return number, typ, 0, from + n, from + n
	}
}

// Number reads the number at the beginning of b, an element of a packed list of a type: a varint, or four or eight bytes.
func Number(typ protowire.Type, b []byte) (v uint64, rest []byte, ok bool) {
	switch {
	case typ == protowire.VarintType:
		return Varint(b)
	case typ == protowire.Fixed32Type && len(b) >= 4:
		return uint64(binary.LittleEndian.Uint32(b)), b[4:], true
	case typ == protowire.Fixed64Type && len(b) >= 8:
		return binary.LittleEndian.Uint64(b), b[8:], true
	}
	return 0, nil, false
}

// Varint reads the varint at the beginning of b.
func Varint(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	v, end := VarintAt(b, 0)
	if end < 0 {
		return 0, nil, false
	}
	return v, b[end:], true
}

// VarintAt reads the varint at b[i:] and returns its end, or -1. Callers have looked at its first byte: it is 0x80 or more, or
// missing.
func VarintAt(b []byte, i int) (v uint64, end int) {
	if i+1 < len(b) && b[i+1] < 0x80 {
		return uint64(b[i]&0x7f) | uint64(b[i+1])<<7, i + 2
	}
	if i > len(b) {
		return 0, -1
	}
	v, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return 0, -1
	}
	return v, i + n
}
