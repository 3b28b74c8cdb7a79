package stringtable

import (
	"fmt"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestHistory: keys begin like one of the 32 before them, also when there were more.
func TestHistory(t *testing.T) {
	var entries []demtest.Entry
	for i := range 100 {
		e := demtest.Entry{Index: i, Key: fmt.Sprintf("%03d key", i)}
		if back := 1 + i%32; i >= 40 && i%3 == 0 {
			e.Key, e.History, e.Prefix = fmt.Sprintf("%s or %d", entries[i-back].Key[:3], i), back, 3
		}
		entries = append(entries, e)
	}
	table := &Table{Varint: true, Kept: true, Stored: new(int)}
	var r Reader
	var c Change
	i := 0
	for r.Start(table, 0, demtest.Table{Varint: true}.Entries(entries...), len(entries)); r.Next(&c); i++ {
		if want := entries[i].Key; string(c.Key) != want {
			t.Errorf("entry %d: %q, want %q", i, c.Key, want)
		}
	}
	if i != len(entries) {
		t.Errorf("%d entries, want %d", i, len(entries))
	}
}

// FuzzStringTable reads any bits as entries of a table.
func FuzzStringTable(f *testing.F) {
	table := demtest.Table{Flags: 1, Varint: true}
	f.Add(table.Entries(demtest.Entry{Index: 0, Key: "a", HasValue: true, Value: []byte("value"), Compress: true},
		demtest.Entry{Index: 1, Key: "ab", History: 1, Prefix: 1}), 2, int32(1), true, 0)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff"), 1<<30, int32(0), false, 13)
	f.Fuzz(func(t *testing.T, data []byte, n int, flags int32, varint bool, fixed int) {
		table := &Table{Flags: flags, Varint: varint, Kept: true, FixedBits: max(fixed, 0) & 0xffff}
		var r Reader
		for range 2 {
			var c Change
			for r.Start(table, 0, data, n); r.Next(&c); {
				if c.Index >= len(table.Entries) {
					t.Fatalf("entry %d of a table of %d", c.Index, len(table.Entries))
				}
			}
		}
	})
}
