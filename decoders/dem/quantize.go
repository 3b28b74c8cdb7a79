package dem

import (
	"math"

	"github.com/replayd/replayd/decoders/bits"
)

// Flags of a quantized float (docs/formats/dem.md, Quantized floats).
const (
	roundDown = 1 << iota
	roundUp
	encodeZero
	encodeIntegers
)

// quantizer reads floats that were quantized to some bits between two bounds. All arithmetic is of 32 bits and in the
// game's order: the results are equal to the last digit.
type quantizer struct {
	low, high float32
	step      float32 // 1 / (number of steps - 1)
	bits      int
	flags     int
}

// newQuantizer makes a quantizer of 1 to 31 bits.
func newQuantizer(nbits int, low, high float32, flags int) *quantizer {
	q := &quantizer{low: low, high: high, bits: nbits, flags: flags & 15}
	q.fixFlags()
	steps := uint64(1) << q.bits
	switch {
	case q.flags&roundDown != 0:
		q.high -= (q.high - q.low) / float32(steps)
	case q.flags&roundUp != 0:
		q.low += (q.high - q.low) / float32(steps)
	}
	if q.flags&encodeIntegers != 0 {
		delta := max(float64(q.high-q.low), 1)
		span := math.Exp2(math.Ceil(math.Log2(delta)))
		for q.bits < 31 && float64(uint64(1)<<q.bits) <= span {
			q.bits++
		}
		steps = 1 << q.bits
		q.high = q.low + float32(span) - float32(span)/float32(steps)
	}
	q.step = 1 / float32(steps-1)
	mul := q.multiplier(steps)

	// A bound or a zero that quantization hits anyway needs no bit of its own.
	if q.flags&roundDown != 0 && q.quantize(q.low, mul) == q.low {
		q.flags &^= roundDown
	}
	if q.flags&roundUp != 0 && q.quantize(q.high, mul) == q.high {
		q.flags &^= roundUp
	}
	if q.flags&encodeZero != 0 && q.quantize(0, mul) == 0 {
		q.flags &^= encodeZero
	}
	return q
}

func (q *quantizer) fixFlags() {
	if q.flags == 0 {
		return
	}
	if q.low == 0 && q.flags&roundDown != 0 || q.high == 0 && q.flags&roundUp != 0 {
		q.flags &^= encodeZero
	}
	if q.low == 0 && q.flags&encodeZero != 0 {
		q.flags = q.flags&^encodeZero | roundDown
	}
	if q.high == 0 && q.flags&encodeZero != 0 {
		q.flags = q.flags&^encodeZero | roundUp
	}
	if q.low >= 0 || q.high <= 0 {
		q.flags &^= encodeZero
	}
	if q.flags&encodeIntegers != 0 {
		q.flags &^= roundDown | roundUp | encodeZero
	}
}

// multiplier is what takes a value to its step. Rounding must not carry it past the last step.
func (q *quantizer) multiplier(steps uint64) float32 {
	last := float32(steps - 1)
	span := q.high - q.low
	mul := last
	if math.Abs(float64(span)) > 0 {
		mul = last / span
	}
	if mul*span > last || float64(mul*span) > float64(steps-1) {
		for _, shrink := range [...]float32{.9999, .99, .9, .8, .7} {
			if m := last / span * shrink; m*span <= last && float64(m*span) <= float64(steps-1) {
				return m
			}
		}
	}
	return mul
}

func (q *quantizer) quantize(v, mul float32) float32 {
	if v < q.low {
		return q.low
	}
	if v > q.high {
		return q.high
	}
	return q.value(uint32((v - q.low) * mul))
}

// value returns the value of a step. The order of the products counts: this one gives the zeros and whole numbers for
// which a field has no bit of their own. The conversion keeps processors from adding before the product is rounded.
func (q *quantizer) value(i uint32) float32 {
	return q.low + float32((q.high-q.low)*(float32(i)*q.step))
}

// read reads one value.
func (q *quantizer) read(r *bits.Reader) float32 {
	if q.flags&roundDown != 0 && r.Bool() {
		return q.low
	}
	if q.flags&roundUp != 0 && r.Bool() {
		return q.high
	}
	if q.flags&encodeZero != 0 && r.Bool() {
		return 0
	}
	return q.value(uint32(r.Bits(q.bits)))
}
