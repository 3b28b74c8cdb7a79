package filter_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/filter"
)

var kinds = []string{"", "diff", "join", "chat"}

const (
	diff uint8 = 1 + iota
	join
	chat
)

func at(kind uint8, tick, player int32) filter.Event {
	return filter.Event{
		Kind: kind, Tick: tick, Player: player, Other: filter.None, Team: filter.None, Group: filter.None, Layer: filter.None,
	}
}

func ticks(lo, hi int32) *replaydv1.TickRange { return &replaydv1.TickRange{Min: &lo, Max: &hi} }

func TestMatch(t *testing.T) {
	type f = replaydv1.EventFilter
	swap := at(join, 5, 1)
	swap.Other = 2
	team := at(chat, 5, filter.None)
	team.Team = 3
	layer := at(diff, 0, filter.None)
	layer.Group, layer.Layer = 1, 4
	for _, test := range []struct {
		name             string
		include, exclude []*f
		event            filter.Event
		want             bool
	}{
		{"nothing asked", nil, nil, at(diff, 1, 0), true},
		{"kind", []*f{{Kinds: []string{"diff"}}}, nil, at(diff, 1, 0), true},
		{"other kind", []*f{{Kinds: []string{"diff"}}}, nil, at(join, 1, 0), false},
		{"one of two kinds", []*f{{Kinds: []string{"diff", "join"}}}, nil, at(join, 1, 0), true},
		{"one of two filters", []*f{{Kinds: []string{"diff"}}, {Players: []int32{7}}}, nil, at(join, 1, 7), true},
		{"both conditions of a filter", []*f{{Kinds: []string{"diff"}, Players: []int32{7}}}, nil, at(join, 1, 7), false},
		{"player zero is a player", []*f{{Players: []int32{0}}}, nil, at(diff, 1, 0), true},
		{"event without player", []*f{{Players: []int32{0}}}, nil, at(diff, 1, filter.None), false},
		{"asking for no player matches none", []*f{{Players: []int32{filter.None}}}, nil, at(diff, 1, filter.None), false},
		{"second player", []*f{{Players: []int32{2}}}, nil, swap, true},
		{"team", []*f{{Teams: []int32{3}}}, nil, team, true},
		{"other team", []*f{{Teams: []int32{4}}}, nil, team, false},
		{"group and layer", []*f{{Groups: []int32{1}, Layers: []int32{4}}}, nil, layer, true},
		{"group of another", []*f{{Groups: []int32{2}, Layers: []int32{4}}}, nil, layer, false},
		{"first tick of range", []*f{{Ticks: ticks(5, 9)}}, nil, at(diff, 5, 0), true},
		{"last tick of range", []*f{{Ticks: ticks(5, 9)}}, nil, at(diff, 9, 0), true},
		{"before range", []*f{{Ticks: ticks(5, 9)}}, nil, at(diff, 4, 0), false},
		{"after range", []*f{{Ticks: ticks(5, 9)}}, nil, at(diff, 10, 0), false},
		{"excluded", nil, []*f{{Kinds: []string{"diff"}}}, at(diff, 1, 0), false},
		{"not excluded", nil, []*f{{Kinds: []string{"diff"}}}, at(join, 1, 0), true},
		{"excluded though included", []*f{{Players: []int32{1}}}, []*f{{Kinds: []string{"diff"}}}, at(diff, 1, 1), false},
		{"excluded for others", nil, []*f{{Kinds: []string{"diff"}, Players: []int32{2}}}, at(diff, 1, 1), true},
		{"empty filter includes all", []*f{{}}, nil, at(diff, 1, 0), true},
		{"empty filter excludes all", nil, []*f{{}}, at(diff, 1, 0), false},
		{"class asked of an event without", []*f{{Classes: []string{"*"}}}, nil, at(diff, 1, 0), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := filter.Compile(kinds, test.include, test.exclude)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Match(&test.event); got != test.want {
				t.Errorf("got %v", got)
			}
			if test.want && (!c.Kind(test.event.Kind) || c.Nothing() || test.event.Tick > c.MaxTick()) {
				t.Errorf("matches an event that it says it cannot: kind %v, nothing %v, max tick %d",
					c.Kind(test.event.Kind), c.Nothing(), c.MaxTick())
			}
		})
	}
}

