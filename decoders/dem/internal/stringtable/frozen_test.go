package stringtable

import (
	"bytes"
	"testing"
)

// TestFrozen: what a table held stays as it was, whatever happens to the table and to those that were made of it.
func TestFrozen(t *testing.T) {
	stored := 0
	table := &Table{Kept: true, Stored: &stored}
	for i := range 3 * chunkEntries / 2 {
		table.Store(&Change{Index: i, Key: []byte{'k', byte(i)}, Value: []byte("before"), HasValue: i > 0}, true)
	}
	f := table.Freeze()
	if table.Freeze() != f {
		t.Error("frozen twice without a change")
	}
	kept := func(Role) bool { return true }
	for _, of := range []*Table{table, f.Thaw(new(int), kept)} {
		of.Store(&Change{Index: 1, Value: []byte("after"), HasValue: true}, false)
		g := of.Freeze()
		if g == f || g.chunks[0] == f.chunks[0] || g.chunks[1] != f.chunks[1] {
			t.Error("a change is not in the next one, or what did not change is not shared")
		}
		if got := string(g.Thaw(new(int), kept).Entries[1].Value); got != "after" {
			t.Errorf("the changed value is %q", got)
		}
	}
	for i, e := range f.Thaw(new(int), kept).Entries {
		if !bytes.Equal(e.Key, []byte{'k', byte(i)}) || e.HasValue != (i > 0) || e.HasValue && string(e.Value) != "before" {
			t.Fatalf("entry %d is %q, %q", i, e.Key, e.Value)
		}
	}
	if none := f.Thaw(new(int), func(Role) bool { return false }); none.Kept || len(none.Entries) > 0 {
		t.Error("entries that nobody keeps")
	}
}
