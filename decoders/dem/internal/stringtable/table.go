// Package stringtable reads string tables: lists of entries with a key and perhaps a value, which a server changes.
package stringtable

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Limits of string tables. Tables of a game have some thousand entries; values of some KiB.
const (
	MaxTables   = 1 << 10 // of a file
	MaxEntries  = 1 << 17 // of a table
	MaxValue    = 1 << 20 // bytes of an entry's value
	historySize = 32

	// maxStored bounds the memory of all tables together, in bytes. A game's take some MiB.
	maxStored = 64 << 20
)

// Role is the decoder's use of a table.
type Role uint8

// The roles.
const (
	None Role = iota
	Baselines
	Modifiers
	ModifierNames
	CombatLogNames
	EntityNames
	Players
)

// RoleOf returns the role of the table with a name.
func RoleOf(name []byte) Role {
	switch string(name) {
	case "instancebaseline":
		return Baselines
	case "ActiveModifiers":
		return Modifiers
	case "ModifierNames":
		return ModifierNames
	case "CombatLogNames":
		return CombatLogNames
	case "EntityNames":
		return EntityNames
	case "userinfo":
		return Players
	}
	return None
}

// Table is a list of entries, each with a key and perhaps a value.
type Table struct {
	Name      []byte
	Role      Role
	FixedBits int // size of every value in bits; 0 when values bring their sizes
	Flags     int32
	Varint    bool // sizes are ubitvars, not 17 bits
	Kept      bool // entries are stored
	Lost      bool // entries were lost; the next dump has them
	Entries   []Entry
	Stored    *int // bytes of all tables of the file
	frozen    frozen
}

// Entry is an entry of a table. Its position is its index.
type Entry struct {
	Key, Value []byte
	HasValue   bool
	shared     bool // a snapshot owns the value's memory, which must not be changed
}

// Key returns the key of an entry, or nil.
func (t *Table) Key(i int) []byte {
	if t == nil || uint(i) >= uint(len(t.Entries)) {
		return nil
	}
	return t.Entries[i].Key
}

var (
	errTableIndex  = errors.New("index of an entry beyond the end of the table")
	errTableValue  = errors.New("value of an entry too large")
	errTableStored = errors.New("too much in all tables together")
)

// Reader reads the entries of a creation or an update, one at a time (docs/formats/dem.md, Entries).
type Reader struct {
	Table   *Table
	Id      int
	bits    bits.Reader
	left    int // the number of remaining entries
	index   int
	history [historySize][]byte
	pushed  int // how many keys were ever added to the history
	arena   []byte
	packed  []byte // memory for a compressed value
	value   []byte // and for what was in it
	Err     error  // why reading stopped early
}

// Change is an entry that was read: its present key, and its new value, if any. Both are valid until the next entry is read.
type Change struct {
	Index    int
	Key      []byte
	Value    []byte
	HasValue bool
}

// Start begins to read n entries of a table from data. data must not be modified until they are read.
func (t *Reader) Start(table *Table, id int, data []byte, n int) {
	t.Table, t.Id, t.index, t.pushed, t.Err = table, id, -1, 0, nil
	t.bits.Reset(data)
	// An entry has at least three bits.
	t.left = n
	if n < 0 || n > t.bits.Len()/3 {
		t.left = t.bits.Len() / 3
	}
	t.arena = t.arena[:0]
}

// Next reads the next entry into c. It returns false at the end, and when an entry cannot be read. t.Err then has the reason.
func (t *Reader) Next(c *Change) bool {
	if t.left <= 0 {
		return false
	}
	t.left--
	if err := t.read(c); err != nil {
		t.Err, t.left = err, 0
		return false
	}
	return true
}

func (t *Reader) read(c *Change) error {
	r := &t.bits
	if r.Bool() {
		t.index++
	} else {
		t.index += int(r.Varuint32()) + 2
	}
	table := t.Table
	if t.index < 0 || t.index >= MaxEntries {
		return errTableIndex
	}
	if table.Kept && t.index > len(table.Entries) {
		return errTableIndex
	}
	*c = Change{Index: t.index}
	named := r.Bool()
	if named {
		// Keys are needed until they leave the history.
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
		c.Key = t.arena[start:len(t.arena):len(t.arena)]
	} else {
		c.Key = table.Key(t.index)
	}
	t.history[t.pushed%historySize] = c.Key
	t.pushed++
	if r.Bool() {
		if err := t.readValue(c); err != nil {
			return err
		}
	}
	if r.Overrun() {
		return bits.ErrOverrun
	}
	if table.Kept && !table.Store(c, named) {
		return errTableStored
	}
	return nil
}

// fromHistory returns one of the last 32 keys; 0 is the oldest.
func (t *Reader) fromHistory(at int) []byte {
	if t.pushed > historySize {
		at = (t.pushed + at) % historySize
	} else if at >= t.pushed {
		return nil
	}
	return t.history[at]
}

func (t *Reader) readValue(c *Change) error {
	r := &t.bits
	table := t.Table
	nbits, compressed := table.FixedBits, false
	if nbits == 0 {
		if table.Flags&1 != 0 {
			compressed = r.Bool()
		}
		if table.Varint {
			nbits = 8 * int(r.UBitVar())
		} else {
			nbits = 8 * int(r.Bits(17))
		}
	}
	if nbits > r.Len() {
		return bits.ErrOverrun
	}
	if nbits > 8*MaxValue {
		return errTableValue
	}
	c.HasValue = true
	if compressed {
		t.packed = r.Append(t.packed[:0], nbits/8)
		// Not into the arena: the value is stored or delivered before the next entry.
		var err error
		t.value, err = unpack.Snappy(t.value, t.packed, MaxValue)
		c.Value = t.value
		return err
	}
	start := len(t.arena)
	t.arena = r.Append(t.arena, nbits/8)
	if rest := nbits % 8; rest > 0 {
		t.arena = append(t.arena, byte(r.Bits(rest)))
	}
	c.Value = t.arena[start:len(t.arena):len(t.arena)]
	return nil
}

// entrySize is the approximate memory of an entry besides its bytes.
const entrySize = 64

// Store stores a copy of an entry. It returns false when there is no room.
func (t *Table) Store(c *Change, named bool) bool {
	var need int
	if c.Index == len(t.Entries) {
		need = entrySize + len(c.Key) + len(c.Value)
	} else {
		e := &t.Entries[c.Index]
		need = max(0, len(c.Key)-len(e.Key)) + max(0, len(c.Value)-cap(e.Value))
	}
	if t.Stored != nil {
		if *t.Stored+need > maxStored {
			return false
		}
		*t.Stored += need
	}
	if c.Index == len(t.Entries) {
		if len(t.Entries) < cap(t.Entries) {
			t.Entries = t.Entries[:c.Index+1]
			t.Entries[c.Index] = Entry{}
		} else {
			t.Entries = append(t.Entries, Entry{})
		}
		named = true
	}
	t.changed(c.Index)
	e := &t.Entries[c.Index]
	if named && !bytes.Equal(e.Key, c.Key) {
		e.Key = append([]byte(nil), c.Key...)
	}
	if c.HasValue {
		if e.shared {
			e.Value, e.shared = nil, false
		}
		e.Value = append(e.Value[:0], c.Value...)
		e.HasValue = true
	}
	return true
}

// ParseClass parses the key of an instancebaseline entry: the number of a class in decimal. The key of an alternate, such as
// "12:3", is not such a key.
func ParseClass(key []byte) (int32, bool) {
	n, err := strconv.ParseUint(string(key), 10, 31)
	return int32(n), err == nil
}
