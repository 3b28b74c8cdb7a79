package tablefile_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/replayd/replayd/replay/table/tablefile"
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

// files returns what makes the files of a budget, and how many it has made.
func files(t *testing.T) (create func() (*os.File, error), made *int) {
	t.Helper()
	dir, n := t.TempDir(), 0
	return func() (*os.File, error) {
		n++
		f, err := os.CreateTemp(dir, "")
		if err == nil {
			err = os.Remove(f.Name())
		}
		return f, err
	}, &n
}

// TestWaiting: where rows wait changes nothing of their values and order.
func TestWaiting(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var batches []arrow.RecordBatch
	for range 40 {
		batches = append(batches, rowsOf(random, 500))
	}
	write := func(budget int) (out bytes.Buffer, made int) {
		create, n := files(t)
		b := tablefile.NewBudget(budget, create)
		w, err := tablefile.New(tablefile.Parquet, &out, budgetSchema, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batches {
			if err := w.Write([]arrow.RecordBatch{r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(nil), b.Close()); err != nil {
			t.Fatal(err)
		}
		return out, *n
	}
	read := func(data []byte) (texts [][]string, groups int) {
		r, err := file.NewParquetReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		return values(int(all.NumCols()), func(i int) []arrow.Array { return all.Column(i).Data().Chunks() }), r.NumRowGroups()
	}
	whole, none := write(8 << 20)
	want, _ := read(whole.Bytes())
	for budget, most := range map[int]int{300 << 10: 1, 150 << 10: 1, 6 << 10: 40} { // the last has not even room for what describes pages
		out, made := write(budget)
		got, groups := read(out.Bytes())
		if !reflect.DeepEqual(got, want) || made != 1 || none != 0 || groups > most || most > 1 && groups < 2 {
			t.Errorf("a budget of %d makes %d row groups or other rows, by %d and %d files in which rows wait", budget, groups, made, none)
		}
	}
	broken := errors.New("no room")
	w, err := tablefile.New(tablefile.Parquet, io.Discard, budgetSchema, nil, tablefile.NewBudget(1<<10, func() (*os.File, error) { return nil, broken }))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(batches[:1]); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestBudget: however much is written to however many files at the same time, no more than the budget is held.
func TestBudget(t *testing.T) { //nolint:paralleltest // it measures memory
	const writing, rounds, rows, budget = 8, 16, 2000, 2 << 20 // 15 MB in all
	const more = 4 << 20                                       // pages and the dictionary of one column, and what describes row groups
	const usual, little = 3, 5                                 // files to look at, of which one has few rows
	create, _ := files(t)
	b, random := tablefile.NewBudget(budget, create), rand.New(rand.NewPCG(1, 2))
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
		t.Errorf("%d bytes were written before there was a row group", alone.Len())
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	var out [writing]bytes.Buffer
	var writers [writing]tablefile.Writer
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
		t.Errorf("%d files hold %d bytes, with a budget of %d", writing, held, budget)
	}
	for _, w := range writers {
		if err := w.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]int{usual: rounds * rows, little: rounds * rows / 100} {
		r, err := file.NewParquetReader(bytes.NewReader(out[i].Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.NumRowGroups(); r.NumRows() != int64(want) || n != 1 {
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
	create, _ := files(t)
	w, err := tablefile.New(tablefile.Parquet, &out, schema, nil, tablefile.NewBudget(256<<10, create))
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
