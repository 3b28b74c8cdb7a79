package where_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/where"
)

// compile compiles an expression for some kinds of a format, or for all but facts and samples.
func compile(t testing.TB, f decoders.Format, expression string, kinds ...string) (*where.Expression, error) {
	t.Helper()
	c := registry.Of(f)
	var include []*replaydv1.EventFilter
	if len(kinds) > 0 {
		include = []*replaydv1.EventFilter{{Kinds: kinds}}
	}
	compiled, err := filter.Compile(&c.Filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return where.Compile(c, compiled, expression)
}

// candidate returns an event of a kind for an expression.
func candidate(t testing.TB, f decoders.Format, event proto.Message, names ...string) *codec.Candidate {
	t.Helper()
	b, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	c := &codec.Candidate{At: decoders.Position{Offset: 1000, Index: 2}, Seconds: 2.5, Event: b, Names: func(i uint32) string { return names[i] }}
	m := event.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind")).Name()
	for k, of := range registry.Of(f).Filters.Kinds {
		if of.Name == string(kind) {
			c.Kind = uint8(k)
		}
	}
	return c
}

var nan = float32(math.NaN())

// TestMatch: what an expression says of an event, by the rules of StreamEventsRequest.where.
func TestMatch(t *testing.T) {
	const tee, dem = decoders.Teehistorian, decoders.Dem
	move := &teehistorianv1.Event{AtTick: 125, Kind: &teehistorianv1.Event_PlayerDiff{PlayerDiff: &teehistorianv1.PlayerDiff{ClientId: 3, Dx: -2, X: new(int32(-70))}}}
	named := &teehistorianv1.Event{
		Warnings: []teehistorianv1.Warning{teehistorianv1.Warning_WARNING_AFTER_DAMAGE},
		Player:   &teehistorianv1.Player{Name: "nameless tee"},
		Kind:     &teehistorianv1.Event_InputDiff{InputDiff: &teehistorianv1.InputDiff{Input: &teehistorianv1.Input{TargetX: 12}}},
	}
	update := &demv1.Event{AtTick: -1, Kind: &demv1.Event_EntityUpdated{EntityUpdated: &demv1.EntityUpdated{
		Index: math.MaxUint32, Class: 1,
		Fields: []*demv1.FieldValue{
			{Field: 0, Value: &demv1.FieldValue_Int{Int: -9}},
			{Field: 2, Value: &demv1.FieldValue_Float{Float: nan}},
			{Field: 0, Value: &demv1.FieldValue_Uint{Uint: math.MaxUint64}},
		},
	}}}
	names := []string{"m_iHealth", "CHero", "m_flSpeed"}
	shot := &demv1.Event{Kind: &demv1.Event_MatchSummary{MatchSummary: &demv1.MatchSummary{StartTime: timestamppb.New(timestamppb.Now().AsTime())}}}
	lost := &demv1.Event{Kind: &demv1.Event_CombatLog{CombatLog: &demv1.CombatLog{StunDuration: float32(math.NaN())}}}
	fault := &demv1.Event{Kind: &demv1.Event_Fault{Fault: &demv1.Fault{Kind: demv1.FaultKind_FAULT_KIND_RECORD}}}
	for _, test := range []struct {
		event proto.Message
		where string
		want  bool
	}{
		{move, "event.client_id == 3", true},
		{move, "event.client_id != 3", false},
		{move, "event.client_id > 3 || event.dx == -2 && event.x < 0", true},
		{move, "!(event.client_id in [1, 2, 3])", false},
		{move, "event.client_id * 2 + 1 == 7", true},
		{move, "kind == 'player_diff'", true},
		{move, "kind.startsWith('player_') && kind in ['player_diff', 'tick']", true},
		{move, "at_tick == 125 && time == 2.5 && time > 2 && offset == 1000 && index == 2", true},
		{move, "event.dy == 0", true}, // a number that cannot be absent
		{move, "has(event.dy)", false},
		{move, "event.y == 0 || event.y != 0 || has(event.y)", false},
		{move, "has(event.x) && !has(event.input)", true},
		{move, "event.name == 'hi' || event.client_id == 3", true},
		{move, "event.name != 'hi' || event.client_id == 4", false}, // absent is neither
		{move, "size(warnings) == 0", true},
		{move, "kind == 'player_diff' ? event.client_id == 3 : event.dx == 'a text'", true},
		{move, "event.client_id / event.dy > 0", false},
		{move, "!(event.client_id / event.dy > 0)", false},
		{move, "player.name == 'x' || true", true},
		{move, "player.name == 'x' || !(player.name == 'x')", false},
		{named, "player.name.contains('less') && 'WARNING_AFTER_DAMAGE' in warnings", true},
		{named, "warnings.exists(w, w.endsWith('_DAMAGE')) && player.name.matches('^n.*tee$')", true},
		{named, "event.input.target_x == 12", true},
		{named, "event.diff.target_x == 0", false},
		{named, "has(event.diff.target_x) || has(other_player.name)", false},
		{named, "has(event.input.target_x) && has(player.name)", true},
		{update, "event.class == 'CHero' && event.index == 4294967295", true},
		{update, "event.fields.exists(f, f.field == 'm_iHealth' && f.int < 0)", true},
		{update, "event.fields.exists(f, f.uint == 18446744073709551615u)", true},
		{update, "event.fields.exists(f, f.uint > 5)", true},
		{update, "event.fields.all(f, f.field != 'CHero')", true},
		{update, "event.fields.exists(f, f.float == f.float)", false},
		{update, "event.fields.exists(f, has(f.float) && f.float != 0)", true},
		{update, "event.fields.exists(f, f.float < 1) || event.fields.exists(f, f.float >= 1)", false},
		{update, "event.fields[1].field == 'm_flSpeed' && size(event.fields) == 3", true},
		{update, "event.fields[7].field == 'm_flSpeed'", false},
		{update, "at_tick < 0", true},
		{update, "has(event.class) && event.fields.all(f, has(f.field))", true}, // whatever the numbers are
		{lost, "event.stun_duration != 0.0", true},
		{lost, "event.stun_duration == 0.0 || event.stun_duration < 1.0 || event.stun_duration >= 1.0", false},
		{fault, "event.kind == 'FAULT_KIND_RECORD'", true},
		{fault, "event.kind == '1'", false}, // a number that has a name is the name
		{shot, "kind == 'match_summary' && event.start_time > timestamp('2001-01-01T00:00:00Z') && event.start_time.getFullYear() > 2001", true},
	} {
		f := tee
		if _, ok := test.event.(*demv1.Event); ok {
			f = dem
		}
		x, err := compile(t, f, test.where)
		if err != nil {
			t.Errorf("%s: %v", test.where, err)
			continue
		}
		c := candidate(t, f, test.event, names...)
		got, err := x.Matcher().Match(c)
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v", test.where, got, err)
		}
		if got && !x.May(c.Kind) {
			t.Errorf("%s: %v may not be", test.where, test.event)
		}
	}
}

