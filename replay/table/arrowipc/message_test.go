package arrowipc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// every is a format with one kind, which has columns of every type.
func every() *table.Format {
	var leaves []table.Field
	for typ := table.Bool; typ <= table.Name; typ++ {
		leaves = append(leaves, table.Field{Name: typ.String(), Type: typ, Nullable: true})
	}
	leaves = slices.Clip(leaves)
	nest := table.Field{Name: "nest", Type: table.Struct, Nullable: true, Fields: leaves}
	item := table.Field{Name: "item", Type: table.Struct, Nullable: true, Fields: append(leaves, nest)}
	list := table.Field{Name: "list", Type: table.List, Nullable: true, Fields: []table.Field{item}}
	texts := table.Field{Name: "names", Type: table.List, Fields: []table.Field{{Name: "item", Type: table.Name}}}
	return &table.Format{Name: "every", Kinds: []table.Kind{{}, {Name: "thing", Fields: append(leaves, nest, list, texts)}}}
}

// fill appends a value below most to the first column.
func fill(r *rand.Rand, c []table.Column, most int) {
	if c[0].Field.Nullable && r.IntN(4) == 0 {
		c[0].Null()
		return
	}
	n := r.IntN(most)
	switch c[0].Field.Type {
	case table.Bool:
		c[0].Bool(n > 0)
	case table.Text:
		c[0].Text([]byte(strings.Repeat("é", n%20)))
	case table.Binary:
		c[0].Binary(bytes.Repeat([]byte{byte(n)}, 1+n%20))
	case table.Name:
		c[0].Name([]byte{'a' + byte(n%20)})
	case table.Int64, table.Uint64, table.Float64, table.Time:
		c[0].Uint64(uint64(n))
	case table.List:
		c[0].Items(n % 3)
		for range n % 3 {
			fill(r, c[1:], most)
		}
	case table.Struct:
		table.Fields(c)
		for below := c[1:c[0].Width()]; len(below) > 0; below = below[below[0].Width():] {
			fill(r, below, most)
		}
	default:
		c[0].Uint32(uint32(n))
	}
}

// add adds rows to the table of a set of every.
func add(r *rand.Rand, set *table.Set, rows, most int) {
	for row := range rows {
		for c := set.Begin(1, decoders.Position{Offset: int64(row)}, int32(row)); len(c) > 0; c = c[c[0].Width():] {
			fill(r, c, most)
		}
	}
}

// flown holds the messages of a flight, for Arrow's own reader.
type flown []*flight.FlightData

// Recv implements flight.DataStreamReader.
func (f *flown) Recv() (*flight.FlightData, error) {
	if len(*f) == 0 {
		return nil, io.EOF
	}
	first := (*f)[0]
	*f = (*f)[1:]
	return first, nil
}

// message takes the next message that something appends.
func (f *flown) message(something func(b []byte) []byte) error {
	data := new(flight.FlightData)
	*f = append(*f, data)
	return proto.Unmarshal(something(nil), data)
}

// size returns the number of bytes of the bodies.
func (f *flown) size() (n int) {
	for _, data := range *f {
		n += len(data.GetDataBody())
	}
	return n
}

// fly returns an encoder for flights, and a flight with the schema.
func fly(t *testing.T, layout *table.Layout, compress, many bool) (*arrowipc.Flight, flown) {
	t.Helper()
	f, to := arrowipc.NewFlight(layout, 1, compress, many), flown(nil)
	if err := to.message(f.AppendSchema); err != nil {
		t.Fatal(err)
	}
	return f, to
}

