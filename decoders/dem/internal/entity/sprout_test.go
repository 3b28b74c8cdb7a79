package entity

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// TestSprout: trees go on from a sprout in any order, without a change of it or of one another, and from the sprouts of those. It holds nothing that
// its maker makes later.
func TestSprout(t *testing.T) {
	list := &schema.Serializer{Name: "List", Fields: []*schema.Field{
		{Name: "m_list", Shape: schema.ShapeVector, Own: value.Codec{Op: value.OpLength}, Elem: value.Codec{Op: value.OpUint32}},
	}}
	plant := func() (*Tree, []*Class) {
		tree, classes := NewTree(nil), make([]*Class, maxSprouts+1)
		for i := range classes {
			classes[i] = &Class{Name: tree.Intern(fmt.Append(nil, "Class", i))}
			tree.Plant(classes[i], list)
		}
		return tree, classes
	}
	grow := func(tree *Tree, c *Class, elements ...int32) (last *Node) {
		way := []*Node{c.Root}
		way = append(way, tree.kid(c, way, 0, 0))
		for _, i := range elements {
			last = tree.kid(c, way, i, 0)
		}
		return last
	}
	sprout := func(tree *Tree, c *Class, elements ...int32) *Sprout {
		seed := tree.Seed(c, 1, nil)
		grow(tree, c, elements...)
		return tree.Sprout(c, seed, len(elements))
	}
	check := func(tree *Tree, c *Class, cells int, elements ...int32) {
		t.Helper()
		root := c.Root
		if c.Cells != cells {
			t.Errorf("%d cells, want %d", c.Cells, cells)
		}
		for i := range int32(16) {
			n := root.Kids[0].Element(int(i))
			there := false
			for at, e := range elements {
				there = there || e == i
				if e == i && (n == nil || int(n.Cell) != at+1 || tree.Name(n.Name) != fmt.Sprintf("m_list.%04d", i)) {
					t.Errorf("element %d: %+v", i, n)
				}
			}
			if !there && n != nil {
				t.Errorf("element %d is there", i)
			}
		}
	}
	maker, made := plant()
	first := sprout(maker, made[0], 3, 1)
	later := weak.Make(grow(maker, made[0], 2))
	heir, own := plant()
	if !heir.Graft(own[0], first) {
		t.Fatal("no room")
	}
	check(heir, own[0], 3, 3, 1)
	grow(heir, own[0], 4)
	second := sprout(heir, own[1], 9, 8) // while fields of the first class came between
	grow(heir, own[1], 7)
	check(maker, made[0], 4, 3, 1, 2)
	third, its := plant()
	third.Graft(its[0], first)
	grow(third, its[0], 4)
	third.Graft(its[1], second)
	grow(third, its[1], 5)
	grow(third, its[0], 6)
	check(third, its[0], 5, 3, 1, 4, 6)
	check(third, its[1], 4, 9, 8, 5)
	check(heir, own[0], 4, 3, 1, 4)
	check(heir, own[1], 4, 9, 8, 7)
	for _, grafts := range [][]*Sprout{{second}, {second, first}} { // of a later era, and of an earlier one behind
		tree, all := plant()
		for i, s := range grafts {
			tree.Graft(all[len(grafts)-1-i], s)
		}
		grow(tree, all[len(grafts)-1], 6)
	}
	last, classes := plant()
	last.Graft(classes[1], second)
	check(last, classes[1], 3, 9, 8)
	last.Graft(classes[0], first)
	check(last, classes[0], 3, 3, 1)
	runtime.KeepAlive(maker)
	runtime.GC()
	if later.Value() != nil {
		t.Error("the sprout holds a later node")
	}
	runtime.KeepAlive(first)
}

// TestSproutMemory: a tree counts the nodes and names of its sprouts, takes none over for which there is no room, and keeps few.
func TestSproutMemory(t *testing.T) {
	fields := make([]*schema.Field, 100)
	for i := range fields {
		fields[i] = &schema.Field{Name: fmt.Sprint("m_", i), Own: value.Codec{Op: value.OpUint32}}
	}
	plant := func() (*Tree, *Class) {
		tree, c := NewTree(nil), &Class{}
		tree.Plant(c, &schema.Serializer{Name: "S", Fields: fields})
		return tree, c
	}
	grow := func(tree *Tree, c *Class) {
		for i := range fields {
			tree.kid(c, []*Node{c.Root}, int32(i), 0)
		}
	}
	held := func(tree *Tree, c *Class) int { return tree.Share([]*Class{c}, nil).parts[0].Hold() }
	plain, p := plant()
	grow(plain, p)
	maker, m := plant()
	seed := maker.Seed(m, 1, nil)
	grow(maker, m)
	s := maker.Sprout(m, seed, len(fields))
	heir, h := plant()
	heir.Graft(h, s)
	want := held(plain, p)
	for _, got := range []int{held(maker, m), held(heir, h), s.Size} {
		if got < want*3/4 || got > want*3/2 {
			t.Errorf("counted with %d bytes, others with %d", got, want)
		}
	}
	full, f := plant()
	full.nodes = maxNodes - len(fields) + 1
	if full.Graft(f, s) || f.Root.Kids != nil {
		t.Error("more nodes than there may be")
	}
	for i := range maxSprouts + 1 {
		if seed := full.Seed(f, 0, nil); (seed != nil) != (i < maxSprouts) {
			t.Errorf("seed %d: %v", i, seed)
		}
	}
	full, f = plant()
	full.GoOn(plain.Share(nil, nil))
	if full.Seed(f, 0, nil) != nil {
		t.Error("a seed of all names of a snapshot")
	}
	if plain.Seed(p, 0, nil) != nil {
		t.Error("a seed of a class with fields")
	}
}

// TestSeed: what a sprout depends on changes its seed.
func TestSeed(t *testing.T) {
	guessed := func(name string) *schema.Field {
		return &schema.Field{Name: name, Own: value.Codec{Op: value.OpUint64, Guess: true}, Unknown: &schema.Unknown{Name: name, Base: name}}
	}
	s := &schema.Serializer{Name: "S", Fields: []*schema.Field{guessed("X"), guessed("Y")}}
	met := map[schema.Key]string{}
	for _, names := range [][]string{{"A"}, {"A", "B"}, {"B", "A"}, {"A", "B", "C"}, {"AB"}} {
		for _, class := range names {
			for _, tick := range []float32{0, 1} {
				for _, data := range []string{"", "b", "bd"} {
					for _, book := range [][]int{{}, {0}, {1}, {0, 1}, {1, 0}} {
						tree := NewTree(nil)
						for _, n := range names {
							tree.Intern([]byte(n))
						}
						for _, i := range book {
							tree.Types.OfField(s.Fields[i], false)
						}
						c := &Class{Name: tree.Intern([]byte(class))}
						tree.Plant(c, s)
						seed := tree.Seed(c, tick, []byte(data))
						what := fmt.Sprint(names, class, tick, data, book)
						if met[seed.Key] != "" {
							t.Errorf("%s has the key of %s", what, met[seed.Key])
						}
						met[seed.Key] = what
						if tree.kid(c, []*Node{c.Root}, 0, 0); (tree.Sprout(c, seed, 1) == nil) != !slices.Contains(book, 0) {
							t.Errorf("%s: a sprout, though there is a further guess, or none", what)
						}
					}
				}
			}
		}
	}
}
