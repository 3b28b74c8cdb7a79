package dem

import (
	"cmp"
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// payload is a list of fields of which the file tells how long it is: the default state of a class, or what an entity is
// created with.
type payload struct {
	root *schema.Serializer
	data bits.Reader // from its first bit on
	size int         // in bits
	// base is the default state that it changes.
	base *payload
	// typed: it has objects that may be of several types.
	typed bool
	// padded: up to seven bits of anything may follow what is read.
	padded bool
}

// maxProbe bounds how many fields a prober reads.
const maxProbe = 4 << 20

// prober finds out how types are to be read that the decoder does not know: so that all payloads have their size.
//
// It gives each type the family of enums first. Then it tries all families for the types of payloads that do not come out,
// and keeps what makes the most of them come out, until nothing gets better.
type prober struct {
	book     *typeBook
	tick     float32
	payloads []*payload
	guesses  [][]*guess // of each payload
	scores   []int
	left     int // fields that may still be read

	paths   []fieldpath.Path
	arena   []byte
	objects []typedObject
	way     [fieldpath.MaxDepth + 1]spot
	bits    bits.Reader
	value   value.Cell // that was read last
	// met, when not nil, gets the raw values of the types that are read as numbers.
	met map[*guess]map[uint64]bool
}

// typedObject is an object that may be of several types, and which it has.
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

// below returns the place at an index below s. ok is false where there is none.
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

// Why a payload does not come out.
var (
	errProbe = errors.New("too much to read")
	errPlace = errors.New("no such field")
	errSize  = errors.New("ends elsewhere than announced")
)

// walk reads the fields of a payload, and calls visit with each, before its value is read. visit returns how to read it.
func (p *prober) walk(in *payload, visit func(s *spot) *value.Codec, read func(s *spot)) error {
	p.objects = p.objects[:0]
	if in.base != nil && in.base.typed {
		// It may say nothing of objects that are of the same type as by default.
		_ = p.read(in.base, visit, func(*spot) {})
	}
	return p.read(in, visit, read)
}

func (p *prober) read(in *payload, visit func(s *spot) *value.Codec, read func(s *spot)) error {
	p.bits = in.data
	r := &p.bits
	var err error
	if p.paths, err = fieldpath.Read(r, p.paths[:0]); err != nil {
		return err
	}
	if p.left -= 4 + len(p.paths); p.left < 0 {
		return errProbe
	}
	p.arena = p.arena[:0]
	end := in.data.Pos() + in.size
	way := &p.way
	way[0] = spot{object: in.root, codec: &value.NoValue}
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
		p.value = c.Read(r, &p.arena, p.tick)
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
	case !in.padded || rest >= 8:
		return errSize
	}
	return nil
}

