package entity

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// reader reads updates of two classes that have the same number, so that their lists of paths are in the same sets.
type reader struct {
	tree    *Tree
	update  Update
	classes [2]*Class
	states  [2]State
	shared  *Grown
}

func newReader(objects [2]*schema.Serializer) *reader {
	r := &reader{tree: NewTree(nil)}
	r.update = Update{Tree: r.tree, Room: MaxState}
	for i, object := range objects {
		r.classes[i] = &Class{}
		r.tree.Plant(r.classes[i], object)
	}
	return r
}

// read reads and applies an update, and writes down all that came of it.
func (r *reader) read(class int, data []byte, size int) (text string, err error) {
	c, s, u := r.classes[class], &r.states[class], &r.update
	b := bits.New(data)
	if size < 0 {
		err = u.Read(&b, c, s)
	} else {
		err = u.ReadSized(&b, c, s, size, 0)
	}
	text = fmt.Sprintln(err, b.Pos())
	for i := range u.Changes {
		ch := &u.Changes[i]
		text += fmt.Sprintln(r.tree.Name(ch.Node.Name), ch.Cell, string(u.Data(&ch.Cell)))
	}
	for _, n := range u.Lost {
		text += fmt.Sprintln("lost", r.tree.Name(n.Name))
	}
	u.Apply(c, s)
	all, _ := s.AppendFields(nil, c)
	for _, f := range all {
		text += fmt.Sprintln(r.tree.Name(f.Node.Name), f.Cell, string(s.Data(&f.Cell)))
	}
	return text, err
}

// text returns the wanted fields of an entity, and whether it has others.
func (r *reader) text(class int, wants func(string) bool) (text string) {
	fields, others := r.states[class].AppendFields(nil, r.classes[class])
	for _, f := range fields {
		if name := r.tree.Name(f.Node.Name); wants(name) {
			text += fmt.Sprintln(name, f.Cell, string(r.states[class].Data(&f.Cell)))
		} else {
			others = true
		}
	}
	return fmt.Sprintln(text, others)
}

