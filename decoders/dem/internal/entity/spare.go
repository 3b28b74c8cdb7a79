package entity

import (
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Spare is memory for a Store and an Update, which they leave to others: as much as a short demo needs. The zero value has none. A nil one is
// empty, and stays so.
type Spare struct {
	slots   []*Entity // all nil
	free    []*Entity // all zero
	cells   []value.Cell
	used    int // of cells
	paths   []fieldpath.Path
	changes []Change
	recent  recent // without lists
}

const (
	spareCells = 1 << 16 // a megabyte
	spareLists = 1 << 12 // the largest length of a list of paths or changes
)

// take returns n cells of any values. What is taken does not depend on who had the memory before, so that limits do not either.
func (m *Spare) take(n int) []value.Cell {
	if m == nil || m.used+n > spareCells {
		return make([]value.Cell, n)
	}
	if m.cells == nil {
		m.cells = make([]value.Cell, spareCells)
	}
	m.used += n
	return m.cells[m.used-n : m.used : m.used]
}

// Lend gives the memory to a store and an update that are new.
func (m *Spare) Lend(s *Store, u *Update) {
	if m.slots == nil {
		m.slots = make([]*Entity, MaxEntities)
	}
	s.Slots, s.free, s.spare = m.slots, m.free, m
	u.Paths, u.Changes, u.recent, u.spare = m.paths, m.changes, m.recent, m
}

// Return takes the memory back, and that which they took besides.
func (m *Spare) Return(s *Store, u *Update) {
	for i, e := range s.Slots {
		if e != nil {
			s.Release(i)
		}
	}
	for _, e := range s.free {
		*e = Entity{}
	}
	u.recent.clear()
	m.slots, m.free, m.used, m.recent = s.Slots, s.free, 0, u.recent
	if cap(u.Paths) <= spareLists {
		m.paths = u.Paths[:0]
	}
	if cap(u.Changes) <= spareLists {
		m.changes = u.Changes[:0]
		clear(m.changes[:cap(m.changes)])
	}
	*s, *u = Store{}, Update{}
}
