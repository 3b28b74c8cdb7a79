package tablefile

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// TestAll: numbers get the same places in a dictionary together as one by one.
func TestAll(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, different := range []uint64{1, 2, 3, 3 * recentNumbers} {
		one, all := chunk{out: &counter{}}, chunk{out: &counter{}}
		for _, c := range []*chunk{&one, &all} {
			c.begin(&leaf{physical: format.Int64, way: []step{{}}})
		}
		for range 100 {
			v := make([]uint64, 1+random.IntN(50))
			for i := range v {
				v[i] = random.Uint64N(different)
				one.number(v[i])
			}
			all.all(v)
		}
		if !slices.Equal(all.indices, one.indices) || !bytes.Equal(all.dictionary.data, one.dictionary.data) || all.bounds.most != one.bounds.most {
			t.Errorf("of %d numbers, others are meant", different)
		}
	}
}
