package entity

import (
	"cmp"
	"math"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// settling holds the working memory of settle.
type settling struct {
	tries    int
	guesses  []unsettled // of all readings so far
	spots    []spot      // of the chosen reading
	rereader infer.Rereader

	told      []Change
	toldArena []byte
}

// unsettled is a guess with rivals.
type unsettled struct {
	*infer.Guess
	was infer.Family
	// level are the rivals that read each value to the same end. worse are the rivals that read a value that no game would have.
	level, worse infer.Families
}

// maxTries limits the number of ways in which an update is read.
const maxTries = 256

// settle reads an update again that has values of unproven types, in all ways in which one or two of the types are read
// differently. It chooses the first way that comes out without values that no game would have or, if there is none, the earlier
// reading that came out. It marks values as open that other ways which come out as well read differently. It returns an error if
// no way comes out, if there are too many, or if they differ in the fields that the update changes. err is the error of the first
// reading. settle remembers nothing, because the meaning of an update must not depend on which other updates were read.
func (u *Update) settle(r *bits.Reader, c *Class, s *State, start, size, padding int, err error) error {
	w := &u.settling
	w.guesses, w.tries = w.guesses[:0], 0
	w.meet(u.unsure)
	least := u.doubts(int(u.spots[0].change)) // no such value is a fault of these types
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
		found = fits() // as in the earlier reading
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

// meet adds guesses that are new.
func (w *settling) meet(guesses []*infer.Guess) {
	for _, g := range guesses {
		if w.of(g) == nil {
			w.guesses = append(w.guesses, unsettled{Guess: g, was: g.Family})
		}
	}
}

// of returns the entry of a guess, or nil.
func (w *settling) of(g *infer.Guess) *unsettled {
	for i := range w.guesses {
		if w.guesses[i].Guess == g {
			return &w.guesses[i]
		}
	}
	return nil
}

// others calls found for each way in which one or two of the guesses are read differently. It stops when found returns true, and
// leaves the guesses in that state. It leaves out ways that end at the same place anyway.
func (w *settling) others(found func() bool) bool {
	for i := 0; ; i++ {
		if i == len(w.guesses) { // found may add guesses
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

// second does the work of others for the guesses from one on, after one that is read differently. level says that this one still
// ends at the same place.
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

// markOpen marks the values that other ways of reading an update read differently from the chosen one, which is in u again
// afterwards. It returns false if it cannot tell: there are too many ways, or they differ in values that others depend on. Such
// differences do not matter in a default state: it names its own fields, and no earlier value exists that could be cleared.
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

// markUnlike marks the values of the chosen reading as open that the present one reads differently. It returns false if the
// readings differ in their fields or, unless standard is set, in values that others depend on.
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

// doubts returns the number of values, of the first n, that no game would have.
func (u *Update) doubts(n int) (doubts int) {
	for i := range u.Changes[:n] {
		ch := &u.Changes[i]
		if value.Doubtful(&ch.Cell, u.Data(&ch.Cell), ch.Node.Guess != 0) {
			doubts++
		}
	}
	return doubts
}