// TestMessages: a reader of Arrow finds the rows in the messages, compressed or not, and in flights of one replay and of many.
func TestMessages(t *testing.T) {
	layout := every().Layout(false)
	schema := arrowipc.Schema(layout, 1)
	sizes := map[bool]int{}
	for _, compress := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		set, encoder := table.NewSet(layout), &arrowipc.Encoder{Compress: compress}
		alone, ofOneFlight := fly(t, layout, compress, false)
		many, ofMany := fly(t, layout, compress, true)
		var ofOne, want []byte
		all := 0
		for i, rows := range []int{1, 0, 9, 400, 5} {
			set.Reset()
			all += rows
			add(r, set, rows, []int{2, 1 << 30}[i%2])
			b := encoder.AppendEmpty(nil, 9, set, 1)
			if i > 0 {
				b = encoder.Append(nil, 9, set)
			}
			var err error
			var batch replaydv1.EventBatch
			if err := proto.Unmarshal(b, &batch); err != nil {
				t.Fatal(err)
			}
			for _, of := range batch.GetTables() {
				if of.GetKind() != "thing" || int(of.GetRows()) != rows || len(of.GetSchema()) > 0 != (i == 0) {
					t.Errorf("%d rows of %s, a schema of %d bytes; want %d", of.GetRows(), of.GetKind(), len(of.GetSchema()), rows)
				}
				ofOne = append(append(ofOne, of.GetSchema()...), of.GetData()...)
			}
			if rows > 0 {
				want = append(want, jsonOf(t, arrowipc.Record(set.Table(1), schema))...)
				err = errors.Join(
					alone.Each("", set.Table(1), []byte{byte(i)}, ofOneFlight.message), many.Each("a/b", set.Table(1), []byte{byte(i)}, ofMany.message))
			}
			if stop := errors.New("stop"); err != nil || rows > 0 && !errors.Is(many.Each("a", set.Table(1), nil, func(func([]byte) []byte) error { return stop }), stop) {
				t.Fatal(err)
			}
		}
		sizes[compress] = len(ofOne) + ofOneFlight.size()
		if got := rowsOf(t, ofOne); !bytes.Equal(got, want) {
			t.Errorf("compressed %v: %s", compress, differ(got, want))
		}
		if got := rowsOfFlight(t, &ofOneFlight); !bytes.Equal(got, want) {
			t.Errorf("a flight, compressed %v: %s", compress, differ(got, want))
		}
		got, replay := rowsOfFlight(t, &ofMany), []byte(`"replay":"a/b",`)
		if bytes.Count(got, replay) != all || !bytes.Equal(bytes.ReplaceAll(got, replay, nil), want) {
			t.Errorf("of many, compressed %v: %s", compress, differ(got, want))
		}
	}
	if sizes[true] > sizes[false]*3/4 {
		t.Errorf("%d bytes, compressed %d", sizes[false], sizes[true])
	}
}

// TestPacked: buffers of all sizes are compressed, in one block each, but small ones and those that are too large for a block.
func TestPacked(t *testing.T) {
	layout := (&table.Format{Name: "one", Kinds: []table.Kind{{}, {Name: "thing", Fields: []table.Field{{Name: "data", Type: table.Binary}}}}}).Layout(false)
	for n, packs := range map[int]bool{100: false, 1 << 10: true, 64 << 10: true, 64<<10 + 1: true, 256<<10 + 1: true, 1<<20 + 1: true, 4 << 20: true, 4<<20 + 1: false} {
		set, encoder := table.NewSet(layout), &arrowipc.Encoder{Compress: true}
		value := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		set.Begin(1, decoders.Position{}, 0)[0].Binary(value)
		of := encode(t, encoder, set)
		if packed := len(of.GetData()) < n/2+2<<10; packed != (packs || n < 1<<10) {
			t.Errorf("%d bytes take %d", n, len(of.GetData()))
		}
		stream := slices.Concat(of.GetSchema(), of.GetData())
		r, err := ipc.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() || !bytes.Equal(r.RecordBatch().Column(4).(*array.Binary).Value(0), value) {
			t.Errorf("%d bytes: another value, %v", n, r.Err())
		}
		r.Release()
	}
}

