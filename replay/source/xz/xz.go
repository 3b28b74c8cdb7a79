package xz

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/replayd/replayd/decoders"
)

// Reader unpacks an .xz file. It belongs to one goroutine, starts none and need not be closed. The sections in comments are
// those of The .xz File Format, version 1.2.1.
type Reader struct {
	// Take is called before n more bytes are allocated for the dictionary, and with a negative n after bytes were freed. Read
	// returns its error. Take may be nil.
	Take func(n int64) error

	src   input
	limit int64 // the largest dictionary, in bytes

	state   state
	flags   [2]byte // the flags of the stream
	check   hash.Hash
	size    int        // the size of the check
	block   block      // the present block
	data    lzma2      // the data of the block
	sizes   blockSizes // the sizes of the stream's blocks
	streams int
	err     error
}

// NewReader returns a Reader that unpacks r. The argument dictionary is the largest dictionary, in bytes, that a block may
// declare. NewReader reads nothing, and allocates little before the first Read.
func NewReader(r *bufio.Reader, dictionary int64) *Reader {
	return &Reader{src: input{r: r}, limit: dictionary}
}

type state uint8

const (
	betweenStreams state = iota
	betweenBlocks
	inBlock
)

// block is the block being read.
type block struct {
	start        int64 // the offset of its header in the file
	dataStart    int64
	compressed   int64 // declared, or -1
	uncompressed int64 // declared, or -1
	got          int64 // the number of bytes unpacked
}

// magic is the beginning of a stream.
var magic = []byte{0xfd, '7', 'z', 'X', 'Z', 0}

// input counts the bytes read.
type input struct {
	r *bufio.Reader
	n int64
}

func (s *input) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	return n, err
}

// full reads all of p or returns io.ErrUnexpectedEOF.
func (s *input) full(p []byte) error {
	_, err := io.ReadFull(s, p)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// blockSizes sums up the sizes of a stream's blocks, so that its index can be compared without keeping them all.
type blockSizes struct {
	count uint64
	sum   uint64 // CRC-64 of the sizes
}

var crcTable = crc64.MakeTable(crc64.ECMA)

func (s *blockSizes) add(unpadded, uncompressed uint64) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], unpadded)
	binary.LittleEndian.PutUint64(b[8:], uncompressed)
	s.sum = crc64.Update(s.sum, crcTable, b[:])
	s.count++
}

// Read returns the unpacked bytes of the file. Its error is io.EOF at the end of the last stream, io.ErrUnexpectedEOF where the
// file is truncated, an *Error for bytes that cannot be unpacked, or an error of the underlying reader. It returns all bytes
// unpacked before an error. The bytes of a block are returned before its checksum is verified.
func (x *Reader) Read(p []byte) (int, error) {
	for x.err == nil {
		switch x.state {
		case betweenStreams:
			x.err = x.startStream()
		case betweenBlocks:
			x.err = x.startBlock()
		case inBlock:
			n, err := x.readBlock(p)
			x.err = err
			if n > 0 {
				return n, nil
			}
		}
	}
	return 0, x.err
}

// startStream reads a stream's header, or finds the end of the file (section 2.1.1; padding between streams: 2.2).
func (x *Reader) startStream() error {
	var h [12]byte
	for {
		_, err := io.ReadFull(&x.src, h[:4])
		switch {
		case errors.Is(err, io.EOF) && x.streams > 0:
			return io.EOF
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		if x.streams == 0 || [4]byte(h[:4]) != [4]byte{} {
			break
		}
	}
	if err := x.src.full(h[4:]); err != nil {
		return err
	}
	switch {
	case !bytes.Equal(h[:6], magic) && x.streams == 0:
		return corrupt("it does not begin as an .xz file does")
	case !bytes.Equal(h[:6], magic):
		return corrupt("something else follows the end of the stream")
	case crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]):
		return corrupt("the checksum of its header is wrong")
	case h[6] != 0 || h[7]&0xf0 != 0:
		return &Error{decoders.ErrUnsupported, "its header uses flags that are not defined"}
	}
	x.flags = [2]byte(h[6:8])
	x.check, x.size = newCheck(h[7])
	x.sizes = blockSizes{}
	x.streams++
	x.state = betweenBlocks
	return nil
}

