package unpack

import (
	"errors"

	"github.com/golang/snappy"
)

// MaxRatio is more than snappy can compress anything: 64 bytes by a copy of 3.
const MaxRatio = 24

var errInflate = errors.New("snappy: the declared size cannot be")

// Snappy decompresses a snappy block into dst, which it grows as needed. The declared length is checked first.
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

// Roomy is what to allocate for n bytes so that a little more need not be allocated anew.
func Roomy(n int) int { return n + min(n/4, 1<<20) }
