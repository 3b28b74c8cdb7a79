package entity

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// Sprout is what reading the default state of a class makes of a tree that has no fields of the class yet: nodes, names, and the state. It is
// immutable. Trees with the same Seed share it.
type Sprout struct {
	seed         schema.Key
	names        Names
	root         *Node
	body         *Body
	cells, nodes int
	era          uint32
	state        State
	// Fields is how many fields were read.
	Fields int
	// Size is about how many bytes it takes.
	Size int
}

// Seed is a tree before a Sprout. Its Key identifies all that the Sprout depends on, besides the schema.
type Seed struct {
	Key          schema.Key
	nodes, types int
}

// maxSprouts is the number of sprouts that a tree makes or takes over. Each makes the list of names anew.
const maxSprouts = 4

// Seed returns the seed for a class with a default state, or nil if the tree has fields of the class, or has had enough sprouts.
func (t *Tree) Seed(c *Class, tick float32, state []byte) *Seed {
	if c.Root == nil || c.Root.Kids != nil || c.Root.others != nil || t.sprouts >= maxSprouts {
		return nil
	}
	t.sprouts++
	b := t.scratch[:0]
	b = append(b, t.seed[:]...)
	b = binary.AppendUvarint(b, uint64(len(t.list)-t.sown))
	for _, name := range t.list[t.sown:] {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	b = t.Types.Append(b)
	b = binary.LittleEndian.AppendUint32(b, c.Name)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(tick))
	b = append(b, state...)
	t.scratch = b
	return &Seed{sha256.Sum256(b), t.nodes, t.Types.Len()}
}

// Sow returns all names of a tree, and notes that they are those that key stands for.
func (t *Tree) Sow(key schema.Key) Names {
	t.fresh += t.Names.fresh
	t.seed, t.sown = key, len(t.list)
	return t.share()
}

// Take gives a tree the names that Sow returned for the key. It must have none of its own.
func (t *Tree) Take(key schema.Key, names Names) {
	t.Names, t.seed, t.sown = names.share(), key, len(names.list)
}

// Sprout returns the sprout of a class whose default state of so many fields was just read, from which t continues, too. It returns nil if there
// are guesses about further types now.
func (t *Tree) Sprout(c *Class, from *Seed, fields int) *Sprout {
	if t.Types.Len() != from.types {
		return nil
	}
	own := t.list[t.sown:]
	s := &Sprout{
		seed: from.Key, names: t.Sow(from.Key), root: c.Root, body: c.Body, cells: c.Cells, nodes: t.nodes - from.nodes, era: t.era, Fields: fields,
	}
	s.state.copyFrom(&c.Baseline.State, nil)
	s.Size = (nodeSize+pointerSize+nameSize)*s.nodes + s.state.Size()
	for _, name := range own {
		s.Size += len(name)
	}
	t.era++
	t.chunk, t.rests = nil, nil // s holds no nodes that t makes from now on
	return s
}

// Graft takes over a sprout for a class with the same seed. It returns false when there would be too many nodes.
func (t *Tree) Graft(c *Class, s *Sprout) bool {
	if t.nodes+s.nodes > maxNodes {
		return false
	}
	t.Take(s.seed, s.names)
	t.era = max(t.era, s.era) + 1
	t.nodes += s.nodes
	t.fresh += s.Size
	c.Root, c.Cells, c.Body = s.root, s.cells, s.body
	t.Want(c)
	c.Baseline.copyFrom(&s.state, nil)
	return true
}
