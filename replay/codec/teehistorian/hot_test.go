package teehistorian

import (
	"bytes"
	"math"
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

// small draws a number that takes a byte as a sint32, or any in some cases of ten.
func small(t *rapid.T, what string, large int) int32 {
	if rapid.IntRange(0, 9).Draw(t, "large") < large {
		return rapid.Int32().Draw(t, what)
	}
	return rapid.Int32Range(-64, 63).Draw(t, what)
}

// entry is an event as the generated appender writes it.
func entry(ev *teehistorian.Event) []byte {
	b := []byte{codec.EventListField, 0}
	return protoappend.Close(AppendEvent(b, ev), len(b))
}

// TestAppendMoves: the moves of a tick are appended as the generated appender writes them.
func TestAppendMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := teehistorian.Event{AtTick: rapid.Int32Min(0).Draw(t, "tick"), Kind: teehistorian.KindPlayerDiff}
		one, place := rapid.Int32Range(-64, 63), rapid.Int32Min(-1<<31+1) // the lowest stands for none
		moves := make([]teehistorian.PlayerDiff, rapid.IntRange(1, 5).Draw(t, "moves"))
		got := make([]byte, 6, rapid.IntRange(6, 600).Draw(t, "room"))
		want := slices.Clone(got)
		for i := range moves {
			moves[i] = teehistorian.PlayerDiff{
				ClientId: rapid.Int32Range(0, 127).Draw(t, "client"), Dx: one.Draw(t, "dx"), Dy: one.Draw(t, "dy"),
				X: place.Draw(t, "x"), Y: place.Draw(t, "y"),
			}
			ev.PlayerDiff = moves[i]
			want = append(want, entry(&ev)...)
		}
		if got = appendMoves(got, startOf(ev.AtTick), moves); !bytes.Equal(got, want) {
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
			HasPlayer:  rapid.IntRange(0, 9).Draw(t, "resolved") == 0,
			PlayerDiff: teehistorian.PlayerDiff{ClientId: 3, Dx: small(t, "dx", 1), Dy: small(t, "dy", 1), X: 7, Y: 9},
			Tick:       teehistorian.Tick{Implicit: rapid.Bool().Draw(t, "implicit"), Skipped: max(0, small(t, "skipped", 5))},
			InputDiff: teehistorian.InputDiff{
				HasInput: rapid.IntRange(0, 9).Draw(t, "input") > 0, HasDiff: true,
			},
		}
		if rapid.Bool().Draw(t, "a high id") {
			ev.PlayerDiff.ClientId = rapid.Int32Range(0, 1023).Draw(t, "client")
		}
		ev.InputDiff.ClientId = ev.PlayerDiff.ClientId
		for _, field := range inputs(&ev.InputDiff) {
			*field = small(t, "number", 1)
		}
		if rapid.IntRange(0, 9).Draw(t, "warned") == 0 {
			ev.Warnings = []teehistorian.Warning{teehistorian.WarningTrailingData}
		}
		r := &reader{Sequential: codec.NewSequential(codec.Options{}, events)}
		var b codec.Batch
		if r.add(&b, decoders.Position{}, &ev); b.Count != 1 || !bytes.Equal(b.Events, entry(&ev)) {
			t.Fatalf("%d: got % x\nwant % x", b.Count, b.Events, entry(&ev))
		}
	})
}

// inputs returns the fields of a change's two inputs.
func inputs(m *teehistorian.InputDiff) (fields []*int32) {
	for _, in := range []*teehistorian.Input{&m.Input, &m.Diff} {
		fields = append(fields, &in.Direction, &in.TargetX, &in.TargetY, &in.Jump, &in.Fire, &in.Hook, &in.PlayerFlags, &in.WantedWeapon,
			&in.NextWeapon, &in.PrevWeapon)
	}
	return fields
}

// TestAppendChange: changes of inputs of all lengths are appended as the generated appender writes them.
func TestAppendChange(t *testing.T) {
	lengths := make(map[int]bool)
	for _, tick := range []int32{0, 1, 1 << 7, 1 << 14, 1 << 21, math.MaxInt32} {
		ev := teehistorian.Event{AtTick: tick, Kind: teehistorian.KindInputDiff}
		ev.InputDiff.HasInput, ev.InputDiff.HasDiff = true, true
		for _, field := range inputs(&ev.InputDiff) {
			for _, *field = range []int32{0, -1, 64, -1 << 13, 1 << 20, math.MinInt32} {
				want := entry(&ev)
				lengths[len(want)] = true
				if got := appendChange(make([]byte, 0, len(want)), startOf(tick), tick, &ev.InputDiff); !bytes.Equal(got, want) {
					t.Errorf("got % x\nwant % x", got, want)
				}
			}
		}
	}
	for n := 10; n < 136; n++ {
		if !lengths[n] && n != 130 { // the length of 128 bytes takes two
			t.Errorf("no event of %d bytes", n)
		}
	}
}

// TestAddRows: moves and changes of inputs that are appended column by column are those that the generated appender makes one by one, between others.
func TestAddRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := Tables.Layout(rapid.Bool().Draw(t, "resolved"))
		kind := rapid.SampledFrom([]teehistorian.Kind{teehistorian.KindPlayerDiff, teehistorian.KindInputDiff}).Draw(t, "kind")
		speed := rapid.SampledFrom([]float64{0, 50}).Draw(t, "ticks per second")
		if fields := layout.Fields(uint8(kind)); rapid.Bool().Draw(t, "some columns") {
			var columns []string
			for range 3 {
				columns = append(columns, fields[rapid.IntRange(0, len(fields)-1).Draw(t, "column")].Name)
			}
			var err error
			if layout, err = layout.Select(columns, func(k uint8) bool { return k == uint8(kind) }); err != nil {
				t.Fatal(err)
			}
		}
		got, want := table.NewSet(layout), table.NewSet(layout)
		got.TicksPerSecond, want.TicksPerSecond = speed, speed
		at := decoders.Position{Offset: 1000}
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			ev := teehistorian.Event{Kind: kind, AtTick: rapid.Int32Range(0, 1000).Draw(t, "tick")}
			if at.Index = 0; kind == teehistorian.KindPlayerDiff {
				at.Index = rapid.Int64Range(0, 1).Draw(t, "index")
			}
			if rapid.Bool().Draw(t, "a single one") {
				ev.HasPlayer, ev.Player.Name = true, []byte("nameless")
				AddRow(got, at, &ev)
				AddRow(want, at, &ev)
				ev.HasPlayer = false
			}
			var moves []teehistorian.PlayerDiff
			var all []teehistorian.InputDiff
			var offsets []int64
			first, m, in := at, &ev.PlayerDiff, &ev.InputDiff
			in.HasInput, in.HasDiff = true, true
			for range rapid.IntRange(1, 10).Draw(t, "rows") {
				for _, field := range append(inputs(in), &in.ClientId, &m.ClientId, &m.Dx, &m.Dy, &m.X, &m.Y) {
					*field = rapid.Int32Min(-1<<31+1).Draw(t, "number") // the lowest stands for none
				}
				moves, offsets = append(moves, *m), append(offsets, at.Offset)
				all = append(all, *in)
				AddRow(want, at, &ev)
				at = decoders.Position{Offset: at.Offset + teehistorian.MoveBytes}
			}
			if kind == teehistorian.KindPlayerDiff {
				addMoveRows(got, first, ev.AtTick, moves)
			} else {
				new(changes).add(got, offsets, ev.AtTick, all)
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
