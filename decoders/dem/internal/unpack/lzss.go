package unpack

import (
	"encoding/binary"
	"errors"
)

var errLZSS = errors.New("lzss: corrupt data")

// IsLZSS reports whether b is LZSS data. Builds of 2015 compressed string tables with LZSS.
func IsLZSS(b []byte) bool { return len(b) >= 8 && string(b[:4]) == "LZSS" }

// LZSS decompresses LZSS data of at most limit bytes: the word "LZSS", the decompressed size, and groups of eight steps.
// The bits of a group's first byte, lowest first, select the steps: 0 copies a byte of the data, 1 copies up to 16 bytes
// from up to 4096 bytes back. A step that copies one byte from back ends the data.
func LZSS(src []byte, limit int) ([]byte, error) {
	n := int(binary.LittleEndian.Uint32(src[4:]))
	src = src[8:]
	// Two bytes and a bit expand to at most 16 bytes.
	if n > limit || n > 8*len(src) {
		return nil, errLZSS
	}
	dst := make([]byte, 0, n)
	for {
		if len(src) == 0 {
			return nil, errLZSS
		}
		steps := src[0]
		src = src[1:]
		for range 8 {
			if steps&1 == 0 {
				if len(src) == 0 || len(dst) >= n {
					return nil, errLZSS
				}
				dst = append(dst, src[0])
				src = src[1:]
			} else {
				if len(src) < 2 {
					return nil, errLZSS
				}
				back := int(src[0])<<4 | int(src[1]>>4) + 1
				count := int(src[1]&15) + 1
				src = src[2:]
				if count == 1 {
					if len(dst) != n {
						return nil, errLZSS
					}
					return dst, nil
				}
				if back > len(dst) || len(dst)+count > n {
					return nil, errLZSS
				}
				for range count {
					dst = append(dst, dst[len(dst)-back])
				}
			}
			steps >>= 1
		}
	}
}
