// Package protoappend has the primitives with which the generated appenders append protobuf wire bytes. All functions append
// to b and return the extended slice, like the built-in append.
package protoappend

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/replayd/replayd/decoders"
)

// Varint appends v in base 128.
func Varint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return varint(b, v)
}

func varint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// Sint32 appends v as a sint32.
func Sint32(b []byte, v int32) []byte {
	return Varint(b, uint64(uint32(v<<1)^uint32(v>>31)))
}

// Sint64 appends v as a sint64.
func Sint64(b []byte, v int64) []byte {
	return Varint(b, uint64(v<<1)^uint64(v>>63))
}

// Bool appends v as a bool.
func Bool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Fixed32 appends v as a fixed32.
func Fixed32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }

// Fixed64 appends v as a fixed64.
func Fixed64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// Float appends v as a float.
func Float(b []byte, v float32) []byte { return Fixed32(b, math.Float32bits(v)) }

// Double appends v as a double.
func Double(b []byte, v float64) []byte { return Fixed64(b, math.Float64bits(v)) }

// Time appends the contents of a google.protobuf.Timestamp.
func Time(b []byte, v decoders.Time) []byte {
	const second = 1e6
	seconds, rest := int64(v)/second, int64(v)%second
	if rest < 0 { // the nanoseconds count forward
		seconds, rest = seconds-1, rest+second
	}
	if seconds != 0 {
		b = Varint(append(b, 0x08), uint64(seconds))
	}
	if rest != 0 {
		b = Varint(append(b, 0x10), uint64(rest*1000))
	}
	return b
}

// Bytes appends v with its length.
func Bytes(b, v []byte) []byte {
	return append(Varint(b, uint64(len(v))), v...)
}

// String appends v with its length, as valid UTF-8. Texts in replays may be invalid, and proto3 strings must be valid. Each
// run of invalid bytes becomes one U+FFFD.
func String(b, v []byte) []byte {
	if utf8.Valid(v) {
		return Bytes(b, v)
	}
	b = append(b, 0)
	at := len(b)
	return Close(Text(b, v), at)
}

// Text appends v without its length, as valid UTF-8 in the same way as String.
func Text(b, v []byte) []byte {
	if utf8.Valid(v) {
		return append(b, v...)
	}
	bad := false
	for len(v) > 0 {
		r, n := utf8.DecodeRune(v)
		if r == utf8.RuneError && n == 1 {
			if !bad {
				b = append(b, "\uFFFD"...)
			}
			bad = true
		} else {
			b = append(b, v[:n]...)
			bad = false
		}
		v = v[n:]
	}
	return b
}

// Close sets the length of the field whose contents began at b[at:]. Its caller has appended one byte for the length,
// b[at-1]. If the length needs more bytes, Close moves the contents.
func Close(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	return widen(b, at, n)
}

func widen(b []byte, at, n int) []byte {
	var length [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(length[:], uint64(n))
	b = append(b, length[:k-1]...) // makes room; the values do not matter
	copy(b[at+k-1:], b[at:at+n])
	copy(b[at-1:], length[:k])
	return b
}
