package filter_test

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// subject is what the events of a made-up format say.
type subject struct {
	player, other, team, group, layer int32
	typ                               string
}

var table = filter.Table[subject]{
	diff: {
		Player: func(s *subject) int32 { return s.player }, Group: func(s *subject) int32 { return s.group },
		Layer: func(s *subject) int32 { return s.layer },
	},
	join: {
		Player: func(s *subject) int32 { return s.player }, OtherPlayer: func(s *subject) int32 { return s.other },
		Team: func(s *subject) int32 { return s.team }, OtherTeam: func(s *subject) int32 { return s.other },
	},
	thing: {Classes: true, Fields: true},
	gone:  {Classes: true},
	chat:  {Type: func(s *subject) []byte { return []byte(s.typ) }},
	news:  {Type: func(s *subject) []byte { return []byte(s.typ) }, Types: func() []string { return []string{"peace", "war"} }},
}

var format = filter.Format{Name: "game", Kinds: table.Describe([]string{"", "diff", "join", "thing", "gone", "chat", "news"})}

const (
	diff uint8 = 1 + iota
	join
	thing
	gone
	chat
	news
)

func at(kind uint8, tick, player int32) filter.Event {
	return table.Event(kind, tick, &subject{player: player, other: filter.None, team: filter.None, group: filter.None, layer: filter.None})
}

func ticks(lo, hi int32) *replaydv1.TickRange { return &replaydv1.TickRange{Min: &lo, Max: &hi} }

func TestMatch(t *testing.T) {
	type f = replaydv1.EventFilter
	swap := table.Event(join, 5, &subject{player: 1, other: 2, team: 3})
	layer := table.Event(diff, 0, &subject{player: filter.None, group: 1, layer: 4})
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
		{"team", []*f{{Teams: []int32{3}}}, nil, swap, true},
		{"second team", []*f{{Teams: []int32{2}}}, nil, swap, true},
		{"neither team", []*f{{Teams: []int32{4}}}, nil, swap, false},
		{"no team", []*f{{Teams: []int32{0}}}, nil, at(join, 1, 1), false},
		{"large number", []*f{{Players: []int32{5, 1 << 20, 700}}}, nil, at(diff, 1, 1<<20), true},
		{"other large number", []*f{{Players: []int32{5, 1 << 20, 700}}}, nil, at(diff, 1, 1<<19), false},
		{"negative number", []*f{{Players: []int32{-1}}}, nil, at(diff, 1, -1), true},
		{"group and layer", []*f{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}, Layers: []int32{4}}}}, nil, layer, true},
		{"group of another", []*f{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{2}, Layers: []int32{4}}}}, nil, layer, false},
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
		{"class asked of an event without", []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"*"}}}}, nil, at(diff, 1, 0), false},
		{"class excluded of an event without", nil, []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"*"}}}}, at(diff, 1, 0), true},
		{"fields excluded of an event without", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}}, at(diff, 1, 0), true},
		{"player asked of a kind without", []*f{{Players: []int32{0}}}, nil, table.Event(chat, 1, &subject{}), false},
		{"player excluded of a kind without", nil, []*f{{Players: []int32{0}}}, table.Event(chat, 1, &subject{}), true},
		{"kind of no row", []*f{{Kinds: []string{"news"}}}, nil, at(news, 1, 0), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := filter.Compile(&format, test.include, test.exclude)
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
		c, err := filter.Compile(&format, include, exclude)
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
	if c := compile([]*f{{Players: []int32{1, 2}}, {}}, []*f{{Teams: []int32{1}}}); c.Clauses() != 3 {
		t.Errorf("%d clauses", c.Clauses())
	}
}

