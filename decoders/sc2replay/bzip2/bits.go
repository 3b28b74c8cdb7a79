package bzip2

import "encoding/binary"

// bitReader reads bits, most significant bit of each byte first. Beyond the end it returns zeros and counts them.
type bitReader struct {
	src  []byte
	i    int    // next byte of src
	acc  uint64 // the next n bits, left-aligned
	n    uint
	past uint // bits returned from beyond the end
}

// fill makes at least 56 bits available. Bits beyond the end are zeros.
func (r *bitReader) fill() {
	if r.i+8 <= len(r.src) {
		r.acc |= binary.BigEndian.Uint64(r.src[r.i:]) >> r.n
		k := (63 - r.n) >> 3
		r.i += int(k)
		r.n += k << 3
		return
	}
	for r.n <= 56 {
		if r.i < len(r.src) {
			r.acc |= uint64(r.src[r.i]) << (56 - r.n)
			r.i++
		} else {
			r.past += 8
		}
		r.n += 8
	}
}

// bits reads up to 48 bits.
func (r *bitReader) bits(n uint) uint64 {
	if r.n < n {
		r.fill()
	}
	v := r.acc >> (64 - n)
	r.acc <<= n
	r.n -= n
	return v
}

// overrun reports whether bits beyond the end were consumed.
func (r *bitReader) overrun() bool { return r.past > r.n }
