package stringtable

import (
	"encoding/binary"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// chunkEntries is the number of entries in a chunk.
const chunkEntries = 64

// chunk holds some entries of a table. For each entry it has the length of the key, the key, and either 0, or the length of the
// value plus 1 and the value.
type chunk = share.Value[[]byte]

// frozen keeps the parts of a table's last snapshot that the next one may reuse.
type frozen struct {
	chunks []*chunk // nil if entries have changed since then
	last   *Frozen  // nil if any entry has changed since then
}

// changed notes that an entry changes.
func (t *Table) changed(index int) {
	t.frozen.last = nil
	if i := index / chunkEntries; i < len(t.frozen.chunks) {
		t.frozen.chunks[i] = nil
	}
}

// Frozen holds the contents of a table at a moment. It is immutable.
type Frozen struct {
	count   share.Count
	table   Table // without entries
	entries int
	chunks  []*chunk
}

// frozenSize is the approximate memory of a Frozen besides its chunks.
const frozenSize = 256

// Hold implements share.Part for the memory of f besides its chunks.
func (f *Frozen) Hold() int { return f.count.Hold(frozenSize + 8*len(f.chunks)) }

// Release implements share.Part.
func (f *Frozen) Release() int { return f.count.Release(frozenSize + 8*len(f.chunks)) }

// Parts calls each with f and with each of its chunks.
func (f *Frozen) Parts(each func(share.Part)) {
	each(f)
	for _, c := range f.chunks {
		each(c)
	}
}

// Freeze returns the contents of the table. It reuses chunks that have not changed since the last call.
func (t *Table) Freeze() *Frozen {
	if f := t.frozen.last; f != nil && f.table.Lost == t.Lost {
		return f
	}
	n := (len(t.Entries) + chunkEntries - 1) / chunkEntries
	for len(t.frozen.chunks) < n {
		t.frozen.chunks = append(t.frozen.chunks, nil)
	}
	for i := range n {
		if t.frozen.chunks[i] == nil {
			t.frozen.chunks[i] = freeze(t.Entries[i*chunkEntries : min((i+1)*chunkEntries, len(t.Entries))])
		}
	}
	f := &Frozen{table: *t, entries: len(t.Entries), chunks: append([]*chunk(nil), t.frozen.chunks...)}
	f.table.Entries, f.table.Stored, f.table.frozen = nil, nil, frozen{}
	t.frozen.last = f
	return f
}

func freeze(entries []Entry) *chunk {
	size := 0
	for i := range entries {
		size += len(entries[i].Key) + len(entries[i].Value) + 8
	}
	b := make([]byte, 0, size)
	for i := range entries {
		e := &entries[i]
		b = binary.AppendUvarint(b, uint64(len(e.Key)))
		b = append(b, e.Key...)
		if !e.HasValue {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(e.Value))<<1|1)
		b = append(b, e.Value...)
	}
	return share.NewValue(b, cap(b)+64)
}

// Thaw returns a table with the contents of f. kept says whether it has entries; their memory belongs to f.
func (f *Frozen) Thaw(stored *int, kept func(Role) bool) *Table {
	t := f.table
	t.Stored = stored
	if t.Kept = kept(t.Role); !t.Kept {
		return &t
	}
	t.frozen = frozen{append([]*chunk(nil), f.chunks...), f}
	t.Entries = make([]Entry, f.entries)
	for i := range t.Entries {
		if i%chunkEntries != 0 {
			continue
		}
		b := f.chunks[i/chunkEntries].Of
		for k := i; k < min(i+chunkEntries, len(t.Entries)); k++ {
			e := &t.Entries[k]
			n, used := binary.Uvarint(b)
			b = b[used:]
			e.Key, b = b[:n:n], b[n:]
			n, used = binary.Uvarint(b)
			b = b[used:]
			if n&1 != 0 {
				n >>= 1
				e.Value, b = b[:n:n], b[n:]
				e.HasValue, e.shared = true, true
			}
			*stored += entrySize + len(e.Key) + len(e.Value)
		}
	}
	return &t
}
