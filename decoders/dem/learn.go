package dem

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// learner holds what a decoder needs to infer how unknown types are read.
type learner struct {
	changed  []int32 // classes whose default states are new
	left     int     // the number of fields that may still be read
	begun    bool    // the first packet with entities was met
	refuted  bool    // some types cannot be read
	suspects map[*schema.Serializer]bool
	known    map[int32]uint32 // sums of the default states that were read, by class
}

func newLearner() learner {
	return learner{left: infer.MaxFields, suspects: map[*schema.Serializer]bool{}, known: map[int32]uint32{}}
}

// learnTypes infers how unknown types are read, from new default states and from entities' creations in a message. Every decoder of the file
// does so at the same places, with the same result.
func (d *Decoder) learnTypes(message []byte) {
	l := &d.world.learn
	if !l.begun || len(l.changed) > 0 {
		d.snaps.learnt = nil
	}
	l.begun = true
	if len(l.changed) == 0 || !d.world.schema.Guesses || l.left < 0 {
		return
	}
	slices.Sort(l.changed)
	l.changed = slices.Compact(l.changed)
	var refuted bool
	if d.opts.Schemas != nil && len(l.known) == 0 && d.world.tree.Types.Len() == 0 {
		refuted = d.learnOnce(message)
	} else {
		refuted = d.infer()
	}
	if l.changed = l.changed[:0]; !refuted {
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

// infer infers how types are read. It reports whether it found new types that cannot be read.
func (d *Decoder) infer() (refuted bool) {
	p := infer.Prober{Book: &d.world.tree.Types, Tick: d.match.interval, Left: d.world.learn.left}
	if !d.probeBaselines(&p) {
		return false
	}
	d.probeCreations(&p)
	refuted = p.Search()
	d.world.learn.left = p.Left
	return refuted
}

// learnOnce is like infer for a decoder that has inferred nothing yet. Of decoders with the same Schemas that read the same, one infers, and
// the others take over what it found.
func (d *Decoder) learnOnce(message []byte) (refuted bool) {
	l, key := &d.world.learn, d.lessonKey(message)
	if of, ok := d.opts.Schemas.lessons.Get(key); ok {
		l.known, l.left = maps.Clone(of.known), of.left
		d.world.tree.Types.Put(of.guesses)
		return of.refuted
	}
	refuted = d.infer()
	d.opts.Schemas.lessons.put(key, learnt{known: maps.Clone(l.known), left: l.left, refuted: refuted, guesses: d.world.tree.Types.Copy()})
	return refuted
}

// lessonKey identifies all that infer reads.
func (d *Decoder) lessonKey(message []byte) lessonKey {
	h := sha256.New()
	part := make([]byte, 0, 256)
	begin := func(id, size int) { part = binary.LittleEndian.AppendUint64(part[:0], uint64(id)<<32|uint64(size)) }
	h.Write(d.world.schema.Sum[:])
	begin(d.world.classBits, len(d.world.classes))
	h.Write(binary.LittleEndian.AppendUint32(part, math.Float32bits(d.match.interval)))
	h.Write(d.world.list[:])
	for id, c := range d.world.classes {
		if d.world.list == (schema.Key{}) && c != nil && c.Root != nil {
			name := d.Name(c.Name)
			begin(id, len(name))
			part = append(part, name...)
			h.Write(part)
		}
	}
	begin(math.MaxInt32, len(d.world.learn.changed))
	h.Write(part)
	for _, id := range d.world.learn.changed {
		value, _ := d.classBaseline(id)
		begin(int(id), len(value))
		h.Write(part)
		h.Write(value)
	}
	h.Write(message)
	return lessonKey(h.Sum(nil))
}

type lessonKey [sha256.Size]byte

// lessons keeps what decoders inferred last. It is safe for concurrent use.
type lessons struct {
	share.Kept[lessonKey, learnt]
}

// maxLessons is the number of lessons that are kept, and maxLesson that of the types and classes of one. A game has fewer than a thousand,
// which take some 30 KB; a file may have a hundred times as many, which others shall not pay for.
const (
	maxLessons = 32
	maxLesson  = 1 << 12
)

// put keeps a lesson, unless it is too large.
func (s *lessons) put(key lessonKey, of learnt) {
	if len(of.known)+len(of.guesses) <= maxLesson {
		s.Put(key, of, maxLessons)
	}
}

// learnAnew forgets all guesses, because a new schema has other types.
func (w *world) learnAnew() {
	w.learn, w.tree.Types = newLearner(), infer.NewBook()
	for id := range w.baseIndex {
		w.learn.changed = append(w.learn.changed, id)
	}
}

// probeBaselines adds new default states. It returns false when there is none.
func (d *Decoder) probeBaselines(p *infer.Prober) (some bool) {
	for _, id := range d.world.learn.changed {
		in := d.probeBaseline(id)
		if in == nil {
			continue
		}
		value, _ := d.classBaseline(id)
		sum := crc32.ChecksumIEEE(value)
		if known, ok := d.world.learn.known[id]; ok && known == sum {
			continue // repeated without change
		}
		d.world.learn.known[id] = sum
		some = true
		p.Add(in)
	}
	return some
}

// probeBaseline returns the default state of a class, or nil.
func (d *Decoder) probeBaseline(id int32) *infer.Payload {
	c := d.class(int(id))
	if c == nil || c.Root == nil {
		return nil
	}
	value, ok := d.classBaseline(id)
	if !ok || len(value) == 0 {
		return nil
	}
	return &infer.Payload{Root: c.Root.Object, Data: bits.New(value), Size: 8 * len(value), Padded: true}
}

// probeCreations adds the creations in the present message.
func (d *Decoder) probeCreations(p *infer.Prober) {
	e := d.ents // a copy
	base := map[int32]*infer.Payload{}
	r := &e.bits
	for ; e.left > 0 && e.sized < len(e.sizes); e.left-- {
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
			if c := d.class(int(id)); c != nil && c.Root != nil {
				if base[id] == nil {
					base[id] = d.probeBaseline(id)
				}
				p.Add(&infer.Payload{Root: c.Root.Object, Base: base[id], Data: *r, Size: size})
			}
			r.Skip(size)
		}
		if r.Overrun() {
			return
		}
	}
}

// watch makes the decoder decode a class that may have unreadable fields, even when Options leave it out. So Health does not
// depend on Options.
func (w *world) watch(c *entity.Class) {
	if !c.Decoded && c.Root != nil && w.learn.refuted && w.suspect(c.Root.Object) {
		c.Decoded = true
		w.tree.Want(c)
	}
}

// suspect reports whether objects of a serializer may have fields of a type that cannot be read.
func (w *world) suspect(s *schema.Serializer) bool {
	if is, known := w.learn.suspects[s]; known {
		return is
	}
	w.learn.suspects[s] = false // ends the recursion if serializers contain one another
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

// TypeGuess is the decoder's inference about an unknown type of fields.
type TypeGuess struct {
	// Name is the type as the file spells it.
	Name string
	// ReadAs is a known type that is read in the same way. It is empty when the type cannot be read.
	ReadAs string
	// Proofs is the number of default states and creations that prove the guess: they have values of the type, and the announced
	// size if the type is read as ReadAs, but not if it is read in a way that gives other values. If it is 0, each update with
	// such a value is read in all possible ways.
	Proofs int
	// MaybeSigned reports whether the values may be signed numbers, because too few values were met to decide. If they are,
	// they are delivered as twice their value, and -1 as 1.
	MaybeSigned bool
}

// Health describes how well a demo could be decoded so far. Except for Fields and FieldsLost, it does not depend on Options,
// provided that entities are decoded at all: classes with fields that cannot be read are decoded in any case.
type Health struct {
	// Types holds the guesses about the unknown types with values in the file, in the order of their names. It is empty before
	// the first packet with entities, and when no entity is decoded.
	Types []TypeGuess
	// Faults is how many faults concern entities of a class, by the name of the class.
	Faults map[string]int64
	// Fields is how many fields of entities and default states were decoded. FieldsLost is how many of those were left out.
	Fields, FieldsLost int64
	// Unknown counts unknown fields of messages, in the order of the messages' names and the fields' numbers. Messages that
	// Options leave out are not read.
	Unknown []UnknownField
	// UnknownMore is the number of unknown fields beyond the 1,024 in Unknown.
	UnknownMore int64
}

// UnknownField is a field of a message that the decoder does not know.
type UnknownField struct {
	Message  string // the game's name
	Number   int
	WireType int
	Changed  bool // the field is known with another wire type
	Count    int64
}

// EntitiesBegun reports whether the first packet with entities was met. From then on Health has its types.
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
			t.ReadAs, t.MaybeSigned = g.ReadAs(), g.MaybeSigned
		}
		h.Types = append(h.Types, t)
	}
	for _, u := range d.out.unknown.Fields() {
		h.Unknown = append(h.Unknown, UnknownField{u.Message, u.Num, int(u.Type), u.Changed, d.out.unknown.Counts[u]})
	}
	h.UnknownMore = d.out.unknown.More
	return h
}