// narrowed is what a filter delivers of an event of an entity with these fields, nil for nothing.
func narrowed(f *filter.Filter, kind uint8, tick int32, class string, fields ...string) []string {
	e := table.Event(kind, tick, &subject{})
	c := f.Class(class)
	n := c.Match(&e)
	if n.None() {
		return nil
	}
	kept := []string{}
	for _, name := range fields {
		if n.Keeps(f.Field(name)) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 && !n.Empty(len(fields) > 0) {
		return nil
	}
	return kept
}

// TestFieldNames: a name matches itself alone, however long it is.
func TestFieldNames(t *testing.T) {
	var named []string
	for n := 1; n < 200; n += 7 {
		named = append(named, strings.Repeat("n", n))
	}
	c, err := filter.Compile(&format, []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Fields: named}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	class := c.Class("X")
	for n := range 200 {
		if name := strings.Repeat("n", n); class.Wants(c.Field(name), thing) != slices.Contains(named, name) {
			t.Errorf("a name of %d characters is wanted, or not", n)
		}
	}
}

func TestFields(t *testing.T) {
	type f = replaydv1.EventFilter
	none, empty, all := []string(nil), []string{}, []string{"a", "b", "c"}
	for _, test := range []struct {
		name             string
		include, exclude []*f
		kind             uint8
		tick             int32
		class            string
		fields, want     []string
	}{
		{"class", []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X*"}}}}, nil, thing, 1, "Xy", all, all},
		{"other class", []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X*"}}}}, nil, thing, 1, "Zy", all, none},
		{"excluded class", nil, []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X*"}}}}, thing, 1, "Xy", all, none},
		{"fields", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a", "b*"}}}}, nil, thing, 1, "X", all, []string{"a", "b"}},
		{"none of the fields", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"z"}}}}, nil, thing, 1, "X", all, none},
		{"fields of an event that has none", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}}}, nil, thing, 1, "X", nil, none},
		{"fields of a kind that has none", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}, {Kinds: []string{"chat"}}}, nil, gone, 1, "X", nil, none},
		{"an event without fields", []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X"}}}}, nil, thing, 1, "X", nil, empty},
		{"fields of a class", []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X"}, Fields: []string{"a"}}}, {Dem: &replaydv1.DemFilter{Classes: []string{"Y"}, Fields: []string{"b"}}}}, nil,
			thing, 1, "Y", all, []string{"b"}},
		{"fields of two clauses that match", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}}, {Dem: &replaydv1.DemFilter{Fields: []string{"c"}}}}, nil, thing, 1, "X", all, []string{"a", "c"}},
		{"fields, and all of it", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}}, {Dem: &replaydv1.DemFilter{Classes: []string{"X"}}}}, nil, thing, 1, "X", all, all},
		{"fields of ticks", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Ticks: ticks(1, 5)}, {Dem: &replaydv1.DemFilter{Fields: []string{"b"}}, Ticks: ticks(5, 9)}}, nil,
			thing, 7, "X", all, []string{"b"}},
		{"fields of both ticks", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Ticks: ticks(1, 5)}, {Dem: &replaydv1.DemFilter{Fields: []string{"b"}}, Ticks: ticks(5, 9)}}, nil,
			thing, 5, "X", all, []string{"a", "b"}},
		{"excluded fields", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a", "c"}}}}, thing, 1, "X", all, []string{"b"}},
		{"all fields excluded", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}}, thing, 1, "X", all, none},
		{"fields excluded of an event that has none", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}}, thing, 1, "X", nil, empty},
		{"fields excluded of a kind that has none", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}}, gone, 1, "X", nil, empty},
		{"fields excluded later", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Ticks: ticks(1001, 1<<30)}}, thing, 1000, "X", all, all},
		{"fields excluded now", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Ticks: ticks(1001, 1<<30)}}, thing, 1001, "X", all, []string{"b", "c"}},
		{"fields excluded of another kind", nil, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Kinds: []string{"chat"}}}, thing, 1, "X", all, all},
		{"fields included and excluded", []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a", "b"}}}}, []*f{{Dem: &replaydv1.DemFilter{Fields: []string{"b"}}}}, thing, 1, "X", all, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := filter.Compile(&format, test.include, test.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got := narrowed(c, test.kind, test.tick, test.class, test.fields...)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			of := c.Class(test.class)
			if got != nil && !of.Kind(test.kind) {
				t.Error("the class was said not to be wanted")
			}
			for _, name := range got {
				if !of.Wants(c.Field(name), thing, gone) {
					t.Errorf("field %s was said not to be wanted", name)
				}
			}
		})
	}
}

