package tablefile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// TestBoundsOfAll: numbers have the same bounds together as one by one.
func TestBoundsOfAll(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []arrow.Type{arrow.INT32, arrow.DATE32, arrow.UINT32, arrow.INT64, arrow.TIMESTAMP, arrow.UINT64, arrow.FLOAT32, arrow.FLOAT64} {
		narrow := slices.Contains([]arrow.Type{arrow.INT32, arrow.DATE32, arrow.UINT32, arrow.FLOAT32}, kind)
		nan, as := kind == arrow.FLOAT32 || kind == arrow.FLOAT64, format.Int64
		if narrow {
			as = format.Int32
		}
		for n := range 100 {
			one, all := bounds{kind: kind}, bounds{kind: kind}
			for range 1 + n%2 {
				var plain []byte
				for range 1 + random.IntN(4) {
					v := random.Uint64()
					switch {
					case nan && random.IntN(3) == 0:
						v = math.Float64bits(math.NaN())
						if narrow {
							v = uint64(math.Float32bits(float32(math.NaN())))
						}
					case narrow:
						v &= math.MaxUint32
					case n%3 == 0:
						v &= 3
					}
					one.number(v)
					plain = appendNumber(plain, v, as)
				}
				all.all(plain)
			}
			a, b := one.values(as)
			c, d := all.values(as)
			if !slices.Equal(a, c) || !slices.Equal(b, d) {
				t.Errorf("%v: %x to %x, want %x to %x", kind, c, d, a, b)
			}
		}
	}
}
