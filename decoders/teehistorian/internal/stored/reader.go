// Package stored reads the saved states of teehistorian's decoders and facts. They may be damaged or forged.
package stored

import (
	"encoding/binary"
	"math"
)

// Reader reads the parts of a state, one after another. After the first failure Bad is set, and results are not valid.
type Reader struct {
	Rest []byte // the bytes that were not read yet
	Bad  bool
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Bytes reads n bytes. They alias the state.
func (r *Reader) Bytes(n int) []byte {
	if n > len(r.Rest) {
		r.Bad = true
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Uint64 reads eight bytes, little-endian.
func (r *Reader) Uint64() uint64 {
	if b := r.Bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int32 reads a signed varint of 32 bits.
func (r *Reader) Int32() int32 { return int32(r.Varint(math.MinInt32, math.MaxInt32)) }

// Varint reads a signed varint. A value outside low to high is a failure.
func (r *Reader) Varint(low, high int64) int64 {
	v, n := binary.Varint(r.Rest)
	if n <= 0 || v < low || v > high {
		r.Bad = true
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Uvarint reads a varint. A value above high is a failure.
func (r *Reader) Uvarint(high uint64) int64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 || v > high {
		r.Bad = true
		return 0
	}
	r.Rest = r.Rest[n:]
	return int64(v)
}
