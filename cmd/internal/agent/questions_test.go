package agent_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/render"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// The replays that questions are about.
const (
	dota    = "samples/dem/dota.dem"
	cs2     = "samples/dem/cs2.dem"
	sc2     = "samples/sc2replay/5.0.SC2Replay"
	battle  = "samples/sc2replay/battle.SC2Replay"
	mapFile = "samples/datafile/sample.map"
)

// question is a call of a tool, and a direct request with the same answer.
type question struct {
	tool      string
	arguments object
	direct    func(*testing.T, *client.Client) []string // lines
}

// message returns a message as a line that can be compared, without what a daemon learns meanwhile.
func message(m proto.Message) string {
	if r, ok := m.(*replaydv1.Replay); ok {
		r.State, r.Duration, r.LastTick, r.TicksPerSecond = 0, nil, nil, nil
	}
	return strings.ReplaceAll(protojson.Format(m), "  ", " ")
}

// events returns the events of a request as lines: those of the state, or all others.
func events(state bool, req *replaydv1.StreamEventsRequest) func(*testing.T, *client.Client) []string {
	return func(t *testing.T, c *client.Client) (lines []string) {
		t.Helper()
		for event, err := range c.Events(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if event.State != state {
				break
			}
			line, err := event.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		return lines
	}
}

// sequence is an event's number in its stream, which depends on what else there is in it.
var sequence = regexp.MustCompile(`"sequence":"\d+",`)

// questions returns fifty questions of all tools about all formats.
func questions() (list []question) {
	add := func(tool string, arguments object, direct func(*testing.T, *client.Client) []string) {
		list = append(list, question{tool, arguments, direct})
	}
	for _, name := range []string{game, dota, cs2, sc2, battle, mapFile, "samples/sc2replay/beta.SC2Replay", "samples/dem/deadlock.dem"} {
		add("get_replay", object{"replay": name}, func(t *testing.T, c *client.Client) []string {
			r, err := c.View(t.Context(), name, replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS)
			return []string{message(r), fmt.Sprint(err)}
		})
	}
	add("get_picture", object{"replay": mapFile}, func(t *testing.T, _ *client.Client) []string {
		t.Helper()
		f, err := os.Open(one(t, "datafile", "*.map"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		info, _ := f.Stat()
		file, err := datafile.Open(f, info.Size(), datafile.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := render.Map(file, render.Options{Scale: 11, Physics: true})
		if err != nil {
			t.Fatal(err)
		}
		return []string{pictured(picture)}
	})
	for _, of := range []struct {
		replay string
		tick   int32
	}{{game, 1000}, {"samples/dem/teamfight.dem", 780}, {cs2, 128}} {
		direct := events(false, &replaydv1.StreamEventsRequest{
			Replay: of.replay, ResolvePlayers: of.replay == game, Include: []*replaydv1.EventFilter{{
				Kinds: []string{"sample_player"}, Ticks: &replaydv1.TickRange{Min: &of.tick, Max: &of.tick, Every: new(int32(1))},
			}},
		})
		add("get_picture", object{"replay": of.replay, "tick": of.tick}, func(t *testing.T, c *client.Client) (lines []string) {
			t.Helper()
			for _, line := range direct(t, c) {
				lines = append(lines, sequence.ReplaceAllString(line, ""))
			}
			slices.Sort(lines)
			return lines
		})
	}
	for _, name := range []string{game, dota, cs2, mapFile} {
		for _, tick := range []*int32{nil, new(int32(1000))} {
			arguments := object{"replay": name}
			if tick != nil {
				arguments["tick"] = *tick
			}
			add("get_report", arguments, func(t *testing.T, c *client.Client) []string {
				r, err := c.Report(t.Context(), name, tick)
				return []string{message(r), fmt.Sprint(err)}
			})
		}
	}
	for _, format := range []string{"teehistorian", "datafile", "dem", "sc2replay"} {
		add("list_kinds", object{"format": format}, func(t *testing.T, c *client.Client) []string {
			info, err := c.Info(t.Context())
			i := slices.IndexFunc(info.GetFormats(), func(f *replaydv1.FormatInfo) bool {
				return f.GetFormat().String() == "FORMAT_"+strings.ToUpper(format)
			})
			return []string{message(info.GetFormats()[i]), fmt.Sprint(err)}
		})
	}
	for _, of := range []struct {
		arguments object
		request   *replaydv1.ListReplaysRequest
	}{
		{object{"limit": 100}, &replaydv1.ListReplaysRequest{}},
		{object{"directory": "samples/dem"}, &replaydv1.ListReplaysRequest{Directory: "samples/dem"}},
		{object{"format": "sc2replay", "limit": 2}, &replaydv1.ListReplaysRequest{Formats: []replaydv1.Format{replaydv1.Format_FORMAT_SC2REPLAY}, PageSize: 2}},
		{object{"format": "datafile"}, &replaydv1.ListReplaysRequest{Formats: []replaydv1.Format{replaydv1.Format_FORMAT_DATAFILE}}},
		{object{"map": "Sunny Side Up"}, &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{MapName: "Sunny Side Up"}}},
		{object{"player": "nobody at all"}, &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{PlayerName: "nobody at all"}}},
		{object{"state": "growing"}, &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{
			States: []replaydv1.ReplayState{replaydv1.ReplayState_REPLAY_STATE_GROWING},
		}}},
	} {
		add("list_replays", of.arguments, func(t *testing.T, c *client.Client) []string {
			of.request.View, of.request.PageSize = replaydv1.ReplayView_REPLAY_VIEW_PLAYERS, max(of.request.GetPageSize(), 20)
			if limit, ok := of.arguments["limit"].(int); ok {
				of.request.PageSize = int32(limit)
			}
			page, err := c.Service().ListReplays(t.Context(), of.request)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, r := range page.GetReplays() {
				lines = append(lines, message(r))
			}
			return lines
		})
	}
	for _, of := range []struct {
		replay string
		tick   int32
		kinds  []string
	}{
		{game, 1000, []string{"player_state", "player_name"}}, {game, 10, nil}, {dota, 30, []string{"entity_created"}}, {cs2, 64, nil}, {sc2, 200, nil}, {battle, 500, []string{"unit_state"}},
	} {
		req := &replaydv1.StreamEventsRequest{
			Replay: of.replay, Include: []*replaydv1.EventFilter{{Kinds: of.kinds}},
			Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: of.tick}, WithState: true},
		}
		arguments := object{"replay": of.replay, "tick": of.tick, "limit": 1000}
		if of.kinds != nil {
			arguments["kinds"] = of.kinds
		}
		add("get_state", arguments, events(true, req))
	}
	for _, of := range []struct {
		replay string
		more   object
		filter *replaydv1.EventFilter
	}{
		{game, object{}, &replaydv1.EventFilter{}},
		{game, object{"kinds": []string{"join", "drop"}}, &replaydv1.EventFilter{Kinds: []string{"join", "drop"}}},
		{game, object{"kinds": []string{"fact_session"}}, &replaydv1.EventFilter{Kinds: []string{"fact_session"}}},
		{game, object{"players": []int{1}}, &replaydv1.EventFilter{Players: []int32{1}}},
		{game, object{"to_tick": 100}, &replaydv1.EventFilter{Ticks: &replaydv1.TickRange{Max: new(int32(100))}}},
		{game, object{"kinds": []string{"sample_player"}}, &replaydv1.EventFilter{Kinds: []string{"sample_player"}}},
		{dota, object{"kinds": []string{"combat_log"}}, &replaydv1.EventFilter{Kinds: []string{"combat_log"}}},
		{dota, object{"classes": []string{"CDOTA_Unit_Hero_*"}}, &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_*"}}}},
		{cs2, object{"limit": 40}, &replaydv1.EventFilter{}},
		{sc2, object{"limit": 60}, &replaydv1.EventFilter{}},
		{battle, object{"kinds": []string{"fact_build_step"}}, &replaydv1.EventFilter{Kinds: []string{"fact_build_step"}}},
		{mapFile, object{}, &replaydv1.EventFilter{}},
		{mapFile, object{"kinds": []string{"tile_layer"}}, &replaydv1.EventFilter{Kinds: []string{"tile_layer"}}},
	} {
		arguments := object{"replay": of.replay, "limit": 1000}
		maps.Copy(arguments, of.more)
		add("get_events", arguments, events(false, &replaydv1.StreamEventsRequest{Replay: of.replay, Include: []*replaydv1.EventFilter{of.filter}}))
	}
	return list
}

