// Package bits reads bit streams, least significant bit of each byte first, as in Source 2 demos.
//
// A read never fails. Bits beyond the end read as zero, and [Reader.Overrun] reports afterwards that this happened.
// So a decoder checks once per value or once per record instead of once per bit. A [Reader] never reads memory
// outside its bytes. It is not safe for concurrent use.
package bits

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrOverrun is the error that callers return when Overrun reports true.
var ErrOverrun = errors.New("bits end too early")

// Reader reads bits from a byte slice. The zero value reads an empty one.
type Reader struct {
	buf []byte
	pos int // the next bit
	end int // bits present
}

// New returns a reader of all bits of buf. It does not copy buf.
func New(buf []byte) Reader { return Reader{buf: buf, end: 8 * len(buf)} }

// Reset makes the reader read buf from its first bit.
func (r *Reader) Reset(buf []byte) { *r = New(buf) }

// Cut excludes the bits from end on, counted from the beginning. Reading them counts as reading beyond the end, but may return
// their values.
func (r *Reader) Cut(end int) { r.end = min(r.end, end) }

// Pos returns the number of bits read, including bits beyond the end.
func (r *Reader) Pos() int { return r.pos }

// Seek makes pos the next bit to read, counted in bits from the beginning.
func (r *Reader) Seek(pos int) { r.pos = max(pos, 0) }

// Len returns how many bits are left. It is never negative.
func (r *Reader) Len() int { return max(r.end-r.pos, 0) }

// Overrun reports whether bits beyond the end were read.
func (r *Reader) Overrun() bool { return r.pos > r.end }

// Peek returns at least the next 57 bits, zero-padded, without consuming them. The next bit is the lowest one. Bits
// above the lowest 57 are undefined.
func (r *Reader) Peek() uint64 {
	if i := uint(r.pos) >> 3; i+8 <= uint(len(r.buf)) {
		return binary.LittleEndian.Uint64(r.buf[i:i+8]) >> (r.pos & 7)
	}
	return r.peekTail()
}

// peekTail is Peek within the last eight bytes and beyond.
func (r *Reader) peekTail() uint64 {
	var v uint64
	for k := len(r.buf) - 1; k >= r.pos>>3; k-- {
		v = v<<8 | uint64(r.buf[k])
	}
	return v >> (r.pos & 7)
}

// Skip consumes n bits.
func (r *Reader) Skip(n int) { r.pos += n }

// Bool reads one bit.
func (r *Reader) Bool() bool {
	i := r.pos >> 3
	if i >= len(r.buf) {
		r.pos++
		return false
	}
	b := r.buf[i] >> (r.pos & 7)
	r.pos++
	return b&1 != 0
}

// Bits reads n bits, 0 to 57. The first bit read is the lowest one.
func (r *Reader) Bits(n int) uint64 {
	v := r.Peek() & (1<<(n&63) - 1)
	r.pos += n
	return v
}

// Uint64 reads 64 bits.
func (r *Reader) Uint64() uint64 {
	lo := r.Bits(32)
	return lo | r.Bits(32)<<32
}

// Float32 reads 32 bits as an IEEE 754 number.
func (r *Reader) Float32() float32 { return math.Float32frombits(uint32(r.Bits(32))) }

// UBitVar reads Valve's variable-length number of 6, 10, 14 or 34 bits. It has four bits of value, then two bits that
// give how many more follow.
func (r *Reader) UBitVar() uint32 {
	v, n := UBitVarOf(r.Peek())
	r.pos += n
	return v
}

// UBitVarOf returns the number that UBitVar would read from the bits of w, and how many bits it takes. The next bit is
// the lowest one.
func UBitVarOf(w uint64) (v uint32, n int) {
	more := ubitvarMore[w>>4&3]
	return uint32(w&15) | uint32(w>>6&(1<<(more&31)-1))<<4, 6 + int(more)
}

// ubitvarMore is how many bits follow the first six of a UBitVar.
var ubitvarMore = [4]uint8{0, 4, 8, 28}

// Varuint32 reads a base-128 number of at most five bytes. Bits above the 32nd are dropped.
func (r *Reader) Varuint32() uint32 {
	w := r.Peek()
	if w&0x80 == 0 {
		r.pos += 8
		return uint32(w & 0x7f)
	}
	v := uint32(w & 0x7f)
	n := 8
	for shift := 7; shift < 35; shift += 7 {
		w >>= 8
		v |= uint32(w&0x7f) << shift
		n += 8
		if w&0x80 == 0 {
			break
		}
	}
	r.pos += n
	return v
}

// Varint32 reads a zig-zag encoded base-128 number.
func (r *Reader) Varint32() int32 {
	u := r.Varuint32()
	return int32(u>>1) ^ -int32(u&1)
}

// Varuint64 reads a base-128 number of at most ten bytes. Bits above the 64th are dropped.
func (r *Reader) Varuint64() uint64 {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b := r.Bits(8)
		v |= (b & 0x7f) << (shift & 63)
		if shift == 63 {
			// Only the lowest bit of the tenth byte fits.
			v = v&(1<<63-1) | (b&1)<<63
		}
		if b&0x80 == 0 {
			break
		}
	}
	return v
}

// Varint64 reads a zig-zag encoded base-128 number.
func (r *Reader) Varint64() int64 {
	u := r.Varuint64()
	return int64(u>>1) ^ -int64(u&1)
}

// Append reads n bytes, at any bit position, and appends them to dst. The caller must have checked that they are
// present.
func (r *Reader) Append(dst []byte, n int) []byte {
	if r.pos&7 == 0 {
		i := r.pos >> 3
		if i+n <= len(r.buf) {
			r.pos += 8 * n
			return append(dst, r.buf[i:i+n]...)
		}
	}
	for ; n >= 7; n -= 7 {
		w := r.Peek()
		dst = append(dst, byte(w), byte(w>>8), byte(w>>16), byte(w>>24), byte(w>>32), byte(w>>40), byte(w>>48))
		r.pos += 56
	}
	for ; n > 0; n-- {
		dst = append(dst, byte(r.Bits(8)))
	}
	return dst
}

// Copy reads len(dst) bytes, at any bit position, into dst.
func (r *Reader) Copy(dst []byte) {
	shift := r.pos & 7
	i := r.pos >> 3
	r.pos += 8 * len(dst)
	if shift == 0 {
		n := 0
		if i < len(r.buf) {
			n = copy(dst, r.buf[i:])
		}
		clear(dst[n:])
		return
	}
	// Each eight bytes of the copy need nine bytes of the source.
	for len(dst) >= 8 && i+9 <= len(r.buf) {
		w := binary.LittleEndian.Uint64(r.buf[i:])>>shift | uint64(r.buf[i+8])<<(64-shift)
		binary.LittleEndian.PutUint64(dst, w)
		dst = dst[8:]
		i += 8
	}
	for k := range dst {
		var lo, hi byte
		if i < len(r.buf) {
			lo = r.buf[i]
		}
		if i+1 < len(r.buf) {
			hi = r.buf[i+1]
		}
		dst[k] = lo>>shift | hi<<(8-shift)
		i++
	}
}

// AppendCString reads bytes up to a NUL, or to the end of the bits, and appends them to dst. It consumes the NUL but
// does not append it.
func (r *Reader) AppendCString(dst []byte) []byte {
	for r.pos < r.end {
		b := byte(r.Bits(8))
		if b == 0 {
			break
		}
		dst = append(dst, b)
	}
	return dst
}
