package entity

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// spot is a value of a guess with rivals: the number of its change, and its first bit. other are the rivals that read another
// value there.
type spot struct {
	change int32
	start  int
	other  infer.Families
}

// guessed returns the codec for a field of an unknown type that is not proven, which begins at start, or nil when the type is
// refuted.
func (u *Update) guessed(n *Node, start int) *value.Codec {
	g := u.Tree.Types.At(n.Guess)
	switch {
	case g.State == infer.Refuted:
		return nil
	case g.Rivals() != 0:
		if !slices.Contains(u.unsure, g) {
			u.unsure = append(u.unsure, g)
		}
		u.spots = append(u.spots, spot{change: int32(len(u.Changes)), start: start})
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
	if len(u.unsure) > 0 {
		err = u.settle(r, c, s, start, size, padding, err)
	}
	if err != nil {
		if len(u.Paths) == 0 { // the paths were known
			end := r.Pos()
			r.Seek(start)
			_ = u.readPaths(r) // the error leaves no paths
			r.Seek(end)
		}
		u.cut(c, s, err)
	}
	return err
}

// ReadUnsized reads an update of unknown size. It returns an error if the update has values with an unproven encoder, because
// everything after them could be out of step.
func (u *Update) ReadUnsized(r *bits.Reader, c *Class, s *State) error {
	err := u.Read(r, c, s)
	if err == nil && slices.ContainsFunc(u.unsure, func(g *infer.Guess) bool { return g.Encoder }) {
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

// cut keeps the certain changes: those before the first value of an unknown type. It notes which fields the others change. If
// there is no unknown type, all changes before the error are certain.
func (u *Update) cut(c *Class, s *State, err error) {
	unknown := errors.Is(err, errUnknownType)
	certain := slices.IndexFunc(u.Changes, func(ch Change) bool {
		g := u.Tree.Types.At(ch.Node.Guess)
		return g != nil && (!unknown || g.State != infer.Proven || g.Rivals() != 0)
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

// noteLost notes the fields that the paths from one on lead to.
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
			// The type of a lost object is not known, and so its fields are not.
			if n == nil || n.many && u.lost(n) {
				way[d+1] = nil
				continue
			}
			typ := 0
			if n.many {
				typ = u.typeOf(s, n)
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
