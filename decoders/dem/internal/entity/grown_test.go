package entity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// dump writes down all that a Grown holds.
func dump(g *Grown) string {
	var s strings.Builder
	fmt.Fprintln(&s, g.era, g.nodes, g.names.list, g.names.layers)
	var write func(n *Node, depth int)
	write = func(n *Node, depth int) {
		if n == nil {
			fmt.Fprintln(&s, depth, "none")
			return
		}
		fmt.Fprintln(&s, depth, n.Name, n.Cell, n.index, n.typ, n.era, len(n.Kids), n.others != nil)
		for _, k := range n.Kids {
			write(k, depth+1)
		}
		if n.others != nil {
			for _, kids := range *n.others {
				for _, k := range kids {
					write(k, depth+1)
				}
			}
		}
	}
	for _, c := range g.classes {
		fmt.Fprintf(&s, "%d %d %+v\n", c.id, c.cells, c.body)
		write(c.root, 0)
	}
	return s.String()
}

// TestGrown: nobody who goes on from what was shared changes it, whoever made it, and all get the same nodes and names.
func TestGrown(t *testing.T) {
	number := value.Codec{Op: value.OpUint32}
	leaf := func(name string) *schema.Field { return &schema.Field{Name: name, Type: "uint32", Own: number} }
	one := &schema.Serializer{Name: "One", Fields: []*schema.Field{leaf("m_a"), leaf("m_b"), leaf("m_cellX"), leaf("m_cellY")}}
	two := &schema.Serializer{Name: "Two", Fields: []*schema.Field{leaf("m_c"), leaf("m_d"), leaf("m_cellX"), leaf("m_cellZ")}}
	object := &schema.Serializer{Name: "Object", Fields: []*schema.Field{
		{Name: "CBodyComponent", Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer}, Types: []*schema.Serializer{one, two}},
		{Name: "m_list", Shape: schema.ShapeVector, Own: value.Codec{Op: value.OpLength}, Elem: number},
		leaf("m_last"),
	}}
	type place struct {
		way []int32
		typ int // of the object that the last step starts from
	}
	grow := func(tree *Tree, c *Class, p place) *Node {
		way := []*Node{c.Root}
		for i, index := range p.way {
			typ := 0
			if i == len(p.way)-1 {
				typ = p.typ
			}
			k := tree.kid(c, way, index, typ)
			if k == nil {
				t.Fatalf("no node at %v", p)
			}
			way = append(way, k)
		}
		return way[len(way)-1]
	}
	places := []place{
		{way: []int32{0}}, {[]int32{0, 0}, 0}, {[]int32{0, 2}, 0}, {[]int32{0, 0}, 1}, {[]int32{1, 0}, 0}, // before it is shared
		{[]int32{0, 1}, 0}, {[]int32{0, 3}, 0}, {[]int32{0, 1}, 1}, {[]int32{0, 2}, 1}, {[]int32{1, 1}, 0}, {[]int32{1, 5}, 0}, {way: []int32{2}},
	}
	const before = 5
	for step := range places[before:] { // where the maker goes on
		tree := NewTree(nil)
		c := &Class{Name: tree.Intern([]byte("Object"))}
		tree.Plant(c, object)
		for _, p := range places[:before] {
			grow(tree, c, p)
		}
		g := tree.Share([]*Class{c}, nil)
		if again := tree.Share([]*Class{c}, g); again != g {
			t.Error("shared once more, though nothing changed")
		}
		was := dump(g)
		bare, replaced := NewTree(nil), &Class{Name: c.Name}
		bare.GoOn(g)
		bare.Plant(replaced, nil)
		if got := bare.Share([]*Class{replaced}, g); len(got.classes) != 0 {
			t.Error("a class without fields has those of the class that it replaced")
		}
		for heir := range 3 {
			if heir == 1 {
				grow(tree, c, places[before+step])
			}
			mine := NewTree(func(_, field string) bool { return field != "m_last" })
			mine.GoOn(g)
			own := &Class{Name: c.Name, Decoded: true}
			mine.Plant(own, object)
			mine.Adopt(g, []*Class{own})
			for i := range places {
				n := grow(mine, own, places[(i+heir)%len(places)])
				if name := mine.Name(n.Name); own.Wants(n) != (name != "m_last") || n.Cell < 0 {
					t.Errorf("%s has the cell %d, is wanted: %v", name, n.Cell, own.Wants(n))
				}
			}
			if own.Cells != len(places)+1 { // and the list's
				t.Errorf("heir %d has %d cells, want %d", heir, own.Cells, len(places)+1)
			}
			if now := dump(g); now != was {
				t.Fatalf("heir %d, step %d: what was shared changed\n%s\nwas\n%s", heir, step, now, was)
			}
			next := mine.Share([]*Class{own}, g)
			if len(next.parts) != len(g.parts)+1 || next == g {
				t.Errorf("heir %d shares %d parts, from %d", heir, len(next.parts), len(g.parts))
			}
		}
	}
}

// TestNames: names that go on from the same ones have the same numbers, and of their own those that they gave.
func TestNames(t *testing.T) {
	n := newNames()
	var generations []Names
	for i := range 1000 {
		name := fmt.Sprint("name ", i)
		if got := n.Intern([]byte(name)); int(got) != i+1 {
			t.Fatalf("%s has number %d", name, got)
		}
		if i%7 == 0 {
			generations = append(generations, n.share())
		}
	}
	if len(n.layers) > 12 {
		t.Errorf("%d layers", len(n.layers))
	}
	for i := range generations {
		heir := &generations[i]
		had := 7*i + 1
		for _, k := range []int{0, had - 1} {
			if got, ok := heir.Lookup(fmt.Sprint("name ", k)); !ok || int(got) != k+1 {
				t.Errorf("name %d has number %d of %d", k, got, had)
			}
		}
		if _, ok := heir.Lookup(fmt.Sprint("name ", had)); ok {
			t.Errorf("a later name of %d", had)
		}
		if got := heir.Intern([]byte("own")); int(got) != had+1 || heir.Name(got) != "own" || n.Name(got) == "own" {
			t.Errorf("the heir's own name has number %d of %d", got, had)
		}
	}
}
