// Package unpack decompresses the records and string tables of demos. It checks the size that the compressed data declares
// before it allocates memory.
package unpack

import (
	"errors"

	"github.com/golang/snappy"
)

// MaxRatio is the limit of the decompressed size of a snappy block, as a multiple of its compressed size. A copy element of
// 3 bytes makes 64 bytes.
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
