// Package unpack decompresses what demos compress: records and string tables. The size that the compressed data declares
// is checked before anything is allocated.
package unpack

import (
	"errors"

	"github.com/golang/snappy"
)

// MaxRatio bounds how many times its compressed size a snappy block can have: a copy of 3 bytes makes 64.
const MaxRatio = 24

var errInflate = errors.New("snappy: the declared size cannot be")

// Snappy decompresses a snappy block into dst, which it grows as needed, and returns it. It returns an error when the block
// is corrupt or has more than limit bytes.
func Snappy(dst, src []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst[:0], err
	}
	if n > limit || n > MaxRatio*len(src) {
		return dst[:0], errInflate
	}
	if cap(dst) < n {
		dst = make([]byte, Roomy(n))
	}
	return snappy.Decode(dst[:cap(dst)], src)
}

// Roomy returns the capacity to allocate for a reused buffer that must hold n bytes now and may soon hold a little more.
func Roomy(n int) int { return n + min(n/4, 1<<20) }
