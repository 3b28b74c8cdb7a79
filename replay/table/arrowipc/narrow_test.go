package arrowipc_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	codec "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// TestNarrow checks the types of the columns of one table after another: each column takes the smallest that holds its values and
// those before, and the schema is sent when one changes. A second encoder finds messages that the first has made. That the values are right is
// in package streamtest.
func TestNarrow(t *testing.T) {
	l := layout(t, []string{"offset", "at_tick", "time", "dx", "x"})
	narrowed(t, l)
	narrowed(t, l)
}

func narrowed(t *testing.T, l *table.Layout) {
	t.Helper()
	type move = teehistorian.PlayerDiff
	set := table.NewSet(l)
	set.TicksPerSecond = 50
	encoder := &arrowipc.Encoder{Narrow: true}
	var schema []byte
	for i, test := range []struct {
		what string
		rows int
		at   func(row int) (offset int64, tick int32)
		of   move // the one in the middle; the others are zero
		want string
		sent bool
	}{
		{"zeros of one tick", 9, still, move{}, "int8 runs runs int8 int8", true},
		{"the largest of 8 bits", 9, still, move{Dx: 127, X: -128}, "int8 runs runs int8 int8", false},
		{"one more", 9, still, move{Dx: 128, X: -128}, "int8 runs runs int16 int8", true},
		{"one less", 9, still, move{X: -129}, "int8 runs runs int16 int16", true},
		{"small ones again", 9, still, move{}, "int8 runs runs int16 int16", false},
		{"32 bits", 9, still, move{Dx: 1 << 15, X: -1 << 15}, "int8 runs runs int32 int16", true},
		{"runs of three", 9, func(i int) (int64, int32) { return 0, int32(i / 3) }, move{}, "int8 runs runs int32 int16", false},
		{"runs of two", 9, func(i int) (int64, int32) { return 0, int32(i / 2) }, move{}, "int8 int8 float64 int32 int16", true},
		{"ticks of 16 bits", 9, func(int) (int64, int32) { return 0, 1000 }, move{}, "int8 int16 float64 int32 int16", true},
		{"64 bits at once", 9, func(int) (int64, int32) { return 1 << 40, 1 << 20 }, move{}, "int64 int32 float64 int32 int16", true},
		{"one row", 1, still, move{}, "int64 int32 float64 int32 int16", false},
	} {
		set.Reset()
		for row := range test.rows {
			offset, tick := test.at(row)
			e := teehistorian.Event{Kind: teehistorian.KindPlayerDiff, AtTick: tick}
			if row == test.rows/2 {
				e.PlayerDiff = test.of
			}
			codec.AddRow(set, decoders.Position{Offset: offset}, &e)
		}
		message := encode(t, encoder, set)
		if sent := len(message.GetSchema()) > 0; sent != test.sent {
			t.Errorf("%d, %s: the schema was sent: %v", i, test.what, sent)
		} else if sent {
			schema = message.GetSchema()
		}
		if got := typesOf(t, append(slices.Clone(schema), message.GetData()...)); got != test.want {
			t.Errorf("%d, %s: %s, want %s", i, test.what, got, test.want)
		}
	}
}

func still(int) (offset int64, tick int32) { return 0, 0 }

// TestNarrowSize: a batch of moves of many players takes a fourth of its bytes.
func TestNarrowSize(t *testing.T) {
	set := table.NewSet(layout(t, []string{"at_tick", "time", "client_id", "dx", "x"}))
	set.TicksPerSecond = 50
	for i := range 10_000 {
		e := teehistorian.Event{Kind: teehistorian.KindPlayerDiff, AtTick: int32(100_000 + i/50)}
		e.PlayerDiff = teehistorian.PlayerDiff{ClientId: int32(i % 50), Dx: int32(i%80 - 40), X: int32(i)}
		codec.AddRow(set, decoders.Position{Offset: int64(i)}, &e)
	}
	wide := len(encode(t, &arrowipc.Encoder{}, set).GetData())
	if narrow := len(encode(t, &arrowipc.Encoder{Narrow: true}, set).GetData()); narrow > wide/4 {
		t.Errorf("%d bytes, %d with the types of the schema", narrow, wide)
	}
}

func layout(t *testing.T, columns []string) *table.Layout {
	t.Helper()
	l, err := codec.Tables.Layout(false).Select(columns, func(kind uint8) bool { return kind == uint8(teehistorian.KindPlayerDiff) })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// encode returns the one table of a set as a message.
func encode(t *testing.T, e *arrowipc.Encoder, set *table.Set) *replaydv1.Table {
	t.Helper()
	var batch replaydv1.EventBatch
	if err := proto.Unmarshal(e.Append(nil, 9, set), &batch); err != nil || len(batch.GetTables()) != 1 {
		t.Fatalf("%d tables, %v", len(batch.GetTables()), err)
	}
	return batch.GetTables()[0]
}

// typesOf returns the types of the columns of a stream of one batch. It checks that those that differ from the schema's say so.
func typesOf(t *testing.T, stream []byte) string {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	wide := map[string]string{"offset": "int64", "at_tick": "int32", "time": "float64", "dx": "int32", "x": "int32"}
	var types []string
	for _, f := range r.RecordBatch().Schema().Fields() {
		name := f.Type.Name()
		if name == "run_end_encoded" {
			name = "runs"
		}
		types = append(types, name)
		says, ok := f.Metadata.GetValue(arrowipc.TypeKey)
		if ok != (name != wide[f.Name]) || ok && says != wide[f.Name] {
			t.Errorf("%s is %s and stands for %q", f.Name, name, says)
		}
		if comment, _ := f.Metadata.GetValue(arrowipc.CommentKey); comment == "" {
			t.Errorf("%s has no comment", f.Name)
		}
	}
	return strings.Join(types, " ")
}
