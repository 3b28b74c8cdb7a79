package table_test

import (
	"testing"

	"github.com/replayd/replayd/replay/table"
)

// TestDottedNames: a name of a column may have dots, and begin as another one does.
func TestDottedNames(t *testing.T) {
	f := &table.Format{Name: "test", Kinds: []table.Kind{{}, {Name: "k", Fields: []table.Field{
		{Name: "body", Type: table.Bool},
		{Name: "body.place", Type: table.Struct, Fields: []table.Field{{Name: "x", Type: table.Float32}, {Name: "y", Type: table.Float32}}},
		{Name: "body.placed", Type: table.Bool},
	}}}}
	for name, want := range map[string]string{
		"body": "bool", "body.place": "struct (x, y)", "body.place.y": "struct (y)", "body.placed": "bool",
		"body.plac": "", "body.place.z": "", "bod": "", "body.": "", "body.placed.x": "", "body.place.": "",
	} {
		l, err := f.Layout(false).Select([]string{name}, func(uint8) bool { return true })
		got := ""
		if err == nil {
			got = l.Fields(1)[0].TypeName()
		}
		if got != want {
			t.Errorf("%s selects %q, want %q; %v", name, got, want, err)
		}
	}
}

// TestRising: of the columns that every table has, those of places and times rise.
func TestRising(t *testing.T) {
	for name, want := range map[string]bool{"offset": true, "at_tick": true, "time": true, "index": false, "x": false} {
		if table.Rising(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
