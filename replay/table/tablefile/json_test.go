package tablefile_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// TestText: files of text have each type's values as protojson has them, and leave out what is missing.
func TestText(t *testing.T) {
	name := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "bool", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, {Name: "int", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "uint", Type: arrow.PrimitiveTypes.Uint32, Nullable: true}, {Name: "long", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "steam_id", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, {Name: "float", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "double", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "name", Type: name, Nullable: true}, {Name: "bytes", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "place", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true},
		{Name: "time", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.BooleanBuilder).Append(true)
	b.Field(1).(*array.Int32Builder).Append(-1)
	b.Field(2).(*array.Uint32Builder).Append(math.MaxUint32)
	b.Field(3).(*array.Int64Builder).Append(math.MinInt64)
	b.Field(4).(*array.Uint64Builder).Append(76561197960265729)
	b.Field(5).(*array.Float32Builder).Append(0.1)
	b.Field(6).(*array.Float64Builder).Append(math.Inf(-1))
	b.Field(7).(*array.StringBuilder).Append("a \"b\",\n")
	if err := b.Field(8).(*array.BinaryDictionaryBuilder).AppendString("axe"); err != nil {
		t.Fatal(err)
	}
	b.Field(9).(*array.BinaryBuilder).Append([]byte{0xff, 0xef})
	place := b.Field(10).(*array.StructBuilder)
	place.Append(true)
	place.FieldBuilder(0).(*array.Int64Builder).Append(1 << 60)
	list := b.Field(11).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Float64Builder).AppendValues([]float64{1.5, math.NaN()}, nil)
	b.Field(12).(*array.TimestampBuilder).Append(-1)
	for i := range schema.NumFields() {
		switch i {
		case 9:
			b.Field(i).(*array.BinaryBuilder).Append(nil)
		case 11:
			b.Field(i).(*array.ListBuilder).Append(true)
		default:
			b.Field(i).AppendNull()
		}
	}
	r := b.NewRecordBatch()
	defer r.Release()
	for format, want := range map[tablefile.Format]string{
		tablefile.JSONL: `{"bool":true,"int":-1,"uint":4294967295,"long":"-9223372036854775808","steam_id":"76561197960265729","float":0.1,` +
			`"double":"-Infinity","text":"a \"b\",\n","name":"axe","bytes":"/+8=","place":{"x":"1152921504606846976"},"list":[1.5,"NaN"],"time":"1969-12-31T23:59:59.999999Z"}` + "\n" +
			`{"bytes":"","list":[]}` + "\n",
		tablefile.CSV: "bool,int,uint,long,steam_id,float,double,text,name,bytes,place,list,time\n" +
			`true,-1,4294967295,-9223372036854775808,76561197960265729,0.1,-Infinity,"a ""b"",` + "\n" +
			`",axe,/+8=,"{""x"":""1152921504606846976""}","[1.5,""NaN""]",1969-12-31T23:59:59.999999Z` + "\n" + `,,,,,,,,,,,[],` + "\n",
	} {
		var out bytes.Buffer
		w, err := tablefile.New(format, &out, schema, nil, nil)
		if err == nil {
			err = w.Write([]arrow.RecordBatch{r, r.NewSlice(0, 0)})
		}
		if err == nil {
			err = w.Close(nil)
		}
		if err != nil || out.String() != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", format, err, out.String(), want)
		}
	}
}
