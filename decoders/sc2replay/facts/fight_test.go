package facts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
)

// fell returns the death of a unit that fights, of a player, by another one.
func fell(tick int32, player, killer, x uint32) *sc2replay.Event {
	return died(tick, player, unit(uint32(tick), "Marine", army), x, killer)
}

// TestEngagement: a fight is three deaths or more, each near those before it in time and place.
func TestEngagement(t *testing.T) {
	later := at(9000, 1, sc2replay.KindCameraUpdate, nil)
	class := func(tick int32, of sc2replay.UnitClass) *sc2replay.Event {
		return died(tick, 1, unit(9, "X", of), 10, 2)
	}
	var many []*sc2replay.Event // eight fights far from one another, and a ninth, of three deaths each
	for i := range int32(9) {
		for j := range int32(3) {
			many = append(many, fell(100+10*i+j, 1, 2, uint32(1000*i)))
		}
	}
	for name, tt := range map[string]struct {
		events []*sc2replay.Event
		want   []string
	}{
		"three": {
			[]*sc2replay.Event{fell(100, 1, 2, 10), fell(324, 2, 1, 30), fell(400, 1, 2, 20), at(624, 1, sc2replay.KindCmd, nil), later},
			[]string{"9000 fact_engagement - 100 to 400 at {20 7}: [{1 2 0 0 1} {2 1 0 0 2}]"},
		},
		"at the first event behind it": {
			[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 1, 2, 10), at(326, 0, sc2replay.KindCmd, nil), at(327, 0, sc2replay.KindCmd, nil), later},
			[]string{"327 fact_engagement - 100 to 102 at {10 7}: [{1 3 0 0 0} {2 0 0 0 3}]"},
		},
		"at the end": {
			[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 3, 10), fell(102, 1, 2, 10), ended(103, sc2replay.PartStateComplete)},
			[]string{"103 fact_engagement - 100 to 102 at {10 7}: [{1 3 0 0 0} {2 0 0 0 2} {3 0 0 0 1}]"},
		},
		"classes": {
			[]*sc2replay.Event{
				class(100, army), class(101, worker), class(102, worker), class(103, sc2replay.UnitClassStructure),
				class(104, sc2replay.UnitClassStructure), class(105, sc2replay.UnitClassStructure), class(106, other), later,
			},
			[]string{"9000 fact_engagement - 100 to 105 at {10 7}: [{1 1 2 3 0} {2 0 0 0 6}]"},
		},
		"two deaths":      {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), later}, nil},
		"by the own side": {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 1, 1, 10), later}, nil},
		"by nobody":       {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 1, 0, 10), later}, nil},
		"of nobody":       {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 0, 1, 10), later}, nil},
		"no such player":  {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 1, 99, 10), fell(102, 99, 1, 10), later}, nil},
		"too late":        {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(326, 1, 2, 10), later}, nil},
		"too far":         {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 20), fell(102, 1, 2, 40), later}, nil},
		"no end":          {[]*sc2replay.Event{fell(100, 1, 2, 10), fell(101, 1, 2, 10), fell(102, 1, 2, 10), ended(103, sc2replay.PartStatePartial)}, nil},
		"a ninth at once": {many, []string{"180 fact_engagement - 100 to 102 at {0 7}: [{1 3 0 0 0} {2 0 0 0 3}]"}},
		"a ninth, while the first goes on": {
			append(append(many[:24:24], fell(179, 1, 2, 0)), many[24:]...),
			[]string{"180 fact_engagement - 110 to 112 at {1000 7}: [{1 3 0 0 0} {2 0 0 0 3}]"},
		},
		"two at once": {
			append(many[:6:6], fell(113, 2, 1, 1000), fell(114, 2, 1, 0), later),
			[]string{
				"9000 fact_engagement - 100 to 114 at {0 7}: [{1 3 0 0 1} {2 1 0 0 3}]",
				"9000 fact_engagement - 110 to 113 at {1000 7}: [{1 3 0 0 1} {2 1 0 0 3}]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := concludeOnly(of(sc2replay.KindFactEngagement), tt.events...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	fold, tick := facts.New(nil), int32(0)
	death, fact := fell(0, 1, 2, 10), new(sc2replay.Event)
	if n := testing.AllocsPerRun(100, func() {
		for range 4 {
			death.AtTick = tick
			fold.Apply(death)
		}
		tick += 1000
		for fold.Apply(at(tick, 0, sc2replay.KindCmd, nil)); fold.Next(fact); {
			if fact.Kind == sc2replay.KindFactEngagement && fact.FactEngagement.Sides[0].ArmyLost != 4 {
				t.Error(fact.FactEngagement)
			}
		}
	}); n > 1 { // the event
		t.Errorf("a fight takes %v allocations", n)
	}
	if fold.Held() > 4096 {
		t.Errorf("a hundred fights that are over hold %d bytes", fold.Held())
	}
	if got := concludeOnly(of(sc2replay.KindFactEngagement), append(many, later)...); len(got) != 9 || !strings.HasPrefix(got[8], "9000 fact_engagement - 180 to 182") {
		t.Errorf("of nine at once: %q", got)
	}
}
