package tablefile

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// perBlock is how many numbers share a width.
const perBlock = 256

// narrow appends numbers, most of which are close to those beside them: of each block the least one, and the differences to it in as few
// bytes as the largest of them takes. It takes a fifth of the time of compression. widen is the reverse.
func narrow[T int32 | int64](to []byte, v []T) []byte {
	for len(v) > 0 {
		block := v[:min(len(v), perBlock)]
		v = v[len(block):]
		least, most := block[0], block[0]
		for _, n := range block {
			least, most = min(least, n), max(most, n)
		}
		width := bytesOf(uint64(most) - uint64(least))
		to = binary.LittleEndian.AppendUint64(append(to, byte(width)), uint64(least))
		at := len(to)
		to = grown(to, width*len(block))
		switch part := to[at:]; width {
		case 0:
		case 1:
			lower(part, block, least)
		case 2:
			lower(numbersOf[uint16](part), block, least)
		case 4:
			lower(numbersOf[uint32](part), block, least)
		default:
			lower(numbersOf[uint64](part), block, least)
		}
	}
	return to
}

// widen fills v with numbers that narrow has appended.
func widen[T int32 | int64](v []T, from []byte) {
	for len(v) > 0 {
		block := v[:min(len(v), perBlock)]
		v = v[len(block):]
		width, least := int(from[0]), T(binary.LittleEndian.Uint64(from[1:]))
		part := from[9:][:width*len(block)]
		from = from[9+len(part):]
		switch width {
		case 0:
			for i := range block {
				block[i] = least
			}
		case 1:
			raise(block, part, least)
		case 2:
			raise(block, numbersOf[uint16](part), least)
		case 4:
			raise(block, numbersOf[uint32](part), least)
		default:
			raise(block, numbersOf[uint64](part), least)
		}
	}
}

func lower[W uint8 | uint16 | uint32 | uint64, T int32 | int64](to []W, v []T, least T) {
	to = to[:len(v)] // the compiler knows then that each number has a place
	for i, n := range v {
		to[i] = W(n - least)
	}
}

func raise[W uint8 | uint16 | uint32 | uint64, T int32 | int64](v []T, from []W, least T) {
	from = from[:len(v)]
	for i := range v {
		v[i] = least + T(from[i])
	}
}

// numbersOf returns bytes as numbers, which are in the memory as this machine has them.
func numbersOf[W uint16 | uint32 | uint64](b []byte) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(W(0))))
}

func bytesOf(spread uint64) int {
	switch {
	case spread == 0:
		return 0
	case spread <= math.MaxUint8:
		return 1
	case spread <= math.MaxUint16:
		return 2
	case spread <= math.MaxUint32:
		return 4
	}
	return 8
}

// grown returns a slice with more bytes, of any value.
func grown(b []byte, more int) []byte {
	if cap(b)-len(b) < more {
		b = append(b, make([]byte, more)...)
		return b
	}
	return b[:len(b)+more]
}
