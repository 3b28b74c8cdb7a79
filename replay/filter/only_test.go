package filter_test

import (
	"slices"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// TestOnly: of the kinds that a filter delivers, a caller takes some. What the filter says of itself is true of these.
func TestOnly(t *testing.T) {
	type f = replaydv1.EventFilter
	with := format
	with.Kinds = append(slices.Clone(format.Kinds), filter.Kind{Name: "fact", Fact: true}, filter.Kind{Name: "sample", Sample: true},
		filter.Kind{Name: "fact_of_map", Fact: true, Map: true}, filter.Kind{Name: "entity", State: true})
	fact := uint8(len(format.Kinds))
	sample, mapped, state := fact+1, fact+2, fact+3
	everything := []*f{{Kinds: []string{"diff", "join", "fact", "sample", "fact_of_map", "entity"}}}
	for name, test := range map[string]struct {
		include                          []*f
		may, kinds, named                []uint8
		facts, samples, maps, onlyBefore bool
	}{
		"a kind":             {everything, []uint8{diff}, []uint8{diff}, nil, false, false, false, false},
		"a fact":             {everything, []uint8{fact}, []uint8{fact}, nil, true, false, false, false},
		"a sample":           {everything, []uint8{sample}, []uint8{sample}, nil, false, true, false, false},
		"a fact of a map":    {everything, []uint8{mapped}, []uint8{mapped}, nil, true, false, true, false},
		"what is a state":    {everything, []uint8{state}, []uint8{state}, nil, false, false, false, true},
		"a state and events": {everything, []uint8{state, join}, []uint8{state, join}, nil, false, false, false, false},
		"one not asked for":  {[]*f{{Kinds: []string{"diff"}}}, []uint8{join}, nil, []uint8{diff}, false, false, false, true},
		"nothing asked for":  {nil, []uint8{diff, fact}, []uint8{diff}, []uint8{}, false, false, false, false},
		"one of two filters": {[]*f{{Kinds: []string{"join"}}, {Players: []int32{1}}}, []uint8{diff}, []uint8{diff}, []uint8{join}, false, false, false, false},
	} {
		all, err := filter.Compile(&with, test.include, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		only, err := all.Only(&with, func(kind uint8) bool { return slices.Contains(test.may, kind) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if only.Facts() != test.facts || only.Samples() != test.samples || only.Map() != test.maps || only.Nothing() != test.onlyBefore {
			t.Errorf("%s: facts %v, samples %v, a map %v, nothing %v", name, only.Facts(), only.Samples(), only.Map(), only.Nothing())
		}
		named := test.named
		if named == nil { // the kinds that the only filter names
			named = []uint8{diff, join, fact, sample, mapped, state}
		}
		for kind := range uint8(len(with.Kinds)) {
			delivered := slices.Contains(test.kinds, kind)
			if only.Kind(kind) != delivered || !delivered && only.Whole(kind) {
				t.Errorf("%s: kind %d is delivered: %v, whole: %v", name, kind, only.Kind(kind), only.Whole(kind))
			}
			if got := only.Named(kind); got != slices.Contains(named, kind) {
				t.Errorf("%s: kind %d is named: %v", name, kind, got)
			}
		}
	}
}

// TestNamed: a kind is named by an include filter with kinds, unless an exclude filter removes all of its events.
func TestNamed(t *testing.T) {
	type f = replaydv1.EventFilter
	diffs, player := &f{Kinds: []string{"diff"}}, &f{Players: []int32{1}}
	for name, test := range map[string]struct {
		include, exclude []*f
		want             bool
	}{
		"nothing asked":      {nil, nil, false},
		"the kind":           {[]*f{diffs}, nil, true},
		"another condition":  {[]*f{player}, nil, false},
		"either":             {[]*f{player, diffs}, nil, true},
		"another kind":       {[]*f{{Kinds: []string{"join"}}, player}, nil, false},
		"the kind, excluded": {[]*f{diffs, player}, []*f{diffs}, false},
	} {
		c, err := filter.Compile(&format, test.include, test.exclude)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.Named(diff); got != test.want {
			t.Errorf("%s: it is named: %v", name, got)
		}
	}
}
