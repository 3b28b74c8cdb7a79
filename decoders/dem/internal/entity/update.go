package entity

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// ErrNoRoom means that an update would make the states of all entities too large. Such an update changes nothing.
var ErrNoRoom = errors.New("too many fields of all entities together")

var (
	errNoField     = errors.New("no such field")
	errNoClass     = errors.New("no such class in the schema")
	errUnknownType = errors.New("unknown type of field")
	errEntityBits  = errors.New("update ended elsewhere than announced")
)

// Change is a field with the value that an update gives it.
type Change struct {
	Node *Node
	Cell value.Cell // bytes lie in the Update's arena
}

// Update reads updates of entities, one after another. Tree must be set once, and Tick and Room before each update.
type Update struct {
	Tree    *Tree
	Paths   []fieldpath.Path
	Changes []Change
	nodes   []*Node // of follow
	arena   []byte
	Tick    float32 // in seconds
	Room    int     // how many bytes the state may grow by

	// Lost are the nodes of fields that the update changes to values that could not be read.
	Lost []*Node
	// objects are the objects of several types in the update, with their new types.
	objects []object
	// unsure are the guesses with rivals of which the update has values.
	unsure []*infer.Guess
	// spots are the values of guesses with rivals.
	spots    []spot
	settling settling
	recent   recent
	spare    *Spare
}

// object is an object of several types: its cell, and the cell's new value.
type object struct {
	cell  int32
	value value.Cell
}

// Read reads an update of an entity with state s into u.Changes. After an error, u.Changes has the changes before the error.
func (u *Update) Read(r *bits.Reader, c *Class, s *State) error {
	start := r.Pos()
	u.reset()
	if l := u.Known(r, c); l != nil {
		if u.readKnown(r, l) {
			return nil
		}
		r.Seek(start)
		u.reset()
	}
	if err := u.readPaths(r); err != nil {
		return err
	}
	return u.readValues(r, c, s)
}

// Known returns the list of paths of the update at r, of an entity of the class c, or nil if there is none that leads to fixed
// nodes. It reads nothing. The list is valid until the next call.
func (u *Update) Known(r *bits.Reader, c *Class) *List {
	if l := u.recent.find(c, r); l != nil {
		return l
	}
	list := *r
	if !u.follow(&list, c) {
		return nil
	}
	return u.recent.keep(c, *r, list.Pos()-r.Pos(), u.nodes)
}

// readKnown reads the list of paths, which is at r, and the values after it. It returns false if they end too late.
func (u *Update) readKnown(r *bits.Reader, l *List) bool {
	u.Paths = u.Paths[:0]
	r.Skip(int(l.Size))
	u.Changes = slices.Grow(u.Changes, len(l.Nodes))[:len(l.Nodes)]
	for i, n := range l.Nodes {
		ch := &u.Changes[i]
		ch.Node = n
		ch.Cell = n.Codec.Read(r, &u.arena, u.Tick)
	}
	return !r.Overrun()
}

// readPaths reads the paths of an update. There are none after an error.
func (u *Update) readPaths(r *bits.Reader) (err error) {
	if u.Paths, err = fieldpath.Read(r, u.Paths[:0]); err != nil {
		u.Paths = u.Paths[:0]
	}
	return err
}

func (u *Update) reset() {
	u.Changes, u.arena = u.Changes[:0], u.arena[:0]
	u.Lost, u.objects, u.unsure, u.spots = u.Lost[:0], u.objects[:0], u.unsure[:0], u.spots[:0]
}

// readValues reads the values behind the paths.
func (u *Update) readValues(r *bits.Reader, c *Class, s *State) error {
	if c.Root == nil {
		return errNoClass
	}
	// way[d] is the node below which index d of the path selects a node.
	var way [fieldpath.MaxDepth + 1]*Node
	way[0] = c.Root
	for i := range u.Paths {
		p := &u.Paths[i]
		d := int(p.Keep)
		n := way[d]
		for ; d <= int(p.Last); d++ {
			index := p.Idx[d]
			if k := n.Kids; !n.many && uint(index) < uint(len(k)) && k[index] != nil {
				n = k[index]
			} else {
				if n = u.Tree.kid(c, way[:d+1], index, u.typeOf(s, n)); n == nil {
					return u.noField(way[d])
				}
			}
			way[d+1] = n
		}
		n = way[d]
		codec := &n.Codec
		if codec.Op == value.OpNone {
			return errNoField
		}
		if codec.Guess {
			if codec = u.guessed(n, r.Pos()); codec == nil {
				return errUnknownType
			}
		}
		if len(u.Changes) == cap(u.Changes) {
			u.Changes = append(u.Changes, Change{})[:len(u.Changes)]
		}
		u.Changes = u.Changes[:len(u.Changes)+1]
		ch := &u.Changes[len(u.Changes)-1]
		ch.Node = n
		ch.Cell = codec.Read(r, &u.arena, u.Tick)
		if r.Overrun() {
			u.Changes = u.Changes[:len(u.Changes)-1]
			return bits.ErrOverrun
		}
		switch ch.Cell.Kind {
		case value.Length:
			if ch.Cell.Word > schema.MaxElements {
				u.Changes = u.Changes[:len(u.Changes)-1]
				return fieldpath.ErrIndex
			}
		case value.Pointer:
			if n.many {
				if ch.Cell.Word > uint64(len(n.Field.Types)) {
					return errNoField
				}
				u.objects = append(u.objects, object{n.Cell, ch.Cell})
			}
		}
	}
	return nil
}

// noField returns the reason why a node has no such field.
func (u *Update) noField(n *Node) error {
	if n.Guess != 0 && n.unlisted(&u.Tree.Types) {
		return errUnknownType
	}
	return errNoField
}

// typeOf returns the type, by number, of the object of a node, like State.typeOf, but after the part of the update that was read:
// later paths depend on it.
func (u *Update) typeOf(s *State, n *Node) int {
	if n.many {
		for _, o := range slices.Backward(u.objects) {
			if o.cell == n.Cell {
				return typeOf(&o.value)
			}
		}
	}
	return s.typeOf(n)
}

// Fits reports whether there is room for the changes in a state of a class. New cells count only if a changed field has no cell yet.
func (u *Update) Fits(c *Class, s *State) bool {
	need := len(u.arena)
	if slices.ContainsFunc(u.Changes, func(ch Change) bool { return int(ch.Node.Cell) >= len(s.Cells) }) {
		need += cellSize * (c.Cells - len(s.Cells))
	}
	return need <= u.Room
}

// Data returns the bytes of a change whose value lies outside its cell.
func (u *Update) Data(c *value.Cell) []byte {
	if !c.Kind.InBytes() {
		return nil
	}
	start, end := c.Span()
	return u.arena[start:end:end]
}

// Apply sets the changes in a state, and clears the fields in u.Lost.
func (u *Update) Apply(c *Class, s *State) {
	for i := range u.Changes {
		ch := &u.Changes[i]
		s.set(c, ch.Node, ch.Cell, u.Data(&ch.Cell), u.spare)
	}
	for _, n := range u.Lost {
		s.clear(n)
	}
}
