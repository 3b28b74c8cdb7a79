package table_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/replay/table"
)

// TestSelect: names select columns below structs and lists; of a wrong one, the error has the columns that it may have meant.
func TestSelect(t *testing.T) {
	all := made().Layout(false)
	for _, test := range []struct {
		names []string
		want  string // the columns, or a part of the error
	}{
		{[]string{"list"}, "list: list of text"},
		{[]string{"parts"}, "parts: list of struct (flag, bytes, pair)"},
		{[]string{"parts.flag"}, "parts: list of struct (flag)"},
		{[]string{"parts.pair.who", "bool"}, "bool: bool?; parts: list of struct (pair)"},
		{[]string{"pair.x", "pair.who"}, "pair: struct (x, who)?"},
		{[]string{"pair.who", "pair"}, "pair: struct (x, who)?"},
		{nil, ""},
		{[]string{"bool", "prts"}, `no column "prts"; its columns are offset, index, at_tick, time, bool, int64`},
		{[]string{"parts.flg"}, `no column "parts.flg"; its columns are parts.flag, parts.bytes, parts.pair`},
		{[]string{"parts.pair.y"}, `no column "parts.pair.y"; its columns are parts.pair.x, parts.pair.who`},
		{[]string{"list.item"}, `no column "list.item"; its columns are offset`},
		{[]string{"bool.x"}, `no column "bool.x"; its columns are offset`},
	} {
		some, err := all.Select(test.names, func(uint8) bool { return true })
		if err != nil {
			if !strings.Contains(err.Error(), "thing has "+test.want) {
				t.Errorf("%v: %v", test.names, err)
			}
			continue
		}
		var got []string
		for _, f := range some.Fields(1) {
			got = append(got, f.Name+": "+f.TypeName())
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%v: %s, want %s", test.names, strings.Join(got, "; "), test.want)
		}
	}
	other, err := all.Select([]string{"nothing"}, func(uint8) bool { return false })
	if err != nil || len(other.Fields(1)) != len(all.Fields(1)) {
		t.Errorf("a kind that is not selected from: %v", err)
	}
}

// TestResolved: only the layout with resolved players has their columns, and a selection of the other has them not.
func TestResolved(t *testing.T) {
	f := &table.Format{Name: "test", Kinds: []table.Kind{{}, {Name: "k", Fields: []table.Field{
		{Name: "id", Type: table.Int32}, {Name: "player", Type: table.Name, Resolved: true}, {Name: "x", Type: table.Int32},
	}}}}
	for resolved, want := range map[bool][]string{false: {"id", "x"}, true: {"id", "player", "x"}} {
		l := f.Layout(resolved)
		var got []string
		for _, field := range l.Fields(1)[table.Positions:] { // behind those that every table has
			got = append(got, field.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("resolved %v: %v", resolved, got)
		}
		if _, err := l.Select([]string{"player"}, func(uint8) bool { return true }); (err == nil) != resolved {
			t.Errorf("resolved %v: the column is selected: %v", resolved, err)
		}
	}
}

// TestMaxRowOfStructs: a row is as large as is foreseen if a text in it may be of any size, which a selection leaves out.
func TestMaxRowOfStructs(t *testing.T) {
	f := &table.Format{Name: "test", Kinds: []table.Kind{{}, {Name: "k", Fields: []table.Field{
		{Name: "place", Type: table.Struct, Fields: []table.Field{{Name: "x", Type: table.Int32}, {Name: "said", Type: table.Text}}},
		{Name: "many", Type: table.List, Fields: []table.Field{{Name: "item", Type: table.Int32}}},
	}}}}
	for name, known := range map[string]bool{"place": false, "place.x": true, "place.said": false, "many": false} {
		l, err := f.Layout(false).Select([]string{name}, func(uint8) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if _, got := l.MaxRow(1); got != known {
			t.Errorf("the size of %s is foreseen: %v", name, got)
		}
	}
}
