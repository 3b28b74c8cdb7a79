package mpq

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/replayd/replayd/decoders"
)

// Methods of compression. They are bits of the byte before packed data.
const (
	methodZlib   = 0x02
	methodBzip2  = 0x10
	methodSparse = 0x20
)

// supported reports whether data of a method can be unpacked: zlib, bzip2, sparse, or sparse after one of the others.
func supported(method byte) bool {
	return method&^(methodZlib|methodBzip2|methodSparse) == 0 && method&(methodZlib|methodBzip2) != methodZlib|methodBzip2
}

// otherMethod is a method of the game that replays do not use.
type otherMethod struct {
	name string
	// begins reports whether data begin like this method's data for so many unpacked bytes.
	begins func(p []byte, size int) bool
}

// otherMethods are all these methods. Any other byte is damaged, and so is one of these before data that begin differently.
var otherMethods = map[byte]otherMethod{
	0x08: {"PKWARE implode", beginsImploded},
	0x12: {"LZMA", beginsLZMA},
	0x41: {"ADPCM mono and Huffman", beginsHuffman},
	0x81: {"ADPCM stereo and Huffman", beginsHuffman},
}

// beginsImploded: a byte for literals, plain or coded, and the number of bits of the dictionary's size.
func beginsImploded(p []byte, _ int) bool {
	return len(p) >= 2 && p[0] <= 1 && 4 <= p[1] && p[1] <= 6
}

// beginsLZMA: no filter, five bytes of properties, and the size.
func beginsLZMA(p []byte, size int) bool {
	const properties, sizeAt, end = 9 * 5 * 5, 6, 14
	if len(p) < end || p[0] != 0 || p[1] >= properties {
		return false
	}
	n := binary.LittleEndian.Uint64(p[sizeAt:])
	return n == uint64(size) || n == math.MaxUint64
}

// beginsHuffman: one of nine tables of frequencies.
func beginsHuffman(p []byte, _ int) bool { return len(p) >= 1 && p[0] <= 8 }

// unsupported returns the error for an unsupported method: replays do not use it, or its byte is damaged.
func unsupported(method byte, p []byte, size int) error {
	if m, ok := otherMethods[method]; ok && m.begins(p, size) {
		return fmt.Errorf("%w: compressed with %s", decoders.ErrUnsupported, m.name)
	}
	return fmt.Errorf("%w: method of compression %#02x", decoders.ErrCorrupt, method)
}

// patchInfo is the size of the description at the beginning of a patch, and its first number.
const patchInfo = 28

// readable returns an error if a member, whose packed bytes are p, can never be read: it has a form that replays do not have, or
// damaged flags.
func (m *Member) readable(p []byte) error {
	switch {
	case m.flags&^flagsKnown != 0, m.flags&flagImplode != 0 && m.flags&flagCompress != 0:
		return fmt.Errorf("%w: flags %#x", decoders.ErrCorrupt, m.flags)
	case m.flags&flagImplode != 0:
		return fmt.Errorf("%w: packed with PKWARE implode alone", decoders.ErrUnsupported)
	case m.flags&flagPatch == 0:
		return nil
	case len(p) >= patchInfo && binary.LittleEndian.Uint32(p) == patchInfo:
		return fmt.Errorf("%w: a patch of a file", decoders.ErrUnsupported)
	}
	return fmt.Errorf("%w: flags %#x of a patch, which it is not", decoders.ErrCorrupt, m.flags)
}
