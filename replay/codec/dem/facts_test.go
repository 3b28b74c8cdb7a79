package dem_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
)

// choose returns a filter of what any of some filters selects.
func choose(t *testing.T, include ...*replaydv1.EventFilter) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFacts: facts come to those who name them, whatever else they ask for, and to a stream that begins at any of them.
func TestFacts(t *testing.T) {
	rounds, _ := demtest.Rounds(9, 4, demtest.ByCounts)
	files := map[string][]byte{"rounds": rounds, "players of dota": sampleFile(t, "players of dota"), "players of csgo": sampleFile(t, "players of csgo"), "players of citadel": sampleFile(t, "players of citadel")}
	var kinds []string
	for _, kind := range encoder.Codec.Filters.Kinds {
		if kind.Fact {
			kinds = append(kinds, kind.Name)
		}
	}
	met := map[string]bool{}
	for name, data := range files {
		raw, _ := read(t, open(t, data, codec.Options{}), 100)
		if asked, _ := read(t, open(t, data, codec.Options{Filter: choose(t, &replaydv1.EventFilter{})}), 100); !slices.Equal(raw.events, asked.events) {
			t.Errorf("%s: a filter without kinds selects other events than no filter", name)
		}
		f, err := filter.WithFacts(&encoder.Codec.Filters)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := read(t, open(t, data, codec.Options{Filter: f}), 100)
		var facts, others []string
		for i, ev := range whole.list {
			if kind := kindOf(ev); slices.Contains(kinds, kind) {
				facts, met[kind] = append(facts, whole.events[i]), true
			} else {
				others = append(others, whole.events[i])
			}
		}
		if !slices.Equal(others, raw.events) {
			t.Errorf("%s: facts change other events", name)
		}
		alone := codec.Options{Filter: choose(t, &replaydv1.EventFilter{Kinds: kinds})}
		if got, _ := read(t, open(t, data, alone), 3); !slices.Equal(got.events, facts) {
			t.Errorf("%s: %d facts alone, %d with everything else", name, len(got.events), len(facts))
		}
		for i := 0; i < len(whole.marks)-1; i += 1 + len(whole.marks)/40 {
			got, _ := read(t, open(t, data, codec.Options{Filter: f, Start: codec.Start{Position: whole.marks[i].Next}}), 100)
			if !slices.Equal(got.events, whole.events[i+1:]) {
				t.Fatalf("%s: from %v are %d events, want %d", name, whole.marks[i].Next, len(got.events), len(whole.events)-i-1)
			}
		}
		testFactsOf(t, name, data, &whole)
	}
	for _, kind := range kinds {
		if !met[kind] {
			t.Errorf("no %s", kind)
		}
	}
}

func kindOf(ev *demv1.Event) string {
	return string(ev.ProtoReflect().WhichOneof(ev.ProtoReflect().Descriptor().Oneofs().ByName("kind")).Name())
}

// testFactsOf: a filter of a player, or of a team, selects the facts in which any of those who did it or had it done is the player, or of the team.
func testFactsOf(t *testing.T, name string, data []byte, whole *stream) {
	t.Helper()
	const player, team = 1, 3
	kinds := map[string]bool{}
	var players, teams []string
	for i, ev := range whole.list {
		kind := kindOf(ev)
		if !strings.HasPrefix(kind, "fact_") {
			continue
		}
		isPlayer, isTeam := false, false
		fact := ev.ProtoReflect().Get(ev.ProtoReflect().WhichOneof(ev.ProtoReflect().Descriptor().Oneofs().ByName("kind"))).Message()
		for i := range fact.Descriptor().Fields().Len() {
			f := fact.Descriptor().Fields().Get(i)
			if f.Message() == nil || f.Message().Name() != "Actor" || f.IsList() {
				continue
			}
			kinds[kind] = true
			if a, ok := fact.Get(f).Message().Interface().(*demv1.Actor); ok && fact.Has(f) {
				isPlayer, isTeam = isPlayer || a.PlayerId != nil && a.GetPlayerId() == player, isTeam || a.GetTeam() == team
			}
		}
		if isPlayer {
			players = append(players, whole.events[i])
		}
		if isTeam {
			teams = append(teams, whole.events[i])
		}
	}
	named := slices.Sorted(maps.Keys(kinds))
	for what, want := range map[*replaydv1.EventFilter][]string{{Kinds: named, Players: []int32{player}}: players, {Kinds: named, Teams: []int32{team}}: teams} {
		got, _ := read(t, open(t, data, codec.Options{Filter: choose(t, what)}), 100)
		if !slices.Equal(got.events, want) || len(want) == 0 {
			t.Errorf("%s: %d facts of %v, want %d", name, len(got.events), what, len(want))
		}
	}
}