// TestRecent: what is remembered of earlier updates changes nothing, and a decoder that wants few fields has those of one that wants all.
func TestRecent(t *testing.T) {
	leaf := func(name string, op value.Op) *schema.Field {
		return &schema.Field{Name: name, Own: value.Codec{Op: op}}
	}
	one := &schema.Serializer{Name: "One", Fields: []*schema.Field{leaf("m_a", value.OpUint32), leaf("m_b", value.OpText)}}
	two := &schema.Serializer{Name: "Two", Fields: []*schema.Field{leaf("m_c", value.OpFixedUint8), leaf("m_d", value.OpBool)}}
	body := &schema.Field{Name: "m_body", Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer, Num: 2}, Types: []*schema.Serializer{one, two}}
	list := &schema.Field{Name: "m_list", Shape: schema.ShapeVector, Own: value.Codec{Op: value.OpLength}, Elem: value.Codec{Op: value.OpUint32}}
	part := &schema.Field{Name: "m_part", Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer, Num: 1}, Types: []*schema.Serializer{two}}
	objects := [2]*schema.Serializer{
		{Name: "Left", Fields: []*schema.Field{leaf("m_e", value.OpUint32), leaf("m_f", value.OpText), body, list, part, leaf("m_g", value.OpBool)}},
		{Name: "Right", Fields: []*schema.Field{leaf("m_h", value.OpBool), list, leaf("m_i", value.OpText), part, leaf("m_j", value.OpUint32)}},
	}
	random := rand.New(rand.NewPCG(1, 2))
	number := func(w *demtest.Bits) { w.Varint(random.Uint64N(1 << random.IntN(12))) }
	writers := map[value.Op]func(*demtest.Bits){
		value.OpUint32: number, value.OpLength: func(w *demtest.Bits) { w.Varint([]uint64{0, 1, 2, 5, schema.MaxElements + 1}[random.IntN(5)]) },
		value.OpText:       func(w *demtest.Bits) { w.CString([]string{"", "Ada", "Grace"}[random.IntN(3)]) },
		value.OpFixedUint8: func(w *demtest.Bits) { w.Bits(random.Uint64N(256), 8) },
		value.OpBool:       func(w *demtest.Bits) { w.Bool(random.IntN(2) == 0) },
		value.OpPointer: func(w *demtest.Bits) {
			w.Bool(true)
			w.UBitVar(random.Uint32N(4)) // some are of no type
		},
	}
	a, b, narrow := newReader(objects), newReader(objects), newReader(objects)
	wants := func(name string) bool { return strings.ContainsAny(name, "adfg1") }
	narrow.tree.wants = func(_, field string) bool { return wants(field) }
	kinds, found := map[string]int{}, 0
	for step := range 12_000 {
		class := random.IntN(2)
		var values []demtest.Value
		choose := rand.New(rand.NewPCG(random.Uint64N(60), 0)) // the same paths again and again
		rare := 3
		if choose.IntN(2) == 0 {
			rare = 12 // long lists, most of which begin in the same way
		}
		for i, f := range objects[class].Fields {
			switch {
			case rare == 3 && choose.IntN(rare) > 0, rare > 3 && choose.IntN(rare) == 0:
			case f == list && choose.IntN(2) == 0:
				for k := range 1 + choose.IntN(3) {
					values = append(values, demtest.Value{Path: []int{i, k}, Write: number})
				}
			case f == part && choose.IntN(3) > 0:
				k := choose.IntN(2)
				values = append(values, demtest.Value{Path: []int{i, k}, Write: writers[two.Fields[k].Own.Op]})
			case f == part:
				values = append(values, demtest.Value{Path: []int{i}, Write: func(w *demtest.Bits) { w.Bool(random.IntN(2) == 0) }})
			case f == body && choose.IntN(2) == 0:
				// What it is read as depends on the type that the object has then.
				typ := one
				if n := a.tree.kid(a.classes[class], []*Node{a.classes[class].Root}, int32(i), 0); a.states[class].typeOf(n) == 1 {
					typ = two
				}
				k := choose.IntN(2)
				values = append(values, demtest.Value{Path: []int{i, k}, Write: writers[typ.Fields[k].Own.Op]})
			default:
				values = append(values, demtest.Value{Path: []int{i}, Write: writers[f.Own.Op]})
			}
		}
		var w demtest.Bits
		w.Fields(values...)
		size, data := w.Len(), w.Bytes()
		switch random.IntN(20) {
		case 0: // it ends early
			data = data[:random.IntN(len(data)+1)]
			size *= 1 - 2*random.IntN(2) // or has no size
		case 1:
			size += 1 + random.IntN(9)
		case 2:
			size = -1
		case 3:
			for _, r := range []*reader{a, b, narrow} {
				r.shared = r.tree.Share(r.classes[:], r.shared)
			}
		case 4:
			if random.IntN(5) == 0 { // another schema
				objects[1].Fields[0], objects[1].Fields[3] = objects[1].Fields[3], objects[1].Fields[0]
				for _, r := range []*reader{a, b, narrow} {
					r.tree.Plant(r.classes[1], objects[1])
					r.states[1].Reset()
				}
			}
		}
		if head := bits.New(data); a.update.recent.find(a.classes[class], &head) != nil {
			found++
		}
		b.update.recent = recent{}
		unfix(b.classes[class].Root) // all is read path by path
		got, err := a.read(class, data, size)
		want, _ := b.read(class, data, size)
		if got != want {
			t.Fatalf("step %d:\n%s\nwant\n%s", step, got, want)
		}
		_, _ = narrow.read(class, data, size)
		if got, want := narrow.text(class, wants), a.text(class, wants); got != want {
			t.Fatalf("step %d: of wanted fields\n%s\nwant\n%s", step, got, want)
		}
		for name, kind := range map[string]error{"whole": nil, "overrun": bits.ErrOverrun, "size": errEntityBits, "field": errNoField} {
			if errors.Is(err, kind) {
				kinds[name]++
			}
		}
	}
	t.Logf("%d lists were remembered; %v", found, kinds)
	if found < 1_000 || kinds["whole"] < 5_000 || kinds["overrun"] < 100 || kinds["size"] < 100 {
		t.Error("too few of a kind")
	}
}

// unfix makes a node, and those below it, such that lists of paths to them are not followed.
func unfix(n *Node) {
	if n == nil {
		return
	}
	n.fixed = false
	for _, k := range n.Kids {
		unfix(k)
	}
}

