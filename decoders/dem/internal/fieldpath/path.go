// Package fieldpath reads field paths: the part of an entity's update that lists the fields it changes.
package fieldpath

import (
	"errors"

	"github.com/replayd/replayd/decoders/bits"
)

// MaxDepth is the maximum number of indices in a field path. Games use 7.
const MaxDepth = 8

// MaxIndex is the largest index in a path. No list of a game is nearly as long.
const MaxIndex = 1<<14 - 1

// MaxPaths bounds the paths of one update.
const MaxPaths = 1 << 16

// Path leads to a field of an entity: an index into the fields of its serializer, then an index into the elements or fields
// of that field, and so on. Only the indices from Keep to Last are set. The earlier indices equal those of the previous path.
type Path struct {
	Idx  [MaxDepth]int32
	Last int8 // the position of the last index
	Keep int8 // how many leading indices equal those of the previous path
}

// The reasons why paths cannot be read, beside bits.ErrOverrun.
var (
	ErrDepth = errors.New("field path too deep")
	ErrIndex = errors.New("index of a field path out of range")
	ErrCount = errors.New("too many fields")
)

// Finish is the operation that ends a list.
const Finish = 39

// Apply carries out an operation whose numbers are at r: one of those from 9 on but 11, 29 and Finish. It returns false if there is no such path.
func (p *Path) Apply(r *bits.Reader, op uint8) bool {
	q := reader{Path: *p}
	q.apply(r, op)
	*p = q.Path
	return q.bad == nil
}

// reader is the state of reading a list of paths.
type reader struct {
	Path
	bad error
}

// Read appends the paths of a list to dst (docs/formats/dem.md, Field paths).
//
// Nine of ten operations change the last index by a number that lies in their code or right behind it. These are taken from a
// word of bits; the reader is updated only for the others.
func Read(r *bits.Reader, dst []Path) ([]Path, error) {
	const word = 57 // bits that Peek returns
	// A code, and the most extra bits of an operation.
	const enough = 17 + 6
	p := reader{}
	p.Idx[0] = -1
	w, left := r.Peek(), word
	for {
		if left < enough {
			r.Skip(word - left)
			if r.Overrun() {
				return dst, bits.ErrOverrun
			}
			w, left = r.Peek(), word
		}
		code := table[w&(1<<tableBits-1)]
		if code.length == 0 {
			code = longCodes[w>>tableBits&(1<<longBits-1)]
		}
		w >>= code.length
		left -= int(code.length)
		p.Keep = p.Last
		switch top := &p.Idx[p.Last&(MaxDepth-1)]; code.op {
		case 0, 1, 2, 3: // PlusOne, PlusTwo, PlusThree, PlusFour
			*top += int32(code.op) + 1
		case 39: // Finish
			r.Skip(word - left)
			if r.Overrun() {
				return dst, bits.ErrOverrun
			}
			return dst, nil
		case 11: // PushOneLeftDeltaNRightNonZeroPack6Bits
			*top += int32(w&7) + 2
			if uint32(*top) > MaxIndex {
				return dst, ErrIndex
			}
			p.push(int32(w>>3&7) + 1)
			w >>= 6
			left -= 6
		case 4: // PlusN
			if left < numberBits {
				r.Skip(word - left)
				w, left = r.Peek(), word
			}
			v, n := Number(w)
			*top += v + 5
			w >>= n
			left -= n
		case 5, 7: // PushOneLeftDeltaZeroRightZero, PushOneLeftDeltaOneRightZero
			*top += (int32(code.op) - 5) >> 1
			if uint32(*top) > MaxIndex {
				return dst, ErrIndex
			}
			p.push(0)
		case 6, 8: // PushOneLeftDeltaZeroRightNonZero, PushOneLeftDeltaOneRightNonZero
			if left < numberBits {
				r.Skip(word - left)
				w, left = r.Peek(), word
			}
			v, n := Number(w)
			*top += (int32(code.op) - 6) >> 1
			if uint32(*top) > MaxIndex {
				return dst, ErrIndex
			}
			p.push(v)
			w >>= n
			left -= n
		case 29: // PopAllButOnePlusOne
			p.pop(uint32(p.Last))
			p.Idx[0]++
			p.Keep = 0
		default:
			r.Skip(word - left)
			p.apply(r, code.op)
			if r.Overrun() {
				return dst, bits.ErrOverrun
			}
			for d := range p.Last + 1 {
				if uint32(p.Idx[d&(MaxDepth-1)]) > MaxIndex {
					return dst, ErrIndex
				}
			}
			w, left = r.Peek(), word
		}
		switch {
		case p.bad != nil:
			return dst, p.bad
		case uint32(p.Idx[p.Last&(MaxDepth-1)]) > MaxIndex:
			return dst, ErrIndex
		case len(dst) >= MaxPaths:
			return dst, ErrCount
		}
		if len(dst) == cap(dst) {
			dst = append(dst, Path{})[:len(dst)]
		}
		dst = dst[:len(dst)+1]
		out := &dst[len(dst)-1]
		out.Keep, out.Last = p.Keep, p.Last
		for d := p.Keep; d <= p.Last; d++ {
			out.Idx[d&(MaxDepth-1)] = p.Idx[d&(MaxDepth-1)]
		}
	}
}

