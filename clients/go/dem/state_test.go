package dem_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/clients/go/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
)

var names = []string{"CHero", "m_iHealth", "m_list", "m_list.0000", "m_list.0001.m_n", "m_p", "m_p.m_x", "m_sName", "m_hOwner", "CBodyComponent", "CBodyComponent.place", "m_pEntity.m_nameStringableIndex"}

func name(i uint32) string { return names[i] }

func number(field uint32, v uint64) *demv1.FieldValue {
	return &demv1.FieldValue{Field: field, Value: &demv1.FieldValue_Uint{Uint: v}}
}

func truth(field uint32, v bool) *demv1.FieldValue {
	return &demv1.FieldValue{Field: field, Value: &demv1.FieldValue_Bool{Bool: v}}
}

func text(field uint32, v string) *demv1.FieldValue {
	return &demv1.FieldValue{Field: field, Value: &demv1.FieldValue_Text{Text: v}}
}

func created(index, serial uint32, fields ...*demv1.FieldValue) *demv1.Event {
	return &demv1.Event{Kind: &demv1.Event_EntityCreated{EntityCreated: &demv1.EntityCreated{Index: index, Serial: serial, Fields: fields}}}
}

func updated(index, serial uint32, fields ...*demv1.FieldValue) *demv1.Event {
	return &demv1.Event{Kind: &demv1.Event_EntityUpdated{EntityUpdated: &demv1.EntityUpdated{Index: index, Serial: serial, Fields: fields}}}
}

func entered(index, serial uint32, full, out bool, fields ...*demv1.FieldValue) *demv1.Event {
	return &demv1.Event{Kind: &demv1.Event_EntityEntered{EntityEntered: &demv1.EntityEntered{
		Index: index, Serial: serial, Full: full, OutOfView: out, Fields: fields,
	}}}
}

// TestState applies every kind of change to an entity.
func TestState(t *testing.T) {
	var s dem.EntityState
	owner := &demv1.FieldValue{Field: 8, Value: &demv1.FieldValue_Handle{Handle: 7 | 5<<14}}
	for _, step := range []struct {
		what   string
		event  *demv1.Event
		fields map[string]any
		inView bool
	}{
		{"created", created(7, 5, number(1, 100), number(2, 2), text(3, "a"), number(4, 4), truth(5, true), number(6, 6)),
			map[string]any{"m_iHealth": uint64(100), "m_list": uint64(2), "m_list.0000": "a", "m_list.0001.m_n": uint64(4), "m_p": true, "m_p.m_x": uint64(6)}, true},
		{"a list shrinks", updated(7, 5, number(2, 1)),
			map[string]any{"m_iHealth": uint64(100), "m_list": uint64(1), "m_list.0000": "a", "m_p": true, "m_p.m_x": uint64(6)}, true},
		{"an object vanishes", updated(7, 5, truth(5, false), owner),
			map[string]any{"m_iHealth": uint64(100), "m_list": uint64(1), "m_list.0000": "a", "m_p": false, "m_hOwner": dem.Handle(7 | 5<<14)}, true},
		{"something is lost", updated(7, 5, &demv1.FieldValue{Field: 2}, &demv1.FieldValue{Field: 1}),
			map[string]any{"m_p": false, "m_hOwner": dem.Handle(7 | 5<<14)}, true},
		{"it leaves", &demv1.Event{Kind: &demv1.Event_EntityLeft{EntityLeft: &demv1.EntityLeft{Index: 7, Serial: 5}}},
			map[string]any{"m_p": false, "m_hOwner": dem.Handle(7 | 5<<14)}, false},
		{"it enters with news", entered(7, 5, false, false, number(1, 3)),
			map[string]any{"m_p": false, "m_hOwner": dem.Handle(7 | 5<<14), "m_iHealth": uint64(3)}, true},
		{"it is sent in full", entered(7, 5, true, true, number(1, 4)), map[string]any{"m_iHealth": uint64(4)}, false},
		{"its slot has another", created(7, 6, text(7, "new")), map[string]any{"m_sName": "new"}, true},
	} {
		if e := s.Apply(step.event, name); e == nil || e != s.Get(7) || e.InView != step.inView || !cmp.Equal(e.Fields, step.fields) {
			t.Errorf("%s: %+v", step.what, e)
		}
	}
	if s.ByHandle(7|5<<14) != nil || s.ByHandle(7|6<<14) == nil || s.ByHandle(dem.None) != nil {
		t.Error("handles")
	}
	at := &demv1.FieldValue{Field: 10, Value: &demv1.FieldValue_Vector{Vector: &demv1.Vector{X: 258.5, Z: 128}}}
	called := &demv1.FieldValue{Field: 11, Name: new("npc_dota_hero_axe"), Value: &demv1.FieldValue_Int{Int: 7}}
	odd := &demv1.FieldValue{Field: 1, Unproven: new(true), Value: &demv1.FieldValue_Uint{Uint: 7}}
	s.Apply(created(9, 1, truth(9, true), at, called, odd), name)
	e := s.Get(9)
	if x, y, z, ok := e.Place(); !ok || x != 258.5 || y != 0 || z != 128 {
		t.Errorf("place %v %v %v %v", x, y, z, ok)
	}
	if e.Name() != "npc_dota_hero_axe" || !e.Unproven["m_iHealth"] {
		t.Errorf("it is called %q; %v", e.Name(), e.Unproven)
	}
	s.Apply(updated(9, 1, number(11, 8), number(1, 9), &demv1.FieldValue{Field: 10}), name)
	if _, _, _, ok := e.Place(); ok || e.Name() != "" || len(e.Unproven) != 0 {
		t.Errorf("what changed is %v, %q, %v", ok, e.Name(), e.Unproven)
	}
	s.Apply(updated(9, 1, at, called, odd), name)
	s.Apply(updated(9, 1, truth(9, false)), name)
	if _, _, _, ok := e.Place(); ok || e.Name() == "" {
		t.Errorf("without a body it is at a place: %v", ok)
	}
	s.Apply(entered(9, 1, true, false, number(2, 1)), name)
	if e.Name() != "" || len(e.Unproven) != 0 {
		t.Errorf("told anew: %+v", e)
	}
	if got := len(s.OfClass("CH*")); got != 2 || len(s.OfClass("CX*")) != 0 || len(s.Named("m_sName", "new")) != 1 || len(s.All()) != 2 {
		t.Errorf("%d of the class", got)
	}
	s.Apply(&demv1.Event{Kind: &demv1.Event_EntityDeleted{EntityDeleted: &demv1.EntityDeleted{Index: 7, Serial: 6}}}, name)
	if s.Get(7) != nil || s.Apply(&demv1.Event{Kind: &demv1.Event_Stop{}}, name) != nil {
		t.Error("a deleted entity is there")
	}
	s.Apply(updated(3, 1, number(2, 2), text(3, "a")), name)
	if got := s.Get(3).List("m_list"); !cmp.Equal(got, []any{"a", nil}) {
		t.Errorf("list %v", got)
	}
}

// TestListLengths checks that List returns a bounded number of elements for every length that a demo gives.
func TestListLengths(t *testing.T) {
	var s dem.EntityState
	for length, want := range map[int64]int{-5: 0, 0: 0, 3: 3, 1 << 60: 1 << 14} {
		field := &demv1.FieldValue{Field: 2, Value: &demv1.FieldValue_Int{Int: length}}
		if got := len(s.Apply(created(1, 1, field), name).List("m_list")); got != want {
			t.Errorf("length %d: %d elements, want %d", length, got, want)
		}
	}
}
