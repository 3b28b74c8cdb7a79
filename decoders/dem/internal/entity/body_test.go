package entity

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// TestBody: the parts of a body that may be of several types are found, whichever it has, and a body that more is learnt of leaves
// the one before as it was.
func TestBody(t *testing.T) {
	object := func(name string) *schema.Serializer {
		s := &schema.Serializer{Name: name}
		for _, field := range []string{"m_hParent", "m_cellX"} {
			s.Fields = append(s.Fields, &schema.Field{Name: field, Own: value.Codec{Op: value.OpUint32}})
		}
		return s
	}
	types := []*schema.Serializer{object("Point"), object("Skeleton"), object("Model")}
	body := &schema.Field{Name: bodies, Shape: schema.ShapePointer, Own: value.Codec{Op: value.OpPointer, Num: 3}, Types: types}
	r := newReader([2]*schema.Serializer{{Name: "Left", Fields: []*schema.Field{body}}, {Name: "Right"}})
	class, state := r.classes[0], &r.states[0]
	var before []*Body
	for typ := range uint32(3) {
		for field, part := range []int{BodyParent, BodyCell} {
			want := uint64(10*typ) + uint64(field)
			var w demtest.Bits
			w.Fields(
				demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Bool(true); w.UBitVar(typ) }},
				demtest.Value{Path: []int{0, field}, Write: func(w *demtest.Bits) { w.Varint(want) }},
			)
			if _, err := r.read(0, w.Bytes(), w.Len()); err != nil {
				t.Fatal(err)
			}
			if got := class.Body.Of(state, part); got.Kind != value.Uint || got.Word != want {
				t.Errorf("part %d of type %d is %v, want %d", part, typ, *got, want)
			}
			kids := class.Root.Kids[0].Kids
			if typ > 0 {
				kids = class.Root.Kids[0].of(int(typ))
			}
			if node := kids[field]; !node.Body || node.Parent != (part == BodyParent) {
				t.Errorf("part %d of type %d: its node does not say so", part, typ)
			}
			for i, b := range before {
				if got := b.Of(state, part); got.Kind != value.None && got.Word == want {
					t.Errorf("body %d was changed", i)
				}
			}
			before = append(before, class.Body)
		}
	}
	if class.Body.Of(state, BodyOffset).Kind != value.None {
		t.Error("a part is there that was never met")
	}
}
