package inflate

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Most is the largest number of bytes that Next returns.
const Most = 64 << 10

const (
	window   = 32 << 10 // how far back a match may begin
	overrun  = 32       // bytes behind those asked for that may be written
	readSize = 32 << 10
	behind   = 8  // packed bytes that are kept, to take some back
	atOnce   = 48 // bits of a length and a distance at most
)

// The errors of a stream that is not sound. One that ends too early has io.ErrUnexpectedEOF.
var (
	ErrHeader   = errors.New("zlib: invalid header")
	ErrChecksum = errors.New("zlib: invalid checksum")
	ErrCorrupt  = errors.New("zlib: corrupt data")
)

// Reader inflates one stream after another. It is ready after Reset.
type Reader struct {
	from      io.Reader
	packed    [behind + readSize]byte
	next, end int   // packed[next:end] is not used yet
	before    int64 // where packed begins in the stream
	source    error // how from ended
	ended     error // what it means that there are no more bytes

	hold uint64 // the next held bits, from the lowest on. Those above them are 0, or those that follow
	held uint

	out    []byte // the last bytes, to which matches refer
	write  int    // the end of them
	sum    adler32
	summed int  // sum is that of the bytes before it
	known  bool // the sum is known to be right

	block  block
	last   bool   // the block is the last one
	stored int    // bytes of a stored block that are left
	codes  *codes // of a block
	own    codes  // that a block described

	length, distance int // the part of a match that is left
	run              run
	err              error
}

// run is a part of out in which each byte equals that of a distance before it.
type run struct{ from, to, distance int }

// block is where a stream is.
type block byte

const (
	atHead block = iota
	inStored
	inCoded
)

// Reset begins with a stream. Its checksum is not computed if it is known to be right.
func (r *Reader) Reset(from io.Reader, known bool) {
	r.reset(from, known)
	head := r.bits(16)
	const deflate, largest, dictionary = 8, 7, 0x20 // the method, the window, and a dictionary that is agreed on elsewhere
	method, flags := head&0xff, head>>8
	if r.err == nil && (method&0x0f != deflate || method>>4 > largest || flags&dictionary != 0 || (method<<8|flags)%31 != 0) {
		r.err = ErrHeader
	}
}

// ResetPlain begins with bytes that are not packed.
func (r *Reader) ResetPlain(from io.Reader) {
	r.reset(from, true)
	r.block, r.stored, r.ended = inStored, math.MaxInt, io.EOF
}

func (r *Reader) reset(from io.Reader, known bool) {
	if r.out == nil {
		r.out = make([]byte, window+2*Most+overrun)
	}
	r.from, r.next, r.end, r.before, r.source, r.ended = from, behind, behind, -behind, nil, io.ErrUnexpectedEOF
	r.hold, r.held, r.write, r.sum, r.summed, r.known = 0, 0, 0, adler32{1, 0}, 0, known
	r.block, r.last, r.length, r.run, r.err = atHead, false, 0, run{}, nil
}

// Next returns the next n bytes, at most [Most], which are valid until the next call. There are fewer only with an error, which is io.EOF
// behind a sound stream. There is room for n, in which the caller may write after an error.
func (r *Reader) Next(n int) ([]byte, error) {
	if r.write+n > len(r.out)-overrun {
		copy(r.out, r.out[r.write-window:r.write])
		r.write, r.summed, r.run = window, window, run{}
	}
	start, to := r.write, r.write+n
	r.fill(to)
	if r.write < to {
		return r.out[start:r.write:to], r.err
	}
	return r.out[start:to:to], nil
}

// End returns io.EOF if a sound stream ends behind the bytes of Next, which stay valid, and nil if there are more, which are lost.
func (r *Reader) End() error {
	start := r.write
	if r.fill(start + 1); r.write > start {
		return nil
	}
	return r.err
}

// fill inflates up to a place.
func (r *Reader) fill(to int) {
	for r.err == nil && r.write < to {
		switch r.block {
		case atHead:
			r.err = r.open()
		case inStored:
			r.err = r.copyStored(to)
		case inCoded:
			r.err = r.inflate(to)
		}
		if r.err == ErrCorrupt { //nolint:errorlint // not wrapped yet
			r.err = fmt.Errorf("%w before byte %d", r.err, r.before+int64(r.next)-int64(r.held/8))
		}
	}
	r.add(r.write)
}

// add sums what has been inflated, up to a place.
func (r *Reader) add(to int) {
	if !r.known {
		r.sum.add(r.out[r.summed:to])
	}
	r.summed = to
}

// open begins with the next block, or ends the stream.
func (r *Reader) open() error {
	if r.last {
		return r.finish()
	}
	head := r.bits(3)
	r.last = head&1 != 0
	switch head >> 1 {
	case 0:
		r.bits(r.held % 8)
		size := r.bits(32)
		if r.err == nil && size&0xffff != ^size>>16 {
			return ErrCorrupt
		}
		r.block, r.stored = inStored, int(size&0xffff)
	case 1:
		r.block, r.codes = inCoded, fixed()
	case 2:
		r.block, r.codes = inCoded, &r.own
		return r.readCodes()
	default:
		return ErrCorrupt
	}
	return r.err
}

