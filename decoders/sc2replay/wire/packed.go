package wire

import "encoding/binary"

// Packed reads bit-packed values.
//
// Bits are taken from the least significant end of each byte. If a value spans bytes, its first piece is its most
// significant one.
type Packed struct {
	buf    []byte
	pos    int // in bits
	failed bool
}

// NewPacked returns a reader of buf. The caller must not modify buf while the reader is in use.
func NewPacked(buf []byte) Packed { return Packed{buf: buf} }

// Failed reports whether a read went past the end, or Fail was called.
func (r *Packed) Failed() bool { return r.failed }

// Fail marks the reader as failed. Callers use it for values that are impossible.
func (r *Packed) Fail() { r.failed = true }

// BitPos returns the number of bits consumed.
func (r *Packed) BitPos() int { return r.pos }

// Offset returns the number of bytes consumed. The last one may be consumed only in part.
func (r *Packed) Offset() int { return (r.pos + 7) >> 3 }

// Len returns the total number of bytes.
func (r *Packed) Len() int { return len(r.buf) }

// Remaining returns the number of bits left.
func (r *Packed) Remaining() int { return len(r.buf)<<3 - r.pos }

// Done reports whether everything was consumed, except perhaps some bits of the last byte.
func (r *Packed) Done() bool { return r.pos>>3 >= len(r.buf) }

// Align skips the rest of a byte that was consumed in part.
func (r *Packed) Align() { r.pos = (r.pos + 7) &^ 7 }

// Bits reads n bits, at most 64.
func (r *Packed) Bits(n uint) uint64 {
	if n > 48 {
		// Two reads equal one read only if the first ends at a byte boundary.
		first := 24 - uint(r.pos)&7
		high := r.Bits(first)
		return high<<(n-first) | r.Bits(n-first)
	}
	i, skip := uint(r.pos)>>3, uint(r.pos)&7
	if skip+n <= 8 { // within a byte
		if i >= uint(len(r.buf)) {
			r.failed = r.failed || n > 0
			return 0
		}
		r.pos += int(n)
		return uint64(r.buf[i]>>skip) & (1<<n - 1)
	}
	var w uint64
	if i+8 <= uint(len(r.buf)) {
		w = binary.BigEndian.Uint64(r.buf[i:])
	} else {
		if r.pos+int(n) > len(r.buf)<<3 {
			r.failed = true
			return 0
		}
		for k := range 8 {
			w <<= 8
			if j := int(i) + k; j < len(r.buf) {
				w |= uint64(r.buf[j])
			}
		}
	}
	r.pos += int(n)
	v := w >> 56 >> skip
	n -= 8 - skip
	whole, last := n&^7, n&7
	w <<= 8
	v = v<<whole | w>>(64-whole)
	w <<= whole
	return v<<last | w>>56&(1<<last-1)
}

// Bool reads one bit.
func (r *Packed) Bool() bool {
	i := uint(r.pos) >> 3
	if i >= uint(len(r.buf)) {
		r.failed = true
		return false
	}
	bit := r.buf[i] >> (uint(r.pos) & 7) & 1
	r.pos++
	return bit != 0
}

// Bytes aligns and reads n whole bytes. The result is a slice of the data.
func (r *Packed) Bytes(n int) []byte {
	r.Align()
	i := r.pos >> 3
	if n < 0 || n > len(r.buf)-i {
		r.failed = true
		return nil
	}
	r.pos += n << 3
	return r.buf[i : i+n : i+n]
}

// listWord is the number of bits of a list that form one number.
const listWord = 32

// AppendBits reads a list of n bits and appends them to dst, eight per byte. Bit i of the list becomes bit i%8 of byte
// i/8.
//
// A list is stored as 32-bit numbers and a shorter last one. A number's most significant eight bits are the list's next
// byte, and so on. Fewer than eight bits may remain at its least significant end. They are the list's last byte.
func (r *Packed) AppendBits(dst []byte, n int) []byte {
	if n < 0 || n > r.Remaining() {
		r.failed = true
		return dst
	}
	for ; n > 0; n -= listWord {
		size := min(n, listWord)
		number := r.Bits(uint(size))
		for ; size > 8; size -= 8 {
			dst = append(dst, byte(number>>(size-8)))
		}
		dst = append(dst, byte(number)&(1<<size-1))
	}
	return dst
}

// Delta reads the number of gameloops since the last event. Two bits give the width of the number that follows: 6, 14,
// 22 or 32 bits.
func (r *Packed) Delta() uint32 {
	// It is nearly always one aligned byte.
	if i := uint(r.pos) >> 3; r.pos&7 == 0 && i < uint(len(r.buf)) && r.buf[i]&3 == 0 {
		r.pos += 8
		return uint32(r.buf[i] >> 2)
	}
	switch r.Bits(2) {
	case 0:
		return uint32(r.Bits(6))
	case 1:
		return uint32(r.Bits(14))
	case 2:
		return uint32(r.Bits(22))
	default:
		return uint32(r.Bits(32))
	}
}
