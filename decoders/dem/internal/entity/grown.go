package entity

import (
	"unsafe"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// Grown holds the names of a Tree and the nodes of its classes at a moment. It is immutable. Trees that continue from it share
// both, and copy the nodes below which they grow.
type Grown struct {
	era     uint32
	nodes   int
	names   Names
	classes []grownClass // classes with nodes below their roots
	parts   []*grownPart
}

// grownClass is the part of a Grown for one class.
type grownClass struct {
	id    int32
	cells int32
	root  *Node
	body  *Body
}

// grownPart counts the memory that was added between two moments. Nodes that were copied since count for as long as a later
// moment is kept.
type grownPart = share.Value[struct{}]

const grownClassSize = int(unsafe.Sizeof(grownClass{}))

// Share returns the contents of the tree and its classes. last is the previous result, or the Grown that the tree continues from,
// or nil.
func (t *Tree) Share(classes []*Class, last *Grown) *Grown {
	size := t.fresh + t.Names.fresh
	if size == 0 && !t.planted && last != nil {
		return last
	}
	g := &Grown{era: t.era, nodes: t.nodes, names: t.share()}
	for _, c := range classes {
		if c != nil && c.Root != nil && c.Root.Kids != nil {
			g.classes = append(g.classes, grownClass{c.Id, int32(c.Cells), c.Root, c.Body})
		}
	}
	size += grownClassSize*cap(g.classes) + pointerSize*(len(t.parts)+1)
	g.parts = append(append(make([]*grownPart, 0, len(t.parts)+1), t.parts...), share.NewValue(struct{}{}, size))
	t.parts, t.fresh, t.planted = g.parts, 0, false
	t.era++
	return g
}

// GoOn gives an empty tree the names and nodes of g.
func (t *Tree) GoOn(g *Grown) {
	t.Names = g.names.share()
	t.era, t.parts, t.sprouts = g.era+1, g.parts, maxSprouts
}

// Adopt gives classes the nodes of g, from which the tree continues. The classes must have their roots, and nothing below them.
func (t *Tree) Adopt(g *Grown, classes []*Class) {
	for _, from := range g.classes {
		c := classes[from.id]
		c.replaced++
		c.Root, c.Cells, c.Body = from.root, int(from.cells), from.body
		if c.Decoded {
			t.Want(c)
		}
	}
	t.nodes, t.fresh, t.planted = g.nodes, 0, false
}

// Want finds out which fields of a class are wanted that was not decoded before.
func (t *Tree) Want(c *Class) {
	c.PlaceWanted = c.Body != nil && t.wantsField(c, c.Body.Place)
	if t.wants != nil {
		c.wanted, c.chosen.made = make([]bool, c.Cells), false
		t.wantBelow(c, c.Root)
	}
}

func (t *Tree) wantBelow(c *Class, n *Node) {
	if n == nil {
		return
	}
	if n.Cell >= 0 {
		c.wanted[n.Cell] = t.wantsField(c, n.Name)
	}
	for _, k := range n.Kids {
		t.wantBelow(c, k)
	}
	if n.others != nil {
		for _, kids := range *n.others {
			for _, k := range kids {
				t.wantBelow(c, k)
			}
		}
	}
}

// Parts calls each with each part.
func (g *Grown) Parts(each func(share.Part)) {
	for _, p := range g.parts {
		each(p)
	}
}
