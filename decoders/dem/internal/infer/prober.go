package infer

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Payload is a list of fields with an announced length: the default state of a class, or the fields of an entity's creation.
type Payload struct {
	Root *schema.Serializer
	Data bits.Reader // at its first bit
	Size int         // in bits
	// Base is the default state that the payload changes.
	Base *Payload
	// typed reports whether the payload has objects that may be of several types.
	typed bool
	// Padded reports whether up to seven arbitrary bits may follow the fields.
	Padded bool
}

// MaxFields is the limit of fields that are read to infer the types of a schema.
const MaxFields = 4 << 20

// Prober infers how to read unknown types, so that all payloads have the length that the file announces.
//
// It first reads all unknown types as enums. Then it tries all families for the types in payloads that end at a wrong length.
// It keeps the family that makes the most payloads end at the right length, until no change helps.
type Prober struct {
	Book     *Book
	Tick     float32 // in seconds
	payloads []*Payload
	guesses  [][]*Guess // of each payload
	scores   []int
	Left     int // fields that may still be read

	paths    []fieldpath.Path
	arena    []byte
	objects  []typedObject
	way      [fieldpath.MaxDepth + 1]spot
	bits     bits.Reader
	value    value.Cell // the last value that was read
	rereader Rereader
	// enough is the number of fields left at which no more rivals are ruled out.
	enough int
}

// typedObject is an object that may be of several types, and its present type.
type typedObject struct {
	field *schema.Field
	typ   int
}

// spot is a place in the tree of fields.
type spot struct {
	field  *schema.Field
	codec  *value.Codec
	object *schema.Serializer
	list   bool
	elem   bool
}

// below returns the place at an index below s. ok is false if there is none.
func (s *spot) below(index int32, typ int) (out spot, ok bool) {
	if s.list {
		f := s.field
		switch {
		case index >= schema.MaxElements || f.Shape == schema.ShapeArray && int(index) >= f.Count:
			return out, false
		case f.Shape == schema.ShapeTable:
			return spot{field: f, codec: &value.NoValue, object: f.Types[0]}, true
		}
		return spot{field: f, codec: &f.Elem, elem: true}, true
	}
	obj := s.object
	if typ > 0 && s.field != nil && typ < len(s.field.Types) {
		obj = s.field.Types[typ]
	}
	if obj == nil || int(index) >= len(obj.Fields) {
		return out, false
	}
	f := obj.Fields[index]
	out = spot{field: f, codec: &f.Own}
	out.list = f.Shape == schema.ShapeTable || f.Shape == schema.ShapeVector || f.Shape == schema.ShapeArray || f.MayBeList()
	if f.Shape == schema.ShapePointer {
		out.object = f.Types[0]
	}
	return out, true
}

// The reasons why a payload does not come out.
var (
	errProbe = errors.New("too much to read")
	errPlace = errors.New("no such field")
	errSize  = errors.New("ends elsewhere than announced")
)

// walk reads the fields of a payload. It calls visit with each field before reading its value; visit returns the codec.
func (p *Prober) walk(in *Payload, visit func(s *spot) *value.Codec, read func(s *spot)) error {
	p.objects = p.objects[:0]
	if in.Base != nil && in.Base.typed {
		// The payload need not mention objects that keep their default type.
		_ = p.read(in.Base, visit, func(*spot) {})
	}
	return p.read(in, visit, read)
}

func (p *Prober) read(in *Payload, visit func(s *spot) *value.Codec, read func(s *spot)) error {
	p.bits = in.Data
	r := &p.bits
	var err error
	if p.paths, err = fieldpath.Read(r, p.paths[:0]); err != nil {
		return err
	}
	if p.Left -= 4 + len(p.paths); p.Left < 0 {
		return errProbe
	}
	p.arena = p.arena[:0]
	end := in.Data.Pos() + in.Size
	way := &p.way
	way[0] = spot{object: in.Root, codec: &value.NoValue}
	for i := range p.paths {
		path := &p.paths[i]
		for d := int(path.Keep); d <= int(path.Last); d++ {
			from := &way[d]
			var ok bool
			if way[d+1], ok = from.below(path.Idx[d], p.typeOf(from)); !ok {
				return errPlace
			}
		}
		s := &way[path.Last+1]
		c := visit(s)
		if c == nil {
			continue
		}
		if c.Op == value.OpNone {
			return errPlace
		}
		p.value = c.Read(r, &p.arena, p.Tick)
		v := &p.value
		if r.Pos() > end {
			return bits.ErrOverrun
		}
		switch {
		case v.Kind == value.Length && v.Word > schema.MaxElements:
			return fieldpath.ErrIndex
		case v.Kind == value.Pointer && c.Num > 1 && v.Word > 0:
			if v.Word > uint64(len(s.field.Types)) {
				return errPlace
			}
			in.typed = true
			p.objects = append(p.objects, typedObject{s.field, int(v.Word - 1)})
		}
		read(s)
	}
	rest := end - r.Pos()
	switch {
	case rest == 0:
	case !in.Padded || rest >= 8:
		return errSize
	}
	return nil
}

