package tablefile

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// maxBound is the largest length of a text that is given as a bound. Readers would read a longer one with each file.
const maxBound = 4 << 10

// bounds holds the smallest and the largest of a column's values.
type bounds struct {
	kind                arrow.Type
	some                bool
	least, most         uint64 // in the form of appendNumber
	leastText, mostText []byte
}

// number includes a number.
func (b *bounds) number(v uint64) {
	switch {
	case b.isNaN(v):
	case !b.some:
		b.some, b.least, b.most = true, v, v
	case b.less(v, b.least):
		b.least = v
	case b.less(b.most, v):
		b.most = v
	}
}

// all includes numbers, of which there must be some, as the plain encoding has them; a byte for a bool.
func (b *bounds) all(v []byte) {
	switch b.kind {
	case arrow.BOOL:
		include(b, v, func(v uint8) uint64 { return uint64(v) })
	case arrow.INT32, arrow.DATE32:
		include(b, numbersOf[int32](v), func(v int32) uint64 { return uint64(uint32(v)) })
	case arrow.UINT32:
		include(b, numbersOf[uint32](v), func(v uint32) uint64 { return uint64(v) })
	case arrow.INT64, arrow.TIMESTAMP:
		include(b, numbersOf[int64](v), func(v int64) uint64 { return uint64(v) })
	case arrow.FLOAT32:
		include(b, numbersOf[float32](v), func(v float32) uint64 { return uint64(math.Float32bits(v)) })
	case arrow.FLOAT64:
		include(b, numbersOf[float64](v), math.Float64bits)
	default:
		include(b, numbersOf[uint64](v), func(v uint64) uint64 { return v })
	}
}

// include includes numbers. form is the form of appendNumber.
func include[N cmp.Ordered](b *bounds, v []N, form func(N) uint64) {
	for len(v) > 1 && v[0] != v[0] { //nolint:gocritic // NaN, beside which nothing is less
		v = v[1:]
	}
	least, most := v[0], v[0]
	for _, v := range v {
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
	}
	b.number(form(least))
	b.number(form(most))
}

// text includes a text.
func (b *bounds) text(v []byte) {
	if !b.some || bytes.Compare(v, b.leastText) < 0 {
		b.leastText = append([]byte{}, v...) // an empty text is a bound, nil is none
	}
	if !b.some || bytes.Compare(v, b.mostText) > 0 {
		b.mostText = append([]byte{}, v...)
	}
	b.some = true
}

func (b *bounds) isNaN(v uint64) bool {
	switch b.kind {
	case arrow.FLOAT32:
		return math.IsNaN(float64(math.Float32frombits(uint32(v))))
	case arrow.FLOAT64:
		return math.IsNaN(math.Float64frombits(v))
	default:
		return false
	}
}

func (b *bounds) less(v, w uint64) bool {
	switch b.kind {
	case arrow.INT32, arrow.DATE32:
		return int32(v) < int32(w)
	case arrow.INT64, arrow.TIMESTAMP:
		return int64(v) < int64(w)
	case arrow.FLOAT32:
		return math.Float32frombits(uint32(v)) < math.Float32frombits(uint32(w))
	case arrow.FLOAT64:
		return math.Float64frombits(v) < math.Float64frombits(w)
	default:
		return v < w
	}
}

// values returns the encoded bounds. They are nil if there are none, or if a text is too long.
func (b *bounds) values(as format.Type) (least, most []byte) {
	if !b.some || len(b.leastText) > maxBound || len(b.mostText) > maxBound {
		return nil, nil
	}
	if as == format.ByteArray {
		return b.leastText, b.mostText
	}
	v, w := b.least, b.most
	if sign := b.sign(); sign != 0 { // 0 and -0 are equal, so the bounds include both
		if v&^sign == 0 {
			v = sign
		}
		if w&^sign == 0 {
			w = 0
		}
	}
	return appendNumber(nil, v, as), appendNumber(nil, w, as)
}

// sign returns the bit of a floating-point number's sign, 0 for other numbers.
func (b *bounds) sign() uint64 {
	switch b.kind {
	case arrow.FLOAT32:
		return 1 << 31
	case arrow.FLOAT64:
		return 1 << 63
	default:
		return 0
	}
}
