package dem_test

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
)

func TestFilter(t *testing.T) {
	list := func(f ...*replaydv1.EventFilter) []*replaydv1.EventFilter { return f }
	ticks := func(low, high int32) *replaydv1.TickRange { return &replaydv1.TickRange{Min: &low, Max: &high} }
	class := func(s stream, i int) string {
		ev := s.list[i]
		for _, e := range []interface{ GetClass() uint32 }{
			ev.GetEntityUpdated(), ev.GetEntityCreated(), ev.GetEntityEntered(), ev.GetEntityLeft(), ev.GetEntityDeleted(),
		} {
			if !reflect.ValueOf(e).IsNil() {
				return s.names[i][e.GetClass()]
			}
		}
		return ""
	}
	for _, test := range []struct {
		name             string
		include, exclude []*replaydv1.EventFilter
		keep             func(s stream, i int) bool
	}{
		{"kinds", list(&replaydv1.EventFilter{Kinds: []string{"combat_log", "chat"}}), nil, func(s stream, i int) bool {
			return s.list[i].GetCombatLog() != nil || s.list[i].GetChat() != nil
		}},
		{"class", list(&replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTAGame*"}}}), nil, func(s stream, i int) bool {
			return class(s, i) == "CDOTAGamerulesProxy"
		}},
		{"class or kind", list(&replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CEvery????g"}}, Kinds: []string{"entity_created"}}, &replaydv1.EventFilter{Kinds: []string{"tick"}}), nil, func(s stream, i int) bool {
			return s.list[i].GetEntityCreated() != nil && class(s, i) == "CEverything" || s.list[i].GetTick() != nil
		}},
		{"player", list(&replaydv1.EventFilter{Players: []int32{5}}), nil, func(s stream, i int) bool {
			return s.list[i].GetChatEvent() != nil
		}},
		{"ticks", list(&replaydv1.EventFilter{Ticks: ticks(2, 4)}), nil, func(s stream, i int) bool {
			return s.list[i].GetAtTick() >= 2 && s.list[i].GetAtTick() <= 4
		}},
		{"not", nil, list(&replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CEverything"}}}), func(s stream, i int) bool {
			return class(s, i) != "CEverything"
		}},
		{"not a kind", nil, list(&replaydv1.EventFilter{Kinds: []string{"entity_updated"}}), func(s stream, i int) bool {
			return s.list[i].GetEntityUpdated() == nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := demtest.Sample()
			all, _ := read(t, open(t, data, codec.Options{}), 512)
			f, err := filter.Compile(&encoder.Codec.Filters, test.include, test.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, open(t, data, codec.Options{Filter: f}), 512)
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			var want []string
			for i := range all.list {
				if test.keep(all, i) {
					want = append(want, all.events[i])
				}
			}
			if len(want) == 0 || !slices.Equal(got.events, want) {
				t.Errorf("%d events, want %d", len(got.events), len(want))
			}
		})
	}
}

