package xz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/replayd/replayd/decoders"
)

// lzma2 unpacks the LZMA2 data of blocks, one block after the other. The zero value must be started with reset.
type lzma2 struct {
	src *input

	// The dictionary. Unpacked bytes are written to it, and Read reads them from it. It grows as needed. Once it has its full
	// size, it is overwritten from its beginning.
	dict    []byte
	size    int   // the full size of the dictionary
	stated  int64 // the size that the block states
	pos     int   // the index of the next byte to write
	read    int   // the index of the next byte for Read
	written int64 // bytes written since the dictionary was last reset

	chunk     []byte // the compressed bytes of a chunk
	left      int    // the number of bytes of the chunk that are not unpacked yet
	raw       bool   // the chunk is not compressed
	cut       error  // the error that truncated the chunk, or nil
	needDict  bool   // no chunk has reset the dictionary yet
	needProps bool   // no chunk has set the properties since

	rc      rangeDecoder
	lc      uint
	lpMask  uint32
	pbMask  uint32
	state   uint32
	reps    [4]uint32
	pending int // the bytes of a match that did not fit yet
	probs   *lzmaProbs
	err     error
	take    func(n int64) error // called before memory is allocated; may be nil
}

const (
	// firstDict is the initial size of the dictionary. leastDict is the smallest full size.
	firstDict = 64 << 10
	leastDict = 4 << 10
	// A dictionary grows beyond freeDict only up to dictRatio times the number of compressed bytes read. Data with a better
	// compression ratio cannot refer further back.
	freeDict  = 8 << 20
	dictRatio = 64
)

// reset starts to unpack the next block. It keeps the memory.
func (l *lzma2) reset(src *input, size int64) error {
	l.src = src
	l.stated = max(size, leastDict)
	l.size = int(l.stated)
	if cap(l.dict) == 0 {
		if err := l.ask(min(firstDict, l.size)); err != nil {
			return err
		}
		l.dict = make([]byte, min(firstDict, l.size))
	}
	l.dict = l.dict[:min(cap(l.dict), l.size)]
	l.pos, l.read, l.written, l.left, l.pending = 0, 0, 0, 0, 0
	l.raw, l.needDict, l.needProps = false, true, true
	l.cut, l.err = nil, nil
	return nil
}

// ask reports n more bytes of memory to take.
func (l *lzma2) ask(n int) error {
	if l.take == nil {
		return nil
	}
	return l.take(int64(n))
}

// Read returns the unpacked bytes of the block. Its error is io.EOF at the end, io.ErrUnexpectedEOF where the block is
// truncated, or an *Error.
func (l *lzma2) Read(p []byte) (int, error) {
	for {
		if l.read < l.pos {
			n := copy(p, l.dict[l.read:l.pos])
			l.read += n
			return n, nil
		}
		if l.err != nil {
			return 0, l.err
		}
		l.err = l.step()
	}
}

var errLZMA = corrupt("its LZMA2 data is damaged")

