package dem

import "maps"

// maxState bounds the states of all entities together, in bytes. The largest games use a fifth of it.
const maxState = 64 << 20

// store has the entities of a demo by slot, and the states from which entities are created. It counts the memory of all
// states together.
type store struct {
	slots []*entity // by index; nil where there is none
	free  []*entity
	held  int // bytes of all states
	// own are the states that entities are created from instead of their classes', by index, in two slots.
	own        [2]map[int32]*ownBaseline
	alternates alternates
}

// ownBaseline is the state that an entity is to be created from instead of its class's, in recordings of clients.
type ownBaseline struct {
	class *class
	state state
	held  int // bytes that it is counted with
}

// alternates keeps the states that entries are for classes, within what all states together may take.
type alternates struct {
	states map[alternateKey]*state
	held   int
}

type alternateKey struct {
	entry int32
	class *class
}

// alternateSize is about what a kept state takes beside its fields.
const alternateSize = 128

func newStore() store { return store{slots: make([]*entity, maxEntities)} }

// room returns by how many bytes the states may grow.
func (s *store) room() int { return max(0, maxState-s.held) }

// startFrom gives an entity the state that its creation changes. It returns false, and gives it none, when there is no
// room.
func (s *store) startFrom(ent *entity, from *state) bool {
	need := from.size()
	if s.held+need > maxState {
		s.held -= ent.held
		ent.state, ent.held = state{}, 0
	}
	if need > 0 && s.held+need > maxState {
		return false
	}
	ent.copyFrom(from)
	s.count(ent)
	return true
}

// count notes how much memory the state of an entity takes now.
func (s *store) count(ent *entity) {
	if size := ent.size(); size != ent.held {
		s.held += size - ent.held
		ent.held = size
	}
}

// Memory of entities that are no more is used again, up to so many of them that are no larger than that.
const (
	maxSpare      = 1 << 10
	maxSpareCells = 1 << 10
	maxSpareBytes = 32 << 10
)

// create puts a new entity into an empty slot.
func (s *store) create(index int) *entity {
	var e *entity
	if n := len(s.free); n > 0 {
		e = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		e = &entity{}
	}
	s.slots[index] = e
	return e
}

// release empties a slot, in which there is an entity.
func (s *store) release(index int) {
	old := s.slots[index]
	s.slots[index] = nil
	s.held -= old.held
	small := cap(old.cells) <= maxSpareCells && old.size() <= maxSpareBytes
	old.held = 0
	old.reset()
	old.class = nil
	if small && len(s.free) < maxSpare {
		s.free = append(s.free, old)
	}
}

// clear drops all entities and all states from which others are created. It reports whether there were entities.
func (s *store) clear() (some bool) {
	for i, e := range s.slots {
		if e != nil {
			s.release(i)
			some = true
		}
	}
	s.own = [2]map[int32]*ownBaseline{}
	s.alternates = alternates{}
	s.held = 0
	return some
}

// alternate returns the state that is kept for an entry and a class, or nil.
func (s *store) alternate(key alternateKey) *state { return s.alternates.states[key] }

// keepAlternate keeps a state for an entry and a class. When there is no room it keeps an empty one, and fits is false. It
// returns what it keeps.
func (s *store) keepAlternate(key alternateKey, st *state) (kept *state, fits bool) {
	fits = s.held+st.size() <= maxState
	if !fits {
		st = new(state)
	}
	if s.alternates.states == nil {
		s.alternates.states = map[alternateKey]*state{}
	}
	s.alternates.states[key] = st
	s.alternates.held += alternateSize + st.size()
	s.held += alternateSize + st.size()
	return st, fits
}

// dropAlternates forgets what entries of the table instancebaseline are: they have changed.
func (s *store) dropAlternates() {
	s.held -= s.alternates.held
	s.alternates = alternates{}
}

// ownState returns the state that an entity of a class is created from instead of the class's, or nil.
func (s *store) ownState(slot int, index int32, c *class) *state {
	if own := s.own[slot][index]; own != nil && own.class == c {
		return &own.state
	}
	return nil
}

// switchOwn makes the own states of the other slot those of this one.
func (s *store) switchOwn(slot int) {
	for i, b := range s.own[1-slot] {
		if s.own[slot][i] != b {
			s.held -= b.held
		}
	}
	s.own[1-slot] = maps.Clone(s.own[slot])
}

// storeOwn keeps the state of an entity as its own in a slot, if there is room.
func (s *store) storeOwn(index, slot int, ent *entity) {
	if s.own[slot] == nil {
		s.own[slot] = map[int32]*ownBaseline{}
	}
	old := s.own[slot][int32(index)]
	if old != nil && s.own[1-slot][int32(index)] != old {
		s.held -= old.held
	}
	delete(s.own[slot], int32(index))
	b := &ownBaseline{class: ent.class, held: ent.size()}
	if s.held+b.held > maxState {
		return
	}
	s.held += b.held
	b.state.copyFrom(&ent.state)
	s.own[slot][int32(index)] = b
}
