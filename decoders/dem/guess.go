package dem

import (
	"errors"
	"hash/fnv"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// guessed returns how to read a field whose type nobody knows and which is not proven, or nil when that is refuted.
func (u *updateReader) guessed(n *node) *value.Codec {
	g := n.guess
	switch g.state {
	case typeRefuted:
		return nil
	case typeProven: // since the node was made
		n.codec = u.tree.types.codec(n.field, n.codec == &n.field.Elem, g.family)
		return n.codec
	}
	if !slices.Contains(u.unseen, g) {
		u.unseen = append(u.unseen, g)
	}
	return u.tree.types.codec(n.field, n.codec == &n.field.Elem, g.family)
}

// readSized reads an update of which the file tells the size in bits, of which the last ones may be padding. After an error,
// u.changes has what is certain all the same, and u.lost the fields that the rest is about.
func (u *updateReader) readSized(r *bits.Reader, c *class, s *state, size, padding int) error {
	start := r.Pos()
	err := u.read(r, c, s)
	if err == nil {
		err = endsAt(r, start+size, padding)
	}
	if len(u.unseen) > 0 {
		if err == nil {
			if _, doubts := u.reading(); doubts > 0 {
				err = errUnknownType
			}
		}
		if err != nil && !u.retyped {
			err = u.settle(r, c, s, start, size, padding)
		}
	}
	if err != nil {
		u.cut(c, s, err)
	}
	return err
}

// endsAt returns nil when what was read ends where it should, but for some padding.
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
func (u *updateReader) settle(r *bits.Reader, c *class, s *state, start, size, padding int) error {
	var guesses [maxSettled]*guess
	n := copy(guesses[:], u.unseen)
	if n < len(u.unseen) {
		return errUnknownType
	}
	var found [maxSettled]family
	var reading uint64
	matches, doubts := 0, math.MaxInt
	for f0 := range familyCount {
		for f1 := range familyCount {
			if f0 == familySigned || f1 == familySigned || n < 2 && f1 > 0 {
				continue // signed numbers are as long as others
			}
			u.assume(guesses[:n], f0, f1)
			r.Seek(start)
			if u.read(r, c, s) != nil || endsAt(r, start+size, padding) != nil {
				continue
			}
			hash, d := u.reading()
			switch {
			case d < doubts:
				matches, doubts, reading, found = 1, d, hash, [maxSettled]family{f0, f1}
			case d == doubts && hash != reading:
				matches++
			}
		}
	}
	u.assume(guesses[:n], found[0], found[1])
	r.Seek(start)
	err := u.read(r, c, s)
	if err == nil {
		err = endsAt(r, start+size, padding)
	}
	u.assume(guesses[:n], familyUnsigned, familyUnsigned)
	if err == nil && (matches != 1 || doubts > 0) {
		err = errUnknownType
	}
	return err
}

func (u *updateReader) assume(guesses []*guess, f0, f1 family) {
	for i, g := range guesses {
		g.family = [maxSettled]family{f0, f1}[i]
	}
}

// reading returns a hash of the values that were read, and how many of them no game would have.
func (u *updateReader) reading() (hash uint64, doubts int) {
	h := fnv.New64a()
	var b [8]byte
	for i := range u.changes {
		ch := &u.changes[i]
		v := ch.cell
		data := u.data(&v)
		if value.Doubtful(&v, data, ch.node.guess != nil) {
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
// before the first value of a type that nobody knows, if there is one: all before it is of known types.
func (u *updateReader) cut(c *class, s *state, err error) {
	unknown := errors.Is(err, errUnknownType)
	certain := slices.IndexFunc(u.changes, func(ch change) bool {
		g := ch.node.guess
		return g != nil && (!unknown || g.state != typeProven)
	})
	switch {
	case certain >= 0:
	case unknown:
		certain = len(u.changes)
	default:
		certain = 0
	}
	u.lose(c, s, certain)
	u.changes = u.changes[:certain]
}

// lose notes which fields the paths from one on lead to.
func (u *updateReader) lose(c *class, s *state, from int) {
	u.lost = u.lost[:0]
	if c.root == nil {
		return
	}
	var way [fieldpath.MaxDepth + 1]*node
	way[0] = c.root
	for i := range u.paths {
		p := &u.paths[i]
		for d := int(p.Keep); d <= int(p.Last); d++ {
			n := way[d]
			// Of which type an object is that was lost, nobody knows, nor what its fields are.
			if n == nil || n.many && slices.Contains(u.lost, n) {
				way[d+1] = nil
				continue
			}
			typ := 0
			if n.many {
				typ = s.typeOf(n)
			}
			way[d+1] = u.tree.kid(c, n, p.Idx[d], typ)
		}
		if n := way[p.Last+1]; i >= from && n != nil && n.codec.Op != value.OpNone {
			u.lost = append(u.lost, n)
		}
	}
}

// suspect returns the first field of those that were lost whose type nobody knows, or nil.
func (u *updateReader) suspect() *node {
	for _, n := range u.lost {
		if n.guess != nil {
			return n
		}
	}
	return nil
}
