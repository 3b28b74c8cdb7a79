package value

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

// Quantizer reads floats that were quantized to some bits between two bounds. It calculates with 32 bits and in the game's order,
// so that results are equal to the last digit.
type Quantizer struct {
	Low, High float32
	Step      float32 // 1 / (number of steps - 1)
	Bits      int
	flags     int
}

// NewQuantizer makes a quantizer of 1 to 31 bits.
func NewQuantizer(nbits int, low, high float32, flags int) *Quantizer {
	q := &Quantizer{Low: low, High: high, Bits: nbits, flags: flags & 15}
	q.fixFlags()
	steps := uint64(1) << q.Bits
	switch {
	case q.flags&roundDown != 0:
		q.High -= (q.High - q.Low) / float32(steps)
	case q.flags&roundUp != 0:
		q.Low += (q.High - q.Low) / float32(steps)
	}
	if q.flags&encodeIntegers != 0 {
		delta := max(float64(q.High-q.Low), 1)
		span := math.Exp2(math.Ceil(math.Log2(delta)))
		for q.Bits < 31 && float64(uint64(1)<<q.Bits) <= span {
			q.Bits++
		}
		steps = 1 << q.Bits
		q.High = q.Low + float32(span) - float32(span)/float32(steps)
	}
	q.Step = 1 / float32(steps-1)
	mul := q.multiplier(steps)

	// A bound or a zero that quantization hits anyway needs no separate bit.
	if q.flags&roundDown != 0 && q.quantize(q.Low, mul) == q.Low {
		q.flags &^= roundDown
	}
	if q.flags&roundUp != 0 && q.quantize(q.High, mul) == q.High {
		q.flags &^= roundUp
	}
	if q.flags&encodeZero != 0 && q.quantize(0, mul) == 0 {
		q.flags &^= encodeZero
	}
	return q
}

func (q *Quantizer) fixFlags() {
	if q.flags == 0 {
		return
	}
	if q.Low == 0 && q.flags&roundDown != 0 || q.High == 0 && q.flags&roundUp != 0 {
		q.flags &^= encodeZero
	}
	if q.Low == 0 && q.flags&encodeZero != 0 {
		q.flags = q.flags&^encodeZero | roundDown
	}
	if q.High == 0 && q.flags&encodeZero != 0 {
		q.flags = q.flags&^encodeZero | roundUp
	}
	if q.Low >= 0 || q.High <= 0 {
		q.flags &^= encodeZero
	}
	if q.flags&encodeIntegers != 0 {
		q.flags &^= roundDown | roundUp | encodeZero
	}
}

// multiplier returns the factor from a value to its step. Rounding must not carry a value past the last step.
func (q *Quantizer) multiplier(steps uint64) float32 {
	last := float32(steps - 1)
	span := q.High - q.Low
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

func (q *Quantizer) quantize(v, mul float32) float32 {
	if v < q.Low {
		return q.Low
	}
	if v > q.High {
		return q.High
	}
	return q.value(uint32((v - q.Low) * mul))
}

// value returns the value of a step. The order of the multiplications matters: this one gives the zeros and whole numbers for
// which a field has no separate bit. The conversion keeps processors from adding before the product is rounded.
func (q *Quantizer) value(i uint32) float32 {
	return q.Low + float32((q.High-q.Low)*(float32(i)*q.Step))
}

// read reads one value.
func (q *Quantizer) read(r *bits.Reader) float32 {
	if q.flags&roundDown != 0 && r.Bool() {
		return q.Low
	}
	if q.flags&roundUp != 0 && r.Bool() {
		return q.High
	}
	if q.flags&encodeZero != 0 && r.Bool() {
		return 0
	}
	return q.value(uint32(r.Bits(q.Bits)))
}
