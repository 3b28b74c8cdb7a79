package entity

import (
	"maps"
	"slices"
)

// maxNames bounds the names of classes and fields. The largest games use a tenth of it.
const maxNames = 1 << 18

// Names numbers the names of classes and fields. It is not safe for concurrent use.
type Names struct {
	list   []string            // by number
	layers []map[string]uint32 // numbers by name, shared and not written to; each layer is twice as large as the next
	own    map[string]uint32   // numbers of names that are in no layer
	fresh  int                 // the bytes of own's names
}

func newNames() Names { return Names{list: []string{""}, own: map[string]uint32{"": 0}} }

// Name returns the name with a number, or an empty one.
func (n *Names) Name(number uint32) string {
	if int(number) < len(n.list) {
		return n.list[number]
	}
	return ""
}

// Intern returns the number of a name. It returns the same number for the same name each time. When there are too many names
// it returns 0, the number of the empty name.
func (n *Names) Intern(name []byte) uint32 {
	if number, ok := n.Lookup(string(name)); ok {
		return number
	}
	if len(n.list) >= maxNames {
		return 0
	}
	s := string(name)
	number := uint32(len(n.list))
	n.list = append(n.list, s)
	n.own[s] = number
	n.fresh += nameSize + len(s)
	return number
}

// Lookup returns the number of a name. ok is false when it has none.
func (n *Names) Lookup(name string) (number uint32, ok bool) {
	if number, ok = n.own[name]; ok {
		return number, true
	}
	for _, layer := range n.layers {
		if number, ok = layer[name]; ok {
			return number, true
		}
	}
	return 0, false
}

// nameSize is the approximate memory of a name besides its bytes.
const nameSize = 48

// share returns Names that continue from the present ones. Neither of the two writes to shared memory.
func (n *Names) share() Names {
	if len(n.own) > 0 {
		layers, top := n.layers, n.own
		for len(layers) > 0 && len(layers[len(layers)-1]) < 2*len(top) {
			both := maps.Clone(layers[len(layers)-1])
			maps.Copy(both, top)
			layers, top = layers[:len(layers)-1], both
		}
		n.layers, n.own, n.fresh = append(slices.Clip(layers), top), map[string]uint32{}, 0
	}
	return Names{list: slices.Clip(n.list), layers: n.layers, own: map[string]uint32{}}
}