// finish compares the checksum.
func (r *Reader) finish() error {
	r.bits(r.held % 8)
	high := r.bits(8)<<8 | r.bits(8)
	low := r.bits(8)<<8 | r.bits(8)
	if r.add(r.write); r.err == nil && !r.known && high<<16|low != r.sum.value() {
		return ErrChecksum
	}
	return cmp.Or(r.err, io.EOF)
}

func (r *Reader) copyStored(to int) error {
	r.next -= int(r.held / 8)
	r.hold, r.held = 0, 0
	for r.stored > 0 && r.write < to {
		if r.next == r.end && !r.load() {
			return r.short()
		}
		n := copy(r.out[r.write:min(to, r.write+r.stored)], r.packed[r.next:r.end])
		r.next += n
		r.write += n
		r.stored -= n
	}
	if r.stored == 0 {
		r.block = atHead
	}
	return nil
}

// inflate reads symbols of a block until bytes up to a place are inflated, or the block ends.
func (r *Reader) inflate(to int) (err error) {
	if r.length > 0 {
		r.match(to)
	}
	c, out, p, hold, held := r.codes, r.out, r.write, r.hold, r.held
	for p < to {
		if held < atOnce && r.next+8 <= r.end {
			hold |= binary.LittleEndian.Uint64(r.packed[r.next:]) << held
			r.next += int(63-held) / 8
			held |= 56
		} else if held < atOnce {
			r.hold, r.held = hold, held
			r.more(atOnce)
			hold, held = r.hold, r.held
		}
		e := c.lengths.find(hold)
		used := uint(e & ofCode)
		if held < atOnce && held < max(used, c.least) {
			err = r.short()
			break
		}
		if e&(isByte|isEnd|isBad) != 0 {
			hold >>= used
			held -= used
			if e&isByte != 0 {
				out[p] = byte(e >> value)
				p++
				continue
			}
			if r.block = atHead; e&isBad != 0 {
				err = ErrCorrupt
			}
			break
		}
		length := e.with(hold >> used)
		used += e.extra()
		e = c.distances.find(hold >> used)
		if used += uint(e & ofCode); held < used {
			err = r.short()
			break
		}
		distance := e.with(hold >> used)
		if used += e.extra(); held < used {
			err = r.short()
			break
		}
		if e&isBad != 0 || distance > p {
			err = ErrCorrupt
			break
		}
		match := hold & (1<<used - 1)
		hold >>= used
		held -= used
		if length <= overrun && distance >= 8 && length <= to-p {
			for i := 0; i < length; i += 8 {
				binary.LittleEndian.PutUint64(out[p+i:], binary.LittleEndian.Uint64(out[p+i-distance:]))
			}
			p += length
			continue
		}
		r.length, r.distance = length, distance
		for held >= max(used, c.least) && hold&(1<<used-1) == match { // a long run is the same match again and again
			hold >>= used
			held -= used
			r.length += length
		}
		r.write = p
		r.match(to)
		p = r.write
	}
	r.write, r.hold, r.held = p, hold, held
	return err
}

// match copies what there is room for of a match.
func (r *Reader) match(to int) {
	p, distance := r.write, r.distance
	n := min(r.length, to-p)
	r.length -= n
	r.write += n
	if n <= distance {
		copy(r.out[p:], r.out[p-distance:][:n])
		return
	}
	if r.run.to != p || r.run.distance != distance {
		r.run.from = p - distance
	}
	r.run.to, r.run.distance = r.write, distance
	if !r.known && n >= 16*distance {
		r.add(p)
		r.sum.repeat(r.out[p-distance:p], n/distance)
		r.summed += n / distance * distance
	}
	for p < r.write { // from as far back as the run permits
		p += copy(r.out[p:r.write], r.out[p-(p-r.run.from)/distance*distance:p])
	}
}

// more takes bytes until n bits are held, at most 56, or there are no more.
func (r *Reader) more(n uint) {
	for r.held < n && (r.next < r.end || r.load()) {
		r.hold |= uint64(r.packed[r.next]) << r.held
		r.next++
		r.held += 8
	}
}

// load reads packed bytes, and reports whether there are any.
func (r *Reader) load() bool {
	for r.next == r.end && r.source == nil {
		r.before += int64(r.end - behind)
		copy(r.packed[:], r.packed[r.end-behind:r.end])
		n, err := r.from.Read(r.packed[behind:])
		r.next, r.end, r.source = behind, behind+n, err
	}
	return r.next < r.end
}

// bits takes n bits, at most 32. If there are fewer, it sets the error.
func (r *Reader) bits(n uint) uint32 {
	if r.more(n); r.held < n {
		r.err = r.short()
		return 0
	}
	taken := uint32(r.hold & (1<<n - 1))
	r.hold >>= n
	r.held -= n
	return taken
}

// short is the error of a stream of which no more can be read.
func (r *Reader) short() error {
	if errors.Is(r.source, io.EOF) {
		return r.ended
	}
	return r.source
}
