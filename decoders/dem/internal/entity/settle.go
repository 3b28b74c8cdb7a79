package entity

import (
	"cmp"
	"math"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// settling is what settle works with.
type settling struct {
	tries    int
	guesses  []unsettled // that any reading met
	spots    []spot      // of the reading that is told
	rereader infer.Rereader

	told      []Change
	toldArena []byte
}

// unsettled is a guess that has rivals.
type unsettled struct {
	*infer.Guess
	was infer.Family
	// level are the rivals that read each value to the same end, worse those that read one that no game would have.
	level, worse infer.Families
}

// maxTries bounds the ways in which an update is read.
const maxTries = 256

// settle reads an update again that has values of types of which nothing is proven, in all ways in which one or two of the types are
// read otherwise. It takes the first one that comes out without values that no game would have, or if none does, the one that came out
// before. What others that come out as well read otherwise is marked as open. It returns an error if there is none, if there are too many, or if they differ in what the update is about.
// err is that of the first reading. Nothing is remembered: what an update means must not depend on which others were read.
func (u *Update) settle(r *bits.Reader, c *Class, s *State, start, size, padding int, err error) error {
	w := &u.settling
	w.guesses, w.tries = w.guesses[:0], 0
	w.meet(u.unsure)
	least := u.doubts(int(u.spots[0].change)) // no fault of such a type
	doubts := least
	fits := func() bool {
		r.Seek(start)
		w.tries++
		err := u.Read(r, c, s)
		w.meet(u.unsure)
		return err == nil && endsAt(r, start+size, padding) == nil && u.doubts(len(u.Changes)) <= doubts
	}
	found := err == nil && u.doubts(len(u.Changes)) <= least
	if !found {
		found = w.others(func() bool { return w.tries >= maxTries || fits() }) && w.tries < maxTries
	}
	if !found && err == nil && w.tries < maxTries {
		doubts = math.MaxInt
		found = fits() // as before
		doubts = u.doubts(len(u.Changes))
	}
	if found {
		end := r.Pos()
		found = u.markOpen(r, fits, padding > 0)
		r.Seek(end)
	}
	for _, g := range w.guesses {
		g.Family = g.was
	}
	if found {
		return nil
	}
	r.Seek(start)
	return cmp.Or(u.Read(r, c, s), endsAt(r, start+size, padding), errUnknownType)
}

// meet adds guesses that were not met before.
func (w *settling) meet(guesses []*infer.Guess) {
	for _, g := range guesses {
		if w.of(g) == nil {
			w.guesses = append(w.guesses, unsettled{Guess: g, was: g.Family})
		}
	}
}

// of returns what is known of a guess, or nil.
func (w *settling) of(g *infer.Guess) *unsettled {
	for i := range w.guesses {
		if w.guesses[i].Guess == g {
			return &w.guesses[i]
		}
	}
	return nil
}

// others calls found with each way in which one or two of the guesses are read otherwise than now. It stops when found returns true, with
// the guesses as they are then. Ways in which they end where they do now anyway are left out.
func (w *settling) others(found func() bool) bool {
	for i := 0; ; i++ {
		if i == len(w.guesses) { // found may add some
			return false
		}
		g := w.guesses[i].Guess
		was := g.Family
		for f := range g.Rivals().All() {
			g.Family = f
			level := w.guesses[i].level.Has(f)
			if !level && found() || w.second(i+1, level, found) {
				return true
			}
		}
		g.Family = was
	}
}

// second does what others does with the guesses from one on, behind one that is read otherwise. level says that this one ends where it did.
func (w *settling) second(from int, level bool, found func() bool) bool {
	for i := from; i < len(w.guesses); i++ {
		g := w.guesses[i].Guess
		was := g.Family
		for f := range g.Rivals().All() {
			if g.Family = f; (!level || !w.guesses[i].level.Has(f)) && found() {
				return true
			}
		}
		g.Family = was
	}
	return false
}

// markOpen marks what other ways of reading an update read otherwise than the present one, which is behind it in u again. It returns
// false if that cannot be said: there are too many, or values that others depend on differ. Those of a default state do not matter: it
// has the fields that it names, and there is nothing before it that such a value would clear.
func (u *Update) markOpen(r *bits.Reader, fits func() bool, standard bool) bool {
	w := &u.settling
	for i := range w.guesses {
		w.guesses[i].level = math.MaxUint64
	}
	w.spots, u.spots = u.spots, w.spots
	for i := range w.spots {
		s := &w.spots[i]
		n := u.Changes[s.change].Node
		g := w.of(u.Tree.Types.At(n.Guess))
		o := w.rereader.Others(&u.Tree.Types, *r, &infer.Place{Field: n.Field, Elem: n.Elem, Guess: g.Guess, Start: s.start, Tick: u.Tick})
		s.other = o.Level &^ o.Same
		g.level &= o.Level
		g.worse |= o.Worse
	}
	for _, s := range w.spots {
		ch := &u.Changes[s.change]
		g := w.of(u.Tree.Types.At(ch.Node.Guess))
		ch.Cell.Open = s.other&g.level&^g.worse != 0
	}
	w.told, u.Changes = u.Changes, w.told[:0]
	w.toldArena, u.arena = u.arena, w.toldArena[:0]
	unlike := w.others(func() bool { return w.tries >= maxTries || fits() && !u.markUnlike(standard) })
	w.told, u.Changes = u.Changes, w.told
	w.toldArena, u.arena = u.arena, w.toldArena
	return !unlike
}

// markUnlike marks the values of the reading that is told as open that the present one reads otherwise. It returns false if they differ in
// which fields there are, or in values that others depend on, unless standard is set.
func (u *Update) markUnlike(standard bool) bool {
	w := &u.settling
	if len(u.Changes) != len(w.told) {
		return false
	}
	for i := range u.Changes {
		told, now := &w.told[i], &u.Changes[i]
		if told.Node != now.Node {
			return false
		}
		var data []byte
		if told.Cell.Kind.InBytes() {
			start, end := told.Cell.Span()
			data = w.toldArena[start:end]
		}
		if infer.SameValue(&told.Cell, &now.Cell, data, u.Data(&now.Cell)) {
			continue
		}
		if !standard && (!told.Cell.Kind.Leaf() || !now.Cell.Kind.Leaf()) {
			return false
		}
		told.Cell.Open = true
	}
	return true
}

// doubts returns how many of the first n values no game would have.
func (u *Update) doubts(n int) (doubts int) {
	for i := range u.Changes[:n] {
		ch := &u.Changes[i]
		if value.Doubtful(&ch.Cell, u.Data(&ch.Cell), ch.Node.Guess != 0) {
			doubts++
		}
	}
	return doubts
}
