package table_test

import (
	"runtime/debug"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	codec "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/table"
)

// TestTrim: a set that is trimmed has the memory of few rows, and keeps it, and takes rows again.
func TestTrim(t *testing.T) {
	set := table.NewSet(codec.Tables.Layout(false))
	add := func(rows int) {
		for i := range rows {
			e := teehistorian.Event{Kind: teehistorian.KindPlayerDiff, AtTick: int32(i), Warnings: []teehistorian.Warning{1}}
			codec.AddRow(set, decoders.Position{Offset: int64(i)}, &e)
		}
	}
	memory := func(trimmed bool) (n int) {
		for _, c := range set.Table(uint8(teehistorian.KindPlayerDiff)).Columns {
			for _, bytes := range []int{cap(c.Valid), cap(c.Data), 4 * cap(c.Offsets)} {
				if n += bytes; trimmed && bytes > 16<<10 {
					t.Errorf("%d bytes of %s are left", bytes, c.Field.Name)
				}
			}
		}
		return n
	}
	for _, test := range []struct {
		rows  int
		frees bool
	}{{100, false}, {150_000, true}, {100, false}, {1, false}} {
		add(test.rows)
		set.Reset()
		had := memory(false)
		set.Trim()
		if has := memory(true); test.frees != (has < had) || has > 64<<10 {
			t.Errorf("%d bytes of %d are left after %d rows", has, had, test.rows)
		}
		add(3)
		if got := set.Table(uint8(teehistorian.KindPlayerDiff)); got.Rows != 3 || len(got.Columns[table.OffsetColumn].Data) != 3*8 {
			t.Errorf("%d rows, %d bytes of offsets", got.Rows, len(got.Columns[table.OffsetColumn].Data))
		}
		set.Reset()
	}
}

// TestAllocations: rows allocate nothing once a set has the memory for as many, whether their values are missing or not, but for new names.
func TestAllocations(t *testing.T) {
	set := table.NewSet(made().Layout(false))
	set.Refs = func(uint32) string { return "" }
	number, text := int64(7), "text"
	some, none := row{number: &number, text: &text, parts: []part{{bytes: &text}, {pair: &pair{}}}}, row{parts: make([]part, 9)}
	if n := testing.AllocsPerRun(20, func() {
		set.Reset()
		for i := range int64(100) {
			none.add(set, i)
			if i%9 == 0 {
				some.add(set, i)
			}
		}
		set.Table(1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLeave: a set has the memory of one that was left.
func TestLeave(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which drops what was left
	layout, text := made().Layout(false), "text"
	count := func(leave bool) float64 {
		return testing.AllocsPerRun(50, func() {
			set := table.NewSet(layout)
			set.Refs = refText
			for i := range int64(100) {
				(&row{text: &text}).add(set, i)
			}
			if leave {
				set.Leave()
			}
		})
	}
	if alone, after := count(false), count(true); after > alone/2 { // with the race detector, every fourth is dropped
		t.Errorf("%g allocations, and %g after others", alone, after)
	}
}
