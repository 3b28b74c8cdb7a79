package entity

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// longNumber writes a number of a path with more bits than it needs.
func longNumber(w *demtest.Bits, v uint64, form int) {
	switch form {
	case 0:
		w.PathNumber(uint32(v))
	case 1:
		w.Bits(8|v<<4, 21)
	default:
		w.Bits(v<<4, 35)
	}
}

// TestFollow: a list of any operations leads to the nodes to which the paths lead that fieldpath.Read makes of it, if these nodes are there and
// fixed, and otherwise to none. It is known then what their values are like.
func TestFollow(t *testing.T) {
	object, number := &schema.Serializer{Name: "Object"}, value.Codec{Op: value.OpUint32}
	part := func(types ...*schema.Serializer) *schema.Field {
		return &schema.Field{Name: "m_part", Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer, Num: uint8(len(types))}, Types: types}
	}
	for i := range 40 {
		f := part(object)
		switch i % 20 {
		case 1, 3, 5, 7, 9, 11, 13:
			op := []value.Op{value.OpUint32, value.OpText, value.OpNormal3, value.OpTuple, value.OpBool, value.OpBlob, value.OpBitAngles}[i%20/2]
			f = &schema.Field{Name: []string{"m_a", "m_b"}[i/20], Own: value.Codec{Op: op}}
		case 16:
			f = &schema.Field{Name: "m_guess", Own: value.Codec{Op: value.OpUint64, Guess: true}, Unknown: &schema.Unknown{Name: "Some_t", Base: "Some_t"}}
		case 17:
			f = &schema.Field{Name: "m_array", Shape: schema.ShapeArray, Count: 9, Own: value.NoValue, Elem: number}
		case 18:
			f = &schema.Field{Name: "m_list", Shape: schema.ShapeVector, Own: value.Codec{Op: value.OpLength}, Elem: number}
		case 19:
			f = part(object, object)
		}
		object.Fields = append(object.Fields, f)
	}
	wants := func(name string) bool { return strings.HasSuffix(name, "m_b") }
	tree, c := NewTree(func(_, name string) bool { return wants(name) }), &Class{}
	tree.Plant(c, object)
	u := Update{Tree: tree}
	random := rand.New(rand.NewPCG(3, 4))
	var followed, refused [40]int // lists with an operation
	for range 80_000 {
		var w demtest.Bits
		seen := [40]bool{}
		deep := random.IntN(8)
		for i := range random.IntN(12) {
			op := random.IntN(39)
			switch {
			case deep == 0:
				op = 5 * min(i, 1) // deeper each time
			case deep == 1 && random.IntN(10) > 0:
				op = 5 + random.IntN(4)
			case random.IntN(2) == 0:
				op = random.IntN(5)
			}
			seen[op] = true
			w.Code(demtest.PathCodes[op])
			switch {
			case slices.Contains([]int{0, 1, 2, 3, 5, 7, 27, 29, 37}, op) || random.IntN(100) == 0: // with the wrong numbers, all that follows is another operation
			case op >= 34 && op != 37:
				if op < 36 {
					w.PathNumber(random.Uint32N(2))
				}
				for range random.IntN(4) {
					w.Bool(true)
					if op == 38 {
						w.Bits(6+random.Uint64N(4), 4)
					} else {
						w.Zigzag(random.Int64N(5) - 2)
					}
				}
				w.Bits(0, random.IntN(4))
			case op == 11 || op == 12 || op == 31 || op == 32:
				w.Bits(random.Uint64N(16), []int{11: 6, 12: 8, 31: 3, 32: 6}[op])
			default:
				for range 1 + random.IntN(3) {
					longNumber(&w, random.Uint64N(5), random.IntN(5))
				}
			}
		}
		w.Code(demtest.PathCodes[demtest.Finish])
		read, follow := bits.New(w.Bytes()), bits.New(w.Bytes())
		if random.IntN(8) == 0 {
			end := w.Len() - random.IntN(4)
			read.Cut(end)
			follow.Cut(end)
		}
		paths, err := fieldpath.Read(&read, nil)
		var want []*Node
		way := make([]*Node, fieldpath.MaxDepth+1)
		ok, grow := err == nil, random.IntN(3) == 0
		for _, p := range paths {
			way[0] = c.Root
			for d := p.Keep; d <= p.Last; d++ {
				n := way[d]
				if way[d+1] = nil; n == nil {
					continue
				}
				if grow {
					way[d+1] = tree.kid(c, way[:d+1], p.Idx[d], 0)
				} else {
					way[d+1] = at(n.Kids, int(p.Idx[d]))
				}
				ok = ok && !n.many
			}
			n := way[p.Last+1]
			ok = ok && n != nil && n.Codec.Op != value.OpNone && n.Codec.Op != value.OpLength && !n.Codec.Guess && !n.many
			want = append(want, n)
		}
		reader := follow
		got := u.follow(&follow, c)
		if got != ok || ok && (!slices.Equal(u.nodes, want) || follow.Pos() != read.Pos()) {
			t.Fatalf("%x: %v, want %v: %d nodes, want %d; at %d, want %d; %v", w.Bytes(), got, ok, len(u.nodes), len(want), follow.Pos(), read.Pos(), err)
		}
		if ok {
			wanted, plain, cells := len(want) == 0, true, 0
			for _, n := range want {
				wanted = wanted || wants(tree.Name(n.Name))
				plain = plain && slices.Contains([]value.Op{value.OpUint32, value.OpNormal3, value.OpBool, value.OpBitAngles}, n.Codec.Op)
				cells = max(cells, int(n.Cell)+1)
			}
			l, few, enough := u.Known(&reader, c), &State{Cells: make([]value.Cell, max(cells-1, 0))}, &State{Cells: make([]value.Cell, cells)}
			if l == nil || !slices.Equal(l.Nodes, want) || int(l.Size) != read.Pos() || l.Wanted != wanted || l.Plain(enough) != plain || cells > 0 && l.Plain(few) {
				t.Fatalf("%x: %+v, want %d nodes, wanted %v, plain %v with %d cells", w.Bytes(), l, len(want), wanted, plain, cells)
			}
		}
		for op, is := range seen {
			if is && ok {
				followed[op]++
			} else if is {
				refused[op]++
			}
		}
	}
	for op := range demtest.Finish {
		if followed[op] < 20 || refused[op] < 20 {
			t.Errorf("operation %d: %d lists were followed, %d were not", op, followed[op], refused[op])
		}
	}
}