// TestZeros: a buffer of zeros, such as those of columns without values, takes no room behind one that is as long.
func TestZeros(t *testing.T) {
	var fields []table.Field
	for i, typ := range []table.Type{table.Uint32, table.Uint64, table.Uint32, table.Text, table.Uint64, table.Bool} {
		fields = append(fields, table.Field{Name: string(rune('a' + i)), Type: typ, Nullable: true})
	}
	layout := (&table.Format{Name: "one", Kinds: []table.Kind{{}, {Name: "thing", Fields: fields}}}).Layout(false)
	set := table.NewSet(layout)
	set.TicksPerSecond = 1
	for _, rows := range []int{1000, 10} {
		set.Reset()
		for i := range rows {
			c := set.Begin(1, decoders.Position{Offset: int64(i), Index: 1}, int32(i))
			for j := range c {
				if j == 2 {
					c[j].Uint32(uint32(i))
				} else {
					c[j].Null()
				}
			}
		}
		of, want := encode(t, new(arrowipc.Encoder), set), jsonOf(t, arrowipc.Record(set.Table(1), arrowipc.Schema(layout, 1)))
		if got := rowsOf(t, slices.Concat(of.GetSchema(), of.GetData())); !bytes.Equal(got, want) {
			t.Error(differ(got, want))
		}
		if most := rows*(8+8+4+8+4+8+4) + 1<<10; len(of.GetData()) > most { // four columns of all tables, the first two without values, and the third
			t.Errorf("%d rows take %d bytes, want at most %d", rows, len(of.GetData()), most)
		}
	}
}

// differ returns the first lines that differ.
func differ(got, want []byte) string {
	for {
		g, moreGot, _ := bytes.Cut(got, []byte("\n"))
		w, moreWant, more := bytes.Cut(want, []byte("\n"))
		if !bytes.Equal(g, w) || !more {
			return fmt.Sprintf("got\n%s\nwant\n%s", g, w)
		}
		got, want = moreGot, moreWant
	}
}

// rowsOf returns the rows of an IPC stream as lines of JSON.
func rowsOf(t *testing.T, stream []byte) (lines []byte) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		lines = append(lines, jsonOf(t, r.RecordBatch())...)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// rowsOfFlight returns the rows of a flight as lines of JSON. Only its batches have metadata, which count them.
func rowsOfFlight(t *testing.T, from *flown) (lines []byte) {
	t.Helper()
	var marks, want []byte
	for _, data := range *from {
		marks = append(marks, data.GetAppMetadata()...)
	}
	r, err := flight.NewRecordReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		lines = append(lines, jsonOf(t, r.RecordBatch())...)
		want = append(want, r.LatestAppMetadata()...)
	}
	if !bytes.Equal(marks, want) || len(marks) == 0 {
		t.Errorf("metadata %v, of batches %v", marks, want)
	}
	return lines
}

func jsonOf(t *testing.T, record arrow.RecordBatch) []byte {
	t.Helper()
	for i, c := range record.Columns() {
		if marks := c.Data().Buffers()[0]; (marks != nil) != (c.NullN() > 0) {
			t.Errorf("%s: %d values are missing, and a buffer marks them: %v", record.ColumnName(i), c.NullN(), marks != nil)
		}
	}
	b, err := record.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAllocations: encoding a table that is not the first of its kind allocates nothing, once there is a workspace. With the race detector,
// every fourth is dropped, and of the memory of LZ4, which each buffer takes from a pool.
func TestAllocations(t *testing.T) {
	set := table.NewSet(every().Layout(false))
	add(rand.New(rand.NewPCG(1, 2)), set, 400, 9)
	for _, o := range []arrowipc.Encoder{{}, {Compress: true}, {Narrow: true}} {
		encoder := &o
		b, n := encoder.Append(nil, 9, set), 1e9
		for range 20 {
			n = min(n, testing.AllocsPerRun(1, func() { b = encoder.Append(b[:0], 9, set) }))
		}
		if n > 0 && !o.Compress || n > 20 {
			t.Errorf("compressed %v, narrow %v: %v allocations", o.Compress, o.Narrow, n)
		}
	}
}
