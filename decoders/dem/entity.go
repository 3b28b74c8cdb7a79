package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

const (
	indexBits   = 14
	maxEntities = 1 << indexBits
	serialBits  = 17
)

// entity is the state of an entity.
type entity struct {
	class  *class
	serial uint32
	// active: within the recorder's view.
	active bool
	// decoded: state is kept. Entities of classes that nobody asked for have none.
	decoded bool
	// seen marks an entity that a full update mentions.
	seen bool
	// held is how many bytes the state is counted with.
	held int
	state
}

// state is the values of the fields of an entity, or of the defaults of a class.
type state struct {
	cells []value.Cell
	bytes [][]byte // the values that lie outside their cells
	// outside is how many bytes those values take, with what is kept to be used again, beside their places.
	outside int
}

// size returns about how many bytes the state takes, with what is kept to be used again.
func (s *state) size() int { return cellSize*cap(s.cells) + placeSize*cap(s.bytes) + s.outside }

// cellSize is how many bytes a cell takes, placeSize what a value outside its cell takes beside its bytes.
const (
	cellSize  = 16
	placeSize = 24
)

// keptBytes marks, in the z of an absent cell, that its word still says where its bytes were: they are used again.
const keptBytes = 1

// reset empties a state and keeps its memory.
func (s *state) reset() {
	s.cells = s.cells[:0]
	s.bytes = s.bytes[:0]
}

// copyFrom makes s equal to o.
func (s *state) copyFrom(o *state) {
	s.cells = append(s.cells[:0], o.cells...)
	s.bytes = s.bytes[:0]
	for _, b := range o.bytes {
		s.addBytes(b)
	}
}

// addBytes appends a copy of b to s.bytes, in memory that was used before if there is some.
func (s *state) addBytes(b []byte) {
	n := len(s.bytes)
	if n < cap(s.bytes) {
		s.bytes = s.bytes[:n+1]
	} else {
		s.bytes = append(s.bytes, nil)
	}
	s.setBytes(n, b)
}

// setBytes makes a place among the bytes a copy of b.
func (s *state) setBytes(i int, b []byte) {
	have := cap(s.bytes[i])
	s.bytes[i] = append(s.bytes[i][:0], b...)
	s.outside += cap(s.bytes[i]) - have
}

// data returns the bytes of a value that lies outside its cell.
func (s *state) data(c *value.Cell) []byte {
	if !c.Kind.InBytes() {
		return nil
	}
	return s.bytes[c.Word]
}

// set gives the field of a node a value. data are the value's bytes if it lies outside its cell. c is the class.
func (s *state) set(c *class, n *node, v value.Cell, data []byte) {
	if int(n.cell) >= len(s.cells) {
		s.extend(c.cells)
	}
	old := &s.cells[n.cell]
	switch {
	case v.Kind.InBytes():
		if old.Kind.InBytes() || old.Kind == value.None && old.Z == keptBytes {
			s.setBytes(int(old.Word), data)
			old.Kind, old.Z = v.Kind, 0
			return
		}
		s.addBytes(data)
		v.Word = uint64(len(s.bytes) - 1)
	case v.Kind == value.Length:
		if v.Word < uint64(len(n.kids)) {
			for _, k := range n.kids[v.Word:] {
				s.clear(k)
			}
		}
	case v.Kind == value.Pointer && (v.Word == 0 || v.Word != old.Word && old.Word != 0):
		// Gone, or of another type now. What is not there may have got fields all the same.
		s.clearKids(n)
	}
	*old = v
}

func (s *state) extend(n int) {
	for len(s.cells) < n {
		if len(s.cells) < cap(s.cells) {
			have := len(s.cells)
			s.cells = s.cells[:min(n, cap(s.cells))]
			clear(s.cells[have:])
			continue
		}
		s.cells = append(s.cells, value.Cell{})
	}
}

// clear makes the field of a node, and what is below it, absent.
func (s *state) clear(n *node) {
	if n == nil {
		return
	}
	if n.cell >= 0 && int(n.cell) < len(s.cells) && s.cells[n.cell].Kind != value.None {
		var gone value.Cell
		if v := &s.cells[n.cell]; v.Kind.InBytes() {
			gone = value.Cell{Word: v.Word, Z: keptBytes}
		}
		s.cells[n.cell] = gone
	}
	s.clearKids(n)
}

func (s *state) clearKids(n *node) {
	for _, k := range n.kids {
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

// typeOf returns which of its types the object of a node has.
func (s *state) typeOf(n *node) int {
	if !n.many || n.cell < 0 || int(n.cell) >= len(s.cells) {
		return 0
	}
	if v := s.cells[n.cell].Word; v > 1 {
		return int(v - 1)
	}
	return 0
}

// appendFields appends the present fields below a node, and its own, that are wanted, in the order of the paths. It
// reports whether there are others.
func (s *state) appendFields(dst []change, n *node) (_ []change, narrowed bool) {
	if n.cell >= 0 && int(n.cell) < len(s.cells) && s.cells[n.cell].Kind != value.None {
		if n.wanted {
			dst = append(dst, change{n, s.cells[n.cell]})
		} else {
			narrowed = true
		}
	}
	kids := n.kids
	if typ := s.typeOf(n); typ > 0 {
		kids = n.of(typ)
	}
	for _, k := range kids {
		if k != nil {
			var some bool
			dst, some = s.appendFields(dst, k)
			narrowed = narrowed || some
		}
	}
	return dst, narrowed
}
