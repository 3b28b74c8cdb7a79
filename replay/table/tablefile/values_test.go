package tablefile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// every is a field of each type, in each place: alone, in lists, in structs.
var every = func() []arrow.Field {
	may := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	must := func(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }
	name := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	one := []arrow.Field{
		may("offset", arrow.PrimitiveTypes.Int64), must("index", arrow.PrimitiveTypes.Int64), must("at_tick", arrow.PrimitiveTypes.Int32),
		may("time", arrow.PrimitiveTypes.Float64), may("bool", arrow.FixedWidthTypes.Boolean), must("must", arrow.FixedWidthTypes.Boolean),
		may("int32", arrow.PrimitiveTypes.Int32), may("uint32", arrow.PrimitiveTypes.Uint32), may("int64", arrow.PrimitiveTypes.Int64),
		must("uint64", arrow.PrimitiveTypes.Uint64), may("float", arrow.PrimitiveTypes.Float32), must("double", arrow.PrimitiveTypes.Float64),
		may("date", arrow.FixedWidthTypes.Timestamp_us),
		may("text", arrow.BinaryTypes.String), must("bytes", arrow.BinaryTypes.Binary), may("name", name), may("nothing", arrow.StructOf()),
	}
	return slices.Concat(one, []arrow.Field{
		must("ids", arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint64)),
		may("names", arrow.ListOf(name)),
		may("there", arrow.StructOf(may("x", arrow.PrimitiveTypes.Int32), must("at", arrow.StructOf(may("y", arrow.PrimitiveTypes.Float64))))),
		may("place", arrow.StructOf(may("x", arrow.PrimitiveTypes.Int32), must("y", arrow.BinaryTypes.String))),
		may("units", arrow.ListOf(arrow.StructOf(
			may("id", arrow.PrimitiveTypes.Int64), must("tags", arrow.ListOf(arrow.BinaryTypes.String)), may("name", name),
			may("in", arrow.StructOf(must("by", arrow.PrimitiveTypes.Uint32))),
		))),
	})
}()

// source draws values: few or many different ones, and how many of ten are missing.
type source struct {
	*rand.Rand

	different, missing int
}

// fill appends a value of a field to a builder. A field "there" is never missing.
func (s source) fill(t *testing.T, to array.Builder, f arrow.Field) {
	if f.Nullable && f.Name != "there" && s.IntN(10) < s.missing {
		to.AppendNull()
		return
	}
	n := s.IntN(s.different)
	text := fmt.Sprintf("%0*d", n%20, n)
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(n%2 == 0)
	case *array.Int32Builder:
		b.Append(int32(n - s.different/2))
	case *array.Uint32Builder:
		b.Append(math.MaxUint32 - uint32(n))
	case *array.Int64Builder:
		b.Append(int64(n)<<33 - int64(s.different)<<32)
	case *array.Uint64Builder:
		b.Append(math.MaxUint64 - uint64(n))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n) << 20)
	case *array.Float32Builder:
		b.Append(float32(n)/8 - 3)
	case *array.Float64Builder:
		b.Append(float64(n)/8 - 3)
	case *array.StringBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		b.Append([]byte(text + "\xff"))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(text); err != nil {
			t.Fatal(err)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range s.IntN(4) {
			s.fill(t, b.ValueBuilder(), f.Type.(*arrow.ListType).ElemField())
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, below := range f.Type.(*arrow.StructType).Fields() {
			s.fill(t, b.FieldBuilder(i), below)
		}
	default:
		t.Fatalf("a builder %T", to)
	}
}

func (s source) batch(t *testing.T, schema *arrow.Schema, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for range rows {
		for i, f := range schema.Fields() {
			s.fill(t, b.Field(i), f)
		}
	}
	return b.NewRecordBatch()
}

