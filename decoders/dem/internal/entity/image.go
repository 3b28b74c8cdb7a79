package entity

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/share"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Image is a state as bytes, with what else is known of the entity that it is of. It is immutable, so that snapshots share it.
// It is of use only with a tree that numbers cells as the one did that the state belongs to; see Growth.
type Image struct {
	count share.Count
	About
	cells  int
	places int // values that lie outside their cells
	bytes  int // the length of those together
	data   []byte
}

// About is what is known of the entity beside its state.
type About struct {
	Index  int32 // the slot, or what else tells an image from others
	Class  int32 // the class's id
	Serial uint32
	Active bool
}

// imageSize is about what an image takes beside its data.
const imageSize = 96

// Hold implements share.Part.
func (m *Image) Hold() int { return m.count.Hold(imageSize + len(m.data)) }

// Release implements share.Part.
func (m *Image) Release() int { return m.count.Release(imageSize + len(m.data)) }

// slack is how many bytes behind its end an image's data can be read.
const slack = 8

// Imager makes images. The zero value is ready for use.
type Imager struct{ buf []byte }

// Image returns an image of a state. It returns old when that is one already.
//
// A cell is a byte with its kind and the number of bytes of its word, and those bytes; then the z of a vector, or the value's
// bytes where the word is their number. Absent cells are a zero byte and their number.
func (m *Imager) Image(s *State, about About, old *Image) *Image {
	b := m.buf[:0]
	places, outside := 0, 0
	for i := 0; i < len(s.Cells); i++ {
		c := &s.Cells[i]
		if c.Kind == value.None {
			start := i
			for i+1 < len(s.Cells) && s.Cells[i+1].Kind == value.None {
				i++
			}
			b = binary.AppendUvarint(append(b, 0), uint64(i+1-start))
			continue
		}
		word := c.Word
		switch {
		case c.Kind.InBytes():
			word = uint64(len(s.bytes[c.Word]))
		case c.Kind == value.Int:
			word = word<<1 ^ uint64(int64(word)>>63)
		}
		n := (bits.Len64(word) + 7) / 8
		b = append(b, byte(c.Kind)|byte(n<<4))
		b = binary.LittleEndian.AppendUint64(b, word)[:len(b)+n]
		switch {
		case c.Kind.InBytes():
			b = append(b, s.bytes[c.Word]...)
			places++
			outside += int(word)
		case c.Kind == value.Vector:
			b = binary.LittleEndian.AppendUint32(b, c.Z)
		}
	}
	m.buf = b
	if old != nil && old.About == about && old.cells == len(s.Cells) && bytes.Equal(old.data, b) {
		return old
	}
	data := append(make([]byte, 0, len(b)+slack), b...)
	return &Image{About: about, cells: len(s.Cells), places: places, bytes: outside, data: data}
}

// State returns the state that the image is of. Its memory comes from slab.
func (m *Image) State(slab *Slab) (s State) {
	s.Cells = slab.take(m.cells)
	if m.places > 0 {
		s.bytes = make([][]byte, 0, m.places)
		s.outside = m.bytes
	}
	var outside []byte
	if m.bytes > 0 {
		outside = make([]byte, 0, m.bytes)
	}
	b := m.data[:len(m.data)+slack]
	for i, p := 0, 0; i < m.cells; i++ {
		head := b[p]
		p++
		if head == 0 {
			n, used := binary.Uvarint(b[p:])
			p += used
			i += int(n) - 1
			continue
		}
		kind, n := value.Kind(head&15), int(head>>4)
		word := binary.LittleEndian.Uint64(b[p:]) & (1<<(8*n) - 1)
		p += n
		c := value.Cell{Kind: kind}
		switch {
		case kind.InBytes():
			start := len(outside)
			outside = append(outside, b[p:p+int(word)]...)
			s.bytes = append(s.bytes, outside[start:len(outside):len(outside)])
			p += int(word)
			word = uint64(len(s.bytes) - 1)
		case kind == value.Int:
			word = word>>1 ^ -(word & 1)
		case kind == value.Vector:
			c.Z = binary.LittleEndian.Uint32(b[p:])
			p += 4
		}
		c.Word = word
		s.Cells[i] = c
	}
	return s
}

// Slab hands out memory for cells. The zero value is ready for use.
type Slab struct{ cells []value.Cell }