func TestForesight(t *testing.T) {
	type f = replaydv1.EventFilter
	compile := func(include, exclude []*f) *filter.Filter {
		c, err := filter.Compile(kinds, include, exclude)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := compile([]*f{{Kinds: []string{"diff"}}}, nil); c.Kind(join) || !c.Kind(diff) {
		t.Error("kinds of an include are not foreseen")
	}
	if c := compile(nil, []*f{{Kinds: []string{"diff"}}}); c.Kind(diff) || !c.Kind(join) {
		t.Error("kinds of an exclude are not foreseen")
	}
	if c := compile(nil, []*f{{Kinds: []string{"diff"}, Players: []int32{1}}}); !c.Kind(diff) {
		t.Error("a kind that is excluded for one player is taken for excluded")
	}
	if c := compile([]*f{{Ticks: ticks(1, 5)}, {Ticks: ticks(2, 9)}}, nil); c.MaxTick() != 9 {
		t.Errorf("max tick %d", c.MaxTick())
	}
	if c := compile([]*f{{Ticks: ticks(1, 5)}, {}}, nil); c.MaxTick() != math.MaxInt32 {
		t.Errorf("max tick %d", c.MaxTick())
	}
	if c := compile([]*f{{Kinds: []string{"diff"}}}, []*f{{Kinds: []string{"diff"}}}); !c.Nothing() {
		t.Error("nothing is left and it does not say so")
	}
	if c := compile([]*f{{Players: []int32{1, 2}}, {}}, []*f{{Teams: []int32{1}}}); c.Conditions() != 3+2*2+1 {
		t.Errorf("%d conditions", c.Conditions())
	}
}

func TestClassesAndFields(t *testing.T) {
	type f = replaydv1.EventFilter
	c, err := filter.Compile(kinds, []*f{
		{Classes: []string{"CDOTA_Unit_Hero_*"}, Fields: []string{"m_vec*", "m_iHealth"}},
		{Kinds: []string{"chat"}},
	}, []*f{{Fields: []string{"m_vecOld"}}})
	if err != nil {
		t.Fatal(err)
	}
	hero, world := c.Class("CDOTA_Unit_Hero_Axe"), c.Class("CWorld")
	diff1, chat1 := at(diff, 1, filter.None), at(chat, 1, filter.None)
	if world.Match(&diff1) || world.Kind(diff) || !world.Match(&chat1) {
		t.Error("events of a class that was not asked for")
	}
	wanted := hero.Fields(diff)
	for field, want := range map[string]bool{"m_vecX": true, "m_iHealth": true, "m_iMana": false, "m_vecOld": false} {
		if wanted(field) != want {
			t.Errorf("%s: wanted %v", field, !want)
		}
	}
	if !hero.WithoutFields().Match(&diff1) {
		t.Error("an event of a class that was asked for does not match")
	}
}

func TestErrors(t *testing.T) {
	type f = replaydv1.EventFilter
	many := make([]*f, 65)
	for name, test := range map[string]struct {
		include []*f
		field   string
		mention string
	}{
		"unknown kind":    {[]*f{{}, {Kinds: []string{"diff", "player"}}}, "include[1].kinds[1]", "diff, join, chat"},
		"empty kind":      {[]*f{{Kinds: []string{""}}}, "include[0].kinds[0]", "unknown kind"},
		"backward ticks":  {[]*f{{Ticks: ticks(5, 4)}}, "include[0].ticks", "after"},
		"too many":        {many, "include", "at most 64"},
		"too many values": {[]*f{{Players: make([]int32, 2000)}}, "include[0]", "at most 1024"},
	} {
		_, err := filter.Compile(kinds, test.include, nil)
		field, ok := errors.AsType[*filter.FieldError](err)
		if !ok || field.Field != test.field || !strings.Contains(field.Problem, test.mention) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "anything", true}, {"a*", "abc", true},
		{"*c", "abc", true}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*b*c", "aXbXbXc", true}, {"a?c", "abc", true},
		{"a?c", "ac", false}, {"abc", "abcd", false}, {"*ab", "aab", true}, {"A*", "abc", false}, {"a.c", "abc", false},
		{"**a", "a", true}, {"a*", "", false},
	} {
		if got := filter.Glob(test.pattern, test.name); got != test.want {
			t.Errorf("Glob(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

// TestGlobStars: what a pattern is made from by putting stars in place of parts of a name matches that name.
func TestGlobStars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{0,12}`).Draw(t, "name")
		from := rapid.IntRange(0, len(name)).Draw(t, "from")
		to := rapid.IntRange(from, len(name)).Draw(t, "to")
		if pattern := name[:from] + "*" + name[to:]; !filter.Glob(pattern, name) {
			t.Fatalf("%q does not match %q", pattern, name)
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add("diff", int32(1), int32(2), int32(3), "CDOTA_*", uint8(1), int32(4))
	f.Fuzz(func(t *testing.T, kind string, player, lo, hi int32, class string, eventKind uint8, tick int32) {
		in := []*replaydv1.EventFilter{{Kinds: []string{kind}, Players: []int32{player}}, {Ticks: ticks(lo, hi)}}
		ex := []*replaydv1.EventFilter{{Classes: []string{class}}}
		c, err := filter.Compile(kinds, in, ex)
		if err != nil {
			if _, ok := errors.AsType[*filter.FieldError](err); !ok {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		e := at(eventKind, tick, player)
		if c.Match(&e) && (!c.Kind(eventKind) || tick > c.MaxTick() || c.Nothing()) {
			t.Fatal("matches what it foresaw not to")
		}
		narrow := c.Class(class)
		if narrow.Match(&e) {
			t.Fatal("an excluded class matches")
		}
	})
}
