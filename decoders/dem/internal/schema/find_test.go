package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// TestSearch finds fields below objects of several types, in lists and arrays, by the names that the decoder gives to them.
func TestSearch(t *testing.T) {
	number, text := value.Codec{Op: value.OpInt32}, value.Codec{Op: value.OpText}
	one := &Serializer{Fields: []*Field{{Name: "m_a", Own: number}, {Name: "in.m_b", Own: number}}}
	other := &Serializer{Fields: []*Field{{Name: "m_a", Own: text}}}
	root := &Serializer{Fields: []*Field{
		{Name: "m_p", Shape: ShapePointer, Own: value.Codec{Op: value.OpPointer}, Types: []*Serializer{one, nil, other}},
		{Name: "m_list", Shape: ShapeTable, Own: value.Codec{Op: value.OpLength}, Types: []*Serializer{one}},
		{Name: "m_values", Shape: ShapeVector, Own: value.Codec{Op: value.OpLength}, Elem: text},
		{Name: "m_array", Shape: ShapeArray, Count: 3, Elem: number},
		{Name: "m_plain", Own: number},
	}}
	for name, want := range map[string][]value.Op{
		"m_plain": {value.OpInt32}, "m_p": {value.OpPointer}, "m_p.m_a": {value.OpInt32, value.OpText}, "m_p.in.m_b": {value.OpInt32},
		"m_list": {value.OpLength}, "m_list.0012.in.m_b": {value.OpInt32}, "m_list.12345.m_a": {value.OpInt32},
		"m_values.0000": {value.OpText}, "m_array.0002": {value.OpInt32}, "m_array": {value.OpNone},
		"m_array.0003": nil, "m_list.0001": nil, "m_list.1.m_a": nil, "m_list.+001.m_a": nil, "m_list.16384.m_a": nil, "m_values.0000.m_a": nil,
		"m_plain.m_a": nil, "m_pl": nil, "m_plainer": nil, "m_p.": nil, "": nil, "m_list.m_a": nil, "m_values.": nil,
	} {
		var got []value.Op
		q := Search{Left: 100}
		q.Find(root, name, func(f Found) {
			if got = append(got, f.Codec().Op); f.Name != name {
				t.Errorf("%s is called %s", name, f.Name)
			}
		})
		if !slices.Equal(got, want) || q.Left < 0 {
			t.Errorf("%q leads to %v, want %v", name, got, want)
		}
	}
	var all []string
	q := Search{Left: 100}
	q.All(root, func(f Found) { all = append(all, f.Name) })
	if want := "m_p m_p.m_a m_p.in.m_b m_p.m_a m_list m_values m_array m_plain"; strings.Join(all, " ") != want {
		t.Errorf("all fields are %v, want %s", all, want)
	}
}

// TestSearchEnds: objects that have objects of their own type in many fields end no search late.
func TestSearchEnds(t *testing.T) {
	s := &Serializer{}
	for range 100 {
		s.Fields = append(s.Fields, &Field{Name: "m", Shape: ShapePointer, Types: []*Serializer{s, s, s}})
	}
	found, q := 0, Search{Left: 5000}
	q.All(s, func(Found) { found++ })
	if found != 5000 || q.Left >= 0 {
		t.Errorf("%d fields found, %d left", found, q.Left)
	}
	found, q = 0, Search{Left: 5000}
	if q.Find(s, strings.Repeat("m.", 100)+"m", func(Found) { found++ }); found > 5000 || q.Left >= 0 {
		t.Errorf("%d fields found, %d left", found, q.Left)
	}
}
