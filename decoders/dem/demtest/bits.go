package demtest

import "math"

// Bits writes a bit stream, lowest bit of each byte first.
type Bits struct {
	buf []byte
	n   int
}

// Bytes returns the written bytes. The last byte is filled up with zero bits.
func (w *Bits) Bytes() []byte { return w.buf }

// Len returns how many bits were written.
func (w *Bits) Len() int { return w.n }

// Bits writes the n lowest bits of v.
func (w *Bits) Bits(v uint64, n int) {
	for n > 0 {
		at := w.n & 7
		if at == 0 {
			w.buf = append(w.buf, 0)
		}
		k := min(n, 8-at) // those that fit into the last byte
		w.buf[w.n>>3] |= byte(v&(1<<k-1)) << at
		w.n, n, v = w.n+k, n-k, v>>k
	}
}

// Bool writes a bit.
func (w *Bits) Bool(v bool) {
	if v {
		w.Bits(1, 1)
	} else {
		w.Bits(0, 1)
	}
}

// Varint writes a base-128 number.
func (w *Bits) Varint(v uint64) {
	for v >= 0x80 {
		w.Bits(v&0x7f|0x80, 8)
		v >>= 7
	}
	w.Bits(v, 8)
}

// Zigzag writes a signed base-128 number.
func (w *Bits) Zigzag(v int64) { w.Varint(uint64(v<<1) ^ uint64(v>>63)) }

// Float32 writes the 32 bits of a float.
func (w *Bits) Float32(v float32) { w.Bits(uint64(math.Float32bits(v)), 32) }

// UBitVar writes a number of 6, 10, 14 or 34 bits.
func (w *Bits) UBitVar(v uint32) {
	switch {
	case v < 1<<4:
		w.Bits(uint64(v), 6)
	case v < 1<<8:
		w.Bits(uint64(v&15)|1<<4|uint64(v>>4)<<6, 10)
	case v < 1<<12:
		w.Bits(uint64(v&15)|2<<4|uint64(v>>4)<<6, 14)
	default:
		w.Bits(uint64(v&15)|3<<4|uint64(v>>4)<<6, 34)
	}
}

// PathNumber writes a number of a field path, of 3, 6, 13, 21 or 35 bits.
func (w *Bits) PathNumber(v uint32) {
	switch {
	case v < 1<<2:
		w.Bits(1|uint64(v)<<1, 3)
	case v < 1<<4:
		w.Bits(2|uint64(v)<<2, 6)
	case v < 1<<10:
		w.Bits(4|uint64(v)<<3, 13)
	case v < 1<<17:
		w.Bits(8|uint64(v)<<4, 21)
	default:
		w.Bits(uint64(v)<<4, 35)
	}
}

// Raw writes bytes.
func (w *Bits) Raw(b []byte) {
	shift := w.n & 7
	w.n += 8 * len(b)
	if shift == 0 {
		w.buf = append(w.buf, b...)
		return
	}
	for _, c := range b {
		w.buf[len(w.buf)-1] |= c << shift
		w.buf = append(w.buf, c>>(8-shift))
	}
}

// CString writes text and a NUL.
func (w *Bits) CString(s string) {
	w.Raw([]byte(s))
	w.Bits(0, 8)
}

// Code writes a code given as text, such as "1101", the first bit first.
func (w *Bits) Code(s string) {
	for _, c := range s {
		w.Bool(c == '1')
	}
}
