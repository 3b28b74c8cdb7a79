package tablefile_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// TestRowGroups: however few rows are written at once, row groups are large, but not of any size.
func TestRowGroups(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64}, {Name: "texts", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
	next, random := int64(0), rand.NewChaCha8([32]byte{1, 2})
	// batch returns rows with texts of so many bytes in all, which cannot be compressed much.
	batch := func(rows, size int) arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		texts := b.Field(1).(*array.ListBuilder)
		for i := range rows {
			b.Field(0).(*array.Int64Builder).Append(next)
			next++
			if texts.Append(i%3 > 0); i%3 == 2 {
				text := make([]byte, size/rows*3)
				_, _ = random.Read(text) // never fails
				for k := range text {
					text[k] = ' ' + text[k]&63
				}
				texts.ValueBuilder().(*array.StringBuilder).Append(string(text))
			}
		}
		return b.NewRecordBatch()
	}
	for name, test := range map[string]struct{ batches, rows, size, least, most int }{
		"a little at a time": {100, 1000, 0, 1, 1},
		"many rows":          {7, 300_000, 0, 2, 2},
		"many bytes":         {24, 1000, 4 << 20, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			create, _ := files(t)
			w, err := tablefile.New(tablefile.Parquet, &out, schema, nil, tablefile.NewBudget(4<<20, create))
			if err != nil {
				t.Fatal(err)
			}
			for range test.batches {
				if err := w.Write([]arrow.RecordBatch{batch(test.rows, test.size)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(nil); err != nil {
				t.Fatal(err)
			}
			r, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if n := r.NumRowGroups(); n < test.least || n > test.most || r.NumRows() != int64(test.batches*test.rows) {
				t.Errorf("%d row groups with %d rows, in %d bytes", n, r.NumRows(), out.Len())
			}
		})
	}
}

// TestParquetTimes: a column of times is one of microseconds in UTC for every reader, and has what is missing.
func TestParquetTimes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "end_time", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).Append(-1)
	b.Field(0).AppendNull()
	var out bytes.Buffer
	create, _ := files(t)
	w, err := tablefile.New(tablefile.Parquet, &out, schema, nil, tablefile.NewBudget(4<<20, create))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write([]arrow.RecordBatch{b.NewRecordBatch()}), w.Close(nil)); err != nil {
		t.Fatal(err)
	}
	read, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(out.Bytes()), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	column := read.Column(0)
	if got := column.Data().Chunk(0).String(); column.DataType().String() != "timestamp[us, tz=UTC]" || got != "[-1 (null)]" {
		t.Errorf("%s: %s", column.DataType(), got)
	}
}
