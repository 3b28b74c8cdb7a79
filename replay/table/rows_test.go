package table_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/table"
)

// warned is a format whose events have warnings, of which there are two.
func warned() *table.Format {
	return &table.Format{
		Name:  "warned",
		Event: []table.Field{{Name: "warnings", Type: table.List, Fields: []table.Field{{Type: table.Name, Enum: map[int32]string{1: "ODD", 2: "VERY_ODD"}}}}},
		Kinds: []table.Kind{{}, {Name: "move", Fields: []table.Field{{Name: "x", Type: table.Int32}}}},
	}
}

// TestBeginRows: rows that are begun together are those that are begun one by one, and the last of them can be undone. Columns that the
// table does not have stay empty.
func TestBeginRows(t *testing.T) {
	all := warned().Layout(false)
	some, err := all.Select([]string{"index", "x"}, func(uint8) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []*table.Layout{all, some} {
		testBeginRows(t, layout)
	}
}

func testBeginRows(t *testing.T, layout *table.Layout) {
	one, many := table.NewSet(layout), table.NewSet(layout)
	const n, step = 5, 3
	for i := range int64(n) {
		at := decoders.Position{Offset: 100 + i*step}
		if i == 0 {
			at.Index = 2
		}
		c := one.Begin(1, at, 7)
		c[0].Items(0)
		c[2].Int32(int32(i))
	}
	c := many.BeginRows(1, []int64{100, 103, 106, 109, 112}, 2, 7)
	for i, to := 0, table.Extend[int32](&c[0], n); i < len(to); i++ {
		to[i] = int32(i)
	}
	same := func(when string) {
		t.Helper()
		want, got := one.Table(1), many.Table(1)
		if one.Size() != many.Size() || got.Rows != want.Rows {
			t.Errorf("%s: %d rows of %d bytes, want %d of %d", when, got.Rows, many.Size(), want.Rows, one.Size())
		}
		for i := range want.Columns {
			if w, g := &want.Columns[i], &got.Columns[i]; w.Len != g.Len || w.Nulls != g.Nulls || !bytes.Equal(w.Data, g.Data) {
				t.Errorf("%s: column %d has %x, want %x", when, i, g.Data, w.Data)
			} else if g.Off && len(g.Data)+len(g.Offsets)+g.Len > 0 {
				t.Errorf("%s: column %d is none, and has %d values", when, i, g.Len)
			}
		}
	}
	same("all")
	if one.LastSize() != many.LastSize() {
		t.Errorf("the last row has %d bytes, want %d", many.LastSize(), one.LastSize())
	}
	one.Undo()
	many.Undo()
	same("without the last one")
}

// TestMaxRow: no row is larger than a layout says, also one with all warnings.
func TestMaxRow(t *testing.T) {
	l := warned().Layout(false)
	most, known := l.MaxRow(1)
	s := table.NewSet(l)
	c := s.Begin(1, decoders.Position{Offset: 1}, 7)
	c[0].Items(2)
	c[1].Enum(1)
	c[1].Enum(2)
	c[2].Int32(1)
	if !known || s.LastSize() > most || most > 2*s.LastSize() {
		t.Errorf("a row has %d bytes, and at most %d are foreseen (%v)", s.LastSize(), most, known)
	}
	if _, known := made().Layout(false).MaxRow(1); known {
		t.Error("the size of texts is foreseen")
	}
}
