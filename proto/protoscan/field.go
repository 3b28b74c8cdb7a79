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
//
// It runs for every event: values below 128 and field numbers below 16, which are nearly all, take no loop.
func Next(b []byte) (f Field, rest []byte, ok bool) {
	tag, b, ok := Varint(b)
	if !ok || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return f, nil, false
	}
	f.Number, f.Type = protowire.Number(tag>>3), protowire.Type(tag&7)
	switch f.Type {
	case protowire.VarintType:
		f.Value, b, ok = Varint(b)
	case protowire.BytesType:
		var size uint64
		if size, b, ok = Varint(b); ok && size <= uint64(len(b)) {
			f.Bytes, b = b[:size:size], b[size:]
		} else {
			ok = false
		}
	case protowire.Fixed32Type, protowire.Fixed64Type:
		f.Value, b, ok = Number(f.Type, b)
	default:
		n := protowire.ConsumeFieldValue(f.Number, f.Type, b)
		if ok = n >= 0; ok {
			b = b[n:]
		}
	}
	return f, b, ok
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
