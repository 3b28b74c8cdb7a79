package demtest

import (
	"encoding/binary"
	"math"
)

// Proto is a protobuf message being written.
type Proto []byte

// Varint adds a field that is a varint: bool, enum, int32, uint64. Negative numbers take ten bytes.
func (p Proto) Varint(field int, v int64) Proto {
	return binary.AppendUvarint(p.tag(field, 0), uint64(v))
}

// Sint adds a field that is a sint32 or sint64.
func (p Proto) Sint(field int, v int64) Proto { return p.Varint(field, v<<1^v>>63) }

// Float adds a float.
func (p Proto) Float(field int, v float32) Proto { return p.Fixed32(field, math.Float32bits(v)) }

// Fixed32 adds a fixed32.
func (p Proto) Fixed32(field int, v uint32) Proto {
	return binary.LittleEndian.AppendUint32(p.tag(field, 5), v)
}

// Fixed64 adds a fixed64.
func (p Proto) Fixed64(field int, v uint64) Proto {
	return binary.LittleEndian.AppendUint64(p.tag(field, 1), v)
}

// Bytes adds bytes, text, or an embedded message.
func (p Proto) Bytes(field int, v []byte) Proto {
	return append(binary.AppendUvarint(p.tag(field, 2), uint64(len(v))), v...)
}

// Text adds text.
func (p Proto) Text(field int, v string) Proto { return p.Bytes(field, []byte(v)) }

func (p Proto) tag(field, typ int) Proto {
	return binary.AppendUvarint(p, uint64(field)<<3|uint64(typ))
}
