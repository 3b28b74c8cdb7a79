package stringtable

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

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
