package datafile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// unzlib reads what zlib packed: deflated bytes, behind a header of two bytes and before their Adler-32 (RFC 1950). The libraries of Go
// sum byte for byte, which took half of the time of a map.
type unzlib struct {
	from  *bufio.Reader
	flate io.ReadCloser
	sum   adler32
	known bool // the sum is known to be right
	err   error
}

var (
	errZlibHeader   = errors.New("zlib: invalid header")
	errZlibChecksum = errors.New("zlib: invalid checksum")
)

// open begins to read, and to sum unless the sum is known to be right. Buffers of earlier streams are used again.
func (z *unzlib) open(from *bufio.Reader, known bool) error {
	z.from, z.sum, z.known, z.err = from, adler32{1, 0}, known, nil
	head, err := z.next(2)
	if err != nil {
		return err
	}
	const deflate, most, dictionary = 8, 7, 0x20 // the method, the largest window, and a dictionary that is agreed on elsewhere
	if head[0]&0x0f != deflate || head[0]>>4 > most || head[1]&dictionary != 0 || binary.BigEndian.Uint16(head)%31 != 0 {
		return errZlibHeader
	}
	if again, ok := z.flate.(flate.Resetter); ok {
		return again.Reset(from, nil)
	}
	z.flate = flate.NewReader(from)
	return nil
}

// next returns the next n packed bytes, until something else is read.
func (z *unzlib) next(n int) ([]byte, error) {
	p, err := z.from.Peek(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	_, _ = z.from.Discard(len(p)) // bytes that are there
	return p, err
}

// Read implements io.Reader. The end is io.EOF once the checksum is right.
func (z *unzlib) Read(p []byte) (n int, err error) {
	if z.err != nil {
		return 0, z.err
	}
	n, z.err = z.flate.Read(p)
	if !z.known {
		z.sum.add(p[:n])
	}
	if !errors.Is(z.err, io.EOF) {
		return n, z.err
	}
	sum, err := z.next(4)
	if err != nil {
		z.err = err
	} else if !z.known && binary.BigEndian.Uint32(sum) != z.sum.value() {
		z.err = errZlibChecksum
	}
	return n, z.err
}

// adler32 is a checksum of bytes: the sum of all of them and 1, and the sum of what that was after each byte, both modulo 65521.
type adler32 struct{ sum, sums uint32 }

func (s *adler32) value() uint32 { return s.sums<<16 | s.sum }

// Bytes are summed in rows of 16, in every second of whose bytes a number of 64 bits has room for the sums of 256 rows.
const (
	adlerBase = 65521
	adlerRow  = 16
	adlerRows = 256
	adlerMask = 0x00ff_00ff_00ff_00ff
)

func (s *adler32) add(p []byte) {
	sum, sums := uint64(s.sum), uint64(s.sums)
	for len(p) > 0 {
		part := p[:min(len(p), adlerRow*adlerRows)]
		p = p[len(part):]
		var before, a, b, c, d uint64 // the sums before each row; and of each column
		for ; len(part) >= adlerRow; part = part[adlerRow:] {
			lower, upper := binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[8:])
			before += sum
			if lower|upper == 0 { // most tiles are air
				continue
			}
			w, x, y, z := lower&adlerMask, lower>>8&adlerMask, upper&adlerMask, upper>>8&adlerMask
			sum += (w + x + y + z) * 0x0001_0001_0001_0001 >> 48 // the sum of the four
			a, b, c, d = a+w, b+x, c+y, d+z
		}
		sums += adlerRow * before
		for i := range uint64(4) { // a byte counts once for itself and for each byte behind it in its row
			shift, weight := 16*i, adlerRow-2*i
			sums += a>>shift&0xffff*weight + b>>shift&0xffff*(weight-1) + c>>shift&0xffff*(weight-8) + d>>shift&0xffff*(weight-9)
		}
		for _, one := range part {
			sum += uint64(one)
			sums += sum
		}
		sum %= adlerBase
		sums %= adlerBase
	}
	s.sum, s.sums = uint32(sum), uint32(sums)
}
