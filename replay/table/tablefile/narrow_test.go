package tablefile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNarrow: numbers of every spread, in blocks of every length, are what they were, and take as few bytes as they may.
func TestNarrow(t *testing.T) { //nolint:paralleltest // it counts allocations
	random := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []uint64{0, 1, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		for _, n := range []int{0, 1, perBlock - 1, perBlock, perBlock + 1, 5*perBlock + 7} {
			least := []int64{0, -3, math.MinInt64, math.MinInt32}[random.IntN(4)]
			wide := make([]int64, n)
			for i := range wide {
				wide[i] = least + int64(random.Uint64()&spread)
				if i%perBlock < 2 { // both ends
					wide[i] = least + int64(spread*uint64(i%perBlock))
				}
			}
			wantNarrow(t, wide)
			small := make([]int32, n)
			for i := range small {
				small[i] = int32(wide[i])
			}
			wantNarrow(t, small)
		}
	}
}

func wantNarrow[T int32 | int64](t *testing.T, v []T) {
	t.Helper()
	spread := uint64(0)
	for block := range slices.Chunk(v, perBlock) {
		spread = max(spread, uint64(slices.Max(block))-uint64(slices.Min(block)))
	}
	b := narrow([]byte("before"), v)
	got := make([]T, len(v))
	widen(got, b[len("before"):])
	if !slices.Equal(got, v) || string(b[:6]) != "before" {
		t.Errorf("%d numbers with a spread of %d are others", len(v), spread)
	}
	width := 8
	for i, most := range []uint64{0, math.MaxUint8, math.MaxUint16, math.MaxUint32} {
		if spread <= most {
			width = []int{0, 1, 2, 4}[i]
			break
		}
	}
	if most := len("before") + (len(v)+perBlock-1)/perBlock*9 + len(v)*width; len(b) > most {
		t.Errorf("%d numbers with a spread of %d take %d bytes", len(v), spread, len(b))
	}
	room := make([]byte, 0, 2*len(b)+16)
	if n := testing.AllocsPerRun(5, func() { room = narrow(room[:0], v) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
