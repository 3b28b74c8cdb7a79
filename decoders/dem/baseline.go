package dem

import (
	"cmp"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
)

// alternate says that an entity is created from another entry of the table instancebaseline than its class's entry.
type alternate struct{ entity, entry int32 }

func parseAlternate(m pb.Reader) (a alternate) {
	for m.Next() {
		switch m.Num {
		case 1:
			a.entity = m.Int32()
		case 2:
			a.entry = m.Int32()
		}
	}
	return a
}

func compareAlternates(a, b alternate) int { return cmp.Compare(a.entity, b.entity) }

// startState returns the state that an entity's creation changes: its own baseline, the alternate that the packet names for it,
// or the class's baseline.
func (d *Decoder) startState(c *entity.Class) *entity.State {
	index := int32(d.ents.index)
	alt := d.ents.alt
	if i, ok := slices.BinarySearchFunc(alt, alternate{entity: index}, compareAlternates); ok {
		return d.alternateState(c, alt[i].entry)
	}
	if d.ents.delta {
		if own := d.world.store.OwnState(d.ents.slot, index, c); own != nil {
			return own
		}
	}
	if !c.Baseline.Made {
		d.makeBaseline(c)
	}
	return &c.Baseline.State
}

// makeBaseline makes the default state of a class, or takes it and the class's fields over from a decoder that has done the same before.
func (d *Decoder) makeBaseline(c *entity.Class) {
	c.Baseline.Remake()
	value, ok := d.classBaseline(c.Id)
	if !ok {
		d.stats.BaselinesMissing++
	}
	if len(value) == 0 {
		return
	}
	tree, kept := d.world.tree, &d.world.schema.Kept
	seed := tree.Seed(c, d.world.update.Tick, value)
	if seed == nil {
		d.readBaseline(&c.Baseline.State, c, value)
		return
	}
	if s, _ := kept.Get(seed.Key).(*entity.Sprout); s != nil && tree.Graft(c, s) {
		d.stats.Fields += int64(s.Fields)
		return
	}
	if !d.readBaseline(&c.Baseline.State, c, value) {
		return
	}
	if s := tree.Sprout(c, seed, len(d.world.update.Changes)); s != nil {
		kept.Put(seed.Key, s, s.Size)
	}
}

// readBaseline reads the defaults of a class into s. If they cannot be read to the end, it keeps the certain ones, and returns false.
func (d *Decoder) readBaseline(s *entity.State, c *entity.Class, value []byte) bool {
	if len(value) == 0 {
		return true
	}
	r := bits.New(value)
	u := &d.world.update
	// Defaults are bounded by the nodes of all classes and by the string tables.
	u.Room = math.MaxInt
	err := u.ReadSized(&r, c, s, 8*len(value), 7)
	d.countFields(u)
	u.Apply(c, s)
	if err == nil {
		return true
	}
	f := Fault{Kind: FaultKindBaseline, MessageId: svcCreateStringTable, EntityIndex: uint32(d.ents.index), Class: c.Name, HasClass: true,
		BitsAnnounced: uint32(8 * len(value)), BitsRead: uint32(r.Pos()), Detail: []byte(err.Error())}
	d.blame(&f, u.Suspect())
	d.out.fault(f)
	return false
}

// classBaseline returns the defaults of a class in the table instancebaseline.
func (d *Decoder) classBaseline(id int32) ([]byte, bool) {
	entry, ok := d.world.baseIndex[id]
	if !ok {
		return nil, false
	}
	for _, t := range d.tables.list {
		if t.Role != stringtable.Baselines {
			continue
		}
		// A dump may have assigned the entry to another class.
		if got, isClass := stringtable.ParseClass(t.Key(entry)); !isClass || got != id {
			return nil, false
		}
	}
	return d.baselineEntry(entry), true
}

// baselineEntry returns the value of an entry of the table instancebaseline.
func (d *Decoder) baselineEntry(i int) []byte {
	for _, t := range d.tables.list {
		if t.Role == stringtable.Baselines {
			if uint(i) < uint(len(t.Entries)) {
				return t.Entries[i].Value
			}
			return nil
		}
	}
	return nil
}

// alternateState returns the state for a class in an entry of the table instancebaseline.
func (d *Decoder) alternateState(c *entity.Class, entry int32) *entity.State {
	if s := d.world.store.Alternate(c, entry); s != nil {
		return s
	}
	s := new(entity.State)
	d.readBaseline(s, c, d.baselineEntry(int(entry)))
	s, fits := d.world.store.KeepAlternate(c, entry, s)
	if !fits {
		d.noRoom(c)
	}
	return s
}
