// Package entity keeps the entities of a demo: the fields of their classes as trees, their states, and updates of those.
package entity

import (
	"unsafe"

	"strconv"

	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Class is a class of entities within one decoder.
type Class struct {
	Id   int32
	Name uint32 // its number, see Tree.Intern
	Root *Node  // nil when the schema has no serializer of that name
	// Cells is how many cells an entity of the class has so far: one for each field that was ever met.
	Cells int
	// Wanted reports whether events of the class are delivered. Decoded reports whether its entities are decoded: for their
	// events, for faults or for the clock.
	Wanted, Decoded bool
	// Rules is set for the class that holds Dota's clock. Roster is set for the class that holds the names of Dota's players.
	Rules, Roster bool
	// Body holds the nodes of the place of its entities.
	Body Body

	Baseline Baseline
}

// Baseline is the default state of a class.
type Baseline struct {
	State
	image *Image // of the state; nil when there is none yet
	// Made reports whether the state was read from the string table's entry, as far as the entry could be read.
	Made bool
}

// Remake empties the state, to be read again.
func (b *Baseline) Remake() {
	b.Made, b.image = true, nil
	b.Reset()
}

// Node is a place in the tree of fields of a class. Trees grow as fields are met, because most classes of a game never occur,
// and lists have no fixed length. A Node takes 64 bytes, one cache line, and holds what each update needs. The rest of its
// data is stored apart.
type Node struct {
	Codec  value.Codec // how its own value is read; its Op is value.OpNone when it has none
	Name   uint32
	Cell   int32 // -1 without a value
	List   bool  // kids are elements
	Elem   bool  // an element that is a value: its codec is that of the field's elements
	many   bool  // an object that may be of several types
	Wanted bool  // the field is delivered
	Body   bool  // the value is part of the entity's place
	Marked bool  // the value has a name, or may not be sure
	// Kids are the nodes below: fields of an object or elements of a list; nil where not met yet.
	Kids []*Node
	*rest
}

// rest is what updates seldom need of a node.
type rest struct {
	Field *schema.Field // nil of a root
	// Object is the serializer of what lies below an object, or an element that is one; nil below values and lists.
	Object *schema.Serializer
	// others are the nodes below an object of the second and later of its types.
	others  *[][]*Node
	Meaning Meaning
	// Guess is the guess about an unknown type; nil for a known type.
	Guess *infer.Guess
	place int32 // among the nodes of all classes, in the order in which they were made; -1 of a root
}

// maxNodes bounds the nodes of all classes of a decoder. The largest games use a tenth of it.
const maxNodes = 1 << 18

// maxNames bounds the names of classes and fields. The largest games use a tenth of it.
const maxNames = 1 << 18

// Tree makes the nodes of all classes of a decoder, and numbers the names of classes and fields. It is not safe for
// concurrent use.
type Tree struct {
	nodes   int
	chunk   []Node // nodes not yet handed out
	rests   []rest // and what belongs to them
	Names   []string
	ByName  map[string]uint32
	scratch []byte
	// Types holds the guesses about unknown types.
	Types infer.Book
	// wants reports whether a field is wanted; nil means all are.
	wants  func(class, field string) bool
	growth Growth
}

// Held returns about how much memory the nodes take, in bytes.
func (t *Tree) Held() int { return int(unsafe.Sizeof(Node{})+unsafe.Sizeof(rest{})+16) * t.nodes } // with their places among those of their parents

// NewTree returns a tree without classes. wants reports whether a field is wanted; nil means all are.
func NewTree(wants func(class, field string) bool) *Tree {
	t := &Tree{ByName: map[string]uint32{}, Types: infer.NewBook(), wants: wants}
	t.Intern(nil) // the empty name is 0
	return t
}

// Intern returns the number of a name. It returns the same number for the same name each time. When there are too many names
// it returns 0, the number of the empty name.
func (t *Tree) Intern(name []byte) uint32 {
	if id, ok := t.ByName[string(name)]; ok {
		return id
	}
	if len(t.Names) >= maxNames {
		return 0
	}
	s := string(name)
	id := uint32(len(t.Names))
	t.Names = append(t.Names, s)
	t.ByName[s] = id
	return id
}

// nodeChunk is the nodes that are made at once. It is so large that the runtime places it, and so each node, at the start of
// a cache line.
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
	if len(t.chunk) == 0 {
		c := new(nodeChunk)
		t.chunk, t.rests = c.nodes[:], c.rests[:]
	}
	n := &t.chunk[0]
	n.rest = &t.rests[0]
	t.chunk, t.rests = t.chunk[1:], t.rests[1:]
	n.Cell = -1
	return n
}

// NewRoot returns the root of a class with the fields of s, or nil when there are too many nodes.
func (t *Tree) NewRoot(s *schema.Serializer) *Node {
	n := t.newNode()
	if n == nil {
		return nil
	}
	n.Object, n.place = s, -1
	n.Name = t.Intern(nil)
	return n
}

// kid returns the node at an index below n, whose object is of the given type, or nil where there is none.
func (t *Tree) kid(c *Class, n *Node, index int32, typ int) *Node {
	kids := n.Kids
	if typ > 0 {
		kids = n.of(typ)
	}
	if int(index) < len(kids) {
		if k := kids[index]; k != nil {
			return k
		}
	}
	return t.grow(c, n, index, typ)
}

// of returns the nodes below an object of one of its later types.
func (n *Node) of(typ int) []*Node {
	if n.others == nil || typ > len(*n.others) {
		return nil
	}
	return (*n.others)[typ-1]
}

// typeAt returns the serializer of an object of one of its types, or nil.
func (n *Node) typeAt(typ int) *schema.Serializer {
	switch {
	case typ == 0:
		return n.Object
	case n.many && typ < len(n.Field.Types):
		return n.Field.Types[typ]
	}
	return nil
}

// grow makes the node at an index below n.
func (t *Tree) grow(c *Class, n *Node, index int32, typ int) *Node {
	var k *Node
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
	kids := &n.Kids
	if typ > 0 {
		if n.others == nil {
			others := make([][]*Node, len(n.Field.Types)-1)
			n.others = &others
		}
		kids = &(*n.others)[typ-1]
	}
	if *kids == nil && !n.List {
		*kids = make([]*Node, len(s.Fields))
	}
	for len(*kids) <= int(index) {
		*kids = append(*kids, nil)
	}
	(*kids)[index] = k
	k.place = t.growth.add(growthStep{class: c.Id, parent: n.place, index: index, typ: int32(typ)})
	if k.Codec.Guess {
		k.Guess = t.Types.OfField(k.Field, k.Elem)
		if k.Guess.State == infer.Proven {
			k.Codec = *t.Types.Codec(k.Field, k.Elem, k.Guess.Family)
		}
	}
	if k.Codec.Op != value.OpNone {
		k.Cell = int32(c.Cells)
		c.Cells++
		k.Wanted = t.wants == nil || t.wants(t.Names[c.Name], t.Names[k.Name])
		k.Meaning = meaningOf(k.Field, &k.Codec)
		k.Marked = k.Meaning != NoMeaning || k.Guess != nil
		t.addToBody(c, n, k)
	}
	return k
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

// join returns the number of a name below another one.
func (t *Tree) join(parent uint32, name string) uint32 {
	t.scratch = t.scratch[:0]
	if p := t.Names[parent]; p != "" {
		t.scratch = append(append(t.scratch, p...), '.')
	}
	t.scratch = append(t.scratch, name...)
	return t.Intern(t.scratch)
}
