package streamtest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/teehistorian"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/codectest"
	datafilecodec "github.com/replayd/replayd/replay/codec/datafile"
	demcodec "github.com/replayd/replayd/replay/codec/dem"
	sc2codec "github.com/replayd/replayd/replay/codec/sc2replay"
	teecodec "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// TestTables fills events of all kinds of all formats with arbitrary values, appends them to tables, some of them only to take them
// back, encodes the tables, and converts them back: nothing may be lost.
func TestTables(t *testing.T) {
	SkipLong(t)
	t.Run("teehistorian", func(t *testing.T) {
		tablesOfAnything(t, &teecodec.Tables, teecodec.AddRow, codectest.Events[teehistorian.Event]{
			Append: teecodec.AppendEvent, Message: func() proto.Message { return new(teehistorianv1.Event) },
		})
	})
	t.Run("datafile", func(t *testing.T) {
		tablesOfAnything(t, &datafilecodec.Tables, datafilecodec.AddRow, codectest.Events[datafile.Event]{
			Append: datafilecodec.AppendEvent, Message: func() proto.Message { return new(datafilev1.Event) },
		})
	})
	t.Run("dem", func(t *testing.T) {
		tablesOfAnything(t, &demcodec.Tables, demcodec.AddRow, codectest.Events[dem.Event]{
			Append: demcodec.AppendEvent, Message: func() proto.Message { return new(demv1.Event) },
		})
	})
	t.Run("sc2replay", func(t *testing.T) {
		tablesOfAnything(t, &sc2codec.Tables, sc2codec.AddRow, codectest.Events[sc2replay.Event]{
			Append: sc2codec.AppendEvent, Message: func() proto.Message { return new(sc2replayv1.Event) },
		})
	})
}

func tablesOfAnything[E any](
	t *testing.T, f *table.Format, add func(*table.Set, decoders.Position, *E), events codectest.Events[E],
) {
	refs := func(id uint32) string { return fmt.Sprint("name ", id%5) }
	set := table.NewSet(f.Layout(true)) // of all batches, as in a stream
	set.Refs, set.TicksPerSecond = refs, 50
	rapid.Check(t, func(t *rapid.T) {
		set.Reset()
		one := uint8(rapid.IntRange(1, len(f.Kinds)-1).Draw(t, "kind with some columns"))
		columns := f.Layout(true).Fields(one)
		layout, err := f.Layout(true).Select(
			[]string{columns[rapid.IntRange(0, len(columns)-1).Draw(t, "column")].Name, columns[len(columns)-1].Name},
			func(kind uint8) bool { return kind == one },
		)
		if err != nil {
			t.Fatal(err)
		}
		some := table.NewSet(layout)
		some.Refs, some.TicksPerSecond = refs, 50
		encoder := &arrowipc.Encoder{
			Compress: rapid.Bool().Draw(t, "compress"), Narrow: rapid.Bool().Draw(t, "narrow"),
		}
		var read tables
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			var want []row
			for i := range rapid.IntRange(1, 20).Draw(t, "events") {
				kind := rapid.IntRange(1, len(f.Kinds)-1).Draw(t, "kind")
				e := events.Fill(kind, rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "seed"))
				at := decoders.Position{Offset: int64(i), Index: rapid.Int64Range(0, 1<<53).Draw(t, "index")}
				add(set, at, e)
				add(some, at, e)
				size := set.Size() - set.LastSize()
				if most, known := layout.MaxRow(uint8(kind)); known && some.LastSize() > most {
					t.Fatalf("%d bytes of a row of %s, want %d at most", some.LastSize(), f.Kinds[kind].Name, most)
				}
				if rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
					set.Undo()
					some.Undo()
					if set.Size() != size {
						t.Fatalf("%d bytes after a row was taken back, %d before it was added", set.Size(), size)
					}
					continue
				}
				m := events.Message()
				if err := proto.Unmarshal(events.Append(nil, e), m); err != nil {
					t.Fatal(err)
				}
				r := row{at: at, placed: true}
				resolve(m.ProtoReflect(), refs, &r.strings)
				var err error
				if r.event, err = (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil {
					t.Fatal(err)
				}
				want = append(want, r)
			}
			var batch replaydv1.EventBatch
			if err := proto.Unmarshal(encoder.Append(nil, 9, set), &batch); err != nil {
				t.Fatal(err)
			}
			got, _, err := read.read(batch.GetTables())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b row) bool {
				return a.at == b.at && a.placed == b.placed && bytes.Equal(a.event, b.event) && slices.EqualFunc(a.strings, b.strings, bytes.Equal)
			}) {
				t.Fatalf("%d rows of %d events, or others", len(got), len(want))
			}
			compareColumns(t, set, some)
			set.Reset()
			some.Reset()
			if rapid.Bool().Draw(t, "trim") {
				some.Trim()
			}
		}
	})
}

