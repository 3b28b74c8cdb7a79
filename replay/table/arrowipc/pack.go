package arrowipc

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// frames are the beginnings of frames of LZ4 whose blocks have at most 64 KiB, and of the next ones four times as much: without sums, and
// the last byte is the header's.
var frames = [...]string{
	"\x04\x22\x4d\x18\x60\x40\x82", "\x04\x22\x4d\x18\x60\x50\xfb", "\x04\x22\x4d\x18\x60\x60\x51", "\x04\x22\x4d\x18\x60\x70\x73",
}

// pack returns a buffer in memory of w, with its length before it: as a frame of one block if that saves a tenth, otherwise as it is, with
// a length of -1.
func (w *workspace) pack(part []byte) []byte {
	const lengthBytes, least = 8, 128 // below that a frame saves little
	b := take[byte](w, lengthBytes+len(part))[:0]
	for i, frame := range frames {
		if len(part) > 64<<10<<(2*i) || len(part) < least {
			continue
		}
		begin, end := lengthBytes+len(frame)+4, lengthBytes+len(part)*9/10-4
		n, err := lz4.CompressBlock(part, b[begin:end:end], nil)
		if n == 0 || err != nil {
			break
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(len(part)))
		b = binary.LittleEndian.AppendUint32(append(b, frame...), uint32(n))
		return binary.LittleEndian.AppendUint32(b[:len(b)+n], 0)
	}
	return append(binary.LittleEndian.AppendUint64(b, 1<<64-1), part...)
}
