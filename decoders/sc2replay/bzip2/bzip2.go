package bzip2

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"

	"github.com/replayd/replayd/decoders"
)

const (
	blockMagic = 0x314159265359 // begins a block
	endMagic   = 0x177245385090 // ends the stream
	groupSize  = 50             // symbols that share a code table
	maxCodes   = 258            // two run symbols, 255 positions, end of block
	maxLength  = 20             // of a code
	levelUnit  = 100_000        // bytes of a block, times the level
)

var pool = sync.Pool{New: func() any { return new(decoder) }}

// Append decompresses src, a whole bzip2 stream, and appends at most limit bytes to dst. Errors wrap
// decoders.ErrCorrupt, ErrTruncated or ErrLimit. On an error it also returns the data decompressed so far. A block with
// a wrong checksum is part of that data.
//
// Apart from the result, it uses at most 8 bytes of memory per byte of limit, and at most 6 MB. Append is safe for
// concurrent use.
func Append(dst, src []byte, limit int) ([]byte, error) {
	dst, _, err := AppendFirst(dst, src, limit)
	return dst, err
}

// AppendFirst is Append for a stream with other data behind it. It also returns the length of the stream.
func AppendFirst(dst, src []byte, limit int) (out []byte, used int, err error) {
	d := pool.Get().(*decoder)
	defer pool.Put(d)
	d.in = bitReader{src: src}
	d.end = len(dst) + limit
	dst, err = d.stream(dst)
	used = min(d.in.i-int(d.in.n/8), len(src))
	d.in = bitReader{}
	if err != nil {
		return dst, used, fmt.Errorf("bzip2: %w", err)
	}
	return dst, used, nil
}

type decoder struct {
	in  bitReader
	end int // len(dst) must not exceed it

	maxBlock  int
	symbols   [256]byte // the bytes that occur in the block
	nSymbols  int
	selectors []uint8
	codes     [6]code
	next      []uint32 // the block; then the permutation that undoes its sorting
	text      []byte   // the block in its original order
	walk      walker
}

func corrupt(what string) error { return fmt.Errorf("%w: %s", decoders.ErrCorrupt, what) }

// stream decodes the header, the blocks and the end.
func (d *decoder) stream(dst []byte) ([]byte, error) {
	if d.in.bits(24) != 'B'<<16|'Z'<<8|'h' {
		return dst, corrupt("not a bzip2 stream")
	}
	level := d.in.bits(8)
	if level < '1' || level > '9' {
		return dst, corrupt("block size")
	}
	var streamSum uint32
	var wrong error
	for {
		magic := d.in.bits(48)
		sum := uint32(d.in.bits(32))
		if d.in.overrun() {
			return dst, fmt.Errorf("%w between blocks", decoders.ErrTruncated)
		}
		if magic == endMagic {
			if wrong == nil && sum != streamSum {
				wrong = corrupt("checksum of the stream")
			}
			return dst, wrong
		}
		if magic != blockMagic {
			return dst, corrupt("no block where one should begin")
		}
		// A count follows every four equal bytes, so five bytes of a block represent at least four.
		d.maxBlock = min(int(level-'0')*levelUnit, (d.end-len(dst))*5/4+8)
		start := len(dst)
		var err error
		if dst, err = d.block(dst); err != nil {
			return dst, err
		}
		if d.in.overrun() {
			return dst[:start], fmt.Errorf("%w inside a block", decoders.ErrTruncated)
		}
		got := checksum(dst[start:])
		if got != sum && wrong == nil {
			wrong = corrupt("checksum of a block")
		}
		streamSum = bits.RotateLeft32(streamSum, 1) ^ got
	}
}

// block decodes one block.
func (d *decoder) block(dst []byte) ([]byte, error) {
	if d.in.bits(1) != 0 {
		return dst, corrupt("randomised block, which no program has written since 1999")
	}
	origin := int(d.in.bits(24))
	if err := d.tables(); err != nil {
		return dst, err
	}
	var counts [256]uint32
	n, err := d.symbolsOf(&counts)
	if err != nil {
		return dst, err
	}
	if origin >= n { // also true for an empty block
		return dst, corrupt("origin outside the block")
	}
	d.text = slices.Grow(d.text[:0], n)[:n]
	d.walk.unsort(d.text, d.next[:n], &counts, origin)
	return d.expand(dst, d.text)
}

// tables reads the set of bytes that occur, the selectors of tables for groups of symbols, and the tables.
func (d *decoder) tables() error {
	used := d.in.bits(16)
	d.nSymbols = 0
	for i := range 16 {
		if used&(0x8000>>i) == 0 {
			continue
		}
		row := d.in.bits(16)
		for j := range 16 {
			if row&(0x8000>>j) != 0 {
				d.symbols[d.nSymbols] = byte(16*i + j)
				d.nSymbols++
			}
		}
	}
	if d.nSymbols == 0 {
		return corrupt("block without symbols")
	}
	tables := int(d.in.bits(3))
	if tables < 2 || tables > len(d.codes) {
		return corrupt("number of code tables")
	}
	nSelectors := int(d.in.bits(15))
	if nSelectors == 0 {
		return corrupt("block without selectors")
	}
	order := [6]uint8{0, 1, 2, 3, 4, 5}
	d.selectors = d.selectors[:0]
	for range nSelectors {
		k := 0
		for d.in.bits(1) == 1 {
			if k++; k >= tables {
				return corrupt("selector")
			}
		}
		s := order[k]
		copy(order[1:k+1], order[:k])
		order[0] = s
		d.selectors = append(d.selectors, s)
	}
	if d.in.overrun() {
		return fmt.Errorf("%w inside the tables", decoders.ErrTruncated)
	}
	for t := range tables {
		var lengths [maxCodes]uint8
		length := int(d.in.bits(5))
		for i := range lengths[:d.nSymbols+2] {
			for d.in.bits(1) == 1 {
				length += 1 - 2*int(d.in.bits(1))
				if length < 1 || length > maxLength {
					return corrupt("length of a code")
				}
			}
			if length < 1 || length > maxLength {
				return corrupt("length of a code")
			}
			lengths[i] = uint8(length)
		}
		if err := d.codes[t].build(lengths[:d.nSymbols+2]); err != nil {
			return err
		}
	}
	return nil
}