// apply carries out one of the rarer operations, and notes how many leading indices it kept.
func (p *reader) apply(r *bits.Reader, op uint8) {
	top := &p.Idx[p.Last]
	switch op {
	case 9: // PushOneLeftDeltaNRightZero
		*top += readNumber(r)
		p.push(0)
	case 10: // PushOneLeftDeltaNRightNonZero
		*top += readNumber(r) + 2
		p.push(readNumber(r) + 1)
	case 12: // PushOneLeftDeltaNRightNonZeroPack8Bits
		*top += int32(r.Bits(4)) + 2
		p.push(int32(r.Bits(4)) + 1)
	case 13: // PushTwoLeftDeltaZero
		p.pushNumbers(r, 2)
	case 14: // PushTwoPack5LeftDeltaZero
		p.pushPacked(r, 2)
	case 15: // PushThreeLeftDeltaZero
		p.pushNumbers(r, 3)
	case 16: // PushThreePack5LeftDeltaZero
		p.pushPacked(r, 3)
	case 17: // PushTwoLeftDeltaOne
		*top++
		p.pushNumbers(r, 2)
	case 18: // PushTwoPack5LeftDeltaOne
		*top++
		p.pushPacked(r, 2)
	case 19: // PushThreeLeftDeltaOne
		*top++
		p.pushNumbers(r, 3)
	case 20: // PushThreePack5LeftDeltaOne
		*top++
		p.pushPacked(r, 3)
	case 21: // PushTwoLeftDeltaN
		*top += int32(r.UBitVar()) + 2
		p.pushNumbers(r, 2)
	case 22: // PushTwoPack5LeftDeltaN
		*top += int32(r.UBitVar()) + 2
		p.pushPacked(r, 2)
	case 23: // PushThreeLeftDeltaN
		*top += int32(r.UBitVar()) + 2
		p.pushNumbers(r, 3)
	case 24: // PushThreePack5LeftDeltaN
		*top += int32(r.UBitVar()) + 2
		p.pushPacked(r, 3)
	case 25: // PushN
		n := r.UBitVar()
		*top += int32(r.UBitVar())
		p.pushNumbers(r, n)
	case 26: // PushNAndNonTopological
		for i := range p.Last + 1 {
			if r.Bool() {
				p.Idx[i] += r.Varint32() + 1
			}
		}
		p.pushNumbers(r, r.UBitVar())
		p.Keep = 0
	case 27: // PopOnePlusOne
		p.pop(1)
		p.Idx[p.Last]++
		p.Keep = p.Last
	case 28: // PopOnePlusN
		p.pop(1)
		p.Idx[p.Last] += readNumber(r) + 1
		p.Keep = p.Last
	case 30: // PopAllButOnePlusN
		p.pop(uint32(p.Last))
		p.Idx[0] += readNumber(r) + 1
		p.Keep = 0
	case 31: // PopAllButOnePlusNPack3Bits
		p.pop(uint32(p.Last))
		p.Idx[0] += int32(r.Bits(3)) + 1
		p.Keep = 0
	case 32: // PopAllButOnePlusNPack6Bits
		p.pop(uint32(p.Last))
		p.Idx[0] += int32(r.Bits(6)) + 1
		p.Keep = 0
	case 33: // PopNPlusOne
		p.pop(uint32(readNumber(r)))
		p.Idx[p.Last]++
		p.Keep = p.Last
	case 34: // PopNPlusN
		p.pop(uint32(readNumber(r)))
		p.Idx[p.Last] += r.Varint32()
		p.Keep = p.Last
	case 35: // PopNAndNonTopographical
		p.pop(uint32(readNumber(r)))
		p.addEach(r)
		p.Keep = 0
	case 36: // NonTopoComplex
		p.addEach(r)
		p.Keep = 0
	case 37: // NonTopoPenultimatePlusOne
		if p.Last == 0 {
			p.bad = ErrDepth
			return
		}
		p.Idx[p.Last-1]++
		p.Keep = p.Last - 1
	case 38: // NonTopoComplexPack4Bits
		for i := range p.Last + 1 {
			if r.Bool() {
				p.Idx[i] += int32(r.Bits(4)) - 7
			}
		}
		p.Keep = 0
	}
}

func (p *reader) push(v int32) {
	if p.Last+1 >= MaxDepth {
		p.bad = ErrDepth
		return
	}
	p.Last++
	p.Idx[p.Last] = v
}

func (p *reader) pushNumbers(r *bits.Reader, n uint32) {
	if n >= MaxDepth {
		p.bad = ErrDepth
		return
	}
	for range n {
		p.push(readNumber(r))
	}
}

func (p *reader) pushPacked(r *bits.Reader, n int) {
	for range n {
		p.push(int32(r.Bits(5)))
	}
}

func (p *reader) pop(n uint32) {
	if n > uint32(p.Last) {
		p.bad = ErrDepth
		return
	}
	for range n {
		p.Idx[p.Last] = 0
		p.Last--
	}
}

func (p *reader) addEach(r *bits.Reader) {
	for i := range p.Last + 1 {
		if r.Bool() {
			p.Idx[i] += r.Varint32()
		}
	}
}

// numberBits is the maximum number of bits of a path number.
const numberBits = 4 + 31

// readNumber reads a path number.
func readNumber(r *bits.Reader) int32 {
	v, n := Number(r.Peek())
	r.Skip(n)
	return v
}

// Number returns the path number of 2, 4, 10, 17 or 31 bits at the beginning of w, and the number of bits that it takes in all.
func Number(w uint64) (v int32, n int) {
	switch {
	case w&1 != 0:
		return int32(w >> 1 & (1<<2 - 1)), 3
	case w&2 != 0:
		return int32(w >> 2 & (1<<4 - 1)), 6
	case w&4 != 0:
		return int32(w >> 3 & (1<<10 - 1)), 13
	case w&8 != 0:
		return int32(w >> 4 & (1<<17 - 1)), 21
	}
	return int32(w >> 4 & (1<<31 - 1)), numberBits
}
