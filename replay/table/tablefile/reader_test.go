package tablefile_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// TestReader: a Reader reads what Arrow's own reader of Parquet does, however many rows are asked for at a time.
func TestReader(t *testing.T) {
	t.Parallel()
	schema := arrow.NewSchema(every, nil)
	for seed, s := range []source{{different: 3, missing: 0}, {different: 3, missing: 3}, {different: 1 << 30, missing: 5}, {different: 3, missing: 10}} {
		s.Rand = rand.New(rand.NewPCG(uint64(seed), 1))
		b := write(t, tablefile.Parquet, schema, []int{1 << 10, 64 << 20}[seed%2], s.batch(t, schema, 700), s.batch(t, schema, 1), s.batch(t, schema, 1500))
		p, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		f, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.ReadTable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := tablefile.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for {
			n := 1 + s.IntN(500)
			got, err := r.Read(n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for c := range int(got.NumCols()) {
				if got.Schema().Field(c).Name != want.Schema().Field(c).Name {
					t.Fatalf("column %d is %s", c, got.Schema().Field(c))
				}
				for i := range int(got.NumRows()) {
					chunk, at := want.Column(c).Data().Chunks(), rows+i
					for at >= chunk[0].Len() {
						at -= chunk[0].Len()
						chunk = chunk[1:]
					}
					if got, want := got.Column(c).ValueStr(i), chunk[0].ValueStr(at); got != want {
						t.Fatalf("source %d: row %d of %s is %s, want %s", seed, rows+i, schema.Field(c).Name, got, want)
					}
				}
			}
			rows += int(got.NumRows())
		}
		if rows != int(want.NumRows()) {
			t.Errorf("%d rows, want %d", rows, want.NumRows())
		}
	}
}

// FuzzReader: a damaged file gives an error, and takes memory by its bytes.
func FuzzReader(f *testing.F) {
	s := source{rand.New(rand.NewPCG(1, 1)), 3, 3}
	schema := arrow.NewSchema(every, nil)
	var t testing.T
	b := write(&t, tablefile.Parquet, schema, 64<<20, s.batch(&t, schema, 20))
	f.Add(b)
	for i := 7; i < len(b); i += len(b) / 200 {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x41
		f.Add(damaged)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		r, err := tablefile.NewReader(bytes.NewReader(b), int64(len(b)))
		for rows := 0; err == nil && rows < 1<<12; rows += 7 {
			_, err = r.Read(7)
		}
	})
}