// answers returns the lines of an answer as they can be compared, and whether it says that there is more.
func (q question) answers(t *testing.T, text string, failed bool) (lines []string, more bool) {
	t.Helper()
	if failed {
		return nil, false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if q.tool == "get_picture" {
			if _, sample, found := strings.Cut(line, ": {"); found {
				lines = append(lines, sequence.ReplaceAllString("{"+sample, ""))
				slices.Sort(lines)
			} else if q.arguments["tick"] == nil && strings.HasPrefix(line, "picture ") {
				lines = append(lines, line)
			}
			continue
		}
		if !strings.HasPrefix(line, "{") {
			more = more || strings.HasPrefix(line, "There are more") || strings.HasPrefix(line, "The state has more")
			continue
		}
		var into proto.Message
		switch q.tool {
		case "list_replays", "get_replay":
			into = &replaydv1.Replay{}
		case "get_report":
			into = &replaydv1.Report{}
		case "list_kinds":
			into = &replaydv1.FormatInfo{}
		default:
			lines = append(lines, line)
			continue
		}
		if err := protojson.Unmarshal([]byte(line), into); err != nil {
			t.Fatal(q.tool, err)
		}
		lines = append(lines, message(into))
	}
	if !more && q.tool != "list_replays" && q.tool != "get_picture" && q.tool != "get_events" && q.tool != "get_state" {
		lines = append(lines, "<nil>") // no error
	}
	return lines, more
}

// TestQuestions: the answers to fifty questions, through a client of the protocol over HTTP, are those of direct requests.
func TestQuestions(t *testing.T) {
	t.Parallel()
	_, direct := connect(t)
	session := ask(t, serve(t, direct), "")
	list := questions()
	if len(list) != 50 {
		t.Errorf("%d questions", len(list))
	}
	whole := 0
	for i, q := range list {
		for want := q.direct(t, direct); ; {
			text, failed := call(t, session, q.tool, q.arguments)
			got, more := q.answers(t, text, failed)
			expected := want
			if more && q.tool != "list_replays" && len(got) > 0 && len(got) < len(want) {
				expected = want[:len(got)]
			} else if failed && len(want) == 2 && want[1] != "<nil>" {
				got, expected = []string{text}, want[1:]
			}
			if len(got) > 0 {
				whole++
			}
			if slices.Equal(got, expected) {
				break
			}
			before := want
			if want = q.direct(t, direct); slices.Equal(want, before) { // otherwise the daemon has learnt something meanwhile
				t.Errorf("question %d, %s %v: %d lines, want %d: %.300s", i, q.tool, q.arguments, len(got), len(expected), text)
				break
			}
		}
	}
	if whole < 45 {
		t.Errorf("only %d answers have lines", whole)
	}
}
