package table

import (
	"slices"

	"github.com/replayd/replayd/decoders"
)

// MaxRowBytes is how large a row may be. Events of games are much smaller.
const MaxRowBytes = 512 << 10

// Set collects the events of one batch in the tables of their kinds. It must not be used concurrently.
type Set struct {
	// Layout says which columns the tables have.
	Layout *Layout
	// Refs returns the text that a number in the decoder's events stands for. It must not change once there are rows.
	Refs func(uint32) string
	// TicksPerSecond is the speed of the replay's clock, 0 if there is none.
	TicksPerSecond float64

	tables []*Table // by kind; nil for one without events so far
	size   int
	last   *Table
	before int // size before the last row
}

// Table holds the events of one kind.
type Table struct {
	Layout *Layout
	Kind   uint8
	// Columns are all columns of the format in preorder. Those that the layout does not have are Off.
	Columns []Column
	// Rows is the number of rows.
	Rows int

	used   bool // since the last Reset; undone rows leave texts in dictionaries
	placed bool // it has columns of Positions
	bytes  int  // rowBytes of all columns
	around int  // Layout.Overhead
}

// NewSet returns an empty set of tables with the columns of a layout, if possible one that was left.
func NewSet(l *Layout) *Set {
	if s, ok := l.left.Get().(*Set); ok {
		return s
	}
	return &Set{Layout: l, tables: make([]*Table, len(l.Format.Kinds))}
}

// Leave is the last call: it leaves the set, emptied, to a later NewSet.
func (s *Set) Leave() {
	s.Reset()
	s.Refs, s.TicksPerSecond = nil, 0
	s.Layout.left.Put(s)
}

// Reset empties the tables and keeps their memory.
func (s *Set) Reset() {
	s.size, s.before, s.last = 0, 0, nil
	for _, t := range s.tables {
		if t == nil || !t.used {
			continue
		}
		t.Rows, t.used = 0, false
		for i := range t.Columns {
			t.Columns[i].reset()
		}
	}
}

// Trim frees the memory of large columns. The set must be empty. Call it for a set that may stay empty for long.
func (s *Set) Trim() {
	for _, t := range s.tables {
		if t == nil {
			continue
		}
		for i := range t.Columns {
			t.Columns[i].trim()
		}
	}
}

// Size returns about how many bytes the tables take in a message: their values, and once for each table Layout.Overhead.
func (s *Set) Size() int { return s.size }

// LastSize returns about how many bytes the values of the last row have.
func (s *Set) LastSize() int { return s.size - s.before }

// Begin begins a row of the table of a kind, and returns the columns behind those of Positions, to which the caller appends one
// value each. An offset below 0 means that the event has no position.
func (s *Set) Begin(kind uint8, at decoders.Position, tick int32) []Column {
	t := s.tables[kind]
	if t == nil || !t.used {
		t = s.use(kind)
	}
	s.last, s.before = t, s.size
	t.Rows++
	s.size += t.bytes
	if t.placed {
		position(t.Columns, at, tick, s.TicksPerSecond)
	}
	return t.Columns[Positions:]
}

// position appends an event's position to the columns of Positions.
func position(c []Column, at decoders.Position, tick int32, ticksPerSecond float64) {
	if at.Offset < 0 {
		c[OffsetColumn].Null()
		c[IndexColumn].Null()
	} else {
		c[OffsetColumn].Int64(at.Offset)
		c[IndexColumn].Int64(at.Index)
	}
	c[TickColumn].Int32(tick)
	if c[TimeColumn].Off { // a division takes longer than everything else here
		return
	}
	if seconds, known := secondsOf(tick, ticksPerSecond); known {
		c[TimeColumn].Float64(seconds)
	} else {
		c[TimeColumn].Null()
	}
}

// secondsOf returns a tick in seconds, unless the replay has no clock or the clock does not run yet.
func secondsOf(tick int32, ticksPerSecond float64) (seconds float64, known bool) {
	if ticksPerSecond <= 0 || tick < 0 {
		return 0, false
	}
	return float64(tick) / ticksPerSecond, true
}

// NoPosition is the position of an event of a state.
var NoPosition = decoders.Position{Offset: -1}

// Table returns the table of a kind, which may have no rows, as All does.
func (s *Set) Table(kind uint8) *Table {
	t := s.table(kind)
	t.complete()
	return t
}

// use returns the table of a kind for the first row since the last Reset.
func (s *Set) use(kind uint8) *Table {
	t := s.table(kind)
	t.used = true
	s.size += t.around
	return t
}

func (s *Set) table(kind uint8) *Table {
	if t := s.tables[kind]; t != nil {
		return t
	}
	all, there := s.Layout.Format.columns[kind], s.Layout.there[kind]
	t := &Table{Layout: s.Layout, Kind: kind, placed: slices.Contains(there[:Positions], true), bytes: rowBytes(all, there), around: s.Layout.Overhead(kind)}
	t.Columns = newColumns(all, there, make([]Column, 0, len(there)), s)
	s.tables[kind] = t
	return t
}

// Undo removes the row that was begun last. It may be called once for each Begin.
func (s *Set) Undo() {
	t := s.last
	t.Rows--
	for _, c := range Shown(t.Columns) {
		truncate(c, t.Rows)
	}
	s.size = s.before
}

// All calls each for the tables that have rows, in the order of their kinds. Their columns are all of one length then.
func (s *Set) All(each func(*Table) error) error {
	for _, t := range s.tables {
		if t == nil || t.Rows == 0 {
			continue
		}
		t.complete()
		if err := each(t); err != nil {
			return err
		}
	}
	return nil
}

// complete appends to columns what they only counted.
func (t *Table) complete() {
	for i := range t.Columns {
		if c := t.Columns[i:]; !c[0].Off {
			catchUp(c)
		}
	}
}