// Grow makes room for n cells.
func (s *Slab) Grow(n int) { s.cells = make([]value.Cell, n) }

func (s *Slab) take(n int) []value.Cell {
	if n > len(s.cells) {
		s.cells = make([]value.Cell, max(n, 4096))
	}
	c := s.cells[:n:n]
	s.cells = s.cells[n:]
	return c
}

// Growth tells how the trees of classes grew: one entry for each node that is not a root, in the order in which they were
// made. Whoever lets trees of the same classes grow so again has cells with the same numbers.
type Growth struct {
	parts []*growthPart // full ones
	rest  []growthStep
	// forked reports whether a class was replaced after it had grown. Growth does not tell of that.
	forked bool
}

// growthStep is the making of a node.
type growthStep struct {
	class  int32 // the class's id
	parent int32 // the parent's place in the order; -1 for the root of the class
	index  int32
	typ    int32
}

type growthPart = share.Value[[]growthStep]

// growthPartSteps is the number of steps in a part, growthStepSize the size of one in bytes.
const (
	growthPartSteps = 1 << 10
	growthStepSize  = 16
)

// add notes that a node was made, and returns its place in the order.
func (g *Growth) add(s growthStep) int32 {
	if len(g.rest) == growthPartSteps {
		g.parts = append(g.parts, share.NewValue(g.rest, growthPartSteps*growthStepSize))
		g.rest = nil
	}
	g.rest = append(g.rest, s)
	return int32(growthPartSteps*len(g.parts) + len(g.rest) - 1)
}

// Grown is a Growth up to a moment. It is immutable.
type Grown struct {
	parts []*growthPart
	nodes int
	names int
}

// Grown returns how the tree has grown so far. last is what it returned the time before, or the zero value. ok is false when
// that cannot be told.
func (t *Tree) Grown(last Grown) (_ Grown, ok bool) {
	g := &t.growth
	n := growthPartSteps*len(g.parts) + len(g.rest)
	if g.forked {
		return Grown{}, false
	}
	if n == last.steps() && t.nodes == last.nodes {
		return last, true
	}
	parts := append(make([]*growthPart, 0, len(g.parts)+1), g.parts...)
	if len(g.rest) > 0 {
		// Steps that follow are appended behind those of the part.
		parts = append(parts, share.NewValue(slices.Clip(g.rest), len(g.rest)*growthStepSize))
	}
	return Grown{parts, t.nodes, len(t.Names)}, true
}

func (g *Grown) steps() int {
	n := len(g.parts)
	if n == 0 {
		return 0
	}
	return growthPartSteps*(n-1) + len(g.parts[n-1].Of)
}

// Parts calls f with each part.
func (g *Grown) Parts(f func(share.Part)) {
	for _, p := range g.parts {
		f(p)
	}
}

// Reserve makes room for the names of a tree that is to grow as g tells. The tree must be new.
func (t *Tree) Reserve(g Grown) {
	t.Names = append(make([]string, 0, g.names), t.Names...)
	byName := make(map[string]uint32, g.names)
	maps.Copy(byName, t.ByName)
	t.ByName = byName
}

// Regrow makes the trees of classes grow as they had grown, but not those of classes that are not decoded. The classes must
// have their roots, and nothing below them.
func (t *Tree) Regrow(g Grown, classes []*Class) {
	made := make([]*Node, 0, g.steps())
	for _, part := range g.parts {
		for _, s := range part.Of {
			var n *Node
			if c := classes[s.class]; c != nil && c.Decoded && c.Root != nil {
				parent := c.Root
				if s.parent >= 0 {
					parent = made[s.parent]
				}
				if parent != nil {
					n = t.kid(c, parent, s.index, int(s.typ))
				}
			}
			made = append(made, n)
		}
	}
	if t.growth.steps() == g.steps() {
		// The order is the same. Otherwise the places of nodes differ, and so does how the tree grows from now on.
		t.nodes = g.nodes
	}
}

func (g *Growth) steps() int { return growthPartSteps*len(g.parts) + len(g.rest) }

// Forget makes the tree forget how it grew, because all classes get new roots.
func (t *Tree) Forget() { t.growth = Growth{} }

// Replace notes that a class is replaced by another one.
func (t *Tree) Replace(c *Class) {
	if c != nil && c.Root != nil && c.Root.Kids != nil {
		t.growth.forked = true
	}
}