// TestRecentNodes: lists of another class, and of nodes that were replaced since, are not used.
func TestRecentNodes(t *testing.T) {
	leaf := func(name string) *schema.Field { return &schema.Field{Name: name, Own: value.Codec{Op: value.OpBool}} }
	object := &schema.Serializer{Name: "Object", Fields: []*schema.Field{leaf("m_a"), leaf("m_b"), leaf("m_c")}}
	part := &schema.Field{Name: "m_part", Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer, Num: 1}, Types: []*schema.Serializer{object}}
	type step struct {
		class int
		paths [][]int
		value bool
		share bool // before it
		want  string
	}
	for name, steps := range map[string][]step{
		"replaced between updates": {
			{0, [][]int{{0}}, false, false, "m_part=0"},
			{1, [][]int{{0}}, false, false, "m_d=0"},
			{0, [][]int{{0}}, true, false, "m_part=1"},
			{0, [][]int{{0, 0}}, true, false, "m_part=1 m_part.m_a=1"},
			{0, [][]int{{0}}, true, true, "m_part=1 m_part.m_a=1"},
			{0, [][]int{{0, 1}}, true, false, "m_part=1 m_part.m_a=1 m_part.m_b=1"},
			{0, [][]int{{0}}, false, false, "m_part=0"},
			{1, [][]int{{0}}, true, false, "m_d=1"},
		},
		"replaced in an update": {
			{0, [][]int{{0}, {0, 0}}, true, false, "m_part=1 m_part.m_a=1"},
			{0, [][]int{{0}, {0, 1}}, false, true, "m_part=0 m_part.m_b=0"},
			{0, [][]int{{0, 2}}, true, false, "m_part=0 m_part.m_b=0 m_part.m_c=1"},
			{0, [][]int{{0}, {0, 1}}, false, false, "m_part=0 m_part.m_b=0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader([2]*schema.Serializer{
				{Name: "Left", Fields: []*schema.Field{part}}, {Name: "Right", Fields: []*schema.Field{leaf("m_d")}},
			})
			for i, step := range steps {
				if step.share {
					r.shared = r.tree.Share(r.classes[:], r.shared)
				}
				var values []demtest.Value
				for _, path := range step.paths {
					values = append(values, demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Bool(step.value) }})
				}
				var w demtest.Bits
				w.Fields(values...)
				if _, err := r.read(step.class, w.Bytes(), w.Len()); err != nil {
					t.Fatal(err)
				}
				var got []string
				fields, _ := r.states[step.class].AppendFields(nil, r.classes[step.class])
				for _, f := range fields {
					got = append(got, fmt.Sprintf("%s=%d", r.tree.Name(f.Node.Name), f.Cell.Word))
				}
				if strings.Join(got, " ") != step.want {
					t.Errorf("after step %d: %q, want %q", i, got, step.want)
				}
			}
		})
	}
}

// TestRecentSets: few lists take little memory, many do not take more than is allowed, and those of a stream with many are found.
func TestRecentSets(t *testing.T) {
	var l recent
	c, sets, found := new(Class), 0, 0
	for i := range 60_000 {
		number := i
		if i < 40_000 {
			number = i % 1000 // others are met once
		}
		r := bits.New([]byte{byte(number), byte(number >> 8), byte(number), 0, 0, 0, 0, 0})
		if e := l.find(c, &r); e != nil {
			found++
		} else {
			l.keep(c, r, 20, nil)
		}
		if len(l.short) > 1<<mostBits || len(l.long) != len(l.short) || i < 1<<firstBits && len(l.short) != 1<<firstBits {
			t.Fatalf("%d and %d sets after %d lists", len(l.short), len(l.long), i)
		}
		sets = max(sets, len(l.short))
	}
	if sets != 1<<mostBits || found < 30_000 {
		t.Errorf("%d lists were found in %d sets", found, sets)
	}
}

// TestRecentClasses: the same list of many classes is in different sets, also while there are few sets.
func TestRecentClasses(t *testing.T) {
	for _, size := range []int{8, 50} { // a short list, and a long one
		for _, count := range []int{30, 600} {
			var l recent
			classes, found := make([]Class, count), 0
			for i := range 20 * count {
				c, r := &classes[i%count], bits.New([]byte{1, 2, 3, 4, 5, 6, 7, 8})
				c.Id = int32(i % count)
				if l.find(c, &r) != nil {
					found++
				} else {
					l.keep(c, r, size, nil)
				}
			}
			if found < 15*count {
				t.Errorf("%d of %d lists of %d bits and %d classes were found", found, 20*count, size, count)
			}
		}
	}
}

// TestSpare: what was lent and returned is lent again, and refers to nothing.
func TestSpare(t *testing.T) {
	var m Spare
	c, node := &Class{}, &Node{}
	nodes := []*Node{node}
	half := State{Cells: make([]value.Cell, spareCells*2/3)}
	lend := func() {
		var s Store
		var u Update
		m.Lend(&s, &u)
		s.StartFrom(s.Create(1), &half)
		s.Create(2).Active = true
		for i := range 300 {
			u.recent.keep(c, bits.New([]byte{byte(i), byte(i >> 8)}), 12, nodes)
		}
		u.Changes = append(u.Changes, Change{Node: node})
		m.Return(&s, &u)
	}
	for range 2 {
		if lend(); m.slots[1] != nil || m.free[0].Active || m.changes[:1][0].Node != nil {
			t.Error("an entity or a field is still there")
		}
		for _, sets := range [][][2]List{m.recent.short, m.recent.long} {
			for _, set := range sets[:cap(sets)] {
				if set[0].class != nil || set[1].class != nil || set[0].Nodes != nil || len(sets) > 0 {
					t.Fatal("a list is still there")
				}
			}
		}
	}
	if n := testing.AllocsPerRun(10, lend); n > 2 { // an entity whose state is too large, and nodes of lists
		t.Errorf("%g allocations", n)
	}
}