func write(t *testing.T, format tablefile.Format, schema *arrow.Schema, budget int, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	create, _ := files(t)
	b := tablefile.NewBudget(budget, create)
	w, err := tablefile.New(format, &out, schema, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range batches {
		if err := w.Write([]arrow.RecordBatch{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(map[string]string{"end": "here"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// values returns the values of each column as texts.
func values(n int, columns func(i int) []arrow.Array) [][]string {
	all := make([][]string, n)
	for i := range all {
		for _, a := range columns(i) {
			for row := range a.Len() {
				all[i] = append(all[i], a.ValueStr(row))
			}
		}
	}
	return all
}

// TestValues: another library reads from Parquet the values that are in Arrow's file, of every type: where a column has few values or
// more than a dictionary takes, none or more than a page, and whether rows waited in memory or in a file.
func TestValues(t *testing.T) {
	some := func(names ...string) (some []arrow.Field) {
		for _, f := range every {
			if slices.Contains(names, f.Name) {
				some = append(some, f)
			}
		}
		return some
	}
	for name, test := range map[string]struct {
		fields                                    []arrow.Field
		batches, rows, different, missing, budget int
	}{
		"one row":               {every, 1, 1, 3, 0, 1 << 20},
		"some":                  {every, 3, 100, 5, 3, 1 << 20},
		"all missing":           {every, 2, 50, 5, 10, 1 << 20},
		"little memory":         {every, 6, 500, 1 << 20, 5, 60 << 10},
		"many different texts":  {some("text", "names"), 2, 15_000, 1 << 20, 2, 8 << 20},
		"many different values": {some("int64", "double", "bytes"), 2, 25_000, 1 << 20, 2, 8 << 20},
		"many pages":            {some("at_tick", "must", "name", "ids"), 2, 40_000, 2, 1, 8 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			schema := arrow.NewSchema(test.fields, nil)
			s := source{rand.New(rand.NewPCG(1, 2)), test.different, test.missing}
			var batches []arrow.RecordBatch
			for range test.batches {
				batches = append(batches, s.batch(t, schema, test.rows))
			}
			in, err := ipc.NewFileReader(bytes.NewReader(write(t, tablefile.Arrow, schema, 0, batches...)))
			if err != nil {
				t.Fatal(err)
			}
			want := values(len(test.fields), func(i int) (all []arrow.Array) {
				for n := range in.NumRecords() {
					r, err := in.RecordBatchAt(n)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, r.Column(i))
				}
				return all
			})
			data := write(t, tablefile.Parquet, schema, test.budget, batches...)
			got, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			read := values(len(test.fields), func(i int) []arrow.Array { return got.Column(i).Data().Chunks() })
			for i, f := range test.fields {
				if f.Name == "nothing" { // it has a column that says that it is there
					for j := range want[i] {
						if want[i][j] != array.NullValueStr {
							want[i][j] = `{"present":true}`
						}
					}
				}
				if c := got.Schema().Field(i); c.Name != f.Name || c.Nullable != f.Nullable {
					t.Errorf("%s is %s", f.Name, c)
				}
				if !slices.Equal(read[i], want[i]) {
					t.Errorf("%s has other values: %.100q, want %.100q", f.Name, read[i], want[i])
				}
			}
			if again := write(t, tablefile.Parquet, schema, test.budget, batches...); !bytes.Equal(again, data) {
				t.Error("the same rows make another file")
			}
		})
	}
}

// TestBounds: the least and the most of a column's values are in its description, and how many are missing.
func TestBounds(t *testing.T) {
	long := string(bytes.Repeat([]byte{'x'}, 5000))
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for name, test := range map[string]struct {
		typ         arrow.DataType
		values      []any
		least, most any // nil if there are none
	}{
		"int32":        {arrow.PrimitiveTypes.Int32, []any{int32(3), int32(-7), int32(5)}, int32(-7), int32(5)},
		"uint32":       {arrow.PrimitiveTypes.Uint32, []any{uint32(3), uint32(math.MaxUint32)}, int32(3), int32(-1)},
		"int64":        {arrow.PrimitiveTypes.Int64, []any{int64(3), int64(-1 << 40)}, int64(-1 << 40), int64(3)},
		"uint64":       {arrow.PrimitiveTypes.Uint64, []any{uint64(3), uint64(1 << 63)}, int64(3), int64(math.MinInt64)},
		"date":         {arrow.FixedWidthTypes.Timestamp_us, []any{arrow.Timestamp(3), arrow.Timestamp(-1)}, int64(-1), int64(3)},
		"float":        {arrow.PrimitiveTypes.Float32, []any{float32(1), float32(nan), float32(-2)}, float32(-2), float32(1)},
		"double":       {arrow.PrimitiveTypes.Float64, []any{nan, 1.5, -2.5}, -2.5, 1.5},
		"zero":         {arrow.PrimitiveTypes.Float64, []any{0.0}, zero, 0.0},
		"minus zero":   {arrow.PrimitiveTypes.Float64, []any{zero}, zero, 0.0},
		"no number":    {arrow.PrimitiveTypes.Float64, []any{nan}, nil, nil},
		"bool":         {arrow.FixedWidthTypes.Boolean, []any{true, false}, false, true},
		"true":         {arrow.FixedWidthTypes.Boolean, []any{true}, true, true},
		"text":         {arrow.BinaryTypes.String, []any{"b", "", "é"}, "", "é"},
		"a long text":  {arrow.BinaryTypes.String, []any{"a", long}, nil, nil},
		"all missing":  {arrow.BinaryTypes.String, nil, nil, nil},
		"none between": {arrow.BinaryTypes.String, []any{"a", long, "y"}, "a", "y"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, column := range []string{"time", "value"} { // numbers without and with a dictionary
				schema := arrow.NewSchema([]arrow.Field{{Name: column, Type: test.typ, Nullable: true}}, nil)
				b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
				for _, v := range test.values {
					appendTo(b.Field(0), v)
				}
				b.Field(0).AppendNull()
				r, err := file.NewParquetReader(bytes.NewReader(write(t, tablefile.Parquet, schema, 1<<20, b.NewRecordBatch())))
				if err != nil {
					t.Fatal(err)
				}
				meta, err := r.MetaData().RowGroup(0).ColumnChunk(0)
				if err != nil {
					t.Fatal(err)
				}
				stats, err := meta.Statistics()
				if err != nil {
					t.Fatal(err)
				}
				if stats.NullCount() != 1 || stats.HasMinMax() != (test.least != nil) {
					t.Fatalf("%d missing, and whether there are bounds is %v", stats.NullCount(), stats.HasMinMax())
				}
				if test.least == nil {
					continue
				}
				if !bytes.Equal(stats.EncodeMin(), plain(test.least)) || !bytes.Equal(stats.EncodeMax(), plain(test.most)) {
					t.Errorf("from %x to %x, want %v to %v", stats.EncodeMin(), stats.EncodeMax(), test.least, test.most)
				}
			}
		})
	}
}

func appendTo(b array.Builder, v any) {
	switch v := v.(type) {
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	case int32:
		b.(*array.Int32Builder).Append(v)
	case uint32:
		b.(*array.Uint32Builder).Append(v)
	case int64:
		b.(*array.Int64Builder).Append(v)
	case uint64:
		b.(*array.Uint64Builder).Append(v)
	case arrow.Timestamp:
		b.(*array.TimestampBuilder).Append(v)
	case float32:
		b.(*array.Float32Builder).Append(v)
	case float64:
		b.(*array.Float64Builder).Append(v)
	case string:
		b.(*array.StringBuilder).Append(v)
	}
}

// plain returns a value as Parquet's plain encoding has it, a text without its length.
func plain(v any) []byte {
	if text, ok := v.(string); ok {
		return []byte(text)
	}
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

// TestPages: a page begins with a row, and has no more rows than it needs. The dictionary stands before the pages.
func TestPages(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "ids", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint64)}}, nil)
	for _, test := range []struct {
		rows, each int
		want       []int32
	}{{3, 10_000, []int32{20_000, 10_000}}, {40_000, 1, []int32{16_384, 16_384, 7_232}}} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		list := b.Field(0).(*array.ListBuilder)
		for i := range test.rows {
			list.Append(true)
			for range test.each {
				list.ValueBuilder().(*array.Uint64Builder).Append(uint64(i % 3))
			}
		}
		r, err := file.NewParquetReader(bytes.NewReader(write(t, tablefile.Parquet, schema, 8<<20, b.NewRecordBatch())))
		if err != nil {
			t.Fatal(err)
		}
		meta, err := r.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		if !meta.HasDictionaryPage() || meta.DataPageOffset() <= meta.DictionaryPageOffset() {
			t.Errorf("pages begin at %d, the dictionary at %d", meta.DataPageOffset(), meta.DictionaryPageOffset())
		}
		pages, err := r.RowGroup(0).GetColumnPageReader(0)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for pages.Next() {
			if p, ok := pages.Page().(*file.DataPageV1); ok {
				got = append(got, p.NumValues())
			}
		}
		if err := pages.Err(); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("pages of %d values, want %d: %v", got, test.want, err)
		}
	}
}

