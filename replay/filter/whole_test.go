package filter_test

import (
	"slices"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// TestWhole: all events of a kind are delivered only where no condition but that on kinds decides.
func TestWhole(t *testing.T) {
	type f = replaydv1.EventFilter
	diffs := &f{Kinds: []string{"diff"}}
	for name, test := range map[string]struct {
		include, exclude []*f
		want             []uint8
	}{
		"nothing asked":            {nil, nil, []uint8{diff, join, thing, chat}},
		"a kind":                   {[]*f{diffs}, nil, []uint8{diff}},
		"two filters":              {[]*f{{Players: []int32{1}}, diffs}, nil, []uint8{diff}},
		"a player":                 {[]*f{{Kinds: []string{"diff"}, Players: []int32{1}}}, nil, nil},
		"a group":                  {[]*f{{Kinds: []string{"diff"}, Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}}}}, nil, nil},
		"ticks":                    {[]*f{{Kinds: []string{"diff"}, Ticks: ticks(0, 9)}}, nil, nil},
		"without the kind":         {nil, []*f{diffs}, []uint8{join, thing, chat}},
		"a kind without the kind":  {[]*f{diffs}, []*f{diffs}, nil},
		"a kind without a player":  {[]*f{diffs}, []*f{{Players: []int32{1}}}, nil},
		"a kind without some time": {[]*f{diffs}, []*f{{Ticks: ticks(0, 9)}}, nil},
		"without a team":           {nil, []*f{{Teams: []int32{1}}}, []uint8{diff, thing, chat}},
		"a type":                   {[]*f{{Dem: &replaydv1.DemFilter{Types: []string{"war"}}}, {Kinds: []string{"join"}}}, nil, []uint8{join}},
		"a class":                  {[]*f{{Dem: &replaydv1.DemFilter{Classes: []string{"CTower"}}}, {Kinds: []string{"join"}}}, nil, []uint8{join}},
		"a field":                  {[]*f{{Dem: &replaydv1.DemFilter{Fields: []string{"m_iHealth"}}}, {Kinds: []string{"join"}}}, nil, []uint8{join}},
		"without a class":          {nil, []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"CTower"}}}}, []uint8{diff, join, chat}},
		"without a type":           {nil, []*f{{Dem: &replaydv1.DemFilter{Types: []string{"war"}}}}, []uint8{diff, join, thing}},
	} {
		c, err := filter.Compile(&format, test.include, test.exclude)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, kind := range []uint8{diff, join, thing, chat} {
			if got := c.Whole(kind); got != slices.Contains(test.want, kind) {
				t.Errorf("%s: kind %d is delivered whole: %v", name, kind, got)
			}
		}
	}
}

// TestWithFacts: the filter of everything has facts, which the one that asks for nothing has not.
func TestWithFacts(t *testing.T) {
	with := format
	with.Kinds = append(slices.Clone(format.Kinds), filter.Kind{Name: "fact_of_it", Fact: true}, filter.Kind{Name: "fact_of_map", Fact: true, Map: true})
	fact := uint8(len(format.Kinds))
	all, err := filter.WithFacts(&with)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []uint8{diff, join, chat, fact} {
		if !all.Whole(kind) || !all.Kind(kind) {
			t.Errorf("kind %d is not delivered whole", kind)
		}
	}
	mapped, err := filter.Compile(&with, []*replaydv1.EventFilter{{Kinds: []string{"fact_of_map"}}}, nil)
	if err != nil || all.Map() || all.Kind(fact+1) || !mapped.Map() || !mapped.Facts() {
		t.Errorf("%v: the filter of everything needs a map: %v, that of what does: %v", err, all.Map(), mapped.Map())
	}
	asked, err := filter.Compile(&with, []*replaydv1.EventFilter{{}}, nil)
	if err != nil || asked.Facts() || asked.Kind(fact) || !all.Facts() {
		t.Errorf("%v: facts %v where nothing is asked for, %v with facts", err, asked.Facts(), all.Facts())
	}
	if none, err := filter.WithFacts(&format); err != nil || none.Facts() {
		t.Errorf("a format without facts has some: %v", err)
	}
}
