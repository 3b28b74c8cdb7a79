package filter_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

const sample uint8 = 7 // behind the kinds of format

// sampling returns the format with a kind of samples, of which there is one every 50 ticks if a request does not say.
func sampling() *filter.Format {
	with := format
	with.Kinds, with.SampleTicks = append(slices.Clone(format.Kinds), table.Describe([]string{"sample_thing"})[0]), 50
	with.Kinds[sample].Has = format.Kinds[diff].Has
	return &with
}

func each(n int32) *replaydv1.TickRange { return &replaydv1.TickRange{Every: &n} }

// TestEvery: a filter selects ticks that are multiples of a number. Samples come only by name, and those of each 50th tick if a filter of
// include does not say otherwise.
func TestEvery(t *testing.T) {
	type f = replaydv1.EventFilter
	samples := []string{"sample_thing"}
	for name, test := range map[string]struct {
		include, exclude []*f
		kind             uint8
		tick             int32
		want             bool
	}{
		"nothing asked":              {nil, []*f{{Players: []int32{9}}}, diff, 7, true},
		"samples need a name":        {[]*f{{}}, nil, sample, 50, false},
		"a multiple":                 {[]*f{{Ticks: each(7)}}, nil, diff, 14, true},
		"no multiple":                {[]*f{{Ticks: each(7)}}, nil, diff, 15, false},
		"the first tick":             {[]*f{{Ticks: each(7)}}, nil, diff, 0, true},
		"before the first":           {[]*f{{Ticks: each(7)}}, nil, diff, -1, false},
		"each":                       {[]*f{{Ticks: each(1)}}, nil, diff, 15, true},
		"a sample of a second":       {[]*f{{Kinds: samples}}, nil, sample, 100, true},
		"a sample between":           {[]*f{{Kinds: samples}}, nil, sample, 101, false},
		"with other kinds":           {[]*f{{Kinds: []string{"diff", "sample_thing"}}}, nil, diff, 101, true},
		"a sample with other kinds":  {[]*f{{Kinds: []string{"diff", "sample_thing"}}}, nil, sample, 101, false},
		"another number":             {[]*f{{Kinds: samples, Ticks: each(25)}}, nil, sample, 75, true},
		"any number":                 {[]*f{{Kinds: samples}, {Kinds: samples, Ticks: each(3)}}, nil, sample, 33, true},
		"other ticks of a number":    {[]*f{{Kinds: samples, Ticks: ticks(20, 30)}}, nil, sample, 50, false},
		"exclude has all by default": {[]*f{{Kinds: samples, Ticks: each(1)}}, []*f{{Kinds: samples, Ticks: ticks(0, 9)}}, sample, 7, false},
		"exclude has some":           {[]*f{{Kinds: samples, Ticks: each(1)}}, []*f{{Ticks: each(10)}}, sample, 20, false},
		"exclude leaves some":        {[]*f{{Kinds: samples, Ticks: each(1)}}, []*f{{Ticks: each(10)}}, sample, 21, true},
	} {
		compiled, err := filter.Compile(sampling(), test.include, test.exclude)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		event := at(diff, test.tick, 0)
		event.Kind = test.kind
		if got := compiled.Match(&event); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if compiled.Whole(test.kind) && !test.want {
			t.Errorf("%s: every event of the kind is said to match", name)
		}
	}
	for _, n := range []int32{0, -1} {
		if _, err := filter.Compile(sampling(), nil, []*f{{Ticks: each(n)}}); err == nil {
			t.Errorf("every %d is not refused", n)
		}
	}
}

// TestNext: the next tick of samples is the first one that the filter lets through.
func TestNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var include []*replaydv1.EventFilter
		for range rapid.IntRange(1, 3).Draw(t, "filters") {
			f := &replaydv1.EventFilter{Kinds: []string{rapid.SampledFrom([]string{"sample_thing", "diff"}).Draw(t, "kind")}, Ticks: &replaydv1.TickRange{}}
			if rapid.Bool().Draw(t, "min") {
				f.Ticks.Min = new(rapid.Int32Range(-100, 300).Draw(t, "from"))
			}
			if rapid.Bool().Draw(t, "max") {
				f.Ticks.Max = new(rapid.Int32Range(300, 400).Draw(t, "to"))
			}
			if rapid.Bool().Draw(t, "some") {
				f.Ticks.Every = new(rapid.Int32Range(1, 90).Draw(t, "every"))
			}
			include = append(include, f)
		}
		f, err := filter.Compile(sampling(), include, nil)
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.Int32Range(-200, 450).Draw(t, "begin")
		to := from + rapid.Int32Range(0, 300).Draw(t, "ticks")
		var want int32
		found := false
		for tick := from; tick <= to && !found; tick++ {
			e := at(diff, tick, 0)
			e.Kind = sample
			if found = f.Match(&e); found {
				want = tick
			}
		}
		if tick, ok := f.Next(sample, from, to); ok != found || ok && tick != want {
			t.Fatalf("the next tick is %d, %v, want %d, %v", tick, ok, want, found)
		}
	})
}