// symbolsOf decodes the block's symbols into d.next, one byte per entry, counts each byte, and returns the number of
// symbols.
func (d *decoder) symbolsOf(counts *[256]uint32) (int, error) {
	mtf := d.symbols // most recently used first
	endOfBlock := uint16(d.nSymbols + 1)
	n, run, runBit := 0, 0, 1
	group, left := 0, 0
	var c *code
	for {
		if left == 0 {
			if group == len(d.selectors) {
				return 0, corrupt("more symbols than selectors")
			}
			c = &d.codes[d.selectors[group]]
			group++
			left = groupSize
			if d.in.overrun() {
				return 0, fmt.Errorf("%w inside a block", decoders.ErrTruncated)
			}
		}
		left--
		if d.in.n < maxLength {
			d.in.fill()
		}
		e := c.fast[d.in.acc>>(64-fastBits)]
		if e == 0 {
			var ok bool
			if e, ok = c.slow(d.in.acc); !ok {
				return 0, corrupt("code")
			}
		}
		length := uint(e & 31)
		d.in.acc <<= length
		d.in.n -= length
		symbol := e >> 5

		if symbol <= 1 { // a digit of the length of a run, in bijective base 2
			run += runBit << symbol
			if run > d.maxBlock {
				return 0, fmt.Errorf("%w: block longer than %d", decoders.ErrLimit, d.maxBlock)
			}
			runBit <<= 1
			continue
		}
		if run > 0 {
			if n+run > d.maxBlock {
				return 0, fmt.Errorf("%w: block longer than %d", decoders.ErrLimit, d.maxBlock)
			}
			d.reserve(n + run)
			b := mtf[0]
			counts[b] += uint32(run)
			fill := d.next[n : n+run]
			for i := range fill {
				fill[i] = uint32(b)
			}
			n += run
			run, runBit = 0, 1
		}
		if symbol == endOfBlock {
			return n, nil
		}
		k := int(symbol-1) & 255
		b := mtf[k]
		if k < 16 {
			for i := k; i > 0; i-- {
				mtf[i] = mtf[i-1]
			}
		} else {
			copy(mtf[1:k+1], mtf[:k])
		}
		mtf[0] = b
		counts[b]++
		if n == len(d.next) {
			if n == d.maxBlock {
				return 0, fmt.Errorf("%w: block longer than %d", decoders.ErrLimit, d.maxBlock)
			}
			d.reserve(n + 1)
		}
		d.next[n] = uint32(b)
		n++
	}
}

// reserve makes room for n symbols. Room grows with the decoded data.
func (d *decoder) reserve(n int) {
	if n <= len(d.next) {
		return
	}
	room := min(max(n, 2*len(d.next), 64<<10), max(d.maxBlock, n))
	next := make([]uint32, room)
	copy(next, d.next)
	d.next = next
}

// expand undoes the run-length coding that precedes the sorting: a count of repetitions follows every four equal bytes.
func (d *decoder) expand(dst, text []byte) ([]byte, error) {
	for {
		n, more := equalBytes(text), 0
		if n < len(text) {
			more = int(text[n])
		}
		if len(dst)+n+more > d.end {
			return dst, decoders.ErrLimit
		}
		dst = append(dst, text[:n]...)
		if n == len(text) {
			return dst, nil
		}
		for range more {
			dst = append(dst, text[n-1])
		}
		text = text[n+1:]
	}
}

// equalBytes returns where the first four equal bytes of a text end, or its length if it has none.
func equalBytes(text []byte) int {
	const low, span = 0x7F7F7F7F7F7F7F7F, 6 // four bytes begin at one of so many in a word
	i := 0
	for ; i+9 <= len(text); i += span {
		differ := binary.LittleEndian.Uint64(text[i:]) ^ binary.LittleEndian.Uint64(text[i+1:])
		same := ^((differ&low + low) | differ | low) // the highest bit of each byte that equals the next one
		if same &= same >> 8 & (same >> 16); same != 0 {
			return i + bits.TrailingZeros64(same)/8 + 4
		}
	}
	for ; i+4 <= len(text); i++ {
		if b := text[i]; text[i+1] == b && text[i+2] == b && text[i+3] == b {
			return i + 4
		}
	}
	return len(text)
}

// checksum is CRC-32 with bits in the reverse order of hash/crc32. Reversing both bytes and result allows using its
// fast code.
func checksum(p []byte) uint32 {
	var buf [1 << 10]byte
	var sum uint32
	for len(p) > 0 {
		n := copy(buf[:], p)
		for i := 0; i < (n+7)&^7; i += 8 {
			w := binary.LittleEndian.Uint64(buf[i:])
			binary.BigEndian.PutUint64(buf[i:], bits.Reverse64(w))
		}
		sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
		p = p[n:]
	}
	return bits.Reverse32(sum)
}