// TestFieldFilter checks that events of entities contain only the requested fields.
func TestFieldFilter(t *testing.T) {
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{
		{Kinds: []string{"entity_updated"}, Dem: &replaydv1.DemFilter{Fields: []string{"m_iU*"}}},
		{Kinds: []string{"entity_created"}, Dem: &replaydv1.DemFilter{Classes: []string{"CEverything"}, Fields: []string{"m_items.*"}}},
		{Kinds: []string{"chat"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, open(t, demtest.Sample(), codec.Options{Filter: f}), 512)
	var fields []string
	chats := 0
	for i, ev := range got.list {
		switch e := ev.GetKind().(type) {
		case *demv1.Event_EntityUpdated:
			for _, v := range e.EntityUpdated.GetFields() {
				fields = append(fields, "updated "+got.names[i][v.GetField()])
			}
		case *demv1.Event_EntityCreated:
			for _, v := range e.EntityCreated.GetFields() {
				fields = append(fields, "created "+got.names[i][v.GetField()])
			}
		case *demv1.Event_Chat:
			chats++
		default:
			t.Errorf("event %v", ev)
		}
	}
	want := []string{
		"created m_items.0000.m_nID", "created m_items.0001.m_szName", "created m_items.0001.m_vecTags",
		"created m_items.0001.m_vecTags.0000", "updated m_iUint", "updated m_iUint",
		"updated m_iUint", // updated to a value that could not be read
	}
	if !slices.Equal(fields, want) || chats != 4 {
		t.Errorf("fields %q, %d chats", fields, chats)
	}
}

// TestUnknownFieldsOnRequest: faults that tell of unknown fields come if a filter names them, and not otherwise. The summary counts the
// fields in any case.
func TestUnknownFieldsOnRequest(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "citadel"))
	d.Packet(1, demtest.Message{ID: 319, Data: demtest.Proto(nil).Varint(1, 5).Varint(99, 1)}, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 9).Varint(77, 1)})
	const unknown = "FAULT_KIND_UNKNOWN_FIELD"
	typed := func(types ...string) *replaydv1.EventFilter {
		return &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Types: types}}
	}
	for name, test := range map[string]struct {
		include, exclude []*replaydv1.EventFilter
		want             int
	}{
		"no filter":            {nil, nil, 0},
		"all faults":           {[]*replaydv1.EventFilter{{Kinds: []string{"fault", "kill", "tick"}}}, nil, 0},
		"named":                {[]*replaydv1.EventFilter{typed(unknown), {Kinds: []string{"kill", "tick"}}}, nil, 2},
		"named among others":   {[]*replaydv1.EventFilter{typed("FAULT_KIND_LIMIT", unknown)}, nil, 2}, // who wants faults has all messages read
		"another type":         {[]*replaydv1.EventFilter{typed("FAULT_KIND_LIMIT"), {Kinds: []string{"kill"}}}, nil, 0},
		"named, and left out":  {[]*replaydv1.EventFilter{typed(unknown), {Kinds: []string{"kill"}}}, []*replaydv1.EventFilter{typed(unknown)}, 0},
		"left out by the kind": {[]*replaydv1.EventFilter{typed(unknown), {Kinds: []string{"kill"}}}, []*replaydv1.EventFilter{{Kinds: []string{"fault"}}}, 0},
	} {
		f, err := filter.Compile(&encoder.Codec.Filters, test.include, test.exclude)
		if err != nil {
			t.Fatal(err)
		}
		r := open(t, d.Bytes(), codec.Options{Filter: f})
		got, _ := read(t, r, 512)
		faults := 0
		for _, ev := range got.list {
			if ev.GetFault().GetKind() == demv1.FaultKind_FAULT_KIND_UNKNOWN_FIELD {
				faults++
			}
		}
		var end replaydv1.StreamEnd
		r.Summarize(&end)
		if fields := end.GetDem().GetUnknownFields(); faults != test.want || len(fields) == 0 || end.GetDem().GetFaults() != 0 {
			t.Errorf("%s: %d faults, not %d; %v", name, faults, test.want, fields)
		}
	}
}

// TestSkippedBesideDeletions: a filter for whole events without fields, as those of deleted entities, does not ask for the fields of others.
func TestSkippedBesideDeletions(t *testing.T) {
	health := &replaydv1.EventFilter{Kinds: []string{"entity_updated"}, Dem: &replaydv1.DemFilter{Fields: []string{"m_iHealth"}}}
	summary := func(include ...*replaydv1.EventFilter) *demv1.Summary {
		f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := open(t, demtest.Match(), codec.Options{Filter: f})
		read(t, r, 512)
		var end replaydv1.StreamEnd
		r.Summarize(&end)
		return end.GetDem()
	}
	want := summary(health)
	got := summary(health, &replaydv1.EventFilter{Kinds: []string{"entity_deleted", "entity_left"}})
	if want.GetEntitySkips() == 0 || !proto.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
