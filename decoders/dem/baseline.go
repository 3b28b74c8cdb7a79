package dem

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
)

// baseline is the default state of a class.
type baseline struct {
	state
	// made: the state is that of the table's entry, as far as that could be read.
	made bool
}

// ownBaseline is the state that an entity is to be created from instead of its class's, in recordings of clients.
type ownBaseline struct {
	class *class
	state state
	held  int // bytes that it is counted with
}

// alternate says that an entity is created from another entry of the table instancebaseline than its class's.
type alternate struct{ entity, entry int32 }

func parseAlternate(b []byte) (a alternate) {
	for m := (wire{buf: b}); m.next(); {
		switch m.num {
		case 1:
			a.entity = m.int32()
		case 2:
			a.entry = m.int32()
		}
	}
	return a
}

func compareAlternates(a, b alternate) int { return cmp.Compare(a.entity, b.entity) }

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

// startState returns the state that an entity's creation changes: its own baseline, the alternate that the packet names
// for it, or the class's.
func (d *Decoder) startState(c *class) *state {
	index := int32(d.ents.index)
	alt := d.ents.alt
	if i, ok := slices.BinarySearchFunc(alt, alternate{entity: index}, compareAlternates); ok {
		return d.alternateState(c, alt[i].entry)
	}
	if d.ents.delta {
		if own := d.baseOwn[d.ents.slot][index]; own != nil && own.class == c {
			return &own.state
		}
	}
	b := &c.baseline
	if !b.made {
		b.made = true
		b.reset()
		value, ok := d.classBaseline(c.id)
		if !ok {
			d.stats.BaselinesMissing++
		}
		d.readBaseline(&b.state, c, value)
	}
	return &b.state
}

// readBaseline reads the defaults of a class into s. When they cannot be read to the end, what is certain is kept.
func (d *Decoder) readBaseline(s *state, c *class, value []byte) {
	if len(value) == 0 {
		return
	}
	r := bits.New(value)
	u := &d.update
	// Defaults are bounded by the nodes of all classes and by the string tables.
	u.room = math.MaxInt
	err := u.readSized(&r, c, s, 8*len(value), 7)
	d.countFields(u)
	u.apply(c, s)
	if err == nil {
		return
	}
	f := Fault{Kind: FaultKindBaseline, MessageId: svcCreateStringTable, EntityIndex: uint32(d.ents.index), Class: c.name, HasClass: true,
		BitsAnnounced: uint32(8 * len(value)), BitsRead: uint32(r.Pos()), Detail: []byte(err.Error())}
	u.blame(&f)
	d.fault(f)
}

// classBaseline returns the defaults of a class as the table instancebaseline has them.
func (d *Decoder) classBaseline(id int32) ([]byte, bool) {
	entry, ok := d.baseIndex[id]
	if !ok {
		return nil, false
	}
	for _, t := range d.tables {
		if t.role != roleBaselines {
			continue
		}
		// A dump may have given the entry to another class.
		if got, isClass := parseTableKey(t.key(entry)); !isClass || got != id {
			return nil, false
		}
	}
	return d.baselineEntry(entry), true
}

// baselineEntry returns the value of an entry of the table instancebaseline.
func (d *Decoder) baselineEntry(i int) []byte {
	for _, t := range d.tables {
		if t.role == roleBaselines {
			if uint(i) < uint(len(t.entries)) {
				return t.entries[i].value
			}
			return nil
		}
	}
	return nil
}

// alternateState returns the state that an entry of the table instancebaseline is for a class.
func (d *Decoder) alternateState(c *class, entry int32) *state {
	key := alternateKey{entry, c}
	if s := d.alternates.states[key]; s != nil {
		return s
	}
	s := new(state)
	d.readBaseline(s, c, d.baselineEntry(int(entry)))
	if d.held+s.size() > maxState {
		d.noRoom(c)
		s = new(state)
	}
	if d.alternates.states == nil {
		d.alternates.states = map[alternateKey]*state{}
	}
	d.alternates.states[key] = s
	d.alternates.held += alternateSize + s.size()
	d.held += alternateSize + s.size()
	return s
}

// dropAlternates forgets what entries of the table instancebaseline are: they have changed.
func (d *Decoder) dropAlternates() {
	d.held -= d.alternates.held
	d.alternates = alternates{}
}

// switchBaselines makes the own baselines of a slot those of the other one too.
func (d *Decoder) switchBaselines(slot int) {
	for i, b := range d.baseOwn[1-slot] {
		if d.baseOwn[slot][i] != b {
			d.held -= b.held
		}
	}
	d.baseOwn[1-slot] = maps.Clone(d.baseOwn[slot])
}

func (d *Decoder) storeBaseline(index, slot int, ent *entity) {
	if d.baseOwn[slot] == nil {
		d.baseOwn[slot] = map[int32]*ownBaseline{}
	}
	old := d.baseOwn[slot][int32(index)]
	if old != nil && d.baseOwn[1-slot][int32(index)] != old {
		d.held -= old.held
	}
	delete(d.baseOwn[slot], int32(index))
	b := &ownBaseline{class: ent.class, held: ent.size()}
	if d.held+b.held > maxState {
		return
	}
	d.held += b.held
	b.state.copyFrom(&ent.state)
	d.baseOwn[slot][int32(index)] = b
}