// compareColumns checks that the tables of a set with some columns have the values of those with all columns.
func compareColumns(t *rapid.T, all, some *table.Set) {
	records := map[uint8]arrow.RecordBatch{}
	_ = all.All(func(of *table.Table) error {
		records[of.Kind] = arrowipc.Record(of, arrowipc.Schema(of.Layout, of.Kind))
		return nil
	})
	count := 0
	_ = some.All(func(of *table.Table) error {
		record := arrowipc.Record(of, arrowipc.Schema(of.Layout, of.Kind))
		count++
		for i, field := range record.Schema().Fields() {
			if err := whole(record.Column(i).Data(), of.Rows); err != nil {
				t.Fatalf("%s: %v", field.Name, err)
			}
			at := records[of.Kind].Schema().FieldIndices(field.Name)[0]
			if !array.ApproxEqual(record.Column(i), records[of.Kind].Column(at), array.WithNaNsEqual(true)) {
				t.Fatalf("%s is %v, want %v", field.Name, record.Column(i), records[of.Kind].Column(at))
			}
		}
		return nil
	})
	if count != len(records) {
		t.Fatalf("%d tables of %d", count, len(records))
	}
}

// resolve replaces the numbers of texts in a message by indices into strings, in the order of the fields.
func resolve(m protoreflect.Message, refs func(uint32) string, strings *[][]byte) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		ref, _ := proto.GetExtension(f.Options(), optionsv1.E_StringIndex).(bool)
		switch {
		case ref && (m.Has(f) || !f.HasPresence()):
			*strings = append(*strings, []byte(refs(uint32(m.Get(f).Uint()))))
			m.Set(f, protoreflect.ValueOfUint32(uint32(len(*strings)-1)))
		case f.Kind() == protoreflect.FloatKind && !f.IsList() && m.Has(f):
			m.Set(f, m.Get(f)) // on the way that read takes, on which signaling NaNs become quiet ones
		case f.Message() == nil || !m.Has(f):
		case f.IsList():
			for j := range m.Get(f).List().Len() {
				resolve(m.Get(f).List().Get(j).Message(), refs, strings)
			}
		default:
			resolve(m.Get(f).Message(), refs, strings)
		}
	}
}

// TestTableSize: each row counts what its values take, and no more the more rows there are. Streams end their batches by it.
func TestTableSize(t *testing.T) {
	set := table.NewSet(teecodec.Tables.Layout(false))
	const rows = 10_000
	for i := range rows {
		e := &teehistorian.Event{Kind: teehistorian.KindPlayerDiff, AtTick: int32(i)}
		teecodec.AddRow(set, decoders.Position{Offset: int64(i)}, e)
		if around := set.Layout.Overhead(uint8(e.Kind)); set.LastSize()*(i+1) != set.Size()-around {
			t.Fatalf("row %d has %d bytes, all have %d", i, set.LastSize(), set.Size()-around)
		}
	}
	values := 0
	_ = set.All(func(of *table.Table) error {
		for i := range of.Columns {
			values += len(of.Columns[i].Data) + 4*len(of.Columns[i].Offsets)
		}
		return nil
	})
	if n := set.Size(); n < values/2 || n > values*2 {
		t.Errorf("%d rows count %d bytes, and their values take %d", rows, n, values)
	}
}
