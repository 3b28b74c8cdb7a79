package wire

import "encoding/binary"

// Packed reads values that are packed bit by bit.
//
// Bits are taken from the least significant end of a byte; a value that spans bytes is put together with its first piece
// as the most significant one.
type Packed struct {
	buf    []byte
	pos    int // in bits
	failed bool
}

// NewPacked returns a reader of buf, which must not change meanwhile.
func NewPacked(buf []byte) Packed { return Packed{buf: buf} }

// Failed reports whether more was read than there is.
func (r *Packed) Failed() bool { return r.failed }

// Fail makes the reader fail: the caller found that what was read cannot be.
func (r *Packed) Fail() { r.failed = true }

// BitPos is how many bits were consumed.
func (r *Packed) BitPos() int { return r.pos }

// Offset is how many bytes were consumed, the last one maybe in part.
func (r *Packed) Offset() int { return (r.pos + 7) >> 3 }

// Len is how many bytes there are in all.
func (r *Packed) Len() int { return len(r.buf) }

// Remaining is how many bits are left.
func (r *Packed) Remaining() int { return len(r.buf)<<3 - r.pos }

// Done reports whether everything was consumed: at most bits of the last byte are left.
func (r *Packed) Done() bool { return r.pos>>3 >= len(r.buf) }

// Align drops the rest of a byte of which bits were consumed.
func (r *Packed) Align() { r.pos = (r.pos + 7) &^ 7 }

// Bits reads n bits, at most 64.
func (r *Packed) Bits(n uint) uint64 {
	if n > 48 {
		// Two reads are one read only where a byte ends.
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

// Bytes aligns and reads n whole bytes. They are a slice of the data.
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

// listWord is how many bits of a list are one number.
const listWord = 32

// AppendBits reads a list of n bits and appends them to dst, eight to a byte: bit i of the list becomes bit i%8 of byte i/8.
//
// A list is written as numbers of 32 bits, and one of what is left. A number's most significant eight bits are the first of
// its bytes in the list, and so on; fewer than eight at its least significant end are its last one.
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

// Delta reads how many gameloops passed: 2 bits say which of 6, 14, 22 or 32 bits follow.
func (r *Packed) Delta() uint32 {
	// Nearly always it is one aligned byte.
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