// typeOf returns the present type, by number, of an object.
func (p *Prober) typeOf(s *spot) int {
	if s.field == nil || len(s.field.Types) < 2 || s.list {
		return 0
	}
	for _, o := range slices.Backward(p.objects) {
		if o.field == s.field {
			return o.typ
		}
	}
	return 0
}

// guessOf returns the guess about the type of a place, or nil when the type is known.
func (p *Prober) guessOf(s *spot) *Guess {
	if !s.codec.Guess {
		return nil
	}
	return p.Book.OfField(s.field, s.elem)
}

// The scores of payloads that come out, and of those that do not. Each doubtful value costs a point.
const (
	scoreGood = 4
	scoreBad  = -8
)

// score reads a payload with the present guesses.
func (p *Prober) score(in *Payload) int {
	doubts := 0
	err := p.walk(in, p.believed, func(s *spot) {
		g := p.guessOf(s)
		if value.Doubtful(&p.value, bytesOf(&p.value, p.arena), g != nil && g.Type) {
			doubts++
		}
	})
	if err != nil {
		return scoreBad
	}
	return scoreGood - min(doubts, scoreGood-1)
}

// believed returns the codec for the value of a place by the present guess.
func (p *Prober) believed(s *spot) *value.Codec {
	g := p.guessOf(s)
	if g == nil {
		return s.codec
	}
	return p.Book.Codec(s.field, s.elem, g, g.Family)
}

// bytesOf returns the bytes of a value that lies outside its cell.
func bytesOf(v *value.Cell, arena []byte) []byte {
	if !v.Kind.InBytes() {
		return nil
	}
	start, end := v.Span()
	return arena[start:end]
}

// Add adds a payload, if it has fields of unknown types.
func (p *Prober) Add(in *Payload) {
	var guesses []*Guess
	visit := func(s *spot) *value.Codec {
		if s.elem && s.field.Own.Guess {
			if list := p.Book.OfField(s.field, false); list.State == Unseen {
				list.Family = FamilyList
			}
		}
		if g := p.guessOf(s); g != nil && !slices.Contains(guesses, g) {
			guesses = append(guesses, g)
		}
		return s.codec
	}
	// First as far as it can be read, which finds the types of objects; then, without reading, to its end.
	err := p.walk(in, visit, func(*spot) {})
	if err != nil {
		err = p.walk(in, func(s *spot) *value.Codec { visit(s); return nil }, func(*spot) {})
	}
	if len(guesses) == 0 || errors.Is(err, errProbe) {
		return
	}
	p.payloads = append(p.payloads, in)
	p.guesses = append(p.guesses, guesses)
	p.scores = append(p.scores, p.score(in))
}

// maxRounds and maxSuspects bound the search.
const (
	maxRounds   = 16
	maxSuspects = 24
)

// Search infers the families, and decides which types are proven. It reports whether it found new types that cannot be read.
func (p *Prober) Search() (refuted bool) {
	for range maxRounds {
		if !p.improve() {
			break
		}
	}
	return p.decide()
}

