package stringtable

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestEntries: a table that entries are added to and changed in, in any of its forms, has the keys and values that were written, and counts
// the bytes that it takes.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := demtest.Table{Flags: rapid.IntRange(0, 1).Draw(t, "flags"), Varint: rapid.Bool().Draw(t, "varint")}
		if rapid.Bool().Draw(t, "fixed") {
			form.FixedBits = rapid.IntRange(1, 40).Draw(t, "bits")
		}
		stored := 0
		table := &Table{FixedBits: form.FixedBits, Flags: int32(form.Flags), Varint: form.Varint, Kept: true, Stored: &stored}
		var want []Entry
		var r Reader
		for range rapid.IntRange(1, 4).Draw(t, "updates") {
			var entries []demtest.Entry
			last := -1
			for range rapid.IntRange(0, 40).Draw(t, "entries") {
				e := entry(t, form, last, len(want))
				if e.Index > len(want) {
					break
				}
				last = e.Index
				entries, want = append(entries, e), apply(want, &e)
			}
			var c Change
			n := 0
			for r.Start(table, 3, form.Entries(entries...), len(entries)); r.Next(&c); n++ {
				e := &entries[n]
				if c.Index != e.Index || c.HasValue != e.HasValue || !bytes.Equal(c.Value, e.Value) || !e.NoKey && string(c.Key) != e.Key {
					t.Fatalf("%+v is read as %d %q %x", *e, c.Index, c.Key, c.Value)
				}
				if got := table.Key(c.Index); !bytes.Equal(got, c.Key) {
					t.Fatalf("the key %q is kept as %q", c.Key, got)
				}
			}
			if r.Err != nil || n != len(entries) {
				t.Fatalf("%d of %d entries: %v", n, len(entries), r.Err)
			}
		}
		least := 0
		for i, e := range want {
			if got := table.Entries[i]; !bytes.Equal(got.Key, e.Key) || got.HasValue != e.HasValue || !bytes.Equal(got.Value, e.Value) {
				t.Fatalf("entry %d is %+v, not %+v", i, got, e)
			}
			least += entrySize + len(e.Key)
		}
		if len(table.Entries) != len(want) || stored < least || table.Key(len(want)) != nil {
			t.Fatalf("%d entries of %d, which take %d bytes, at least %d", len(table.Entries), len(want), stored, least)
		}
	})
}

// entry draws an entry behind the last one of an update of a table of n entries.
func entry(t *rapid.T, form demtest.Table, last, n int) demtest.Entry {
	e := demtest.Entry{Index: last + 1, Key: rapid.StringMatching("[a-c]{0,5}").Draw(t, "key"), HasValue: rapid.Bool().Draw(t, "has a value")}
	if rapid.IntRange(0, 3).Draw(t, "over some") == 0 {
		e.Index = rapid.IntRange(last+1, max(last+1, n)).Draw(t, "index")
	}
	if e.NoKey = rapid.Bool().Draw(t, "without a key"); e.NoKey {
		e.Key = ""
	}
	switch {
	case !e.HasValue:
	case form.FixedBits > 0:
		e.Value = rapid.SliceOfN(rapid.Byte(), (form.FixedBits+7)/8, (form.FixedBits+7)/8).Draw(t, "value")
		if rest := form.FixedBits % 8; rest > 0 {
			e.Value[len(e.Value)-1] &= 1<<rest - 1
		}
	default:
		e.Value = rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "value")
		e.Compress = form.Flags&1 != 0 && rapid.Bool().Draw(t, "compressed")
	}
	return e
}

// apply does to entries what an entry of an update says.
func apply(to []Entry, e *demtest.Entry) []Entry {
	if e.Index == len(to) {
		to = append(to, Entry{})
	}
	if !e.NoKey {
		to[e.Index].Key = []byte(e.Key)
	}
	if e.HasValue {
		to[e.Index].Value, to[e.Index].HasValue = e.Value, true
	}
	return to
}

// TestNoRoom: what a table cannot hold is an error, and nothing of it is kept.
func TestNoRoom(t *testing.T) {
	full := maxStored - entrySize - 10
	for name, test := range map[string]struct {
		entries []demtest.Entry
		want    error
		kept    int
	}{
		"as much as there is room": {[]demtest.Entry{{Key: "0123456789"}}, nil, 1},
		"more":                     {[]demtest.Entry{{Key: "0123456789a"}}, errTableStored, 0},
		"one, and another":         {[]demtest.Entry{{Key: "a"}, {Index: 1, Key: "b"}}, errTableStored, 1},
		"a longer value":           {[]demtest.Entry{{Key: "a"}, {Index: 0, Value: []byte(strings.Repeat("v", 20)), HasValue: true}}, errTableStored, 1},
		"behind the end":           {[]demtest.Entry{{Index: 1, Key: "b"}}, errTableIndex, 0},
		"far behind the end":       {[]demtest.Entry{{Index: MaxEntries, Key: "b"}}, errTableIndex, 0},
	} {
		stored := full
		table := &Table{Varint: true, Kept: true, Stored: &stored}
		var r Reader
		var c Change
		for _, e := range test.entries { // an update each
			for r.Start(table, 0, demtest.Table{Varint: true}.Entries(e), 1); r.Next(&c); {
			}
		}
		if !errors.Is(r.Err, test.want) || len(table.Entries) != test.kept || stored > maxStored {
			t.Errorf("%s: %v; %d entries, %d bytes of %d", name, r.Err, len(table.Entries), stored, maxStored)
		}
	}
}
