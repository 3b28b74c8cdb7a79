package filter_test

import (
	"errors"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// TestStateKinds: kinds that describe a state match no event, so that a request for them alone is refused unless the stream begins with a
// state; nothing is excluded by them.
func TestStateKinds(t *testing.T) {
	type f = replaydv1.EventFilter
	stateful := filter.Format{Name: "game", Kinds: filter.Table[subject]{
		1: {Player: func(s *subject) int32 { return s.player }}, 2: {Player: func(s *subject) int32 { return s.player }, State: true},
	}.Describe([]string{"", "moved", "standing"})}
	moved, standing := filter.Of(1, 5), filter.Of(2, 5)
	moved.Numbers[filter.Players][0], standing.Numbers[filter.Players][0] = 1, 1
	for name, test := range map[string]struct {
		include, exclude []*f
		field            string // that is refused without a state
		withState        string // and with one
		nothing          bool
	}{
		"alone":            {[]*f{{Kinds: []string{"standing"}}}, nil, "include[0].kinds", "", true},
		"alone, with more": {[]*f{{Kinds: []string{"standing"}, Players: []int32{1}}}, nil, "include[0].kinds", "", true},
		"twice":            {[]*f{{Kinds: []string{"standing"}}, {Kinds: []string{"standing"}}}, nil, "include[0].kinds", "", true},
		"beside another":   {[]*f{{Kinds: []string{"standing", "moved"}}}, nil, "", "", false},
		"or another":       {[]*f{{Kinds: []string{"standing"}}, {Kinds: []string{"moved"}}}, nil, "", "", false},
		"excluded":         {nil, []*f{{Kinds: []string{"moved"}, Players: []int32{2}}, {Kinds: []string{"standing"}}}, "exclude[1].kinds", "exclude[1].kinds", false},
		"excluded too":     {nil, []*f{{Kinds: []string{"standing", "moved"}, Players: []int32{2}}}, "", "", false},
		"nothing asked":    {[]*f{{}}, nil, "", "", false},
	} {
		check := func(err error, want string) {
			t.Helper()
			field, refused := errors.AsType[*filter.FieldError](err)
			if refused != (want != "") || refused && (field.Field != want || !strings.Contains(field.Problem, "standing only describes a state")) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := filter.Compile(&stateful, test.include, test.exclude)
		check(err, test.field)
		c, state, err := filter.CompileWithState(&stateful, test.include, test.exclude)
		check(err, test.withState)
		if err != nil {
			continue
		}
		if c.Nothing() != test.nothing || c.Check(&stateful, nil) != nil {
			t.Errorf("%s: with a state, nothing else matches: %v, refused later: %v", name, c.Nothing(), c.Check(&stateful, nil))
		}
		if c.Match(&moved) == test.nothing || !state.Match(&standing) {
			t.Errorf("%s: delivers %v, and of the state %v", name, c.Match(&moved), state.Match(&standing))
		}
	}
}

// TestNeverThere: a value that nothing can have is refused by name, in both lists. Numbers are refused only in include.
func TestNeverThere(t *testing.T) {
	type f = replaydv1.EventFilter
	counted := format
	counted.Least = map[filter.Property]int32{filter.Players: 0, filter.Teams: 1}
	for name, test := range map[string]struct {
		one            *f
		field, mention string
	}{
		"no player":    {&f{Players: []int32{-1, -2}}, "[0].players[0]", "-1"},
		"one of two":   {&f{Players: []int32{-1, 0}}, "", ""},
		"no team":      {&f{Teams: []int32{0}}, "[0].teams[0]", "begin with 1"},
		"a player":     {&f{Players: []int32{0}}, "", ""},
		"a team":       {&f{Teams: []int32{1}}, "", ""},
		"any group":    {&f{Datafile: &replaydv1.DatafileFilter{Groups: []int32{-1}}}, "", ""},
		"empty class":  {&f{Dem: &replaydv1.DemFilter{Classes: []string{"X", ""}}}, "[0].dem.classes[1]", "empty"},
		"empty field":  {&f{Dem: &replaydv1.DemFilter{Fields: []string{""}}}, "[0].dem.fields[0]", "empty"},
		"unnamed type": {&f{Dem: &replaydv1.DemFilter{Types: []string{""}}}, "", ""},
	} {
		for list, compile := range map[string]func() (*filter.Filter, error){
			"include": func() (*filter.Filter, error) { return filter.Compile(&counted, []*f{test.one}, nil) },
			"exclude": func() (*filter.Filter, error) { return filter.Compile(&counted, nil, []*f{test.one}) },
		} {
			_, err := compile()
			field, refused := errors.AsType[*filter.FieldError](err)
			if list == "exclude" && len(test.one.GetPlayers())+len(test.one.GetTeams()) > 0 {
				if err != nil {
					t.Errorf("%s, %s: %v", name, list, err)
				}
				continue
			}
			if refused != (test.field != "") || refused && (field.Field != list+test.field || !strings.Contains(field.Problem, test.mention)) {
				t.Errorf("%s, %s: %v", name, list, err)
			}
		}
	}
}
