package opened_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/opened"
)

// TestChoose: the name of a table makes a request one for it, and keeps what else the request asks for.
func TestChoose(t *testing.T) {
	type f = replaydv1.EventFilter
	players := &f{Players: []int32{1}, Dem: &replaydv1.DemFilter{Fields: []string{"m_iHealth"}}}
	for _, test := range []struct {
		name    string
		include []*f
		want    *f
		columns bool
	}{
		{"chat", nil, &f{Kinds: []string{"chat"}}, false},
		{"chat", []*f{{Players: []int32{1}}}, &f{Kinds: []string{"chat"}, Players: []int32{1}}, false},
		{"game_event", nil, &f{Kinds: []string{"game_event"}}, false},
		{"game_event.player_death", nil, &f{Kinds: []string{"game_event"}, Dem: &replaydv1.DemFilter{Types: []string{"player_death"}}}, true},
		{"CCSPlayerPawn", nil, &f{Kinds: []string{"sample_entity"}, Dem: &replaydv1.DemFilter{Classes: []string{"CCSPlayerPawn"}}}, true},
		{"CCSPlayerPawn", []*f{players}, &f{
			Kinds: []string{"sample_entity"}, Players: []int32{1},
			Dem: &replaydv1.DemFilter{Classes: []string{"CCSPlayerPawn"}, Fields: []string{"m_iHealth"}},
		}, true},
		{"", nil, &f{Kinds: []string{""}}, false},
	} {
		req := &replaydv1.StreamEventsRequest{}
		for _, in := range test.include {
			req.Include = append(req.Include, proto.CloneOf(in))
		}
		opened.Choose(req, test.name)
		if want := (&replaydv1.StreamEventsRequest{Include: []*f{test.want}, FieldColumns: test.columns}); !proto.Equal(req, want) {
			t.Errorf("%q: %v, want %v", test.name, req, want)
		}
	}
}

// TestTables: which tables a request gets, and what is refused of one that asks for none, or for what no table has.
func TestTables(t *testing.T) {
	type request = replaydv1.StreamEventsRequest
	h := build(t, admission.Amounts{})
	const arrow = replaydv1.Encoding_ENCODING_ARROW
	of := func(kind string, dem *replaydv1.DemFilter) []*replaydv1.EventFilter {
		return []*replaydv1.EventFilter{{Kinds: []string{kind}, Dem: dem}}
	}
	hero := &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_Axe"}}
	death, two := &replaydv1.DemFilter{Types: []string{"player_death"}}, &replaydv1.DemFilter{Types: []string{"player_death", "player_chat"}}
	for name, test := range map[string]struct {
		req   *request
		field string
	}{
		"tables":                         {&request{Replay: "r/game", Encoding: arrow}, ""},
		"a column":                       {&request{Replay: "r/game", Encoding: arrow, Include: of("player_diff", nil), Columns: []string{"x"}}, ""},
		"a column that is not there":     {&request{Replay: "r/game", Encoding: arrow, Include: of("player_diff", nil), Columns: []string{"z"}}, "columns"},
		"columns of rows":                {&request{Replay: "r/game", Columns: []string{"x"}}, "columns"},
		"many columns":                   {&request{Replay: "r/game", Encoding: arrow, Columns: strings.Split(strings.Repeat("x,", 256)+"x", ",")}, "columns"},
		"an encoding of no name":         {&request{Replay: "r/game", Encoding: 99}, "encoding"},
		"a compression of no name":       {&request{Replay: "r/game", Encoding: arrow, ArrowCompression: 99}, "arrow_compression"},
		"a compression of rows":          {&request{Replay: "r/game", ArrowCompression: replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE}, "arrow_compression"},
		"narrow columns of rows":         {&request{Replay: "r/game", NarrowColumns: true}, "narrow_columns"},
		"fields of a game":               {&request{Replay: "r/game", Encoding: arrow, FieldColumns: true, Include: of("player_diff", nil)}, "field_columns"},
		"fields in rows":                 {&request{Replay: "r/demo", FieldColumns: true, Include: of("sample_entity", hero)}, "field_columns"},
		"fields of every class":          {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("sample_entity", nil)}, "field_columns"},
		"fields of another kind":         {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("entity_updated", hero)}, "field_columns"},
		"fields of all kinds":            {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true}, "field_columns"},
		"fields of a class":              {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("sample_entity", hero)}, ""},
		"keys that the demo has not":     {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("game_event", death)}, "field_columns"},
		"keys of two types":              {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("game_event", two)}, "field_columns"},
		"fields of the next, too":        {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Follow: true, FollowSuccessors: true, Include: of("sample_entity", hero)}, "field_columns"},
		"fields, beginning with a state": {&request{Replay: "r/demo", Encoding: arrow, FieldColumns: true, Include: of("sample_entity", hero), Start: &replaydv1.Start{WithState: true}}, "field_columns"},
	} {
		c, err := h.Open(h.call(t), test.req)
		t.Run(name, func(t *testing.T) { check(t, err, test.field, nil) })
		if err == nil {
			if tables := c.Replay.Tables; tables == nil || tables.Layout == nil {
				t.Errorf("%s: no tables", name)
			}
			c.Replay.Close()
		}
	}
	h.nothing(t)
}