// TestKinds: an expression selects the kinds whose events can meet it.
func TestKinds(t *testing.T) {
	for _, test := range []struct{ where, want string }{
		{"kind == 'tick'", "tick"},
		{"event.dx > 3 && at_tick > 9", "player_diff"},
		{"event.dx > 3 || kind == 'tick' && event.skipped > 0", "player_diff tick"},
		{"kind == 'tick' ? event.skipped > 0 : event.dx > 0", "player_diff tick"},
		{"has(event.dx)", "player_diff"},
		{"!has(event.client_id) && kind.startsWith('fi')", "finish"},
	} {
		x, err := compile(t, decoders.Teehistorian, test.where)
		if err != nil {
			t.Errorf("%s: %v", test.where, err)
		} else if got := strings.Join(x.Kinds(), " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.where, got, test.want)
		}
	}
}

// TestRefused: what is wrong with an expression, and where.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200)
	for _, test := range []struct {
		where, want string
		kinds       []string
	}{
		{"event.client_id >", "column 18: ", nil},
		{"true &&\n event.client_id = 3", "line 2, column ", nil},
		{"event.dx > 'a'", "column 10: found no matching overload for '_>_' applied to '(int, string)' (in events of kind player_diff)", nil},
		{"event.dx", "is of type int", nil},
		{"event.dxx > 1", "column 6: none of the events that the filters let through has the field dxx, did you mean \"dx\"?", []string{"player_diff"}},
		{"kind == 'tick' && event.input.target_q == 1", "target_q", []string{"input_diff"}},
		{"event.input.target_q == 1", "column 12: none of the events that the filters let through has the field target_q", nil},
		{"kind == 'tick'", "no event of the kinds that the filters let through can meet it: they are of kind player_diff", []string{"player_diff"}},
		{"client_id == 3", "column 1: undeclared reference to 'client_id': event.client_id is the field of an event", nil},
		{"fact_finish.seconds < 60", "undeclared reference to 'fact_finish': a kind is the text kind == \"fact_finish\", and its fields are those of event", nil},
		{"kind == 'fact_finish' && event.seconds < 60", "of kind join; a filter has to name the kind fact_finish", []string{"join"}},
		{"event.seconds < 60", "has the field seconds: they are of kind player_diff; a filter has to name the kind fact_finish", []string{"player_diff"}},
		{"event.seconds < 60", "a filter has to name the kind fact_finish", nil},
		{"event.nothing < 3000", "has the field nothing: they are of kind player_diff; their fields are client_id, dx, dy, x, y", []string{"player_diff"}},
		{"at_tik == 3", "did you mean \"at_tick\"", nil},
		{"false", "can meet it", nil},
		{"{'a': 1}['a'] == 1", "maps and messages cannot be made", nil},
		{"event.name.matches(event.name)", "the pattern of matches must be a text", nil},
		{"player.name.matches('(abcdef){900}')", "the pattern repeats too much", nil},
		{"player.name.matches('a{0,900}b{0,900}')", "the pattern repeats too much", nil},
		{"time == 9007199254740993", "no matching overload", nil}, // which is no double
		{"player.name.matches('" + strings.Repeat("a", 257) + "')", "the pattern has 257 bytes", nil},
		{"player.name.matches('(')", "missing closing )", nil},
		{"[1, 2].map(x, x + 1) == []", "column 11: map cannot be used", nil},
		{"[1].exists(kind, kind == 1)", "kind cannot be the name of an element", nil},
		{strings.Repeat("true && ", 800) + "true", "has 6404 bytes; at most 4096 are allowed", nil},
		{strings.Repeat("1+", 300) + "1 == 1", "", nil},
		{deep, "", nil},
		{strings.Repeat("[", 500), "", nil},
		{strings.Repeat("warnings.exists(a, ", 5) + "true" + strings.Repeat(")", 5), "has more than 4 of all, exists and exists_one", nil},
	} {
		_, err := compile(t, decoders.Teehistorian, test.where, test.kinds...)
		var field *filter.FieldError
		if !errors.As(err, &field) || field.Field != where.Field || !strings.Contains(field.Problem, test.want) {
			t.Errorf("%.80s: %v; want %q", test.where, err, test.want)
		}
	}
}

