package dem

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

var (
	errNoField     = errors.New("no such field")
	errNoClass     = errors.New("no such class in the schema")
	errUnknownType = errors.New("nobody knows how to read a type of field")
	errEntityBits  = errors.New("update ended elsewhere than announced")
	errState       = errors.New("too many fields of all entities together")
)

// change is a field that an update brings.
type change struct {
	node *node
	cell value.Cell // bytes lie in the reader's arena
}

// updateReader reads updates of entities. It is reused.
type updateReader struct {
	tree    *classTree
	paths   []fieldpath.Path
	changes []change
	arena   []byte
	tick    float32 // in seconds
	room    int     // how many bytes the state may grow by

	// lost are the nodes of the fields that the update changes to what could not be read.
	lost []*node
	// unseen are types of which nothing is proven that the update has values of, and retyped says that it may have changed
	// the type of an object.
	unseen  []*guess
	retyped bool
}

// read reads an update of an entity with state s: the changes it brings are in u.changes, also those before an error.
// It changes s only where the type of an object that may have several is concerned.
func (u *updateReader) read(r *bits.Reader, c *class, s *state) error {
	u.changes, u.arena = u.changes[:0], u.arena[:0]
	u.lost, u.unseen, u.retyped = u.lost[:0], u.unseen[:0], false
	var err error
	u.paths, err = fieldpath.Read(r, u.paths[:0])
	if err != nil {
		u.paths = u.paths[:0]
		return err
	}
	if c.root == nil {
		return errNoClass
	}
	return u.readValues(r, c, s)
}

// readValues reads the values of the fields that u.paths lead to.
func (u *updateReader) readValues(r *bits.Reader, c *class, s *state) error {
	// way[d] is the node whose kids the index d of the path chooses from.
	var way [fieldpath.MaxDepth + 1]*node
	way[0] = c.root
	for i := range u.paths {
		p := &u.paths[i]
		for d := int(p.Keep); d <= int(p.Last); d++ {
			n := way[d]
			typ := 0
			if n.many {
				typ = s.typeOf(n)
			}
			k := u.tree.kid(c, n, p.Idx[d], typ)
			if k == nil {
				return errNoField
			}
			way[d+1] = k
		}
		n := way[p.Last+1]
		codec := n.codec
		if codec.Op == value.OpNone {
			return errNoField
		}
		if codec.Guess {
			if codec = u.guessed(n); codec == nil {
				return errUnknownType
			}
		}
		v := codec.Read(r, &u.arena, u.tick)
		if r.Overrun() {
			return bits.ErrOverrun
		}
		if v.Kind == value.Length && v.Word > schema.MaxElements {
			return fieldpath.ErrIndex
		}
		u.changes = append(u.changes, change{n, v})
		if v.Kind == value.Pointer && n.many {
			u.retyped = true
			if err := u.retype(c, s, n, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// retype sets the type of an object at once: the paths below depend on it.
func (u *updateReader) retype(c *class, s *state, n *node, v value.Cell) error {
	switch {
	case v.Word > uint64(len(n.field.Types)):
		return errNoField
	case !u.fits(c, s):
		return errState
	}
	s.set(c, n, v, nil)
	return nil
}

// fits tells whether there is room for the changes in a state of a class.
func (u *updateReader) fits(c *class, s *state) bool {
	return cellSize*max(0, c.cells-len(s.cells))+len(u.arena) <= u.room || u.squeezes(c, s)
}

// squeezes is fits where room is scarce: cells are added only for a field that has none yet.
func (u *updateReader) squeezes(c *class, s *state) bool {
	need := len(u.arena)
	if slices.ContainsFunc(u.changes, func(ch change) bool { return int(ch.node.cell) >= len(s.cells) }) {
		need += cellSize * (c.cells - len(s.cells))
	}
	return need <= u.room
}

// data returns the bytes of a change whose value lies outside its cell.
func (u *updateReader) data(c *value.Cell) []byte {
	if !c.Kind.InBytes() {
		return nil
	}
	start, end := c.Span()
	return u.arena[start:end:end]
}

// apply sets the changes, and takes away what was lost.
func (u *updateReader) apply(c *class, s *state) {
	for i := range u.changes {
		ch := &u.changes[i]
		s.set(c, ch.node, ch.cell, u.data(&ch.cell))
	}
	for _, n := range u.lost {
		s.clear(n)
	}
}
