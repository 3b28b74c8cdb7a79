package replayd

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed says that the bytes are no protobuf message of the expected type. It points to a defect of the daemon.
var errMalformed = errors.New("replayd: malformed response")

// wireField is one field of a message on the wire.
type wireField struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // of numbers, as it travels: zigzag and the like are not undone
	bytes  []byte // of strings, bytes, messages and packed lists
}

// next takes the first field off a message. It runs for every event: values below 128 and field numbers below 16, which are
// nearly all, are read without a call.
func next(b []byte) (f wireField, rest []byte, ok bool) {
	tag, b, ok := varint(b)
	if !ok || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return f, nil, false
	}
	f.number, f.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	switch f.typ {
	case protowire.VarintType:
		f.value, b, ok = varint(b)
	case protowire.BytesType:
		var size uint64
		if size, b, ok = varint(b); ok && size <= uint64(len(b)) {
			f.bytes, b = b[:size:size], b[size:]
		} else {
			ok = false
		}
	case protowire.Fixed32Type:
		if ok = len(b) >= 4; ok {
			f.value, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		}
	case protowire.Fixed64Type:
		if ok = len(b) >= 8; ok {
			f.value, b = binary.LittleEndian.Uint64(b), b[8:]
		}
	default:
		n := protowire.ConsumeFieldValue(f.number, f.typ, b)
		if ok = n >= 0; ok {
			b = b[n:]
		}
	}
	return f, b, ok
}

// varint reads the varint with which b begins.
func varint(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	v, end := varintAt(b, 0)
	if end < 0 {
		return 0, nil, false
	}
	return v, b[end:], true
}

// varintAt reads the varint at b[i:] and returns where it ends, or -1. Callers have looked at its first byte: it is 0x80 or
// more, or it is not there.
func varintAt(b []byte, i int) (v uint64, end int) {
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

// zigzag undoes the encoding of a sint32.
func zigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }
