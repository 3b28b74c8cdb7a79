package entity

import (
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// MaxEntities is the number of slots for entities. SerialBits is the number of bits of a serial number.
const (
	indexBits   = 14
	MaxEntities = 1 << indexBits
	SerialBits  = 17
)

// Entity is an entity in a slot.
type Entity struct {
	Class  *Class
	Serial uint32
	// Active reports whether the entity is within the recorder's view.
	Active bool
	// Decoded reports whether the entity has a state. An entity of a class that is not decoded has none.
	Decoded bool
	// Narrowed reports whether updates were skipped, so that the state lacks values. None of them is of a delivered field.
	Narrowed bool
	// Seen reports whether the present full update mentions the entity.
	Seen bool
	// held is the number of bytes with which the state is counted.
	held int
	// image is the entity's last image, or nil. It is outdated when changed is set.
	image   *Image
	changed bool
	State
}

// Mention notes that a message mentions the entity, and may change it.
func (e *Entity) Mention() { e.Seen, e.changed = true, true }

// State holds the values of the fields of an entity, or the default values of a class.
type State struct {
	Cells []value.Cell
	bytes [][]byte // the values that lie outside their cells
	// outside is the number of bytes of those values, including memory that is kept for reuse, without their places.
	outside int
}

// Size returns about how many bytes the state takes, including memory that is kept for reuse.
func (s *State) Size() int { return cellSize*cap(s.Cells) + placeSize*cap(s.bytes) + s.outside }

// cellSize is the size of a cell in bytes. placeSize is the size of a place in bytes.
const (
	cellSize  = 16
	placeSize = 24
)

// keptBytes, in the z of an absent cell, marks that its word still refers to bytes, which can be reused.
const keptBytes = 1

// Reset empties a state and keeps its memory.
func (s *State) Reset() {
	s.Cells = s.Cells[:0]
	s.bytes = s.bytes[:0]
}

// copyFrom makes s equal to o, with memory of m.
func (s *State) copyFrom(o *State, m *Spare) {
	if len(o.Cells) > cap(s.Cells) {
		s.Cells = m.take(len(o.Cells))
	}
	s.Cells = append(s.Cells[:0], o.Cells...)
	s.bytes = s.bytes[:0]
	for _, b := range o.bytes {
		s.addBytes(b)
	}
}

// addBytes appends a copy of b to s.bytes, in memory that is reused if possible.
func (s *State) addBytes(b []byte) {
	n := len(s.bytes)
	if n < cap(s.bytes) {
		s.bytes = s.bytes[:n+1]
	} else {
		s.bytes = append(s.bytes, nil)
	}
	s.setBytes(n, b)
}

// setBytes copies b into a place among the bytes.
func (s *State) setBytes(i int, b []byte) {
	have := cap(s.bytes[i])
	s.bytes[i] = append(s.bytes[i][:0], b...)
	s.outside += cap(s.bytes[i]) - have
}

// At returns a cell. Its kind is value.None when the field is absent. cell may be -1, or a number that the state does not have.
// The returned cell must not be written to.
func (s *State) At(cell int32) *value.Cell {
	if at := int(cell); uint(at) < uint(len(s.Cells)) {
		return &s.Cells[at]
	}
	return &absent
}

var absent value.Cell

// Data returns the bytes of a value that lies outside its cell.
func (s *State) Data(c *value.Cell) []byte {
	if !c.Kind.InBytes() {
		return nil
	}
	return s.bytes[c.Word]
}

// set gives the field of a node a value. data holds the value's bytes if it lies outside its cell. c is the class, and new cells are of m.
func (s *State) set(c *Class, n *Node, v value.Cell, data []byte, m *Spare) {
	if int(n.Cell) >= len(s.Cells) {
		s.extend(c.Cells, m)
	}
	old := &s.Cells[n.Cell]
	switch {
	case v.Kind.InBytes():
		if old.Kind.InBytes() || old.Kind == value.None && old.Z == keptBytes {
			s.setBytes(int(old.Word), data)
			old.Kind, old.Z, old.Open = v.Kind, 0, v.Open
			return
		}
		s.addBytes(data)
		v.Word = uint64(len(s.bytes) - 1)
	case v.Kind == value.Length:
		if v.Word < uint64(len(n.Kids)) {
			for _, k := range n.Kids[v.Word:] {
				s.clear(k)
			}
		}
	case v.Kind == value.Pointer && (v.Word == 0 || v.Word != old.Word && old.Word != 0):
		// The object is gone, or has another type now. An absent object may have received fields all the same.
		s.clearKids(n)
	}
	*old = v
}

func (s *State) extend(n int, m *Spare) {
	have := len(s.Cells)
	if n > cap(s.Cells) {
		s.Cells = append(m.take(max(n, have+have/4))[:0], s.Cells...)
	}
	s.Cells = s.Cells[:n]
	clear(s.Cells[have:])
}

// clear makes the field of a node, and the fields below it, absent.
func (s *State) clear(n *Node) {
	if n == nil {
		return
	}
	if n.Cell >= 0 && int(n.Cell) < len(s.Cells) && s.Cells[n.Cell].Kind != value.None {
		var gone value.Cell
		if v := &s.Cells[n.Cell]; v.Kind.InBytes() {
			gone = value.Cell{Word: v.Word, Z: keptBytes}
		}
		s.Cells[n.Cell] = gone
	}
	s.clearKids(n)
}

func (s *State) clearKids(n *Node) {
	for _, k := range n.Kids {
		s.clear(k)
	}
	if n.others != nil {
		for _, kids := range *n.others {
			for _, k := range kids {
				s.clear(k)
			}
		}
	}
}

// typeOf returns the present type, by number, of the object of a node.
func (s *State) typeOf(n *Node) int {
	if !n.many || n.Cell < 0 || int(n.Cell) >= len(s.Cells) {
		return 0
	}
	return typeOf(&s.Cells[n.Cell])
}

// typeOf returns the present type, by number, of the object with the cell c.
func typeOf(c *value.Cell) int {
	if c.Word > 1 {
		return int(c.Word - 1)
	}
	return 0
}

// AppendFields appends the wanted, present fields of an entity of the class c, in the order of the paths. It reports whether it left out
// present fields.
func (s *State) AppendFields(dst []Change, c *Class) (_ []Change, narrowed bool) {
	if c.wanted == nil {
		return s.appendBelow(dst, c.Root), false
	}
	for _, f := range c.chosenFields() {
		if cell := s.At(f.node.Cell); cell.Kind != value.None && s.reaches(f.below) {
			dst = append(dst, Change{f.node, *cell})
		}
	}
	return dst, s.hides(c, c.Root)
}

// appendBelow appends the present fields of a node and of the nodes below it.
func (s *State) appendBelow(dst []Change, n *Node) []Change {
	if n == nil {
		return dst
	}
	if cell := s.At(n.Cell); cell.Kind != value.None {
		dst = append(dst, Change{n, *cell})
	}
	for _, k := range s.kids(n) {
		dst = s.appendBelow(dst, k)
	}
	return dst
}

// hides reports whether a present field of a node, or of one below it, is not wanted.
func (s *State) hides(c *Class, n *Node) bool {
	return n != nil && (s.At(n.Cell).Kind != value.None && !c.Wants(n) || slices.ContainsFunc(s.kids(n), func(k *Node) bool { return s.hides(c, k) }))
}

// kids returns the nodes below an object of its present type, or below a list.
func (s *State) kids(n *Node) []*Node {
	if typ := s.typeOf(n); typ > 0 {
		return n.of(typ)
	}
	return n.Kids
}

// reaches reports whether objects have the types below which a field is.
func (s *State) reaches(objects []typed) bool {
	for _, o := range objects {
		if s.typeOf(o.node) != o.typ {
			return false
		}
	}
	return true
}
