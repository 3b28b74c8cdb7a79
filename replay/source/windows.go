package source

import (
	"bufio"
	"encoding/binary"
	"io"
)

// windows reads a Zstandard stream and calls grow with the window of each frame before anything is allocated for it (RFC 8878).
// It passes other bytes on: the decompressor reports them.
type windows struct {
	src   *bufio.Reader // with a buffer of at least 18 bytes
	grow  func(window int64) error
	left  int64 // unread bytes of the frame or the block
	block bool  // a block's header is next
	check bool  // the frame ends in a checksum
	blind bool  // the stream cannot be understood, and is passed on
	err   error
}

// maxFrameHeader is the maximum length of a frame's header, with its magic number.
const maxFrameHeader = 18

// Read implements io.Reader.
func (w *windows) Read(p []byte) (int, error) {
	for w.left == 0 && !w.blind && w.err == nil {
		w.err = w.header()
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case !w.blind && int64(len(p)) > w.left:
		p = p[:w.left]
	}
	n, err := w.src.Read(p)
	w.left -= int64(n)
	return n, err
}

// header looks at the next header, and notes how many bytes to pass on before the one after it.
func (w *windows) header() error {
	if w.block {
		return w.blockHeader()
	}
	h, _ := w.src.Peek(maxFrameHeader) // fewer at the end of the stream, where the reader meets the error
	if len(h) < 5 {
		w.blind = true // the end, or a cut header
		return nil
	}
	magic := binary.LittleEndian.Uint32(h)
	switch {
	case magic&^0xf == 0x184d2a50:
		if len(h) < 8 {
			w.blind = true
			return nil
		}
		w.left = 8 + int64(binary.LittleEndian.Uint32(h[4:]))
		return nil
	case magic != 0xfd2fb528:
		w.blind = true
		return nil
	}
	descriptor := h[4]
	single := descriptor&0x20 != 0
	w.check = descriptor&4 != 0
	n := 5
	if !single {
		n++
	}
	dictionary := [4]int{0, 1, 2, 4}[descriptor&3]
	size := [4]int{0, 2, 4, 8}[descriptor>>6]
	if single && size == 0 {
		size = 1
	}
	at := n + dictionary
	n = at + size
	if len(h) < n {
		w.blind = true
		return nil
	}
	var window int64
	if single {
		var field [8]byte
		copy(field[:], h[at:n])
		window = int64(binary.LittleEndian.Uint64(field[:]) & (1<<62 - 1))
		if size == 2 {
			window += 256
		}
	} else {
		base := int64(1) << (10 + h[5]>>3)
		window = base + base/8*int64(h[5]&7)
	}
	if err := w.grow(window); err != nil {
		return err
	}
	w.left, w.block = int64(n), true
	return nil
}

// blockHeader looks at the header of a block.
func (w *windows) blockHeader() error {
	h, _ := w.src.Peek(3)
	if len(h) < 3 {
		w.blind = true
		return nil
	}
	bits := uint32(h[0]) | uint32(h[1])<<8 | uint32(h[2])<<16
	w.left = 3 + int64(bits>>3)
	if bits>>1&3 == 1 { // one byte, repeated
		w.left = 4
	}
	if bits&1 != 0 { // the last block
		w.block = false
		if w.check {
			w.left += 4
		}
	}
	return nil
}

var _ io.Reader = (*windows)(nil)
