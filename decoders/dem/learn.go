package dem

import (
	"hash/crc32"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// learner is what a decoder needs to find out how to read types that it does not know.
type learner struct {
	changed  []int32 // classes whose default states are new
	left     int     // fields that may still be read
	begun    bool    // entities were met
	refuted  bool    // there are types that cannot be read
	suspects map[*schema.Serializer]bool
	known    map[int32]uint32 // sums of the default states that were read, by class
}

func newLearner() learner {
	return learner{left: infer.MaxFields, suspects: map[*schema.Serializer]bool{}, known: map[int32]uint32{}}
}

// learnTypes finds out how to read the types that the decoder does not know, from the default states that are new and the
// entities that are created with them. Every decoder of the file does so at the same places, with the same result.
func (d *Decoder) learnTypes() {
	l := &d.world.learn
	l.begun = true
	if len(l.changed) == 0 || !d.world.schema.Guesses || l.left < 0 {
		return
	}
	p := infer.Prober{Book: &d.world.tree.Types, Tick: d.match.interval, Left: l.left}
	if !d.probeBaselines(&p) {
		l.changed = l.changed[:0]
		return
	}
	d.probeCreations(&p)
	refuted := p.Search()
	l.left, l.changed = p.Left, l.changed[:0]
	if !refuted {
		return
	}
	l.refuted = true
	clear(l.suspects)
	for _, c := range d.world.classes {
		if c != nil {
			d.world.watch(c)
		}
	}
}

// learnAnew forgets all that was found out: the types are those of another schema.
func (w *world) learnAnew() {
	w.learn, w.tree.Types = newLearner(), infer.NewBook()
	for id := range w.baseIndex {
		w.learn.changed = append(w.learn.changed, id)
	}
}

// probeBaselines adds the default states that are new. It returns false when none is.
func (d *Decoder) probeBaselines(p *infer.Prober) (some bool) {
	slices.Sort(d.world.learn.changed)
	for _, id := range slices.Compact(d.world.learn.changed) {
		in := d.probeBaseline(id)
		if in == nil {
			continue
		}
		value, _ := d.classBaseline(id)
		sum := crc32.ChecksumIEEE(value)
		if known, ok := d.world.learn.known[id]; ok && known == sum {
			continue // sent again as it was
		}
		d.world.learn.known[id] = sum
		some = true
		p.Add(in)
	}
	return some
}

// probeBaseline returns the default state of a class, or nil.
func (d *Decoder) probeBaseline(id int32) *infer.Payload {
	if int(id) >= len(d.world.classes) || d.world.classes[id] == nil || d.world.classes[id].Root == nil {
		return nil
	}
	value, ok := d.classBaseline(id)
	if !ok || len(value) == 0 {
		return nil
	}
	return &infer.Payload{Root: d.world.classes[id].Root.Object, Data: bits.New(value), Size: 8 * len(value), Padded: true}
}

// probeCreations adds what entities are created with in the present message.
func (d *Decoder) probeCreations(p *infer.Prober) {
	e := d.ents // a copy
	base := map[int32]*infer.Payload{}
	r := &e.bits
	for ; e.left > 0 && len(e.sizes) > 0; e.left-- {
		e.index += int(r.UBitVar()) + 1
		switch r.Bits(2) {
		case 0:
			if e.visual && r.Bits(2)&1 != 0 {
				continue
			}
			r.Skip(max(0, e.size()))
		case 2:
			id := int32(r.Bits(d.world.classBits))
			r.Skip(entity.SerialBits)
			r.Varuint32()
			size := e.size()
			if r.Overrun() || size < 0 || size > r.Len() {
				return
			}
			if int(id) < len(d.world.classes) && d.world.classes[id] != nil && d.world.classes[id].Root != nil {
				if base[id] == nil {
					base[id] = d.probeBaseline(id)
				}
				p.Add(&infer.Payload{Root: d.world.classes[id].Root.Object, Base: base[id], Data: *r, Size: size})
			}
			r.Skip(size)
		}
		if r.Overrun() {
			return
		}
	}
}

// watch has a class decoded, wanted or not, when it may have fields that cannot be read: so Health does not depend on what
// is wanted.
func (w *world) watch(c *entity.Class) {
	if !c.Decoded && c.Root != nil && w.learn.refuted && w.suspect(c.Root.Object) {
		c.Decoded = true
	}
}

// suspect reports whether objects of a serializer may have fields of a type that cannot be read.
func (w *world) suspect(s *schema.Serializer) bool {
	if is, known := w.learn.suspects[s]; known {
		return is
	}
	w.learn.suspects[s] = false // serializers may hold one another
	for _, f := range s.Fields {
		is := w.tree.Types.Refuted(f.Unknown) || w.tree.Types.Refuted(f.UnknownElem)
		for _, t := range f.Types {
			is = is || t != nil && w.suspect(t)
		}
		if is {
			w.learn.suspects[s] = true
			return true
		}
	}
	return false
}

// TypeGuess is what was found out of a type of fields that the decoder does not know.
type TypeGuess struct {
	// Name is the type as the file spells it.
	Name string
	// ReadAs is a type that is read in the same way; empty when it cannot be read.
	ReadAs string
	// Proofs is how many default states and created entities with values of the type have the size that the file announces
	// when it is read so. When it is 0, each update with such a value is tried in all ways.
	Proofs int
	// MaybeSigned says that the values may be signed numbers, which are then delivered as twice their value, and -1 as 1:
	// too few values were met to know.
	MaybeSigned bool
}

// Health is how well a demo could be decoded so far. But for Fields, it does not depend on what Options ask for, as long as
// entities are looked at: classes that have fields which cannot be read are decoded in any case.
type Health struct {
	// Types is what was found out of the types that the decoder does not know and that the file has values of, by name. It is
	// empty before the first packet with entities, and when no entity is looked at.
	Types []TypeGuess
	// Faults is how many faults concern entities of a class, by its name.
	Faults map[string]int64
	// Fields is how many fields of entities and default states were decoded, FieldsLost how many of those were left out.
	Fields, FieldsLost int64
}

// EntitiesBegun reports whether the first packet with entities was met, so that Health has the types in it.
func (d *Decoder) EntitiesBegun() bool { return d.world.learn.begun }

// Health returns how well the demo could be decoded so far.
func (d *Decoder) Health() Health {
	h := Health{Faults: map[string]int64{}, Fields: d.stats.Fields, FieldsLost: d.stats.FieldsLost}
	for class, n := range d.out.ofClass {
		h.Faults[d.Name(class)] = n
	}
	for _, g := range d.world.tree.Types.Sorted() {
		t := TypeGuess{Name: g.Name, Proofs: g.Proofs}
		if g.State != infer.Refuted {
			t.ReadAs, t.MaybeSigned = g.Family.String(), g.MaybeSigned
		}
		h.Types = append(h.Types, t)
	}
	return h
}