// TestFollowMany: a list may have as many paths as fieldpath.Read permits, and no more.
func TestFollowMany(t *testing.T) {
	object := &schema.Serializer{Name: "Object", Fields: []*schema.Field{{Name: "m_leaf", Own: value.Codec{Op: value.OpBool}}}}
	tree, c := NewTree(nil), &Class{}
	tree.Plant(c, object)
	tree.kid(c, []*Node{c.Root}, 0, 0)
	for _, more := range []int{0, 1} {
		var w demtest.Bits
		w.Code(demtest.PathCodes[0])
		for range fieldpath.MaxPaths - 1 + more {
			w.Code(demtest.PathCodes[36]) // the same once more
			w.Bool(false)
		}
		w.Code(demtest.PathCodes[demtest.Finish])
		read, follow := bits.New(w.Bytes()), bits.New(w.Bytes())
		_, err := fieldpath.Read(&read, nil)
		u := Update{Tree: tree}
		if got := u.follow(&follow, c); got != (more == 0) || got != (err == nil) {
			t.Errorf("%d more: %v, %v", more, got, err)
		}
	}
}

// TestFollowLong: long lists that differ only in their last bits lead to different nodes.
func TestFollowLong(t *testing.T) {
	object := &schema.Serializer{Name: "Object"}
	for range 64 {
		object.Fields = append(object.Fields, &schema.Field{Name: "m_leaf", Own: value.Codec{Op: value.OpBool}})
	}
	tree, c := NewTree(nil), &Class{}
	tree.Plant(c, object)
	for i := range object.Fields {
		tree.kid(c, []*Node{c.Root}, int32(i), 0)
	}
	u := Update{Tree: tree}
	for range 2 {
		for numbers := range 8 {
			for last := range 4 {
				var w demtest.Bits
				for range numbers {
					w.Code(demtest.PathCodes[4])
					longNumber(&w, 0, 2)
				}
				w.Code(demtest.PathCodes[last])
				w.Code(demtest.PathCodes[demtest.Finish])
				r := bits.New(w.Bytes())
				l := u.Known(&r, c)
				if l == nil || int(l.Size) != w.Len() || l.Nodes[numbers] != c.Root.Kids[5*numbers+last] {
					t.Fatalf("%d numbers, operation %d: %+v", numbers, last, l)
				}
			}
		}
	}
}
