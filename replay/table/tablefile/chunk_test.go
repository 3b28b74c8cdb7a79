package tablefile

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// TestAll: numbers get the same places in a dictionary together as one by one.
func TestAll(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, different := range []uint64{1, 2, 3, 10_000} {
		var one, together chunk
		for _, c := range []*chunk{&one, &together} {
			c.begin(&leaf{physical: format.Int64, way: []step{{}}}, new(workspace))
		}
		for range 100 {
			v := make([]uint64, 1+random.IntN(50))
			for i := range v {
				v[i] = random.Uint64N(different)
				one.number(v[i])
			}
			all(&together, v)
		}
		if !slices.Equal(together.indices, one.indices) || !slices.Equal(together.dictionary.numbers, one.dictionary.numbers) || together.bounds.most != one.bounds.most {
			t.Errorf("of %d numbers, others are meant", different)
		}
	}
}

// TestHashes: numbers that differ in any of their bits have places of their own in a table, whatever the bits below them are.
func TestHashes(t *testing.T) {
	const values, slots = 20_000, 1 << 16
	for shift := range 49 {
		used := map[uint64]bool{}
		for v := range uint64(values) {
			used[hashOf(v<<shift)%slots] = true
		}
		if len(used) < values/2 {
			t.Errorf("%d values, %d bits further left, have %d hashes", values, shift, len(used))
		}
	}
}

// TestNear: numbers that are near each other are found without a hash, in whichever order they came, and others take no memory.
func TestNear(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		number func(i int64) int64
		all    bool
	}{
		"rising":  {func(i int64) int64 { return i - 500 }, true},
		"falling": {func(i int64) int64 { return 500 - i }, true},
		"both":    {func(i int64) int64 { return i * (1 - i&1*2) }, true},
		"far":     {func(i int64) int64 { return math.MaxInt64 - i<<40 }, false},
		"ends":    {func(i int64) int64 { return math.MinInt64 + i>>1 ^ -(i & 1) }, false},
	} {
		var d dictionary
		for i := range int64(1000) {
			if at, had := d.number(uint64(test.number(i)), format.Int64); int64(at) != i || had {
				t.Fatalf("%s: number %d is at %d", name, i, at)
			}
		}
		found := 0
		for i := range int64(1000) {
			if at, had := d.number(uint64(test.number(i)), format.Int64); int64(at) != i || !had {
				t.Fatalf("%s: number %d is at %d later", name, i, at)
			}
			if at := test.number(i) - d.base; at >= 0 && at < int64(len(d.near)) {
				if d.near[at] > 0 && int64(d.near[at]) != i+1 {
					t.Fatalf("%s: number %d is confused with %d", name, i, d.near[at]-1)
				}
				found += min(1, int(d.near[at]))
			}
		}
		if test.all && found != 1000 || len(d.near) > 4096 {
			t.Errorf("%s: %d numbers are near, in %d places", name, found, len(d.near))
		}
	}
	var few dictionary
	few.number(0, format.Int64)
	if few.number(maxNear-1, format.Int64); len(few.near) > 64 {
		t.Errorf("two numbers take %d places", len(few.near))
	}
}

// TestMove: everything but the dictionary moves to a file, and is written from there. Few different values have no dictionary.
func TestMove(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/waiting")
	if err != nil {
		t.Fatal(err)
	}
	var to waiting
	if err := to.open(func() (*os.File, error) { return f, nil }); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.close() }()
	var c chunk
	c.begin(&leaf{physical: format.Int64, way: []step{{}}}, new(workspace))
	add := func(n int, number func(i int) uint64) {
		v := make([]uint64, n)
		for i := range v {
			v[i] = number(i)
		}
		c.entries += n
		all(&c, v)
		c.finishPage()
	}
	add(1000, func(i int) uint64 { return uint64(i % 10) })
	add(1000, func(i int) uint64 { return uint64(i % 20) })
	if err := c.move(&to); err != nil || !c.dictionary.open {
		t.Fatal("a small dictionary ends:", err)
	}
	add(5000, func(i int) uint64 { return uint64(i) << 20 })
	if err := c.move(&to); err != nil {
		t.Fatal(err)
	}
	if about, values := c.cost(); values != 0 || c.dictionary.open || about > 16*pageCost || c.first.data != nil || slices.ContainsFunc(c.pages, func(p page) bool { return p.data != nil }) {
		t.Errorf("%d and %d bytes are in memory", about, values)
	}
	out := &counter{w: io.Discard}
	if err := to.flush(); err != nil {
		t.Fatal(err)
	}
	if meta, err := c.write(out, &to); err != nil || out.at != meta.TotalCompressedSize || meta.NumValues != 7000 || len(c.pages) != 3 {
		t.Errorf("%d bytes with %d values: %v", out.at, meta.NumValues, err)
	}
	c.begin(c.leaf, c.work)
	c.entries = 100
	for i := range uint64(100) {
		c.number(i << 20)
	}
	if meta, err := c.write(out, &to); err != nil || meta.DictionaryPageOffset != 0 {
		t.Error("different values have a dictionary:", err)
	}
}