// suspects returns the types in payloads that do not come out, most suspect first, and then types that only doubtful payloads
// have.
func (p *Prober) suspects() []*Guess {
	good, bad, doubtful := map[*Guess]int{}, map[*Guess]int{}, map[*Guess]int{}
	for i, guesses := range p.guesses {
		for _, g := range guesses {
			switch {
			case p.scores[i] < 0:
				bad[g]++
			case p.scores[i] < scoreGood:
				doubtful[g]++
			default:
				good[g]++
			}
		}
	}
	var out []*Guess
	for g := range bad {
		if g.State == Unseen && g.Family != FamilyList {
			out = append(out, g)
		}
	}
	for g := range doubtful {
		if g.State == Unseen && g.Family != FamilyList && bad[g]+good[g] == 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *Guess) int {
		return cmp.Or(cmp.Compare(bad[b]*(good[a]+1), bad[a]*(good[b]+1)), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxSuspects)]
}

// improve changes the family of the type for which a change helps most. It returns false when none helps.
func (p *Prober) improve() bool {
	var best *Guess
	var family Family
	gain := 0
	for _, g := range p.suspects() {
		was := g.Family
		for f := range g.Open.All() {
			if f == was {
				continue
			}
			g.Family = f
			if n := p.gain(g, gain); n > gain {
				best, family, gain = g, f, n
			}
		}
		g.Family = was
	}
	if best == nil {
		return false
	}
	best.Family = family
	for i := range p.payloads {
		if slices.Contains(p.guesses[i], best) {
			p.scores[i] = p.score(p.payloads[i])
		}
	}
	return true
}

// gain returns how much better the payloads of a type come out with its present family. It gives up when the gain cannot exceed
// least.
func (p *Prober) gain(g *Guess, least int) int {
	possible := 0
	for i := range p.payloads {
		if slices.Contains(p.guesses[i], g) {
			possible += scoreGood - p.scores[i]
		}
	}
	n := 0
	for i := range p.payloads {
		if !slices.Contains(p.guesses[i], g) {
			continue
		}
		if possible <= least {
			return 0
		}
		s := p.score(p.payloads[i])
		n += s - p.scores[i]
		possible -= scoreGood - s
	}
	return n
}

// decide determines which types are proven, and which numbers are signed.
func (p *Prober) decide() (refuted bool) {
	rivals := p.ruleOut()
	if p.Left < 0 {
		return false // a payload that does not come out may be intact
	}
	good, bad := map[*Guess]int{}, map[*Guess]int{}
	for i, guesses := range p.guesses {
		for _, g := range guesses {
			if p.scores[i] > 0 {
				good[g]++
			} else {
				bad[g]++
			}
		}
	}
	for g := range p.tried() {
		if g.State == Unseen { // earlier results stay
			var signed bool
			if g.Family == FamilyFirst {
				signed, g.MaybeSigned = areSigned(rivals[g].numbers(), g.Numeric)
			}
			switch {
			case good[g] <= 4*bad[g]:
				g.State, refuted = Refuted, true
			case rivals[g].open():
				continue
			default:
				g.State = Proven
			}
			if signed {
				g.Family = FamilySigned
				g.Open &^= 1 << FamilyFirst
			}
		}
		g.Proofs += good[g]
	}
	return refuted
}

// tried returns the guesses with values in the payloads, each once, in the order of their numbers.
func (p *Prober) tried() iter.Seq[*Guess] {
	return func(yield func(*Guess) bool) {
		for _, g := range p.Book.list[1:] {
			has := func(guesses []*Guess) bool { return slices.Contains(guesses, g) }
			if slices.ContainsFunc(p.guesses, has) && !yield(g) {
				return
			}
		}
	}
}

// areSigned reports whether numbers were written as signed ones: twice their value when they are not negative, and 1 for -1. Then
// nearly all are even, and they are not only powers of two, as flags are. maybe is true when they could be signed, but are too
// few to tell: numbers like 3213 may be coordinates, of which as many are below zero. known says that they are values of an enum
// or ids.
func areSigned(values map[uint64]bool, known bool) (signed, maybe bool) {
	even, odd, flags, large := 0, 0, 0, 0
	for v := range values {
		switch {
		case v <= 1:
		case v&1 != 0:
			odd++
			if v >= minLarge {
				large++
			}
		case v&(v-1) == 0:
			flags++
		default:
			even++
		}
	}
	even += min(even, flags)
	return even >= 6 && even > 4*odd, even+flags >= 4*odd || !known && large > 0 && odd < minOdd
}

// Numbers from minLarge on are no values of an enum. If any of them is odd, minOdd odd ones prove that numbers are unsigned.
const (
	minLarge = 128
	minOdd   = 16
)
