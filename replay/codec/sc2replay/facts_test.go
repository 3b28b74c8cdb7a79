package sc2replay_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/filter"
)

// placed is an event with the position at which its stream would be resumed to begin with it.
type placed struct {
	at   decoders.Position
	kind string
	text string
}

// deliver returns the events of a replay that are selected by include filters, from a position on, with their positions.
func deliver(t *testing.T, data []byte, from decoders.Position, include ...*replaydv1.EventFilter) (all []placed) {
	t.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, data, codec.Options{Filter: f, Start: codec.Start{Position: from}})
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	for {
		b := codec.Batch{MaxEvents: 7, MaxBytes: 256 << 10, KeepMarks: true}
		err := r.Fill(&b)
		var list sc2replayv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			t.Fatal(err)
		}
		places := codectest.Places(t, &b)
		for i, ev := range list.GetEvents() {
			kind := string(ev.ProtoReflect().WhichOneof(ev.ProtoReflect().Descriptor().Oneofs().ByName("kind")).Name())
			all = append(all, placed{places[i], kind, ev.String()})
			if next := b.Marks[i].Next; !places[i].Before(next) {
				t.Fatalf("%s at %+v goes on at %+v", kind, places[i], next)
			}
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return all
		}
	}
}

func named(kinds ...string) *replaydv1.EventFilter { return &replaydv1.EventFilter{Kinds: kinds} }

// factKinds returns the names of all kinds of facts.
func factKinds() (kinds []string) {
	for _, kind := range encoder.Codec.Filters.Kinds {
		if kind.Fact {
			kinds = append(kinds, kind.Name)
		}
	}
	return kinds
}

// fought returns a game in which players kill units of one another.
func fought() []byte {
	r := sc2test.Battle()
	for i := range 3 {
		marine := sc2test.Owned(3000, 1, "Marine")
		marine.Value["unitTagIndex"] = 300 + i
		r.Tracker = append(r.Tracker, marine)
	}
	for i := range 3 {
		r.Tracker = append(r.Tracker, sc2test.Event{Loop: 3001, User: 16, Name: "UnitDied", Value: sc2test.S{
			"unitTagIndex": 300 + i, "unitTagRecycle": 1, "killerPlayerId": 2, "x": 10, "y": 20,
		}})
	}
	return r.Bytes()
}

func isFact(p placed) bool { return strings.HasPrefix(p.kind, "fact_") }

// TestFacts: facts come only to those who name them, behind the event that completes them, at the same positions whatever else is
// delivered, and to a stream that begins at any of them.
func TestFacts(t *testing.T) {
	data := fought()
	start := decoders.Position{}
	raw := deliver(t, data, start)
	if i := slices.IndexFunc(raw, isFact); i >= 0 {
		t.Fatalf("a stream without a filter has %+v", raw[i])
	}
	if got := deliver(t, data, start, &replaydv1.EventFilter{}); !slices.Equal(got, raw) {
		t.Fatal("an empty filter selects facts")
	}
	kinds := factKinds()
	whole := deliver(t, data, start, &replaydv1.EventFilter{}, named(kinds...))
	var facts, others []placed
	for i, p := range whole {
		if !isFact(p) {
			others = append(others, p)
			continue
		}
		facts = append(facts, p)
		if own := p.at.Own(); own == p.at || !slices.ContainsFunc(whole[:i], func(q placed) bool { return q.at == own && !isFact(q) }) {
			t.Errorf("%+v stands behind no event", p)
		}
	}
	if !slices.Equal(others, raw) {
		t.Error("facts change the events of the replay")
	}
	if got := deliver(t, data, start, named(kinds...)); !slices.Equal(got, facts) {
		t.Error("facts depend on what else is delivered")
	}
	for _, kind := range kinds {
		want := slices.DeleteFunc(slices.Clone(facts), func(p placed) bool { return p.kind != kind })
		if got := deliver(t, data, start, named(kind)); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%d events of kind %s, want %d", len(got), kind, len(want))
		}
	}
	for i := 0; i < len(whole); i += 5 {
		if got := deliver(t, data, whole[i].at, &replaydv1.EventFilter{}, named(kinds...)); !slices.Equal(got, whole[i:]) {
			t.Fatalf("a stream that begins with %+v is not the rest of the whole", whole[i])
		}
		for _, include := range [][]*replaydv1.EventFilter{nil, {named("unit_born", "camera_update")}} { // streams without facts begin there, too
			f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, data, codec.Options{Filter: f, Start: codec.Start{Position: whole[i].at}})
			if err := codectest.Seek(r); err != nil || r.Position() != whole[i].at {
				t.Fatalf("a stream without facts that begins with %+v stands at %+v, %v", whole[i], r.Position(), err)
			}
			want := slices.DeleteFunc(slices.Clone(whole[i:]), func(p placed) bool {
				return isFact(p) || len(include) > 0 && !slices.Contains(include[0].GetKinds(), p.kind)
			})
			if got := deliver(t, data, whole[i].at, include...); !slices.Equal(got, want) {
				t.Fatalf("a stream without facts that begins with %+v is not the rest of the whole", whole[i])
			}
		}
	}
}
