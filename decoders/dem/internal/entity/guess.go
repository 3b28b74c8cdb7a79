package entity

import (
	"errors"
	"hash/fnv"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// guessed returns how to read a field of an unknown type that is not proven, or nil when the type is refuted.
func (u *Update) guessed(n *Node) *value.Codec {
	g := u.Tree.Types.At(n.Guess)
	switch {
	case g.State == infer.Refuted:
		return nil
	case g.State == infer.Unseen && !slices.Contains(u.unseen, g):
		u.unseen = append(u.unseen, g)
	}
	return u.Tree.Types.Codec(n.Field, n.Elem, g, g.Family)
}

// ReadSized reads an update whose size in bits is known. Up to padding bits at its end may be unused. After an error,
// u.Changes has the changes that are certain, and u.Lost has the other fields that the update changes.
func (u *Update) ReadSized(r *bits.Reader, c *Class, s *State, size, padding int) error {
	start := r.Pos()
	err := u.Read(r, c, s)
	if err == nil {
		err = endsAt(r, start+size, padding)
	}
	if len(u.unseen) > 0 {
		if err == nil {
			if _, doubts := u.reading(); doubts > 0 || u.unseenEncoder() {
				err = errUnknownType
			}
		}
		if err != nil && !u.retyped {
			err = u.settle(r, c, s, start, size, padding)
		}
	}
	if err != nil {
		if len(u.Paths) == 0 { // they were known
			end := r.Pos()
			r.Seek(start)
			_ = u.readPaths(r) // there are none after an error
			r.Seek(end)
		}
		u.cut(c, s, err)
	}
	return err
}

// unseenEncoder reports whether the update has values with an encoder of which nothing is proven: that one way of reading comes out says
// nothing then, since another one may as well.
func (u *Update) unseenEncoder() bool {
	return slices.ContainsFunc(u.unseen, func(g *infer.Guess) bool { return g.Encoder })
}

// ReadUnsized reads an update whose size nobody knows. It returns an error if the update has values with an encoder of which nothing
// is proven: all that follows could be out of step.
func (u *Update) ReadUnsized(r *bits.Reader, c *Class, s *State) error {
	err := u.Read(r, c, s)
	if err == nil && u.unseenEncoder() {
		err = errUnknownType
	}
	return err
}

// endsAt returns nil when r is at end, or at most padding bits before it.
func endsAt(r *bits.Reader, end, padding int) error {
	if rest := end - r.Pos(); rest < 0 || rest > padding {
		return errEntityBits
	}
	return nil
}

// maxSettled bounds the types of an update that are tried in all ways.
const maxSettled = 2

// settle reads an update again that has values of types of which nothing is proven, in all ways that there are, if they are
// not enums, as most are. It takes the only one that comes out. When several do that do not mean the same, or none, it
// returns an error. It does not remember what it found: what an update means must not depend on which others were read.
func (u *Update) settle(r *bits.Reader, c *Class, s *State, start, size, padding int) error {
	var guesses [maxSettled]*infer.Guess
	n := copy(guesses[:], u.unseen)
	if n < len(u.unseen) {
		return errUnknownType
	}
	var found [maxSettled]infer.Family
	var reading uint64
	matches, doubts := 0, math.MaxInt
	families := [maxSettled]infer.Family{1, 1}
	for i, g := range guesses[:n] {
		families[i] = g.Families()
	}
	for f0 := range families[0] {
		for f1 := range families[1] {
			u.assume(guesses[:n], f0, f1)
			r.Seek(start)
			if u.Read(r, c, s) != nil || endsAt(r, start+size, padding) != nil {
				continue
			}
			hash, d := u.reading()
			switch {
			case d < doubts:
				matches, doubts, reading, found = 1, d, hash, [maxSettled]infer.Family{f0, f1}
			case d == doubts && hash != reading:
				matches++
			}
		}
	}
	u.assume(guesses[:n], found[0], found[1])
	r.Seek(start)
	err := u.Read(r, c, s)
	if err == nil {
		err = endsAt(r, start+size, padding)
	}
	u.assume(guesses[:n], infer.FamilyFirst, infer.FamilyFirst)
	if err == nil && (matches != 1 || doubts > 0) {
		err = errUnknownType
	}
	return err
}

func (u *Update) assume(guesses []*infer.Guess, f0, f1 infer.Family) {
	for i, g := range guesses {
		g.Family = [maxSettled]infer.Family{f0, f1}[i]
	}
}

// reading returns a hash of the values that were read, and how many of them no game would have.
func (u *Update) reading() (hash uint64, doubts int) {
	h := fnv.New64a()
	var b [8]byte
	for i := range u.Changes {
		ch := &u.Changes[i]
		v := ch.Cell
		data := u.Data(&v)
		if value.Doubtful(&v, data, ch.Node.Guess != 0) {
			doubts++
		}
		if v.Kind.InBytes() {
			v.Word = uint64(len(data))
		}
		for _, part := range [...]uint64{v.Word, uint64(v.Z)} {
			for k := range b {
				b[k] = byte(part >> (8 * k))
			}
			_, _ = h.Write(b[:])
		}
		_, _ = h.Write(data)
	}
	return h.Sum64(), doubts
}

// cut keeps of the changes those that are certain, and notes which fields the others are about. Certain is what comes
// before the first value of an unknown type, if there is one: all before it is of known types.
func (u *Update) cut(c *Class, s *State, err error) {
	unknown := errors.Is(err, errUnknownType)
	certain := slices.IndexFunc(u.Changes, func(ch Change) bool {
		g := u.Tree.Types.At(ch.Node.Guess)
		return g != nil && (!unknown || g.State != infer.Proven)
	})
	switch {
	case certain >= 0:
	case unknown:
		certain = len(u.Changes)
	default:
		certain = 0
	}
	u.noteLost(c, s, certain)
	u.Changes = u.Changes[:certain]
}

// noteLost notes which fields the paths from one on lead to.
func (u *Update) noteLost(c *Class, s *State, from int) {
	u.Lost = u.Lost[:0]
	if c.Root == nil {
		return
	}
	var way [fieldpath.MaxDepth + 1]*Node
	way[0] = c.Root
	for i := range u.Paths {
		p := &u.Paths[i]
		for d := int(p.Keep); d <= int(p.Last); d++ {
			n := way[d]
			// The type of an object that was lost is not known, nor are its fields.
			if n == nil || n.many && u.lost(n) {
				way[d+1] = nil
				continue
			}
			typ := 0
			if n.many {
				typ = s.typeOf(n)
			}
			way[d+1] = u.Tree.kid(c, way[:d+1], p.Idx[d], typ)
		}
		if n := way[p.Last+1]; i >= from && n != nil && n.Codec.Op != value.OpNone {
			u.Lost = append(u.Lost, n)
		}
	}
}

// lost reports whether the field of a node, or of a copy of it, is lost.
func (u *Update) lost(n *Node) bool {
	return slices.ContainsFunc(u.Lost, func(l *Node) bool { return l.Cell == n.Cell })
}

// Suspect returns the first lost field whose type is unknown, or nil.
func (u *Update) Suspect() *Node {
	for _, n := range u.Lost {
		if n.Guess != 0 {
			return n
		}
	}
	return nil
}
