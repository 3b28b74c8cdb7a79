package teehistorian

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// varint decodes the integer in the lowest bytes of x, which holds the next 8 bytes in little-endian order. It returns
// the value, its length of 1 to 5 bytes, and whether the encoding differs from the servers': longer than needed, or
// with padding bits set. No encoding is invalid. See docs/formats/teehistorian.md, "Integers".
func varint(x uint64) (v int32, n int, odd bool) {
	n = bits.TrailingZeros64(^x&0x80808080|1<<39)/8 + 1 // the fifth byte ends it whatever its top bit says
	x &= 1<<(8*n) - 1
	odd = n > 1 && x>>(8*n-8) == 0 || x>>36 != 0
	magnitude := x&0x3f | x&0x7f00>>2 | x&0x7f0000>>3 | x&0x7f000000>>4 | x&0x0f00000000>>5
	return int32(uint32(magnitude)) ^ -int32(x>>6&1), n, odd
}

// short decodes an integer of one byte whose top bit is clear.
func short(b byte) int32 { return int32(b&0x3f) ^ -int32(b>>6) }

// cursor reads the primitives of the format from bytes that may end anywhere. A read beyond the end sets cut and
// returns an invalid result, and so do all later reads.
type cursor struct {
	b      []byte
	p      int  // next byte to read
	fields int  // reads so far, including the one that was cut
	cut    bool // the bytes ended inside a field
	odd    bool // an integer has an unusual encoding
}

// int reads an integer.
func (c *cursor) int() int32 {
	if c.cut {
		return 0
	}
	c.fields++
	rest := c.b[c.p:]
	var x uint64
	if len(rest) >= 8 {
		x = binary.LittleEndian.Uint64(rest)
	} else {
		var last [8]byte // a zero after the end terminates the integer, whose length then exceeds the rest
		copy(last[:], rest)
		x = binary.LittleEndian.Uint64(last[:])
	}
	v, n, odd := varint(x)
	if n > len(rest) {
		c.cut = true
		return 0
	}
	c.odd = c.odd || odd
	c.p += n
	return v
}

// bool reads an integer as a boolean.
func (c *cursor) bool() bool { return c.int() != 0 }

// string reads up to a NUL and returns the bytes before it.
func (c *cursor) string() []byte {
	if c.cut {
		return nil
	}
	c.fields++
	n := bytes.IndexByte(c.b[c.p:], 0)
	if n < 0 {
		c.cut = true
		return nil
	}
	s := c.b[c.p : c.p+n : c.p+n]
	c.p += n + 1
	return s
}

// bytes reads n bytes.
func (c *cursor) bytes(n int) []byte {
	if c.cut {
		return nil
	}
	c.fields++
	if n > len(c.b)-c.p {
		c.cut = true
		return nil
	}
	s := c.b[c.p : c.p+n : c.p+n]
	c.p += n
	return s
}

// uuid reads a UUID.
func (c *cursor) uuid() (u UUID) {
	copy(u[:], c.bytes(len(u)))
	return u
}

// rest returns the number of bytes left.
func (c *cursor) rest() int { return len(c.b) - c.p }
