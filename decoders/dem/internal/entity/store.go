package entity

import (
	"fmt"
	"maps"
	"math/bits"
)

// MaxState is the limit of the states of all entities together, in bytes. The largest games use a fifth of it.
const MaxState = 64 << 20

// Store holds the entities of a demo by slot, and the states from which entities are created. It counts the memory of all
// states together.
type Store struct {
	Slots []*Entity                // by index; nil for an empty slot
	shown [MaxEntities / 64]uint64 // a bit for each slot with a state that is delivered
	free  []*Entity
	spare *Spare
	Held  int // bytes of all states
	// own holds the states from which entities are created in place of their classes' states, by index, in two slots.
	own        [2]map[int32]*ownState
	alternates alternates
}

// ownState is the state from which an entity is created in place of its class's state, in recordings of clients.
type ownState struct {
	image *Image // of the state; nil when there is none yet
	class *Class
	state State
	held  int // the bytes with which it is counted
}

// alternates keeps the states of classes in entries, within the limit of all states together.
type alternates struct {
	states map[alternateKey]*State
	images map[alternateKey]*Image // of these states; nil when there are none yet
	held   int
}

type alternateKey struct {
	entry int32
	class *Class
}

// alternateSize is the approximate memory of a kept state besides its fields.
const alternateSize = 128

// Show notes whether the state of the entity in a slot is delivered.
func (s *Store) Show(index int, shown bool) {
	bit := uint64(1) << (index % 64)
	if s.shown[index/64] &^= bit; shown {
		s.shown[index/64] |= bit
	}
}

// NextShown returns the first slot at or after index whose entity is shown, MaxEntities if there is none.
func (s *Store) NextShown(index int) int {
	for ; index < MaxEntities; index = (index/64 + 1) * 64 {
		if rest := s.shown[index/64] >> (index % 64); rest != 0 {
			return index + bits.TrailingZeros64(rest)
		}
	}
	return MaxEntities
}

// Room returns how many bytes the states may still grow by.
func (s *Store) Room() int { return max(0, MaxState-s.Held) }

// StartFrom sets the entity's state to a copy of the state that its creation changes. When there is no room, it leaves the
// state empty and returns false.
func (s *Store) StartFrom(ent *Entity, from *State) bool {
	need := from.Size()
	if s.Held+need > MaxState {
		s.Held -= ent.held
		ent.State, ent.held = State{}, 0
	}
	if need > 0 && s.Held+need > MaxState {
		return false
	}
	ent.copyFrom(from, s.spare)
	s.Count(ent)
	return true
}

// Count updates Held after the state of an entity changed its size.
func (s *Store) Count(ent *Entity) {
	if size := ent.Size(); size != ent.held {
		s.Held += size - ent.held
		ent.held = size
	}
}

// Memory of released entities is reused, for up to so many of them that are no larger than this.
const (
	maxSpare      = 1 << 10
	maxSpareCells = 1 << 10
	maxSpareBytes = 32 << 10
)

// Create puts a new entity into an empty slot.
func (s *Store) Create(index int) *Entity {
	var e *Entity
	if n := len(s.free); n > 0 {
		e = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		e = &Entity{}
	}
	s.Slots[index] = e
	return e
}

// Release empties a slot that holds an entity.
func (s *Store) Release(index int) {
	old := s.Slots[index]
	s.Slots[index] = nil
	s.Show(index, false)
	s.Held -= old.held
	small := cap(old.Cells) <= maxSpareCells && old.Size() <= maxSpareBytes
	old.held = 0
	old.Reset()
	old.Class, old.image = nil, nil
	if small && len(s.free) < maxSpare {
		s.free = append(s.free, old)
	}
}

// Clear drops all entities and all states from which others are created. It reports whether any entity existed.
func (s *Store) Clear() (some bool) {
	for i, e := range s.Slots {
		if e != nil {
			s.Release(i)
			some = true
		}
	}
	s.own = [2]map[int32]*ownState{}
	s.alternates = alternates{}
	s.Held = 0
	return some
}

// Alternate returns the stored state of a class in an entry, or nil.
func (s *Store) Alternate(c *Class, entry int32) *State {
	return s.alternates.states[alternateKey{entry, c}]
}

// KeepAlternate stores a state of a class in an entry, and returns the stored state. When there is no room, it stores an empty
// state, and fits is false.
func (s *Store) KeepAlternate(c *Class, entry int32, st *State) (kept *State, fits bool) {
	fits = s.Held+st.Size() <= MaxState
	if !fits {
		st = new(State)
	}
	if s.alternates.states == nil {
		s.alternates.states = map[alternateKey]*State{}
	}
	s.alternates.states[alternateKey{entry, c}] = st
	s.alternates.held += alternateSize + st.Size()
	s.Held += alternateSize + st.Size()
	return st, fits
}

// DropAlternates drops the states of entries of the table instancebaseline, after the entries have changed.
func (s *Store) DropAlternates() {
	s.Held -= s.alternates.held
	s.alternates = alternates{}
}

// OwnState returns the state that an entity of a class is created from instead of the state of its class, or nil.
func (s *Store) OwnState(slot int, index int32, c *Class) *State {
	if own := s.own[slot][index]; own != nil && own.class == c {
		return &own.state
	}
	return nil
}

// SwitchOwn replaces the own states of the other slot by the own states of this slot.
func (s *Store) SwitchOwn(slot int) {
	for i, b := range s.own[1-slot] {
		if s.own[slot][i] != b {
			s.Held -= b.held
		}
	}
	s.own[1-slot] = maps.Clone(s.own[slot])
}

// StoreOwn stores the state of an entity as its own state in a slot, if there is room.
func (s *Store) StoreOwn(index, slot int, ent *Entity) {
	if s.own[slot] == nil {
		s.own[slot] = map[int32]*ownState{}
	}
	old := s.own[slot][int32(index)]
	if old != nil && s.own[1-slot][int32(index)] != old {
		s.Held -= old.held
	}
	delete(s.own[slot], int32(index))
	b := &ownState{class: ent.Class, held: ent.Size()}
	if s.Held+b.held > MaxState {
		return
	}
	s.Held += b.held
	b.state.copyFrom(&ent.State, s.spare)
	s.own[slot][int32(index)] = b
}

// Recount computes Held from scratch. It returns an error when an entity is counted wrongly. It is for tests.
func (s *Store) Recount() (int, error) {
	sum := 0
	for i, e := range s.Slots {
		if e == nil {
			continue
		}
		if n := e.retained(); e.Decoded && (n != e.Size() || n != e.held) {
			return 0, fmt.Errorf("entity %d takes %d bytes, says %d and is counted with %d", i, n, e.Size(), e.held)
		}
		sum += e.held
	}
	for _, a := range s.alternates.states {
		sum += alternateSize + a.Size()
	}
	seen := map[*ownState]bool{}
	for _, slot := range s.own {
		for _, b := range slot {
			if !seen[b] {
				sum += b.held
			}
			seen[b] = true
		}
	}
	return sum, nil
}

// retained counts the memory of a state.
func (s *State) retained() int {
	n := cellSize*cap(s.Cells) + placeSize*cap(s.bytes)
	for _, b := range s.bytes[:cap(s.bytes)] {
		n += cap(b)
	}
	return n
}