// step unpacks more bytes. All bytes of the dictionary must have been read.
func (l *lzma2) step() error {
	if l.pos == len(l.dict) {
		if err := l.room(); err != nil {
			return err
		}
	}
	switch {
	case l.left == 0:
		return l.start()
	case l.raw:
		n, err := l.src.Read(l.dict[l.pos : l.pos+min(l.left, len(l.dict)-l.pos)])
		l.put(n)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if err := l.decode(l.pos + min(l.left, len(l.dict)-l.pos)); err != nil {
		return err
	}
	if l.left == 0 && (l.pending > 0 || !l.rc.finished()) {
		return l.exhausted()
	}
	return nil
}

// put records that n bytes were written to the dictionary.
func (l *lzma2) put(n int) {
	l.pos += n
	l.left -= n
	l.written += int64(n)
}

// room makes room in a full dictionary. It grows the dictionary, or starts again at its beginning.
func (l *lzma2) room() error {
	if next := min(2*len(l.dict), l.size); next > len(l.dict) && int64(next) > freeDict+dictRatio*l.src.n {
		l.size = len(l.dict)
	}
	if len(l.dict) < l.size {
		size := min(2*len(l.dict), l.size)
		if err := l.ask(size); err != nil {
			return err
		}
		bigger := make([]byte, size)
		copy(bigger, l.dict)
		err := l.ask(-cap(l.dict)) // not before: until here there were both dictionaries
		l.dict = bigger
		return err
	}
	l.pos, l.read = 0, 0
	return nil
}

// start reads the header of a chunk. If the chunk is compressed, start also reads its bytes.
func (l *lzma2) start() error {
	var h [6]byte
	if err := l.src.full(h[:1]); err != nil {
		return err
	}
	control := h[0]
	switch {
	case control == 0:
		return io.EOF
	case control >= 0xe0 || control == 1:
		l.needDict, l.needProps = false, true
		l.written = 0
	case l.needDict:
		return errLZMA
	}
	if control < 0x80 {
		if control > 2 {
			return errLZMA
		}
		if err := l.src.full(h[1:3]); err != nil {
			return err
		}
		l.raw, l.left = true, int(binary.BigEndian.Uint16(h[1:]))+1
		return nil
	}
	if err := l.src.full(h[1:5]); err != nil {
		return err
	}
	l.raw, l.left = false, int(control&0x1f)<<16+int(binary.BigEndian.Uint16(h[1:]))+1
	switch {
	case control >= 0xc0:
		if err := l.src.full(h[5:6]); err != nil {
			return err
		}
		if !l.properties(h[5]) {
			return errLZMA
		}
		l.needProps = false
		l.resetState()
	case l.needProps:
		return errLZMA
	case control >= 0xa0:
		l.resetState()
	}
	return l.load(int(binary.BigEndian.Uint16(h[3:])) + 1)
}

// load reads the compressed bytes of a chunk, as many as are present.
func (l *lzma2) load(size int) error {
	if cap(l.chunk) < size {
		l.chunk = make([]byte, size)
	}
	n, err := io.ReadFull(l.src, l.chunk[:size])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	l.chunk, l.cut = l.chunk[:n], err
	if !l.rc.start(l.chunk) {
		return l.exhausted()
	}
	return nil
}

// properties sets lc, lp and pb.
func (l *lzma2) properties(b byte) bool {
	lc, lp, pb := uint(b%9), uint(b/9%5), uint(b/45)
	if pb > 4 || lc+lp > 4 {
		return false
	}
	l.lc, l.lpMask, l.pbMask = lc, 1<<lp-1, 1<<pb-1
	return true
}

func (l *lzma2) resetState() {
	if l.probs == nil {
		l.probs = new(lzmaProbs)
	}
	l.probs.reset()
	l.state, l.reps, l.pending = 0, [4]uint32{}, 0
}

// at returns the byte that was written dist+1 bytes ago.
func (l *lzma2) at(dist uint32) byte {
	i := l.pos - int(dist) - 1
	if i < 0 {
		i += len(l.dict)
	}
	return l.dict[i]
}

// reaches reports whether the dictionary reaches back to a distance.
func (l *lzma2) reaches(dist uint32) bool {
	return int64(dist) < l.written && int64(dist) < int64(l.size)
}

// unreachable returns the error for a distance that the dictionary does not reach.
func (l *lzma2) unreachable(dist uint32) error {
	if d := int64(dist); d < l.written && d < l.stated {
		return &Error{decoders.ErrLimit, fmt.Sprintf("%d bytes unpack to so many that a dictionary of %d is not enough", l.src.n, l.size)}
	}
	return errLZMA
}

// decode unpacks a chunk until the dictionary is written up to end.
func (l *lzma2) decode(end int) error {
	p, rc := l.probs, &l.rc
	l.repeat(end)
	for l.pos < end {
		posState := uint32(l.written) & l.pbMask
		if rc.bit(&p.isMatch[l.state][posState]) == 0 {
			b := l.literal()
			if rc.over {
				return l.exhausted()
			}
			l.dict[l.pos] = b
			l.put(1)
			continue
		}
		n := l.match(posState)
		switch {
		case rc.over:
			return l.exhausted()
		case !l.reaches(l.reps[0]):
			return l.unreachable(l.reps[0])
		}
		l.pending = n
		l.repeat(end)
	}
	return nil
}

// exhausted returns the error for a chunk that has too few or too many bytes.
func (l *lzma2) exhausted() error {
	if l.cut != nil {
		return l.cut
	}
	return errLZMA
}

// repeat writes as much of the pending match as fits.
func (l *lzma2) repeat(end int) {
	n := min(l.pending, end-l.pos)
	from := l.pos - int(l.reps[0]) - 1
	if from >= 0 && from+n <= l.pos {
		copy(l.dict[l.pos:l.pos+n], l.dict[from:from+n])
	} else {
		if from < 0 {
			from += len(l.dict)
		}
		for i := l.pos; i < l.pos+n; i++ {
			l.dict[i] = l.dict[from]
			if from++; from == len(l.dict) {
				from = 0
			}
		}
	}
	l.pending -= n
	l.put(n)
}

func (l *lzma2) literal() byte {
	var before byte
	if l.written > 0 {
		before = l.at(0)
	}
	probs := &l.probs.literal[(uint32(l.written)&l.lpMask)<<l.lc+uint32(before)>>(8-l.lc)]
	symbol := uint32(1)
	if l.state >= 7 {
		// After a match, the byte that would have continued it selects the probabilities.
		hint := uint32(l.at(l.reps[0])) << 1
		for symbol < 0x100 {
			h := hint & 0x100
			hint <<= 1
			bit := l.rc.bit(&probs[0x100+h+symbol])
			symbol = symbol<<1 | bit
			if h>>8 != bit {
				break
			}
		}
	}
	for symbol < 0x100 {
		symbol = symbol<<1 | l.rc.bit(&probs[symbol])
	}
	switch {
	case l.state < 4:
		l.state = 0
	case l.state < 10:
		l.state -= 3
	default:
		l.state -= 6
	}
	return byte(symbol)
}

// match reads a match after its first bit. It stores the distance in reps[0] and returns the length.
func (l *lzma2) match(posState uint32) int {
	p, rc := l.probs, &l.rc
	after := func(afterLiteral, otherwise uint32) {
		if l.state < 7 {
			l.state = afterLiteral
		} else {
			l.state = otherwise
		}
	}
	r := l.reps
	if rc.bit(&p.isRep[l.state]) == 0 {
		n := p.matchLen.decode(rc, posState)
		after(7, 10)
		l.reps = [4]uint32{p.distance(rc, n), r[0], r[1], r[2]}
		return int(n) + 2
	}
	switch {
	case rc.bit(&p.isRep0[l.state]) == 0:
		if rc.bit(&p.isRep0Long[l.state][posState]) == 0 {
			after(9, 11)
			return 1
		}
	case rc.bit(&p.isRep1[l.state]) == 0:
		l.reps = [4]uint32{r[1], r[0], r[2], r[3]}
	case rc.bit(&p.isRep2[l.state]) == 0:
		l.reps = [4]uint32{r[2], r[0], r[1], r[3]}
	default:
		l.reps = [4]uint32{r[3], r[0], r[1], r[2]}
	}
	n := p.repLen.decode(rc, posState)
	after(8, 11)
	return int(n) + 2
}

// prob is the probability of a 0, in 2048ths.
type prob uint16

const (
	evenOdds  = prob(1 << 10)
	posStates = 16
	states    = 12
)

// lzmaProbs holds the adaptive probabilities of LZMA.
type lzmaProbs struct {
	isMatch, isRep0Long           [states][posStates]prob
	isRep, isRep0, isRep1, isRep2 [states]prob
	slot                          [4][64]prob
	special                       [115]prob // for distances from 4 to 127
	align                         [16]prob
	matchLen, repLen              lzmaLen
	literal                       [16][0x300]prob
}

func (p *lzmaProbs) reset() {
	for _, table := range [][]prob{
		p.isRep[:], p.isRep0[:], p.isRep1[:], p.isRep2[:], p.special[:], p.align[:],
	} {
		even(table)
	}
	for i := range p.isMatch {
		even(p.isMatch[i][:])
		even(p.isRep0Long[i][:])
	}
	for i := range p.slot {
		even(p.slot[i][:])
	}
	for i := range p.literal {
		even(p.literal[i][:])
	}
	p.matchLen.reset()
	p.repLen.reset()
}

func even(table []prob) {
	for i := range table {
		table[i] = evenOdds
	}
}

// distance reads a match's distance. n is the match's length minus 2.
func (p *lzmaProbs) distance(rc *rangeDecoder, n uint32) uint32 {
	slot := rc.tree(p.slot[min(n, 3)][:])
	if slot < 4 {
		return slot
	}
	bits := slot>>1 - 1
	dist := (2 | slot&1) << bits
	if slot < 14 {
		return dist + rc.reverse(p.special[dist-slot:], bits)
	}
	return dist + rc.direct(bits-4)<<4 + rc.reverse(p.align[:], 4)
}

// lzmaLen reads the lengths of matches minus 2.
type lzmaLen struct {
	choice [2]prob
	low    [posStates][8]prob
	mid    [posStates][8]prob
	high   [256]prob
}

func (t *lzmaLen) reset() {
	even(t.choice[:])
	even(t.high[:])
	for i := range t.low {
		even(t.low[i][:])
		even(t.mid[i][:])
	}
}

func (t *lzmaLen) decode(rc *rangeDecoder, posState uint32) uint32 {
	switch {
	case rc.bit(&t.choice[0]) == 0:
		return rc.tree(t.low[posState][:])
	case rc.bit(&t.choice[1]) == 0:
		return 8 + rc.tree(t.mid[posState][:])
	}
	return 16 + rc.tree(t.high[:])
}

// rangeDecoder reads bits of known probability from a chunk.
type rangeDecoder struct {
	in   []byte
	pos  int
	rng  uint32
	code uint32
	over bool // reading went past the end; bits decoded after that are invalid
}

// start starts to decode a chunk. It reports whether the chunk's first bytes are valid.
func (rc *rangeDecoder) start(in []byte) bool {
	if len(in) < 5 || in[0] != 0 {
		return false
	}
	*rc = rangeDecoder{in: in, pos: 5, rng: 1<<32 - 1, code: binary.BigEndian.Uint32(in[1:])}
	return true
}

func (rc *rangeDecoder) normalize() {
	if rc.rng >= 1<<24 {
		return
	}
	rc.rng <<= 8
	rc.code <<= 8
	if rc.pos < len(rc.in) {
		rc.code |= uint32(rc.in[rc.pos])
		rc.pos++
	} else {
		rc.over = true
	}
}

// finished reports whether all bytes of the chunk were used. A valid chunk has no others.
func (rc *rangeDecoder) finished() bool {
	rc.normalize()
	return rc.pos == len(rc.in) && rc.code == 0 && !rc.over
}

func (rc *rangeDecoder) bit(p *prob) uint32 {
	rc.normalize()
	odds := *p
	bound := rc.rng >> 11 * uint32(odds)
	if rc.code < bound {
		rc.rng = bound
		*p = odds + (2048-odds)>>5
		return 0
	}
	rc.rng -= bound
	rc.code -= bound
	*p = odds - odds>>5
	return 1
}

// tree reads a number whose bits' probabilities form a tree. For n bits the table has 2^n entries.
func (rc *rangeDecoder) tree(table []prob) uint32 {
	m := 1
	for m < len(table) {
		m = m<<1 | int(rc.bit(&table[m]))
	}
	return uint32(m - len(table))
}

// reverse reads a number whose lowest bit comes first.
func (rc *rangeDecoder) reverse(table []prob, bits uint32) uint32 {
	m, v := uint32(1), uint32(0)
	for i := range bits {
		b := rc.bit(&table[m])
		m = m<<1 | b
		v |= b << i
	}
	return v
}

// direct reads bits of equal probability.
func (rc *rangeDecoder) direct(bits uint32) uint32 {
	var v uint32
	for range bits {
		rc.normalize()
		rc.rng >>= 1
		v <<= 1
		if rc.code >= rc.rng {
			rc.code -= rc.rng
			v |= 1
		}
	}
	return v
}
