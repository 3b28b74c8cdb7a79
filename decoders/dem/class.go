package dem

import (
	"strconv"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// class is a class of entities within one decoder.
type class struct {
	id   int32
	name uint32 // in names
	root *node  // nil when the schema has no serializer of that name
	// cells is how many cells an entity of the class has so far: one for each field that was ever met.
	cells int
	// wanted says that events of the class are delivered, decoded that its entities are decoded: for that, for what may be
	// wrong with them, or for the clock.
	wanted, decoded bool
	// rules is set for the class that holds Dota's clock.
	rules bool

	baseline baseline
}

// baseline is the default state of a class.
type baseline struct {
	state
	// made: the state is that of the table's entry, as far as that could be read.
	made bool
}

// node is a place in the tree of fields of a class. Trees grow as fields are met: most classes of a game never occur,
// and lists have no length of their own.
type node struct {
	codec *value.Codec  // how its own value is read; op is opNone when it has none
	field *schema.Field // nil of a root
	// object is the serializer of what lies below an object, or an element that is one; nil below values and lists.
	object *schema.Serializer
	// kids are the nodes below: fields of an object or elements of a list. others are those of the second and later types
	// of an object that may be of several.
	kids   []*node
	others *[][]*node
	name   uint32
	cell   int32 // -1 without a value
	list   bool  // kids are elements
	many   bool  // an object that may be of several types
	wanted bool  // whether anybody asked for the field
	// guess is there when nobody knows the type: what is believed of it.
	guess *guess
}

// maxNodes bounds the nodes of all classes of a decoder. The largest games use a tenth of it.
const maxNodes = 1 << 18

// maxNames bounds the names of classes and fields. The largest games use a tenth of it.
const maxNames = 1 << 18

// classTree makes nodes. It is the part of a decoder that knows names.
type classTree struct {
	nodes   int
	chunk   []node // nodes not yet handed out
	names   []string
	byName  map[string]uint32
	scratch []byte
	// types is what is believed of the types that nobody knows.
	types typeBook
	// wants tells whether a field is asked for; nil means all are.
	wants func(class, field string) bool
}

func newClassTree(wants func(class, field string) bool) *classTree {
	t := &classTree{byName: map[string]uint32{}, types: newTypeBook(), wants: wants}
	t.intern(nil) // the empty name is 0
	return t
}

// intern returns the number of a name.
func (t *classTree) intern(name []byte) uint32 {
	if id, ok := t.byName[string(name)]; ok {
		return id
	}
	if len(t.names) >= maxNames {
		return 0
	}
	s := string(name)
	id := uint32(len(t.names))
	t.names = append(t.names, s)
	t.byName[s] = id
	return id
}

// newNode returns a node, or nil when there are too many.
func (t *classTree) newNode() *node {
	if t.nodes >= maxNodes {
		return nil
	}
	t.nodes++
	if len(t.chunk) == 0 {
		t.chunk = make([]node, 64)
	}
	n := &t.chunk[0]
	t.chunk = t.chunk[1:]
	n.cell = -1
	return n
}

func (t *classTree) newRoot(s *schema.Serializer) *node {
	n := t.newNode()
	if n == nil {
		return nil
	}
	n.codec = &value.NoValue
	n.object = s
	n.name = t.intern(nil)
	return n
}

// kid returns the node at an index below n, whose object is of the given type, or nil where there is none.
func (t *classTree) kid(c *class, n *node, index int32, typ int) *node {
	kids := n.kids
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
func (n *node) of(typ int) []*node {
	if n.others == nil || typ > len(*n.others) {
		return nil
	}
	return (*n.others)[typ-1]
}

// typeAt returns the serializer of an object of one of its types, or nil.
func (n *node) typeAt(typ int) *schema.Serializer {
	switch {
	case typ == 0:
		return n.object
	case n.many && typ < len(n.field.Types):
		return n.field.Types[typ]
	}
	return nil
}

// grow makes the node at an index below n.
func (t *classTree) grow(c *class, n *node, index int32, typ int) *node {
	var k *node
	s := n.typeAt(typ)
	switch {
	case n.list:
		k = t.newElement(n, int(index))
	case s != nil && int(index) < len(s.Fields):
		k = t.newField(n, s, int(index))
	}
	if k == nil {
		return nil
	}
	kids := &n.kids
	if typ > 0 {
		if n.others == nil {
			others := make([][]*node, len(n.field.Types)-1)
			n.others = &others
		}
		kids = &(*n.others)[typ-1]
	}
	if *kids == nil && !n.list {
		*kids = make([]*node, len(s.Fields))
	}
	for len(*kids) <= int(index) {
		*kids = append(*kids, nil)
	}
	(*kids)[index] = k
	if k.codec.Guess {
		k.guess = t.types.ofField(k.field, k.codec == &k.field.Elem)
		if k.guess.state == typeProven {
			k.codec = t.types.codec(k.field, k.codec == &k.field.Elem, k.guess.family)
		}
	}
	if k.codec.Op != value.OpNone {
		k.cell = int32(c.cells)
		c.cells++
		k.wanted = t.wants == nil || t.wants(t.names[c.name], t.names[k.name])
	}
	return k
}

// newField makes the node of a field of an object.
func (t *classTree) newField(parent *node, s *schema.Serializer, index int) *node {
	n := t.newNode()
	if n == nil {
		return nil
	}
	f := s.Fields[index]
	n.field = f
	n.codec = &f.Own
	n.list = f.Shape == schema.ShapeTable || f.Shape == schema.ShapeVector || f.Shape == schema.ShapeArray || f.MayBeList()
	if f.Shape == schema.ShapePointer {
		n.object, n.many = f.Types[0], len(f.Types) > 1
	}
	n.name = t.join(parent.name, f.Name)
	return n
}

// newElement makes the node of an element of a list.
func (t *classTree) newElement(list *node, index int) *node {
	f := list.field
	if index >= schema.MaxElements || f.Shape == schema.ShapeArray && index >= f.Count {
		return nil
	}
	n := t.newNode()
	if n == nil {
		return nil
	}
	n.field = f
	if f.Shape == schema.ShapeTable {
		n.codec = &value.NoValue
		n.object = f.Types[0]
	} else {
		n.codec = &f.Elem
	}
	var digits [8]byte
	s := digits[:0]
	for limit := 1000; limit > max(index, 1); limit /= 10 {
		s = append(s, '0')
	}
	n.name = t.join(list.name, string(strconv.AppendInt(s, int64(index), 10)))
	return n
}

// join returns the number of a name below another one.
func (t *classTree) join(parent uint32, name string) uint32 {
	t.scratch = t.scratch[:0]
	if p := t.names[parent]; p != "" {
		t.scratch = append(append(t.scratch, p...), '.')
	}
	t.scratch = append(t.scratch, name...)
	return t.intern(t.scratch)
}
