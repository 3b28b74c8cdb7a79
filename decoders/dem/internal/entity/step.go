package entity

import (
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// Step leads from an object to one of its fields, by name. It remembers where the field was found.
type Step struct {
	Name string
	at   int
}

// Below returns the node to which a step leads from a node, or nil if the object that the state has there has no such field, or the
// field was never met.
func (s *State) Below(n *Node, step *Step) *Node {
	typ := s.typeOf(n)
	object := n.typeAt(typ)
	if object == nil {
		return nil
	}
	if step.at >= len(object.Fields) || object.Fields[step.at].Name != step.Name {
		step.at = 0
		for step.at < len(object.Fields) && object.Fields[step.at].Name != step.Name {
			step.at++
		}
	}
	kids := n.Kids
	if typ > 0 {
		kids = n.of(typ)
	}
	return at(kids, step.at)
}

// Element returns the node of an element of a list, or nil if it was never met.
func (n *Node) Element(i int) *Node { return at(n.Kids, i) }

func at(kids []*Node, i int) *Node {
	if i < 0 || i >= len(kids) {
		return nil
	}
	return kids[i]
}

// Has reports whether entities of the class have a field of a name.
func (c *Class) Has(name string) bool {
	return c.Root != nil && slices.ContainsFunc(c.Root.Object.Fields, func(f *schema.Field) bool { return f.Name == name })
}
