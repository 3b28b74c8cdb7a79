// Package entity keeps the entities of a demo: the fields of their classes as trees, their states, and updates of these states.
package entity

import (
	"slices"
	"strconv"
	"unsafe"

	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Class is a class of entities within one decoder.
type Class struct {
	Id   int32
	Name uint32 // its number, see Names.Intern
	// replaced counts the replacements of the class's nodes. Replaced nodes may lack nodes below them.
	replaced uint32
	// Wanted reports whether events of the class are delivered. Decoded reports whether its entities are decoded: for their
	// events, for faults or for the clock.
	Wanted, Decoded bool
	// Narrow reports whether updates that change no delivered field may be skipped: nobody asks for faults in them, or for the
	// other fields.
	Narrow bool
	// PlaceWanted reports whether the places of its entities are delivered.
	PlaceWanted bool
	// Rules is set for the class that holds Dota's clock. Roster is set for the class that holds the names of Dota's players.
	Rules, Roster bool
	// Rounds is set for the class that counts the rounds of Counter-Strike 2.
	Rounds bool
	// Ward is set for the classes of Dota's wards.
	Ward bool
	// wanted says for each cell whether its field is delivered. It is nil when all fields are.
	wanted []bool
	Body   *Body // nil when its entities have no place
	Root   *Node // nil when the schema has no serializer of that name
	// Cells is the number of cells of an entity of the class so far: one for each field that was ever met.
	Cells  int
	chosen chosen
	// Side is the number, from 1, of the side whose counts the class holds in Dota; 0 for other classes.
	Side int

	Baseline Baseline
}

// Baseline is the default state of a class.
type Baseline struct {
	State
	image *Image // of the state; nil when there is none yet
	// Made reports whether the state was read from the string table's entry, as far as the entry could be read.
	Made bool
}

// Wants reports whether the field of a node of the class is delivered. The node must have a cell.
func (c *Class) Wants(n *Node) bool { return int(n.Cell) >= len(c.wanted) || c.wanted[n.Cell] }

// chosen are the wanted fields of a class of which some are not wanted, in the order of the paths. They are found anew when the class has
// more cells.
type chosen struct {
	fields []choice
	made   bool
	cells  int // of the class then
}

// choice is a field, which an entity has only if objects above it have certain types.
type choice struct {
	node  *Node
	below []typed
}

// typed is an object that may be of several types, and one of them.
type typed struct {
	node *Node
	typ  int
}

func (c *Class) chosenFields() []choice {
	if f := &c.chosen; !f.made || f.cells != c.Cells {
		*f = chosen{f.fields[:0], true, c.Cells}
		c.chooseBelow(c.Root, nil)
	}
	return c.chosen.fields
}

// chooseBelow adds the wanted fields of a node and of the nodes below it.
func (c *Class) chooseBelow(n *Node, below []typed) {
	if n == nil {
		return
	}
	if n.Cell >= 0 && c.Wants(n) {
		c.chosen.fields = append(c.chosen.fields, choice{n, below})
	}
	first := below
	if n.many {
		first = append(slices.Clip(below), typed{n, 0})
	}
	for _, k := range n.Kids {
		c.chooseBelow(k, first)
	}
	if n.others != nil {
		for i, kids := range *n.others {
			other := append(slices.Clip(below), typed{n, i + 1})
			for _, k := range kids {
				c.chooseBelow(k, other)
			}
		}
	}
}

// Remake empties the state, so that it can be read again.
func (b *Baseline) Remake() {
	b.Made, b.image = true, nil
	b.Reset()
}

// Node is a place in the tree of fields of a class. Trees grow as fields are met, because most classes of a game never occur,
// and lists have no fixed length. A Node takes 64 bytes, one cache line, and holds what each update needs. The rest of its
// data is stored apart.
//
// Decoders of a demo share nodes, see Grown. After a node was made, a decoder changes only the nodes below it, and only for nodes
// of its own, see Tree.own.
type Node struct {
	Codec  value.Codec // how the node's own value is read; its Op is value.OpNone without a value
	Name   uint32
	Cell   int32 // -1 without a value
	List   bool  // kids are elements
	Elem   bool  // an element that is a value: its codec is the field's codec of elements
	many   bool  // an object that may be of several types
	Body   bool  // the value is part of the entity's place
	Parent bool  // and says to which other one it is relative
	fixed  bool  // the value is read in one way, whatever was read before, and never refused
	Marked bool  // the value has a name, or may be uncertain
	// Kids are the nodes below: fields of an object or elements of a list; nil where not met yet.
	Kids []*Node
	*rest
}

// rest is the part of a node that updates seldom need.
type rest struct {
	Field *schema.Field // nil for a root
	// Object is the serializer of the fields below an object, or below an element that is an object; nil below values and lists.
	Object *schema.Serializer
	// others are the nodes below an object's second and later types.
	others  *[][]*Node
	Meaning Meaning
	// Guess is the number of the guess about an unknown type or encoder; 0 when both are known.
	Guess int32
	index int32  // the type of its parent's object
	typ   int32  // of its parent's object
	era   uint32 // of the tree, when the node was made
}

// maxNodes bounds the nodes of all classes of a decoder, without their roots. The largest games use a tenth of it.
const maxNodes = 1 << 18

// Tree makes the nodes of all classes of a decoder, and numbers the names of classes and fields. It is not safe for
// concurrent use.
type Tree struct {
	Names
	nodes   int // without roots
	roots   int
	chunk   []Node // nodes that were not handed out yet
	rests   []rest // the rests for these nodes
	scratch []byte
	// Types holds the guesses about unknown types.
	Types infer.Book
	// wants reports whether a field is wanted; nil means all are.
	wants func(class, field string) bool

	// era counts how often the tree was shared. Nodes of earlier eras must not be written to.
	era     uint32
	fresh   int  // bytes of the nodes made since the tree was shared
	planted bool // classes have received new trees since then
	parts   []*grownPart

	sprouts int        // how many it has made or taken over, or tried to
	seed    schema.Key // of the last one
	sown    int        // the number of names that seed stands for
}

// Held returns the approximate memory of the nodes, in bytes. Each node also has a pointer in the list of its parent.
func (t *Tree) Held() int { return (nodeSize + 16) * (t.nodes + t.roots) }

const nodeSize = int(unsafe.Sizeof(Node{}) + unsafe.Sizeof(rest{}))

// NewTree returns a tree without classes. wants reports whether a field is wanted; nil means all are.
func NewTree(wants func(class, field string) bool) *Tree {
	return &Tree{Names: newNames(), Types: infer.NewBook(), wants: wants}
}

// nodeChunk is a group of nodes that are allocated together. It is so large that the runtime places it, and so each node, at the
// start of a cache line.
type nodeChunk struct {
	nodes [64]Node
	rests [64]rest
}

// newNode returns a node, or nil when there are too many.
func (t *Tree) newNode() *Node {
	if t.nodes >= maxNodes {
		return nil
	}
	t.nodes++
	n := t.blank()
	n.Cell = -1
	return n
}

// blank returns a node that is not counted.
func (t *Tree) blank() *Node {
	if len(t.chunk) == 0 {
		c := new(nodeChunk)
		t.chunk, t.rests = c.nodes[:], c.rests[:]
	}
	n := &t.chunk[0]
	n.rest = &t.rests[0]
	t.chunk, t.rests = t.chunk[1:], t.rests[1:]
	n.era = t.era
	t.fresh += nodeSize
	return n
}

// Plant gives a class a new tree, with the fields of s. The class gets none if s is nil.
func (t *Tree) Plant(c *Class, s *schema.Serializer) {
	t.planted = true
	c.replaced++
	c.Root, c.Cells, c.wanted, c.chosen, c.Body, c.Baseline = nil, 0, nil, chosen{}, nil, Baseline{}
	if s == nil {
		return
	}
	t.roots++
	c.Root = t.blank()
	c.Root.Cell, c.Root.Object = -1, s
}

// kid returns the node at an index below the last node of way, whose object is of the given type, or nil if there is none. way
// holds the nodes from the root of the class on. kid replaces nodes in way that it had to copy.
func (t *Tree) kid(c *Class, way []*Node, index int32, typ int) *Node {
	n := way[len(way)-1]
	kids := n.Kids
	if typ > 0 {
		kids = n.of(typ)
	}
	if int(index) < len(kids) {
		if k := kids[index]; k != nil {
			return k
		}
	}
	return t.grow(c, way, index, typ)
}

// of returns the nodes below an object of one of its later types.
func (n *Node) of(typ int) []*Node {
	if n.others == nil || typ > len(*n.others) {
		return nil
	}
	return (*n.others)[typ-1]
}

// typeAt returns the serializer for one of an object's types, or nil.
func (n *Node) typeAt(typ int) *schema.Serializer {
	switch {
	case typ == 0:
		return n.Object
	case n.many && typ < len(n.Field.Types):
		return n.Field.Types[typ]
	}
	return nil
}

// grow makes the node at an index below the last node of way.
func (t *Tree) grow(c *Class, way []*Node, index int32, typ int) *Node {
	var k *Node
	n := way[len(way)-1]
	if n.Guess != 0 && n.unlisted(&t.Types) {
		return nil
	}
	s := n.typeAt(typ)
	switch {
	case n.List:
		k = t.newElement(n, int(index))
	case s != nil && int(index) < len(s.Fields):
		k = t.newField(n, s, int(index))
	}
	if k == nil {
		return nil
	}
	n = t.own(c, way)
	kids := n.below(typ)
	if *kids == nil && !n.List {
		*kids = make([]*Node, len(s.Fields))
		t.fresh += pointerSize * len(s.Fields)
	}
	for len(*kids) <= int(index) {
		*kids = append(*kids, nil)
		t.fresh += pointerSize
	}
	(*kids)[index] = k
	k.index, k.typ = index, int32(typ)
	if k.Codec.Guess {
		g := t.Types.OfField(k.Field, k.Elem)
		k.Guess = g.Number
		if g.State == infer.Proven && g.Rivals() == 0 {
			k.Codec = *t.Types.Codec(k.Field, k.Elem, g, g.Family)
		}
	}
	k.fixed = k.Codec.Op != value.OpNone && k.Codec.Op != value.OpLength && !k.Codec.Guess && !k.many
	if k.Codec.Op != value.OpNone {
		k.Cell = int32(c.Cells)
		c.Cells++
		if t.wants != nil {
			c.wanted = append(c.wanted, t.wantsField(c, k.Name))
		}
		k.Meaning = meaningOf(k.Field, &k.Codec)
		k.Marked = k.Meaning != NoMeaning || k.Guess != 0
		t.addToBody(c, n, k)
	}
	return k
}

const pointerSize = int(unsafe.Sizeof((*Node)(nil)))

// unlisted reports whether the node may be an object instead of a list.
func (n *Node) unlisted(types *infer.Book) bool {
	g := types.At(n.Guess)
	return g.List && g.State != infer.Proven
}

// below returns the list, to be extended, of the nodes below one of an object's types.
func (n *Node) below(typ int) *[]*Node {
	if typ == 0 {
		return &n.Kids
	}
	if n.others == nil {
		others := make([][]*Node, len(n.Field.Types)-1)
		n.others = &others
	}
	return &(*n.others)[typ-1]
}

// own makes the nodes of way writable: it copies those of earlier eras. way leads from the root of a class to the node below
// which the tree grows. own returns that node.
func (t *Tree) own(c *Class, way []*Node) *Node {
	last := len(way) - 1
	if way[last].era == t.era {
		return way[last] // and so are the nodes above it
	}
	c.replaced++
	for i, old := range way {
		if old.era == t.era {
			continue
		}
		n := t.blank()
		rest := n.rest
		*rest = *old.rest
		rest.era = t.era
		*n = *old
		n.rest = rest
		n.Kids = slices.Clone(old.Kids)
		t.fresh += pointerSize * len(n.Kids)
		if old.others != nil {
			others := slices.Clone(*old.others)
			for k := range others {
				others[k] = slices.Clone(others[k])
				t.fresh += pointerSize * len(others[k])
			}
			n.others = &others
		}
		if way[i] = n; i == 0 {
			c.Root = n
		} else {
			(*way[i-1].below(int(n.typ)))[n.index] = n
		}
	}
	return way[last]
}

// newField makes the node of a field of an object.
func (t *Tree) newField(parent *Node, s *schema.Serializer, index int) *Node {
	n := t.newNode()
	if n == nil {
		return nil
	}
	f := s.Fields[index]
	n.Field = f
	n.Codec = f.Own
	n.List = f.Shape == schema.ShapeTable || f.Shape == schema.ShapeVector || f.Shape == schema.ShapeArray || f.MayBeList()
	if f.Shape == schema.ShapePointer {
		n.Object, n.many = f.Types[0], len(f.Types) > 1
	}
	n.Name = t.join(parent.Name, f.Name)
	return n
}

// newElement makes the node of an element of a list.
func (t *Tree) newElement(list *Node, index int) *Node {
	f := list.Field
	if index >= schema.MaxElements || f.Shape == schema.ShapeArray && index >= f.Count {
		return nil
	}
	n := t.newNode()
	if n == nil {
		return nil
	}
	n.Field = f
	if f.Shape == schema.ShapeTable {
		n.Object = f.Types[0]
	} else {
		n.Codec, n.Elem = f.Elem, true
	}
	var digits [8]byte
	s := digits[:0]
	for limit := 1000; limit > max(index, 1); limit /= 10 {
		s = append(s, '0')
	}
	n.Name = t.join(list.Name, string(strconv.AppendInt(s, int64(index), 10)))
	return n
}

// join returns the number of a name below another name.
func (t *Tree) join(parent uint32, name string) uint32 {
	t.scratch = t.scratch[:0]
	if p := t.Name(parent); p != "" {
		t.scratch = append(append(t.scratch, p...), '.')
	}
	t.scratch = append(t.scratch, name...)
	return t.Intern(t.scratch)
}
