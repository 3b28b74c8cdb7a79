package tablefile_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/replayd/replayd/service/table/tablefile"
)

var budgetSchema = arrow.NewSchema([]arrow.Field{
	{Name: "number", Type: arrow.PrimitiveTypes.Int64},
	{Name: "text", Type: arrow.BinaryTypes.String},
	{Name: "list", Type: arrow.ListOf(arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String},
	))},
}, nil)

// rowsOf returns rows of budgetSchema, of some 40 bytes each that cannot be compressed much.
func rowsOf(random *rand.Rand, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, budgetSchema)
	defer b.Release()
	text := make([]byte, 12)
	word := func() string {
		for i := range text {
			text[i] = byte(' ' + random.IntN(64))
		}
		return string(text)
	}
	list := b.Field(2).(*array.ListBuilder)
	items := list.ValueBuilder().(*array.StructBuilder)
	for range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(random.Uint64()))
		b.Field(1).(*array.StringBuilder).Append(word())
		list.Append(true)
		items.Append(true)
		items.FieldBuilder(0).(*array.Float64Builder).Append(random.Float64())
		items.FieldBuilder(1).(*array.StringBuilder).Append(word())
	}
	return b.NewRecordBatch()
}

// TestBudget: however much is written to however many files at the same time, no more than the budget is held, and it is what row
// groups are made of.
func TestBudget(t *testing.T) { //nolint:paralleltest // it measures memory
	const files, rounds, rows, budget = 8, 16, 2000, 2 << 20 // 15 MB in all
	const more = 4 << 20                                     // pages and the dictionary of one column, and what describes row groups
	const usual, little = 3, 5                               // files to look at, of which one has few rows
	b, random := tablefile.NewBudget(budget), rand.New(rand.NewPCG(1, 2))
	// One file alone has the whole budget. After it, what encoders keep is there.
	var alone bytes.Buffer
	w, err := tablefile.New(tablefile.Parquet, &alone, budgetSchema, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(slices.Repeat([]arrow.RecordBatch{rowsOf(random, rows)}, 12)); err != nil {
		t.Fatal(err)
	}
	if alone.Len() > 8 { // the magic number is there
		t.Errorf("%d bytes were written though the budget is not used up", alone.Len())
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	var out [files]bytes.Buffer
	var writers [files]tablefile.Writer
	for i := range writers {
		to := io.Discard
		if i == usual || i == little {
			to = &out[i]
		}
		if writers[i], err = tablefile.New(tablefile.Parquet, to, budgetSchema, nil, b); err != nil {
			t.Fatal(err)
		}
	}
	before, most := live(), uint64(0)
	for round := range rounds {
		for i := range writers {
			n := rows
			if i == little {
				n = rows / 100
			}
			if err := writers[i].Write([]arrow.RecordBatch{rowsOf(random, n)}); err != nil {
				t.Fatal(err)
			}
		}
		if round%4 == 3 {
			most = max(most, live())
		}
	}
	if held := most - min(before, most); held > budget+more {
		t.Errorf("%d files hold %d bytes, with a budget of %d", files, held, budget)
	}
	for _, w := range writers {
		if err := w.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]struct{ rows, least, most int }{usual: {rounds * rows, 2, rounds}, little: {rounds * rows / 100, 1, 1}} {
		r, err := file.NewParquetReader(bytes.NewReader(out[i].Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.NumRowGroups(); r.NumRows() != int64(want.rows) || n < want.least || n > want.most {
			t.Errorf("%d rows in %d row groups", r.NumRows(), n)
		}
	}
}

// TestFewRows: record batches of few rows, of which each has a dictionary of its own, take no more memory than their values, and so are
// one row group with all of them.
func TestFewRows(t *testing.T) {
	t.Parallel()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "name", Type: typ, Nullable: true}}, nil)
	var out bytes.Buffer
	w, err := tablefile.New(tablefile.Parquet, &out, schema, nil, tablefile.NewBudget(256<<10))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 30 {
		var few []arrow.RecordBatch
		for j := range 50 {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			name := strconv.Itoa(i*50 + j)
			if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(name); err != nil {
				t.Fatal(err)
			}
			b.Field(0).AppendNull()
			want = append(want, name)
			few = append(few, b.NewRecordBatch())
		}
		if err := w.Write(few); err != nil {
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
	if r.NumRowGroups() != 1 || r.NumRows() != int64(2*len(want)) {
		t.Fatalf("%d rows in %d row groups", r.NumRows(), r.NumRowGroups())
	}
	column, err := r.RowGroup(0).Column(0)
	if err != nil {
		t.Fatal(err)
	}
	values, levels := make([]parquet.ByteArray, 2*len(want)), make([]int16, 2*len(want))
	var got []string
	for column.HasNext() {
		_, n, err := column.(*file.ByteArrayColumnChunkReader).ReadBatch(int64(len(values)), values, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values[:n] {
			got = append(got, string(v))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d texts, want %d, or others", len(got), len(want))
	}
}

// live returns the size of the objects that are alive.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