// TestForeseeFields: what can never be delivered need not be decoded.
func TestForeseeFields(t *testing.T) {
	type f = replaydv1.EventFilter
	c, err := filter.Compile(&format, []*f{{Dem: &replaydv1.DemFilter{Classes: []string{"X"}, Fields: []string{"a", "b"}}}, {Dem: &replaydv1.DemFilter{Classes: []string{"Y"}}, Ticks: ticks(1, 2)}},
		[]*f{{Dem: &replaydv1.DemFilter{Fields: []string{"b"}}}, {Dem: &replaydv1.DemFilter{Fields: []string{"a"}}, Ticks: ticks(1, 2)}, {Dem: &replaydv1.DemFilter{Classes: []string{"Z"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		class, field string
		want         bool
	}{{"X", "a", true}, {"X", "b", false}, {"X", "c", false}, {"Y", "a", true}, {"Y", "c", true}, {"Z", "a", false}, {"W", "a", false}} {
		of := c.Class(test.class)
		if got := of.Wants(c.Field(test.field), thing, gone); got != test.want {
			t.Errorf("%s of %s: wanted %v", test.field, test.class, got)
		}
	}
	for class, want := range map[string]bool{"X": true, "Y": true, "Z": false, "W": false} {
		if of := c.Class(class); of.Kind(thing) != want {
			t.Errorf("class %s: wanted %v", class, !want)
		}
	}
}

// conditions are the paths of the conditions that EventFilter has.
func conditions() (paths []string) {
	var walk func(m protoreflect.MessageDescriptor, at string)
	walk = func(m protoreflect.MessageDescriptor, at string) {
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if name := at + string(f.Name()); f.Message() != nil && f.Name() != "ticks" {
				walk(f.Message(), name+".")
			} else {
				paths = append(paths, name)
			}
		}
	}
	walk((*replaydv1.EventFilter)(nil).ProtoReflect().Descriptor(), "")
	return paths
}

// TestNames: the properties are the conditions of EventFilter, but kinds and ticks.
func TestNames(t *testing.T) {
	var properties, fields []string
	for _, p := range filter.Properties(math.MaxUint8).All() {
		properties = append(properties, p.Path())
	}
	for _, path := range conditions() {
		if path != "kinds" && path != "ticks" {
			fields = append(fields, path)
		}
	}
	slices.Sort(properties)
	slices.Sort(fields)
	if !slices.Equal(properties, fields) {
		t.Errorf("properties %q, fields %q", properties, fields)
	}
}

// TestEachCondition: each condition of a clause decides, on each of the lists, and the clause is not taken for one without
// conditions.
func TestEachCondition(t *testing.T) {
	type f = replaydv1.EventFilter
	all := subject{player: 1, other: 2, team: 3, group: 4, layer: 5, typ: "war"}
	tests := map[string]struct {
		kind          uint8
		meets, misses *f
	}{
		"kinds":           {diff, &f{Kinds: []string{"diff"}}, &f{Kinds: []string{"join"}}},
		"ticks":           {diff, &f{Ticks: ticks(7, 7)}, &f{Ticks: ticks(8, 9)}},
		"players":         {diff, &f{Players: []int32{1}}, &f{Players: []int32{9}}},
		"teams":           {join, &f{Teams: []int32{3}}, &f{Teams: []int32{9}}},
		"datafile.groups": {diff, &f{Datafile: &replaydv1.DatafileFilter{Groups: []int32{4}}}, &f{Datafile: &replaydv1.DatafileFilter{Groups: []int32{9}}}},
		"datafile.layers": {diff, &f{Datafile: &replaydv1.DatafileFilter{Layers: []int32{5}}}, &f{Datafile: &replaydv1.DatafileFilter{Layers: []int32{9}}}},
		"dem.types":       {news, &f{Dem: &replaydv1.DemFilter{Types: []string{"war"}}}, &f{Dem: &replaydv1.DemFilter{Types: []string{"peace"}}}},
		"dem.classes":     {thing, &f{Dem: &replaydv1.DemFilter{Classes: []string{"X"}}}, &f{Dem: &replaydv1.DemFilter{Classes: []string{"Y"}}}},
		"dem.fields":      {thing, &f{Dem: &replaydv1.DemFilter{Fields: []string{"a"}}}, &f{Dem: &replaydv1.DemFilter{Fields: []string{"b"}}}},
	}
	if has, tested := slices.Sorted(slices.Values(conditions())), slices.Sorted(maps.Keys(tests)); !slices.Equal(has, tested) {
		t.Errorf("EventFilter has the conditions %q, and these are tested: %q", has, tested)
	}
	for name, test := range tests {
		delivered := func(include, exclude []*f) bool {
			c, err := filter.Compile(&format, include, exclude)
			if err != nil {
				t.Fatal(err)
			}
			if test.kind == thing {
				return narrowed(c, thing, 7, "X", "a") != nil
			}
			e := table.Event(test.kind, 7, &all)
			if typ, ok := table.Type(test.kind, &all); ok {
				return c.MatchType(&e, typ)
			}
			return c.Match(&e)
		}
		for list, got := range map[string][2]bool{
			"include": {delivered([]*f{test.meets}, nil), delivered([]*f{test.misses}, nil)},
			"exclude": {!delivered(nil, []*f{test.meets}), !delivered(nil, []*f{test.misses})},
		} {
			if got != [2]bool{true, false} {
				t.Errorf("%s: %s matches %v", list, name, got)
			}
		}
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
		"unknown kind":    {[]*f{{}, {Kinds: []string{"diff", "player"}}}, "include[1].kinds[1]", "diff, join, thing, gone, chat, news"},
		"empty kind":      {[]*f{{Kinds: []string{""}}}, "include[0].kinds[0]", "unknown kind"},
		"backward ticks":  {[]*f{{Ticks: ticks(5, 4)}}, "include[0].ticks", "after"},
		"too many":        {many, "include", "at most 64"},
		"too many values": {[]*f{{Players: make([]int32, 2000)}}, "include[0]", "at most 1024"},
		"too many patterns": {
			[]*f{{Dem: &replaydv1.DemFilter{Fields: slices.Repeat([]string{"a*"}, 200)}}, {Dem: &replaydv1.DemFilter{Classes: slices.Repeat([]string{"a*"}, 57)}}}, "include[1].dem.classes", "256 patterns",
		},
		"too long":              {[]*f{{Dem: &replaydv1.DemFilter{Fields: []string{"a", strings.Repeat("a", 257)}}}}, "include[0].dem.fields[1]", "at most 256"},
		"of another format":     {[]*f{{}, {Datafile: &replaydv1.DatafileFilter{Layers: []int32{1}}, Teams: []int32{1}}}[1:], "include[0]", "all of its conditions"},
		"not of the kinds":      {[]*f{{Kinds: []string{"chat", "news"}, Players: []int32{1}}}, "include[0].players", "diff, join"},
		"unknown type":          {[]*f{{Kinds: []string{"news"}, Dem: &replaydv1.DemFilter{Types: []string{"war", "wra"}}}}, "include[0].dem.types[1]", "peace, war"},
		"part of a type":        {[]*f{{Kinds: []string{"news"}, Dem: &replaydv1.DemFilter{Types: []string{"w*"}}}}, "include[0].dem.types[0]", "unknown type"},
		"too long type":         {[]*f{{Dem: &replaydv1.DemFilter{Types: []string{strings.Repeat("a", 257)}}}}, "include[0].dem.types[0]", "at most 256"},
		"kinds without types":   {[]*f{{Kinds: []string{"diff"}, Dem: &replaydv1.DemFilter{Types: []string{"war"}}}}, "include[0].dem.types", "chat, news"},
		"kinds without a class": {[]*f{{Kinds: []string{"chat"}, Dem: &replaydv1.DemFilter{Classes: []string{"X"}}}}, "include[0].dem.classes", "thing, gone"},
	} {
		_, err := filter.Compile(&format, test.include, nil)
		field, ok := errors.AsType[*filter.FieldError](err)
		if !ok || field.Field != test.field || !strings.Contains(field.Problem, test.mention) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestOtherFormat: a clause with a condition that the format does not know matches nothing, and a request of such clauses
// only is refused.
func TestOtherFormat(t *testing.T) {
	type f = replaydv1.EventFilter
	mapFormat := filter.Format{Name: "map", Timeless: true, Kinds: filter.Table[subject]{
		1: {Group: func(s *subject) int32 { return s.group }}, 2: {},
	}.Describe([]string{"", "tiles", "info"})}
	for name, test := range map[string]struct {
		include []*f
		field   string
		mention string
	}{
		"players": {[]*f{{Players: []int32{1}}}, "include[0].players", "no event of a map has players"},
		"classes": {[]*f{{Dem: &replaydv1.DemFilter{Classes: []string{"*"}}}, {Dem: &replaydv1.DemFilter{Fields: []string{"*"}}}}, "include[0].dem.classes", "no event of a map has classes"},
		"ticks":   {[]*f{{Ticks: ticks(1, 5)}}, "include[0].ticks", "tick 0"},
		"either":  {[]*f{{Players: []int32{1}}, {Ticks: ticks(-3, 0)}}, "", ""},
		"from 0":  {[]*f{{Ticks: ticks(0, 5)}}, "", ""},
		"or":      {[]*f{{Players: []int32{1}}, {Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}}}}, "", ""},
	} {
		c, err := filter.Compile(&mapFormat, test.include, nil)
		field, refused := errors.AsType[*filter.FieldError](err)
		switch {
		case !refused && test.field == "":
			if e := filter.Of(2, 0); c.Match(&e) != (name != "or") {
				t.Errorf("%s: matches %v", name, !c.Match(&e))
			}
		case !refused || field.Field != test.field || !strings.Contains(field.Problem, test.mention):
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := filter.Compile(&mapFormat, nil, []*f{{Players: []int32{1}}}); err != nil {
		t.Errorf("an exclude that excludes nothing: %v", err)
	}
}

// TestCheck: a request is refused when the replay at hand has no events of the kinds that it asks for.
func TestCheck(t *testing.T) {
	type f = replaydv1.EventFilter
	absent := func(kind uint8) bool { return kind == chat || kind == news }
	for name, test := range map[string]struct {
		include, exclude []*f
		refused          bool
	}{
		"kinds that are not there":     {[]*f{{Kinds: []string{"chat"}}, {Kinds: []string{"news"}}}, nil, true},
		"kinds and ticks":              {[]*f{{Kinds: []string{"chat"}, Ticks: ticks(5, 9)}}, nil, true},
		"one that is":                  {[]*f{{Kinds: []string{"chat", "diff"}}}, nil, false},
		"excluded":                     {nil, []*f{{Kinds: []string{"chat"}}}, false},
		"all that is there is exluded": {[]*f{{Kinds: []string{"diff"}}}, []*f{{Kinds: []string{"diff"}}}, false},
	} {
		c, err := filter.Compile(&format, test.include, test.exclude)
		if err != nil {
			t.Fatal(err)
		}
		if field, refused := errors.AsType[*filter.FieldError](c.Check(&format, absent)); refused != test.refused ||
			refused && (field.Field != "include[0].kinds" || !strings.Contains(field.Problem, "chat")) {
			t.Errorf("%s: %v", name, field)
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
		ex := []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Classes: []string{class}}}}
		c, err := filter.Compile(&format, in, ex)
		if err != nil {
			if _, ok := errors.AsType[*filter.FieldError](err); !ok {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		e := at(1+eventKind%6, tick, player)
		if c.Whole(e.Kind) && !c.Match(&e) {
			t.Fatal("does not match though all events of the kind do")
		}
		if c.Match(&e) && (!c.Kind(e.Kind) || tick > c.MaxTick() || c.Nothing()) {
			t.Fatal("matches what it foresaw not to")
		}
		of := c.Class(class)
		if entity := at(thing, tick, player); !of.Match(&entity).None() && !of.Kind(thing) {
			t.Fatal("delivers of a class that it foresaw not to")
		}
	})
}

// TestTypes tests conditions on types: events have the type or its number, kinds that cannot have it are not decoded, and an
// exclude filter for types decides which types are decoded at all.
func TestTypes(t *testing.T) {
	type f = replaydv1.EventFilter
	of := func(types ...string) *replaydv1.DemFilter { return &replaydv1.DemFilter{Types: types} }
	for name, test := range map[string]struct {
		include, exclude []*f
		news             string // the types of news of war, peace and 7 that are delivered
		chat             string // the same of chat
		kinds            []uint8
	}{
		"no condition":           {[]*f{{Kinds: []string{"news"}}}, nil, "war peace 7", "", []uint8{news}},
		"one type":               {[]*f{{Dem: of("war")}}, nil, "war", "war", []uint8{chat, news}},
		"type of one kind":       {[]*f{{Kinds: []string{"news"}, Dem: of("war", "7")}}, nil, "war 7", "", []uint8{news}},
		"type that news lack":    {[]*f{{Dem: of("gossip")}}, nil, "", "", []uint8{chat}},
		"type of either filter":  {[]*f{{Kinds: []string{"news"}, Dem: of("war")}, {Kinds: []string{"chat"}, Dem: of("peace")}}, nil, "war", "peace", []uint8{chat, news}},
		"not a type":             {[]*f{{Kinds: []string{"news", "chat"}}}, []*f{{Dem: of("war")}}, "peace 7", "peace 7", []uint8{chat, news}},
		"not a type of one kind": {[]*f{{Kinds: []string{"news", "chat"}}}, []*f{{Kinds: []string{"chat"}, Dem: of("war")}}, "war peace 7", "peace 7", []uint8{chat, news}},
		"no type, at times":      {[]*f{{Kinds: []string{"news"}}}, []*f{{Dem: of("war"), Ticks: ticks(9, 9)}}, "war peace 7", "", []uint8{news}},
	} {
		c, err := filter.Compile(&format, test.include, test.exclude)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		delivered := func(kind uint8) string {
			var all []string
			for _, typ := range []string{"war", "peace", "7"} {
				s := subject{typ: typ}
				e := table.Event(kind, 1, &s)
				got, _ := table.Type(kind, &s)
				match := c.MatchType(&e, got)
				if match {
					all = append(all, typ)
				}
				if match && !c.Type(kind, got) || !match && c.Type(kind, got) && name != "no type, at times" {
					t.Errorf("%s: %s of kind %d is delivered: %v, but decoded: %v", name, typ, kind, match, c.Type(kind, got))
				}
			}
			return strings.Join(all, " ")
		}
		if got := [2]string{delivered(news), delivered(chat)}; got != [2]string{test.news, test.chat} {
			t.Errorf("%s: got %q", name, got)
		}
		if got := c.HasTypes(); got != (name != "no condition") {
			t.Errorf("%s: has types: %v", name, got)
		}
		for kind := diff; kind <= news; kind++ {
			if got := c.Kind(kind); got != slices.Contains(test.kinds, kind) {
				t.Errorf("%s: kind %d is decoded: %v", name, kind, got)
			}
		}
	}
	if c, err := filter.Compile(&format, []*f{{Kinds: []string{"news"}}}, []*f{{Dem: of("war"), Ticks: ticks(9, 9)}}); err != nil || !c.Type(news, []byte("war")) {
		t.Errorf("an exclude filter with another condition: %v", err)
	}
}

// TestState: of a state only the conditions on things count.
func TestState(t *testing.T) {
	type f = replaydv1.EventFilter
	one, two := at(diff, 7, 1), at(diff, 7, 2)
	for name, test := range map[string]struct {
		include, exclude []*f
		one, two         bool
	}{
		"nothing asked":                    {nil, nil, true, true},
		"a player":                         {[]*f{{Players: []int32{1}}}, nil, true, false},
		"a player's other events":          {[]*f{{Players: []int32{1}, Kinds: []string{"join"}, Ticks: ticks(900, 1000)}}, nil, true, false},
		"other events":                     {[]*f{{Kinds: []string{"chat"}}}, nil, true, true},
		"other events, or a player":        {[]*f{{Kinds: []string{"chat"}, Teams: []int32{1}}, {Players: []int32{2}}}, nil, false, true},
		"without a player":                 {nil, []*f{{Players: []int32{1}}}, false, true},
		"without a player's other events":  {nil, []*f{{Players: []int32{1}, Kinds: []string{"diff"}}}, true, true},
		"without a player's earlier times": {nil, []*f{{Players: []int32{1}, Ticks: ticks(0, 100)}}, true, true},
		"a player's events of a type":      {[]*f{{Players: []int32{1}}, {Dem: &replaydv1.DemFilter{Types: []string{"war"}}}}, nil, true, true},
		"without events of a type":         {nil, []*f{{Dem: &replaydv1.DemFilter{Types: []string{"war"}}}}, true, true},
		"without all":                      {nil, []*f{{}}, false, false},
	} {
		_, c, err := filter.CompileWithState(&format, test.include, test.exclude)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{c.Match(&one), c.Match(&two)}; got != [2]bool{test.one, test.two} {
			t.Errorf("%s: %v", name, got)
		}
	}
}
