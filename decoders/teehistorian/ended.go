package teehistorian

import (
	"bufio"
	"io"
)

// endByte is the only byte of a finish record: the number -1.
const endByte = 0x40

// Ended reports whether the size bytes of r are a recording with its own end, which a killed server does not write. For a game
// that goes on it reads only the last byte. If that can be the end, Ended decodes the whole recording. It is false if a byte
// follows the end, and if r cannot be read.
func Ended(r io.ReaderAt, size int64) bool {
	var last [1]byte
	if n, _ := r.ReadAt(last[:], size-1); n == 0 || last[0] != endByte {
		return false
	}
	d := New(bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10), Options{})
	var ev Event
	for {
		if err := d.Next(&ev); err != nil {
			return d.finished && d.w.Offset() == size
		}
	}
}