// newCheck returns the hash that verifies the blocks, and its size (section 2.1.1.2). For an unknown check the hash is nil, and
// the blocks are not verified.
func newCheck(id byte) (hash.Hash, int) {
	sizes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	switch id {
	case 1:
		return crc32.NewIEEE(), sizes[id]
	case 4:
		return crc64.New(crcTable), sizes[id]
	case 10:
		return sha256.New(), sizes[id]
	}
	return nil, sizes[id&15]
}

// startBlock reads a block's header (section 3.1), or the index, which takes the place of the next block.
func (x *Reader) startBlock() error {
	start := x.src.n
	var buf [1024]byte
	if err := x.src.full(buf[:1]); err != nil {
		return err
	}
	if buf[0] == 0 {
		if err := x.index(start); err != nil {
			return err
		}
		x.state = betweenStreams
		return nil
	}
	h := buf[:(int(buf[0])+1)*4]
	if err := x.src.full(h[1:]); err != nil {
		return err
	}
	body := h[:len(h)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(h[len(body):]) {
		return corrupt("the checksum of a block's header is wrong")
	}
	b := block{start: start, dataStart: x.src.n, compressed: -1, uncompressed: -1}
	dictionary, err := b.header(body[1:])
	if err != nil {
		return err
	}
	if dictionary > x.limit {
		return &Error{decoders.ErrLimit, fmt.Sprintf("its dictionary is %d bytes, more than %d", dictionary, x.limit)}
	}
	if b.uncompressed >= 0 {
		dictionary = min(dictionary, b.uncompressed)
	}
	x.data.take = x.Take
	if err := x.data.reset(&x.src, dictionary); err != nil {
		return err
	}
	if x.check != nil {
		x.check.Reset()
	}
	x.block = b
	x.state = inBlock
	return nil
}

// header reads a block header after its size and before its checksum. It returns the size of the dictionary.
func (b *block) header(h []byte) (int64, error) {
	flags := h[0]
	h = h[1:]
	if flags&0x3c != 0 {
		return 0, &Error{decoders.ErrUnsupported, "a block's header uses flags that are not defined"}
	}
	var ok bool
	vli := func() (v int64) {
		var u uint64
		if u, h, ok = cutVLI(h); !ok {
			return 0
		}
		return int64(u)
	}
	broken := corrupt("a block's header is broken")
	if flags&0x40 != 0 {
		if b.compressed = vli(); !ok {
			return 0, broken
		}
	}
	if flags&0x80 != 0 {
		if b.uncompressed = vli(); !ok {
			return 0, broken
		}
	}
	id := vli()
	if !ok {
		return 0, broken
	}
	if flags&3 != 0 || id != 0x21 {
		return 0, &Error{decoders.ErrUnsupported, "it uses a filter other than LZMA2"}
	}
	if n := vli(); !ok || n != 1 || len(h) < 1 || h[0] > 40 {
		return 0, broken
	}
	bits := h[0]
	for _, padding := range h[1:] {
		if padding != 0 {
			return 0, broken
		}
	}
	if bits == 40 {
		return 1<<32 - 1, nil
	}
	return int64(2|bits&1) << (bits/2 + 11), nil
}

// readBlock reads the unpacked bytes of a block. At its end it checks declared sizes and checksum (sections 3.2 to 3.4).
func (x *Reader) readBlock(p []byte) (int, error) {
	b := &x.block
	n, err := x.data.Read(p)
	if x.check != nil {
		x.check.Write(p[:n])
	}
	b.got += int64(n)
	compressed := x.src.n - b.dataStart
	switch {
	case b.uncompressed >= 0 && b.got > b.uncompressed, b.compressed >= 0 && compressed > b.compressed:
		return n, corrupt("a block is larger than its header says")
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, err
	case b.uncompressed >= 0 && b.got < b.uncompressed, b.compressed >= 0 && compressed < b.compressed:
		return n, corrupt("a block is smaller than its header says")
	}
	unpadded := x.src.n - b.start + int64(x.size)
	if err := x.padding(compressed); err != nil {
		return n, err
	}
	var sum [64]byte
	if err := x.src.full(sum[:x.size]); err != nil {
		return n, err
	}
	if x.check != nil && !bytes.Equal(checksum(x.check), sum[:x.size]) {
		return n, corrupt("the checksum of a block is wrong")
	}
	x.sizes.add(uint64(unpadded), uint64(b.got))
	x.state = betweenBlocks
	return n, nil
}

// checksum returns a check in the form of the file, where CRCs are little-endian.
func checksum(h hash.Hash) []byte {
	switch h := h.(type) {
	case hash.Hash32:
		return binary.LittleEndian.AppendUint32(nil, h.Sum32())
	case hash.Hash64:
		return binary.LittleEndian.AppendUint64(nil, h.Sum64())
	}
	return h.Sum(nil)
}

// padding reads the zero bytes that pad n bytes to a multiple of four.
func (x *Reader) padding(n int64) error {
	var pad [4]byte
	p := pad[:-n&3]
	if err := x.src.full(p); err != nil {
		return err
	}
	if pad != [4]byte{} {
		return corrupt("its padding is not zero")
	}
	return nil
}

// index reads a stream's index, after its first byte, and its footer (sections 4 and 2.1.2).
func (x *Reader) index(start int64) error {
	sum := &summer{src: &x.src, sum: crc32.ChecksumIEEE([]byte{0})}
	count, err := sum.vli()
	if err != nil {
		return err
	}
	if count != x.sizes.count {
		return corrupt("its index counts other blocks than there are")
	}
	var sizes blockSizes
	for range count {
		unpadded, err := sum.vli()
		if err != nil {
			return err
		}
		uncompressed, err := sum.vli()
		if err != nil {
			return err
		}
		sizes.add(unpadded, uncompressed)
	}
	for (x.src.n-start)&3 != 0 {
		switch b, err := sum.ReadByte(); {
		case err != nil:
			return err
		case b != 0:
			return corrupt("its padding is not zero")
		}
	}
	size := x.src.n - start
	var tail [16]byte // the index's checksum and the stream's footer
	if err := x.src.full(tail[:]); err != nil {
		return err
	}
	footer := tail[8:]
	switch {
	case sizes != x.sizes:
		return corrupt("its index has other sizes of blocks than they have")
	case binary.LittleEndian.Uint32(tail[:]) != sum.sum:
		return corrupt("the checksum of its index is wrong")
	case binary.LittleEndian.Uint32(tail[4:]) != crc32.ChecksumIEEE(footer[:6]):
		return corrupt("the checksum of its footer is wrong")
	case (int64(binary.LittleEndian.Uint32(footer))+1)*4 != size+4,
		[2]byte(footer[4:6]) != x.flags, string(footer[6:]) != "YZ":
		return corrupt("its footer does not belong to it")
	}
	return nil
}

// summer reads bytes and computes their CRC-32.
type summer struct {
	src *input
	sum uint32
}

func (s *summer) ReadByte() (byte, error) {
	var b [1]byte
	if err := s.src.full(b[:]); err != nil {
		return 0, err
	}
	s.sum = crc32.Update(s.sum, crc32.IEEETable, b[:])
	return b[0], nil
}

// vli reads a variable-length integer (section 1.2).
func (s *summer) vli() (uint64, error) {
	var v uint64
	for shift := 0; shift < 63; shift += 7 {
		b, err := s.ReadByte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b == 0 && shift > 0 {
				break
			}
			return v, nil
		}
	}
	return 0, corrupt("a number in its index is broken")
}

// cutVLI reads a variable-length integer from p (section 1.2) and returns the rest.
func cutVLI(p []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(p)
	if n <= 0 || n > 9 || n > 1 && p[n-1] == 0 {
		return 0, nil, false
	}
	return v, p[n:], true
}
