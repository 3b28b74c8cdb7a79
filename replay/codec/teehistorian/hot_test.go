package teehistorian

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// The hand-written appender must write the same bytes as the generated one.
func TestAppendMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := teehistorian.Event{
			AtTick: rapid.Int32Min(0).Draw(t, "tick"),
			Kind:   teehistorian.KindPlayerDiff,
			PlayerDiff: teehistorian.PlayerDiff{
				ClientId: rapid.Int32Min(0).Draw(t, "client"),
				Dx:       rapid.Int32().Draw(t, "dx"), Dy: rapid.Int32().Draw(t, "dy"),
				X: rapid.Int32Min(-1<<31+1).Draw(t, "x"), Y: rapid.Int32Min(-1<<31+1).Draw(t, "y"), // the lowest stands for none
			},
		}
		before := []byte("before")
		want := append(bytes.Clone(before), codec.EventListField, 0)
		at := len(want)
		want = protoappend.Close(AppendEvent(want, &ev), at)
		if got := appendMove(before, ev.AtTick, &ev.PlayerDiff); !bytes.Equal(got, want) {
			t.Fatalf("got % x\nwant % x", got, want)
		}
	})
}

// The same of ticks.
func TestAppendRecordedTick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := teehistorian.Event{
			AtTick: rapid.Int32Min(0).Draw(t, "tick"),
			Kind:   teehistorian.KindTick,
			Tick:   teehistorian.Tick{Skipped: rapid.Int32().Draw(t, "skipped"), Implicit: rapid.Bool().Draw(t, "implicit")},
		}
		before := []byte("before")
		want := append(bytes.Clone(before), codec.EventListField, 0)
		at := len(want)
		want = protoappend.Close(AppendEvent(want, &ev), at)
		if got := appendRecordedTick(before, ev.AtTick, &ev.Tick); !bytes.Equal(got, want) {
			t.Fatalf("got % x\nwant % x", got, want)
		}
	})
}

// TestAdd: whatever an event has beside the fields of its kind, the batch has what the generated appender writes.
func TestAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := teehistorian.Event{
			AtTick:     rapid.Int32Min(-1).Draw(t, "tick"),
			Kind:       rapid.SampledFrom([]teehistorian.Kind{teehistorian.KindTick, teehistorian.KindPlayerDiff, teehistorian.KindInputDiff}).Draw(t, "kind"),
			HasPlayer:  rapid.Bool().Draw(t, "resolved"),
			PlayerDiff: teehistorian.PlayerDiff{ClientId: 3, X: 7, Y: 9},
			Tick:       teehistorian.Tick{Implicit: true},
		}
		if rapid.Bool().Draw(t, "warned") {
			ev.Warnings = []teehistorian.Warning{teehistorian.WarningTrailingData}
		}
		want := []byte{codec.EventListField, 0}
		want = protoappend.Close(AppendEvent(want, &ev), len(want))
		r := &reader{Sequential: codec.NewSequential(codec.Options{}, events)}
		var b codec.Batch
		if r.add(&b, decoders.Position{}, &ev); b.Count != 1 || !bytes.Equal(b.Events, want) {
			t.Fatalf("%d: got % x\nwant % x", b.Count, b.Events, want)
		}
	})
}

// TestAddMoveRows: rows that are appended column by column are those that the generated appender makes one by one, between others.
func TestAddMoveRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := Tables.Layout(rapid.Bool().Draw(t, "resolved"))
		speed := rapid.SampledFrom([]float64{0, 50}).Draw(t, "ticks per second")
		if fields := layout.Fields(uint8(teehistorian.KindPlayerDiff)); rapid.Bool().Draw(t, "some columns") {
			var columns []string
			for range 3 {
				columns = append(columns, fields[rapid.IntRange(0, len(fields)-1).Draw(t, "column")].Name)
			}
			var err error
			if layout, err = layout.Select(columns, func(kind uint8) bool { return kind == uint8(teehistorian.KindPlayerDiff) }); err != nil {
				t.Fatal(err)
			}
		}
		got, want := table.NewSet(layout), table.NewSet(layout)
		got.TicksPerSecond, want.TicksPerSecond = speed, speed
		at := decoders.Position{Offset: 1000}
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			ev := teehistorian.Event{Kind: teehistorian.KindPlayerDiff, AtTick: rapid.Int32Range(0, 1000).Draw(t, "tick")}
			at.Index = rapid.Int64Range(0, 1).Draw(t, "index")
			if rapid.Bool().Draw(t, "a single one") {
				ev.HasPlayer, ev.Player.Name = true, []byte("nameless")
				AddRow(got, at, &ev)
				AddRow(want, at, &ev)
				ev.HasPlayer = false
			}
			moves := make([]teehistorian.PlayerDiff, rapid.IntRange(1, 10).Draw(t, "moves"))
			for i := range moves {
				for _, field := range []*int32{&moves[i].ClientId, &moves[i].Dx, &moves[i].Dy, &moves[i].X, &moves[i].Y} {
					*field = rapid.Int32Min(-1<<31+1).Draw(t, "number") // the lowest stands for none
				}
			}
			addMoveRows(got, at, ev.AtTick, moves)
			for i := range moves {
				ev.PlayerDiff = moves[i]
				AddRow(want, at, &ev)
				at = decoders.Position{Offset: at.Offset + teehistorian.MoveBytes}
			}
			if got.Size() != want.Size() || got.LastSize() != want.LastSize() {
				t.Fatalf("%d bytes, of the last row %d; want %d and %d", got.Size(), got.LastSize(), want.Size(), want.LastSize())
			}
			if rapid.Bool().Draw(t, "undo") {
				got.Undo()
				want.Undo()
			}
		}
		if got, want := recordsOf(t, got), recordsOf(t, want); !slices.Equal(got, want) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

// recordsOf returns the tables of a set as JSON.
func recordsOf(t *rapid.T, s *table.Set) (records []string) {
	t.Helper()
	err := s.All(func(of *table.Table) error {
		b, err := arrowipc.Record(of, arrowipc.Schema(of.Layout, of.Kind)).MarshalJSON()
		records = append(records, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