// TestTooLong: an event for which an expression takes too long ends the stream, with its place.
func TestTooLong(t *testing.T) {
	const expression = "event.fields.all(a, event.fields.all(b, event.fields.all(c, a.field == c.field)))"
	x, err := compile(t, decoders.Dem, expression)
	if err != nil {
		t.Fatal(err)
	}
	event := &demv1.EntityUpdated{}
	of := &demv1.Event{Kind: &demv1.Event_EntityUpdated{EntityUpdated: event}}
	m := x.Matcher()
	for range 4 {
		event.Fields = append(event.Fields, &demv1.FieldValue{})
	}
	if ok, err := m.Match(candidate(t, decoders.Dem, of, "x")); !ok || err != nil || m.Tired() {
		t.Fatalf("4 fields: %v, %v", ok, err)
	}
	for range 400 {
		event.Fields = append(event.Fields, &demv1.FieldValue{})
	}
	_, err = m.Match(candidate(t, decoders.Dem, of, "x"))
	var field *filter.FieldError
	if !errors.As(err, &field) || !strings.Contains(field.Problem, "offset 1000, index 2, of kind entity_updated") {
		t.Fatalf("404 fields: %v", err)
	}
	if !m.Tired() || m.Tired() {
		t.Error("it is tired once")
	}
}

// TestTires: many events of which each takes little are as much work as one that takes long, with CEL and without.
func TestTires(t *testing.T) {
	for expression, most := range map[string]int{"at_tick > 5": 30_000, "string(at_tick) == '5'": 1_500} {
		x, err := compile(t, decoders.Dem, expression)
		if err != nil {
			t.Fatal(err)
		}
		m, c := x.Matcher(), candidate(t, decoders.Dem, &demv1.Event{Kind: &demv1.Event_EntityUpdated{EntityUpdated: &demv1.EntityUpdated{}}}, "x")
		for range 2 { // and again
			n := 0
			for tired := false; !tired && n <= most; n++ {
				if _, err := m.Match(c); err != nil {
					t.Fatal(err)
				}
				tired = m.Tired()
			}
			if n > most || n < most/4 {
				t.Errorf("%s: others get their turn after %d events", expression, n)
			}
		}
	}
}

// BenchmarkRefuse: what hostile expressions cost.
func BenchmarkRefuse(b *testing.B) {
	for name, expression := range map[string]string{
		"parentheses": strings.Repeat("(", 2048) + strings.Repeat(")", 2048),
		"brackets":    strings.Repeat("[", 4096),
		"not":         strings.Repeat("!", 4095) + "a",
		"broken":      strings.Repeat("a.b(", 1000),
		"parts":       strings.Repeat("at_tick in [1,2]||", 22) + "offset",
		"wide":        strings.Repeat("event.x==1||", 30) + "index",
		"loops":       "warnings.exists(a,warnings.exists(b,warnings.exists(c,warnings.exists(d,a+b+c+d==b+c+d+a)))) ? 1 : 2",
	} {
		for _, f := range []decoders.Format{decoders.Teehistorian, decoders.Dem, decoders.SC2Replay} {
			b.Run(name+"/"+f.String(), func(b *testing.B) {
				for b.Loop() {
					if _, err := compile(b, f, expression); err == nil {
						b.Fatal("it is accepted")
					}
				}
			})
		}
	}
}