// typeOf returns which of its types an object has.
func (p *prober) typeOf(s *spot) int {
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

// guessOf returns what is believed of the type of a place, or nil when it is known.
func (p *prober) guessOf(s *spot) *guess {
	if !s.codec.Guess {
		return nil
	}
	return p.book.ofField(s.field, s.elem)
}

// What payloads score that come out, and that do not; a doubtful value costs a point of those.
const (
	scoreGood = 4
	scoreBad  = -8
)

// score reads a payload with what is believed now.
func (p *prober) score(in *payload) int {
	doubts := 0
	err := p.walk(in, func(s *spot) *value.Codec {
		g := p.guessOf(s)
		if g == nil {
			return s.codec
		}
		return p.book.codec(s.field, s.elem, g.family)
	}, func(s *spot) {
		v := &p.value
		var data []byte
		if v.Kind.InBytes() {
			start, end := v.Span()
			data = p.arena[start:end]
		}
		guessed := s.codec.Guess
		if value.Doubtful(v, data, guessed) {
			doubts++
		}
		if p.met != nil && guessed && v.Kind == value.Uint {
			p.meet(p.guessOf(s), v.Word)
		}
	})
	if err != nil {
		return scoreBad
	}
	return scoreGood - min(doubts, scoreGood-1)
}

// maxMet bounds the values that are kept of a type.
const maxMet = 256

func (p *prober) meet(g *guess, v uint64) {
	values := p.met[g]
	if values == nil {
		values = map[uint64]bool{}
		p.met[g] = values
	}
	if len(values) < maxMet {
		values[v] = true
	}
}

// add adds a payload, if it has fields of unknown types.
func (p *prober) add(in *payload) {
	var guesses []*guess
	visit := func(s *spot) *value.Codec {
		if s.elem && s.field.Own.Guess {
			if list := p.book.of(s.field.Unknown); list.state == typeUnseen {
				list.family = familyList
			}
		}
		if g := p.guessOf(s); g != nil && !slices.Contains(guesses, g) {
			guesses = append(guesses, g)
		}
		return s.codec
	}
	// As far as it can be read, which tells of which types objects are; and without reading it, to its end.
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

// search finds the families, and what is proven. It reports whether there are new types that cannot be read.
func (p *prober) search() (refuted bool) {
	for range maxRounds {
		if !p.improve() {
			break
		}
	}
	return p.decide()
}

// suspects are the types of the payloads that do not come out, the most suspect ones first, and those that only doubtful
// payloads have.
func (p *prober) suspects() []*guess {
	good, bad, doubtful := map[*guess]int{}, map[*guess]int{}, map[*guess]int{}
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
	var out []*guess
	for g := range bad {
		if g.state == typeUnseen && g.family != familyList {
			out = append(out, g)
		}
	}
	for g := range doubtful {
		if g.state == typeUnseen && g.family != familyList && bad[g]+good[g] == 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *guess) int {
		return cmp.Or(cmp.Compare(bad[b]*(good[a]+1), bad[a]*(good[b]+1)), cmp.Compare(a.name, b.name))
	})
	return out[:min(len(out), maxSuspects)]
}

// improve changes the family of the type for which that helps most. It returns false when nothing helps.
func (p *prober) improve() bool {
	var best *guess
	var family family
	gain := 0
	for _, g := range p.suspects() {
		was := g.family
		for f := range familyCount {
			// Signed numbers are as long as others.
			if f == was || f == familySigned {
				continue
			}
			g.family = f
			if n := p.gain(g, gain); n > gain {
				best, family, gain = g, f, n
			}
		}
		g.family = was
	}
	if best == nil {
		return false
	}
	best.family = family
	for i := range p.payloads {
		if slices.Contains(p.guesses[i], best) {
			p.scores[i] = p.score(p.payloads[i])
		}
	}
	return true
}

// gain is how much better the payloads of a type come out with the family that it has now. It gives up when that cannot be
// more than least.
func (p *prober) gain(g *guess, least int) int {
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

// decide says which types are proven, and which numbers are signed.
func (p *prober) decide() (refuted bool) {
	if p.left < 0 {
		return false // what does not come out may be good
	}
	good, bad := map[*guess]int{}, map[*guess]int{}
	met := map[*guess]map[uint64]bool{}
	for i, guesses := range p.guesses {
		ok := p.scores[i] > 0
		if ok {
			p.met = met
			p.score(p.payloads[i])
		}
		for _, g := range guesses {
			if ok {
				good[g]++
			} else {
				bad[g]++
			}
		}
	}
	// What was found out before stays.
	for g, values := range met {
		if g.state == typeUnseen && g.family == familyUnsigned {
			var signed bool
			if signed, g.maybeSigned = areSigned(values); signed {
				g.family = familySigned
			}
		}
	}
	for _, guesses := range p.guesses {
		for _, g := range guesses {
			switch {
			case g.state != typeUnseen:
			case good[g] > 4*bad[g]:
				g.state = typeProven
			default:
				g.state, refuted = typeRefuted, true
			}
		}
	}
	for g, n := range good {
		g.proofs += n
	}
	p.met = nil
	return refuted
}

// areSigned reports whether numbers were written as signed ones, twice their value when they are not negative, and 1 for
// -1: then next to all are even, and not only powers of two, which flags are. maybe is true when they could be, but there
// are too few to say so.
func areSigned(values map[uint64]bool) (signed, maybe bool) {
	even, odd, flags := 0, 0, 0
	for v := range values {
		switch {
		case v <= 1:
		case v&1 != 0:
			odd++
		case v&(v-1) == 0:
			flags++
		default:
			even++
		}
	}
	even += min(even, flags)
	return even >= 6 && even > 4*odd, even+flags >= 4*odd
}
