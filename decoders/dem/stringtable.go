package dem

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Limits of string tables. Tables of a game have some thousand entries; values of some KiB.
const (
	maxTables     = 1 << 10
	maxEntries    = 1 << 17
	maxTableValue = 1 << 20
	historySize   = 32

	// maxStored bounds the memory of all tables together, in bytes. A game's take some MiB.
	maxStored = 64 << 20
)

// tableRole is what a table is good for within the decoder.
type tableRole uint8

const (
	roleNone tableRole = iota
	roleBaselines
	roleModifiers
	roleModifierNames
	roleCombatLogNames
)

func roleOf(name []byte) tableRole {
	switch string(name) {
	case "instancebaseline":
		return roleBaselines
	case "ActiveModifiers":
		return roleModifiers
	case "ModifierNames":
		return roleModifierNames
	case "CombatLogNames":
		return roleCombatLogNames
	}
	return roleNone
}

// stringTable is a list of entries, each with a key and perhaps a value.
type stringTable struct {
	name      []byte
	role      tableRole
	fixedBits int // size of every value in bits; 0 when values bring their sizes
	flags     int32
	varint    bool // sizes are ubitvars, not 17 bits
	kept      bool // entries are stored
	lost      bool // entries were lost: the next dump helps
	entries   []tableEntry
	stored    *int // bytes of all tables of the file
}

type tableEntry struct {
	key, value []byte
	hasValue   bool
}

// key returns the key of an entry, or nil.
func (t *stringTable) key(i int) []byte {
	if t == nil || uint(i) >= uint(len(t.entries)) {
		return nil
	}
	return t.entries[i].key
}

var (
	errTableIndex  = errors.New("index of an entry beyond the end of the table")
	errTableValue  = errors.New("value of an entry too large")
	errTableStored = errors.New("too much in all tables together")
)

// tableReader reads the entries of a creation or an update, one at a time (docs/formats/dem.md, Entries).
type tableReader struct {
	table   *stringTable
	id      int
	bits    bits.Reader
	left    int // entries to come
	index   int
	history [historySize][]byte
	pushed  int // how many were pushed to the history ever
	arena   []byte
	packed  []byte // a compressed value
	err     error  // why it stopped early
}

// tableChange is an entry that was read: the key it has now, and the new value if there is one. Both are valid until the
// next entry is read.
type tableChange struct {
	index    int
	key      []byte
	value    []byte
	hasValue bool
}

// start begins to read n entries.
func (t *tableReader) start(table *stringTable, id int, data []byte, n int) {
	t.table, t.id, t.index, t.pushed, t.err = table, id, -1, 0, nil
	t.bits.Reset(data)
	// An entry has three bits at least.
	t.left = n
	if n < 0 || n > t.bits.Len()/3 {
		t.left = t.bits.Len() / 3
	}
	t.arena = t.arena[:0]
}

// next reads an entry. It returns false at the end, and when an entry cannot be read: then t.err says why.
func (t *tableReader) next(c *tableChange) bool {
	if t.left <= 0 {
		return false
	}
	t.left--
	if err := t.read(c); err != nil {
		t.err, t.left = err, 0
		return false
	}
	return true
}

func (t *tableReader) read(c *tableChange) error {
	r := &t.bits
	if r.Bool() {
		t.index++
	} else {
		t.index += int(r.Varuint32()) + 2
	}
	table := t.table
	if t.index < 0 || t.index >= maxEntries {
		return errTableIndex
	}
	if table.kept && t.index > len(table.entries) {
		return errTableIndex
	}
	*c = tableChange{index: t.index}
	named := r.Bool()
	if named {
		// Keys are needed until they have left the history.
		if len(t.arena) > 1<<16 {
			t.arena = make([]byte, 0, 1<<16)
		}
		start := len(t.arena)
		if r.Bool() {
			at, n := int(r.Bits(5)), int(r.Bits(5))
			old := t.fromHistory(at)
			t.arena = append(t.arena, old[:min(n, len(old))]...)
		}
		t.arena = r.AppendCString(t.arena)
		c.key = t.arena[start:len(t.arena):len(t.arena)]
	} else {
		c.key = table.key(t.index)
	}
	t.history[t.pushed%historySize] = c.key
	t.pushed++
	if r.Bool() {
		if err := t.readValue(c); err != nil {
			return err
		}
	}
	if r.Overrun() {
		return bits.ErrOverrun
	}
	if table.kept && !table.store(c, named) {
		return errTableStored
	}
	return nil
}

// fromHistory returns one of the last 32 keys, 0 being the oldest of them.
func (t *tableReader) fromHistory(at int) []byte {
	if t.pushed > historySize {
		at = (t.pushed + at) % historySize
	} else if at >= t.pushed {
		return nil
	}
	return t.history[at]
}

func (t *tableReader) readValue(c *tableChange) error {
	r := &t.bits
	table := t.table
	nbits, compressed := table.fixedBits, false
	if nbits == 0 {
		if table.flags&1 != 0 {
			compressed = r.Bool()
		}
		if table.varint {
			nbits = 8 * int(r.UBitVar())
		} else {
			nbits = 8 * int(r.Bits(17))
		}
	}
	if nbits > r.Len() {
		return bits.ErrOverrun
	}
	if nbits > 8*maxTableValue {
		return errTableValue
	}
	c.hasValue = true
	if compressed {
		t.packed = r.Append(t.packed[:0], nbits/8)
		// Not into the arena: the value is stored or told before the next entry.
		out, err := unpack.Snappy(nil, t.packed, maxTableValue)
		if err != nil {
			return err
		}
		c.value = out
		return nil
	}
	start := len(t.arena)
	t.arena = r.Append(t.arena, nbits/8)
	if rest := nbits % 8; rest > 0 {
		t.arena = append(t.arena, byte(r.Bits(rest)))
	}
	c.value = t.arena[start:len(t.arena):len(t.arena)]
	return nil
}

// entrySize is about what an entry takes beside its bytes.
const entrySize = 64

// store keeps an entry. The bytes are copied. It returns false when there is no room.
func (t *stringTable) store(c *tableChange, named bool) bool {
	var need int
	if c.index == len(t.entries) {
		need = entrySize + len(c.key) + len(c.value)
	} else {
		e := &t.entries[c.index]
		need = max(0, len(c.key)-len(e.key)) + max(0, len(c.value)-cap(e.value))
	}
	if t.stored != nil {
		if *t.stored+need > maxStored {
			return false
		}
		*t.stored += need
	}
	if c.index == len(t.entries) {
		if len(t.entries) < cap(t.entries) {
			t.entries = t.entries[:c.index+1]
			t.entries[c.index] = tableEntry{}
		} else {
			t.entries = append(t.entries, tableEntry{})
		}
		named = true
	}
	e := &t.entries[c.index]
	if named && !bytes.Equal(e.key, c.key) {
		e.key = append([]byte(nil), c.key...)
	}
	if c.hasValue {
		e.value = append(e.value[:0], c.value...)
		e.hasValue = true
	}
	return true
}

// parseTableKey reads the key of an instancebaseline entry: the number of a class in decimal. Keys of alternates, as in
// "12:3", are no such thing.
func parseTableKey(key []byte) (int32, bool) {
	n, err := strconv.ParseUint(string(key), 10, 31)
	return int32(n), err == nil
}