// TestLongColumns: columns without others below them, and columns without values, have pages as others do, end their dictionary when it is
// large, have none if it takes more room than their values, and are read back with what is missing.
func TestLongColumns(t *testing.T) {
	const rows = 100_000
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "different", Type: arrow.PrimitiveTypes.Int64}, {Name: "repeated", Type: arrow.PrimitiveTypes.Int64},
		{Name: "texts", Type: arrow.BinaryTypes.String}, {Name: "missing", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "empty", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "some", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "flags", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int64Builder).Append(int64(i*3/5) - 1000)
		b.Field(2).(*array.StringBuilder).Append(strconv.Itoa(i))
		b.Field(3).AppendNull()
		b.Field(4).(*array.ListBuilder).Append(true)
		if b.Field(5).(*array.Int32Builder).Append(int32(i%7) - 3); i%3 == 0 {
			b.Field(5).(*array.Int32Builder).SetNull(i)
		}
		b.Field(6).(*array.BooleanBuilder).Append(i%5 == 0)
	}
	want := b.NewRecordBatch()
	r, err := file.NewParquetReader(bytes.NewReader(write(t, tablefile.Parquet, schema, 8<<20, want)))
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range schema.Fields() {
		pages, err := r.RowGroup(0).GetColumnPageReader(i)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for pages.Next() {
			if p, ok := pages.Page().(*file.DataPageV1); ok {
				got = append(got, p.NumValues())
			}
		}
		pageOf := map[string][]int32{
			"different": {16_384, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 1696}, // the first was full with a dictionary
			"repeated":  {16_384, 16_384, 16_384, 5461, 8192, 8192, 8192, 8192, 8192, 4427},         // the fourth has the last numbers of the dictionary
			"texts":     {16_384, 7282, 7282, 7282, 7282, 7282, 7282, 7282, 7282, 7282, 7282, 7282, 3514},
			"some":      {24_576, 24_576, 24_576, 24_576, 1696},
		}[field.Name]
		if pageOf == nil {
			pageOf = []int32{65_536, 34_464}
		}
		meta, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if want := field.Name == "repeated" || field.Name == "some"; meta.HasDictionaryPage() != want {
			t.Errorf("%s: whether there is a dictionary is not %v", field.Name, want)
		}
		if err := pages.Err(); err != nil || !slices.Equal(got, pageOf) {
			t.Errorf("%s: pages of %d values, want %d: %v", field.Name, got, pageOf, err)
		}
	}
	reader, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range schema.Fields() {
		if column := arrow.NewChunked(want.Column(i).DataType(), []arrow.Array{want.Column(i)}); !array.ChunkedEqual(column, got.Column(i).Data()) {
			t.Errorf("%s is read back otherwise", field.Name)
		}
	}
}

// once is a writer that fails once, at the call with that number.
type once struct{ calls, at int }

var errOnce = errors.New("it fails once")

func (o *once) Write(b []byte) (int, error) {
	if o.calls++; o.calls == o.at {
		return 0, errOnce
	}
	return len(b), nil
}

// TestWriteFails: each error of what is below ends the file with that error.
func TestWriteFails(t *testing.T) {
	schema := arrow.NewSchema(every, nil)
	batch := source{rand.New(rand.NewPCG(1, 2)), 5, 3}.batch(t, schema, 10)
	for at := 1; ; at++ {
		out, create := &once{at: at}, func() (*os.File, error) { return nil, errOnce }
		w, err := tablefile.New(tablefile.Parquet, out, schema, nil, tablefile.NewBudget(1<<20, create))
		if err == nil {
			err = errors.Join(w.Write([]arrow.RecordBatch{batch}), w.Close(nil))
		}
		if out.calls < at {
			if at < 2*len(every) || err != nil {
				t.Errorf("%d calls, %v", out.calls, err)
			}
			return
		}
		if !errors.Is(err, errOnce) {
			t.Errorf("call %d fails, and the file ends with %v", at, err)
		}
	}
}
