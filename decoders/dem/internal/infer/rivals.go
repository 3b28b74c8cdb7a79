package infer

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Payloads that come out with the family of a guess prove nothing while they also come out with another family: all their values
// may be 0, which many families read, or two guesses may be wrong by the same number of bits. So the guess's other families are
// its rivals until a payload rules them out. A payload rules a rival out if it does not come out with the rival, however its
// other open guesses are read.

// rivals holds the knowledge about the rivals of a guess.
type rivals struct {
	guess *Guess
	// same are the families that read each value so far like the guess's family.
	same Families
	// met are the raw values, if they are read as numbers.
	met map[uint64]bool

	// Of the present payload: the families that read each value of the guess to the same end, and the families that read a value
	// that no game would have.
	level, worse Families
}

// Rivals returns the other families that may be right. A proven guess may have some that read all values so far in the same way.
func (g *Guess) Rivals() Families {
	if g.State == Refuted || g.Family == FamilyList {
		return 0
	}
	return g.Open &^ (1 << g.Family)
}

// open reports whether the guess has rivals that read some value differently. For an encoder every rival counts: many encoders
// read zeros, the most frequent values, in the same way. r may be nil.
func (r *rivals) open() bool {
	switch {
	case r == nil:
		return false
	case r.guess.Encoder:
		return r.guess.Rivals() != 0
	}
	return r.guess.Rivals()&^r.same != 0
}

// numbers returns the raw numbers that were met.
func (r *rivals) numbers() map[uint64]bool {
	if r == nil {
		return nil
	}
	return r.met
}

// maxMet is the maximum number of values that are kept of a type.
const maxMet = 256

func (r *rivals) meet(v uint64) {
	if len(r.met) < maxMet {
		r.met[v] = true
	}
}

// maxRuledOut is the limit of fields that are read to rule out rivals.
const maxRuledOut = MaxFields / 2

// ruleOut rules out rivals by the payloads that come out. It returns the resulting rivals of each guess.
func (p *Prober) ruleOut() map[*Guess]*rivals {
	var order []int
	for i := range p.payloads {
		if p.scores[i] > 0 {
			order = append(order, i)
		}
	}
	// Short payloads first: they have few guesses, and rule out most.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.payloads[a].Size, p.payloads[b].Size) })
	p.enough = p.Left - maxRuledOut
	all := map[*Guess]*rivals{}
	for again := true; again; {
		again = false
		clear(all)
		for _, i := range order {
			if p.Left < 0 {
				return all
			}
			again = p.ruleOutBy(i, all) || again
		}
	}
	return all
}

// ruleOutBy rules out rivals by a payload, and compares the values that the remaining rivals read. It reports whether it ruled
// out any.
func (p *Prober) ruleOutBy(i int, all map[*Guess]*rivals) (some bool) {
	in := p.payloads[i]
	var here []*rivals
	for _, g := range p.guesses[i] {
		r := all[g]
		if r == nil {
			r = &rivals{guess: g, same: g.Open, met: map[uint64]bool{}}
			all[g] = r
		}
		r.level, r.worse = g.Open, 0
		here = append(here, r)
	}
	p.compare(in, all)
	var moving []*rivals
	for _, r := range here {
		if gone := r.level & r.worse & r.guess.Rivals(); gone != 0 {
			r.guess.Open &^= gone
			some = true
		}
		if r.guess.Rivals()&^r.level != 0 {
			moving = append(moving, r)
		}
	}
	for _, r := range moving {
		some = p.try(i, r, moving) || some
	}
	return some
}

// try rules out rivals in r that do not read the values of a payload to the same end, if the payload does not come out with them,
// whichever rival of one of the others is taken.
func (p *Prober) try(i int, r *rivals, others []*rivals) (some bool) {
	g := r.guess
	was := g.Family
	for f := range (g.Rivals() &^ r.level).All() {
		g.Family = f
		fits := p.fits(i) || slices.ContainsFunc(others, func(o *rivals) bool { return o != r && p.fitsWith(i, o) })
		g.Family = was
		if p.Left < max(p.enough, 0) {
			return some // the remaining ones stay open
		}
		if !fits {
			g.Open &^= 1 << f
			some = true
		}
	}
	return some
}

// fits reports whether a payload comes out as well as with the present guesses.
func (p *Prober) fits(i int) bool { return p.score(p.payloads[i]) >= p.scores[i] }

// fitsWith reports whether a payload comes out with a rival in r.
func (p *Prober) fitsWith(i int, r *rivals) (fits bool) {
	g := r.guess
	was := g.Family
	for f := range (g.Rivals() &^ r.level).All() {
		if g.Family = f; p.fits(i) {
			fits = true
			break
		}
	}
	g.Family = was
	return fits
}

// compare reads a payload with the present guesses, and each value of a guess also in its other possible ways.
func (p *Prober) compare(in *Payload, all map[*Guess]*rivals) {
	start := 0
	_ = p.walk(in, func(s *spot) *value.Codec {
		start = p.bits.Pos()
		return p.believed(s)
	}, func(s *spot) {
		g := p.guessOf(s)
		if g == nil {
			return
		}
		r := all[g]
		if r == nil { // the guess was not met when the payload was added, because an object was taken for another type
			return
		}
		v := &p.value
		if g.Type && v.Kind == value.Uint {
			r.meet(v.Word)
		}
		if g.Rivals() == 0 {
			return
		}
		p.Left--
		o := p.rereader.Others(p.Book, p.bits, &Place{Field: s.field, Elem: s.elem, Guess: g, Start: start, Tick: p.Tick})
		r.level &= o.Level
		r.same &= o.Same
		r.worse |= o.Worse
	})
}

// Others are families of a guess, for one value: Level read it to the same end as the guess's own family, Same also read the same
// value, and Worse read a value that no game would have.
type Others struct{ Level, Same, Worse Families }

// Place is the place of a guess's value.
type Place struct {
	Field *schema.Field
	Elem  bool
	Guess *Guess
	Start int     // its first bit
	Tick  float32 // in seconds
}

// Rereader reads values in all their possible ways. The zero value is ready for use.
type Rereader struct{ own, other []byte }

// Others reads a value by its guess, and by all rivals of the guess.
func (re *Rereader) Others(b *Book, r bits.Reader, at *Place) (o Others) {
	g := at.Guess
	r.Seek(at.Start)
	re.own = re.own[:0]
	own := b.Codec(at.Field, at.Elem, g, g.Family).Read(&r, &re.own, at.Tick)
	end := r.Pos()
	r.Cut(end + 8) // a text that ends there has its NUL before
	data := bytesOf(&own, re.own)
	doubtful := value.Doubtful(&own, data, g.Type)
	for f := range g.Rivals().All() {
		r.Seek(at.Start)
		re.other = re.other[:0]
		v := b.Codec(at.Field, at.Elem, g, f).Read(&r, &re.other, at.Tick)
		if r.Pos() != end {
			continue
		}
		o.Level |= 1 << f
		otherData := bytesOf(&v, re.other)
		if SameValue(&own, &v, data, otherData) {
			o.Same |= 1 << f
		}
		if !doubtful && value.Doubtful(&v, otherData, g.Type) {
			o.Worse |= 1 << f
		}
	}
	return o
}

// SameValue reports whether two values are the same. aData and bData hold their bytes, if they lie outside their cells.
func SameValue(a, b *value.Cell, aData, bData []byte) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind.InBytes():
		return bytes.Equal(aData, bData)
	}
	return a.Word == b.Word && a.Z == b.Z
}
