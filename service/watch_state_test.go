package service_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	replayd "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/latest"
)

// scoreboard is a client of WatchState that folds what it receives.
type scoreboard struct {
	tb    testing.TB
	calls interface {
		Recv() (*replaydv1.WatchStateResponse, error)
	}
	states replayd.States
	last   *replaydv1.WatchStateResponse
}

// scoreboardOf begins to watch states, every 50 ms if the request does not say.
func scoreboardOf(ctx context.Context, tb testing.TB, d *daemon, req *replaydv1.WatchStateRequest) *scoreboard {
	tb.Helper()
	if req.Interval == nil {
		req.Interval = durationpb.New(time.Millisecond)
	}
	req.HeartbeatInterval = durationpb.New(time.Second)
	calls, err := d.client.WatchState(ctx, req)
	if err != nil {
		tb.Fatal(err)
	}
	return &scoreboard{tb: tb, calls: calls, states: replayd.States{}}
}

// next receives a response, and returns the games that it is of.
func (w *scoreboard) next() []*replaydv1.WatchedReplay {
	w.tb.Helper()
	var err error
	if w.last, err = w.calls.Recv(); err != nil {
		w.tb.Fatal(err)
	}
	w.states.Apply(w.last)
	return w.last.GetReplays()
}

// playersText returns the players of a state, as JSON without at_tick.
func playersText(tb testing.TB, events ...proto.Message) (lines []string) {
	for _, e := range events {
		m := proto.Clone(e).ProtoReflect()
		m.Clear(m.Descriptor().Fields().ByName("at_tick"))
		text, err := protojson.Marshal(m.Interface())
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, strings.ReplaceAll(string(text), " ", ""))
	}
	slices.Sort(lines)
	return lines
}

func eventsOf[M proto.Message](list []M) (all []proto.Message) {
	for _, m := range list {
		all = append(all, m)
	}
	return all
}

// players returns the players of a state.
func players(of *replaydv1.WatchedReplay) []proto.Message {
	return slices.Concat(
		eventsOf(of.GetTeehistorian().GetEvents()), eventsOf(of.GetDem().GetEvents()), eventsOf(of.GetSc2Replay().GetEvents()),
	)
}

// sampledAt returns the players of a finished file at each tick at which it has some, by sample_player.
func sampledAt(tb testing.TB, d *daemon, file string) map[int32][]string {
	tb.Helper()
	calls, err := d.client.StreamEvents(timeout(tb), &replaydv1.StreamEventsRequest{
		Replay: name(file), ResolvePlayers: filepath.Ext(file) == ".teehistorian",
		Include: []*replaydv1.EventFilter{{Kinds: []string{"sample_player"}, Ticks: &replaydv1.TickRange{Every: new(int32(1))}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	at := map[int32][]proto.Message{}
	for {
		response, err := calls.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range response.GetBatch().GetTeehistorian().GetEvents() {
			at[e.GetAtTick()] = append(at[e.GetAtTick()], e)
		}
		for _, e := range response.GetBatch().GetDem().GetEvents() {
			at[e.GetAtTick()] = append(at[e.GetAtTick()], e)
		}
	}
	texts := map[int32][]string{}
	for tick, list := range at {
		texts[tick] = playersText(tb, list...)
	}
	return texts
}

// TestWatchState: what clients have folded of games that grow is, at each tick that is complete, what sample_player says at that tick,
// whether they get differences or whole states, and when they call again. At the end each is told how the game ended.
func TestWatchState(t *testing.T) {
	dir, ctx := t.TempDir(), timeout(t)
	games := map[string][]byte{"demo.dem": demtest.Players("csgo")}
	for _, folder := range []string{"finished", "mapchange"} {
		for i, path := range find(t, samples("teehistorian", folder), ".teehistorian") {
			games[fmt.Sprint(folder, i, ".teehistorian")] = read(t, path)
		}
	}
	want, whole := map[string]map[int32][]string{}, start(t, t.TempDir())
	files := map[string]*writer{}
	for file, data := range games {
		write(t, filepath.Join(whole.dir, file), data)
		want[name(file)] = sampledAt(t, whole, file)
		files[file] = create(t, dir, file)
		n := len(data) / 3
		files[file].write(data[:n])
		games[file] = data[n:]
	}
	d := start(t, dir)
	requests := []*replaydv1.WatchStateRequest{{ResolvePlayers: true}, {ResolvePlayers: true, Whole: true}}
	watchers := []*scoreboard{scoreboardOf(ctx, t, d, requests[0]), scoreboardOf(ctx, t, d, requests[1])}
	stalled := scoreboardOf(ctx, t, d, requests[0]) // does not read before the games are over
	compared, ended := map[string]int{}, map[string]replaydv1.EndReason{}
	check := func(of *replaydv1.WatchedReplay) {
		at := of.GetDescription().GetName()
		ended[at] = max(ended[at], of.GetEnd())
		if of.GetFailure() != nil {
			t.Fatal(of.GetFailure())
		}
		if got := playersText(t, players(of)...); !of.GetUnfinished() {
			compared[at]++
			if !slices.Equal(got, want[at][of.GetTick()]) {
				t.Fatalf("%s at %d: %v, but sample_player says %v", at, of.GetTick(), got, want[at][of.GetTick()])
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	over := func() bool {
		return len(ended) == len(games) && !slices.Contains(slices.Collect(maps.Values(ended)), 0)
	}
	for step := 0; !over(); step++ {
		if len(games["demo.dem"]) == 0 && step == 20 { // it has no end of its own
			watchers[0].until("the demo settles", func(of *replaydv1.WatchedReplay) bool {
				return of.GetDem() != nil && isReported(t, d, of)
			})
			if err := os.Remove(filepath.Join(dir, "demo.dem")); err != nil {
				t.Fatal(err)
			}
		}
		for file, rest := range games {
			n := min(random.IntN(1+len(rest)/4)+40, len(rest))
			files[file].write(rest[:n])
			games[file] = rest[n:]
		}
		if step%7 == 3 {
			watchers[step/7%2] = scoreboardOf(ctx, t, d, requests[step/7%2])
		}
		for _, w := range watchers {
			for _, news := range w.next() {
				check(w.states[news.GetReplay()])
			}
		}
	}
	for clear(ended); !over(); {
		for _, news := range stalled.next() {
			check(stalled.states[news.GetReplay()])
		}
	}
	for at := range want {
		reason := replaydv1.EndReason_END_REASON_FINISHED
		if at == name("demo.dem") {
			reason = replaydv1.EndReason_END_REASON_REMOVED
		}
		if compared[at] < 5 || ended[at] != reason {
			t.Errorf("%s: %d states were compared, and it ended with %v", at, compared[at], ended[at])
		}
	}
}

// isReported reports whether the players of a demo are those of a report of the moment.
func isReported(tb testing.TB, d *daemon, of *replaydv1.WatchedReplay) bool {
	tb.Helper()
	got, err := d.client.GetReport(timeout(tb), &replaydv1.GetReportRequest{Replay: of.GetDescription().GetName()})
	if err != nil {
		tb.Fatal(err)
	}
	var says, reported []string
	for _, e := range of.GetDem().GetEvents() {
		p := e.GetSamplePlayer()
		says = append(says, fmt.Sprint(p.GetName(), p.GetTeam(), p.GetKills(), p.GetDeaths(), p.GetAssists()))
	}
	for _, p := range got.GetReport().GetDem().GetPlayers() {
		if p.GetTeam() < 2 { // who only watches has no samples
			continue
		}
		reported = append(reported, fmt.Sprint(p.GetName(), p.GetTeam(), p.GetKills(), p.GetDeaths(), p.GetAssists()))
	}
	slices.Sort(says)
	slices.Sort(reported)
	if !slices.Equal(says, reported) || got.GetReport().GetTick() != of.GetTick() || len(says) == 0 {
		tb.Logf("at %d: %v, the report at %d says %v", of.GetTick(), says, got.GetReport().GetTick(), reported)
		return false
	}
	return true
}

// until receives responses until a game is as wanted.
func (w *scoreboard) until(what string, is func(*replaydv1.WatchedReplay) bool) *replaydv1.WatchedReplay {
	w.tb.Helper()
	for range 1000 {
		for _, of := range w.states {
			if is(of) {
				return of
			}
		}
		w.next()
	}
	w.tb.Fatal(what)
	return nil
}

// TestWatchStateLife: what happens to a game besides its ticks is told: its name, silence, its end, and its successor.
func TestWatchStateLife(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Now()
	d := start(t, dir)
	w := scoreboardOf(timeout(t), t, d, &replaydv1.WatchStateRequest{ResolvePlayers: true})
	whole := gameOf{number: 1, server: "a", start: at}.data(t)
	complete := start(t, t.TempDir())
	write(t, filepath.Join(complete.dir, "1.teehistorian"), whole)
	want := sampledAt(t, complete, "1.teehistorian")
	last := slices.Max(slices.Collect(maps.Keys(want)))

	// Nothing follows the last tick. So it has no samples yet, but its state is told after a while.
	file := create(t, dir, "1.teehistorian")
	file.write(whole[:len(whole)/2])
	named := func(of *replaydv1.WatchedReplay, file string) bool {
		return of.GetDescription().GetName() == name(file)
	}
	w.until("it begins", func(of *replaydv1.WatchedReplay) bool { return named(of, "1.teehistorian") && of.Tick != nil })
	file.write(whole[len(whole)/2 : len(whole)-1])
	settled := w.until("the state after the last record", func(of *replaydv1.WatchedReplay) bool { return of.GetTick() >= last })
	if got := playersText(t, players(settled)...); !settled.GetUnfinished() || settled.GetTick() != last || !slices.Equal(got, want[last]) {
		t.Errorf("%v; the last tick is %d, with %v", settled, last, want[last])
	}

	if err := os.Rename(filepath.Join(dir, "1.teehistorian"), filepath.Join(dir, "other.teehistorian")); err != nil {
		t.Fatal(err)
	}
	renamed := w.until("the new name", func(of *replaydv1.WatchedReplay) bool { return named(of, "other.teehistorian") && of.Tick != nil })
	if renamed.GetTick() != last {
		t.Errorf("the state goes back to tick %d", renamed.GetTick())
	}

	// A replay that names it proves that the server has crashed.
	write(t, filepath.Join(dir, "2.teehistorian"), gameOf{number: 2, prev: 1, server: "a", killed: true, start: at}.data(t))
	w.until("the end", func(of *replaydv1.WatchedReplay) bool {
		return named(of, "other.teehistorian") && of.GetEnd() == replaydv1.EndReason_END_REASON_TRUNCATED
	})
	second := w.until("its successor", func(of *replaydv1.WatchedReplay) bool { return named(of, "2.teehistorian") && of.Tick != nil })
	if first := settled.GetReplay(); second.GetReplay() <= first {
		t.Errorf("the games have the numbers %d and %d", first, second.GetReplay())
	}

	// A game that has nearly been silent for ten minutes, and goes on afterwards. One that was silent for longer is not watched before.
	quiet := gameOf{number: 3, server: "b", killed: true, start: at}.data(t)
	for path, since := range map[string]time.Duration{"3.teehistorian": -20 * time.Second, "4.teehistorian": time.Second} {
		write(t, filepath.Join(d.dir, "new"), quiet[:len(quiet)/2])
		if path[0] == '4' {
			write(t, filepath.Join(d.dir, "new"), gameOf{number: 4, server: "c", killed: true, start: at}.data(t))
		}
		then := time.Now().Add(-latest.Quiet - since)
		if err := errors.Join(os.Chtimes(filepath.Join(d.dir, "new"), then, then), os.Rename(filepath.Join(d.dir, "new"), filepath.Join(dir, path))); err != nil {
			t.Fatal(err)
		}
	}
	silent := w.until("silence", func(of *replaydv1.WatchedReplay) bool { return of.GetEnd() == replaydv1.EndReason_END_REASON_SILENT })
	if !named(silent, "3.teehistorian") {
		t.Errorf("%v is silent", silent)
	}
	more, err := os.OpenFile(filepath.Join(dir, "3.teehistorian"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = more.Write(quiet[len(quiet)/2:])
	}
	if err = errors.Join(err, more.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "news"), nil) // the daemon looks at the directory at once
	again := w.until("it goes on", func(of *replaydv1.WatchedReplay) bool {
		if named(of, "4.teehistorian") {
			t.Errorf("it was silent for long: %v", of)
		}
		return named(of, "3.teehistorian") && of.GetReplay() > silent.GetReplay() && of.Tick != nil
	})
	if again.GetEnd() != 0 {
		t.Errorf("it goes on, but %v", again)
	}
}

// TestWatchStateRequests: what the call cannot do is refused by name.
func TestWatchStateRequests(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), nil)
	d := start(t, dir)
	for field, req := range map[string]*replaydv1.WatchStateRequest{
		"filter.player_name":  {Filter: &replaydv1.ReplayFilter{PlayerName: "x"}},
		"filter.states":       {Filter: &replaydv1.ReplayFilter{States: []replaydv1.ReplayState{1}}},
		"directory":           {Directory: name("file")},
		"formats[0]":          {Formats: []replaydv1.Format{99}},
		"include[0].kinds[0]": {Formats: []replaydv1.Format{replaydv1.Format_FORMAT_DATAFILE}},
		"include[1]":          {Include: []*replaydv1.EventFilter{{Players: []int32{1}}, {Kinds: []string{"join"}}}},
		"columns":             {Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN}, Columns: []string{"x", "kills"}},
		"interval":            {Interval: durationpb.New(-1)},
		"heartbeat_interval":  {HeartbeatInterval: durationpb.New(-1)},
	} {
		calls, err := d.client.WatchState(timeout(t), req)
		if err == nil {
			_, err = calls.Recv()
		}
		if got := explainFailure(t, err); got.field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestWatchStateScope: a caller has the games that the caller may see, with the wanted columns of the wanted players.
func TestWatchStateScope(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	g := startGuarded(t, dir, secret, "good roots="+alias+"\n")
	data := gameOf{number: 1, server: "a", killed: true, start: time.Now()}.data(t)
	write(t, filepath.Join(secret, "game.teehistorian"), gameOf{number: 2, server: "b", killed: true}.data(t))
	write(t, filepath.Join(dir, "game.teehistorian"), data)
	calls, err := g.client.WatchState(as(timeout(t), "good"), &replaydv1.WatchStateRequest{
		Columns: []string{"team"}, Include: []*replaydv1.EventFilter{{Players: []int32{0}}},
		HeartbeatInterval: durationpb.New(time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	for states, seen := (replayd.States{}), 0; seen < 3; { // two responses more
		response, err := calls.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range response.GetReplays() {
			if of.GetDescription() != nil && of.GetDescription().GetName() != name("game.teehistorian") {
				t.Fatalf("%v", of)
			}
		}
		states.Apply(response)
		for _, of := range states {
			for _, e := range of.GetTeehistorian().GetEvents() {
				if p := e.GetSamplePlayer(); p.GetClientId() != 0 || p.X != nil || p.Input != nil {
					t.Errorf("it is not what is wanted: %v", p)
				}
			}
			if of.Tick != nil {
				seen++
			}
		}
	}
}

// TestPlainState: lines of JSON and server-sent events have what gRPC has, as the document says, and only the wanted columns.
func TestPlainState(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "1.teehistorian"), gameOf{number: 1, server: "a", killed: true, start: time.Now()}.data(t))
	write(t, filepath.Join(dir, "b", "2.teehistorian"), gameOf{number: 2, server: "b", killed: true, start: time.Now()}.data(t))
	d := startPlain(t, dir)
	doc := documentOf(t, d)
	first := func(responses func() *replaydv1.WatchStateResponse) *replaydv1.WatchedReplay {
		states := replayd.States{}
		for {
			states.Apply(responses())
			for _, of := range states {
				if of.Age = nil; of.Tick != nil {
					of.Description.State, of.Description.LastTick, of.Description.PlayersTick = 0, nil, nil // which the daemon finds out meanwhile
					return of
				}
			}
		}
	}
	calls, err := d.client.WatchState(timeout(t), &replaydv1.WatchStateRequest{
		Directory: name("a"), Columns: []string{"x", "team"}, Include: []*replaydv1.EventFilter{{Players: []int32{0, 1}}}, ResolvePlayers: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := first(func() *replaydv1.WatchStateResponse {
		response, err := calls.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return response
	})
	if list := want.GetTeehistorian().GetEvents(); len(list) == 0 || list[0].GetSamplePlayer().X == nil || list[0].GetSamplePlayer().Y != nil ||
		list[0].GetPlayer().GetName() == "" {
		t.Fatalf("gRPC has %v", want)
	}
	for accept, prefix := range map[string]string{"": "", "text/event-stream": "data: "} {
		query := "?directory=" + name("a") + "&columns=x,team&player=0,1&resolve-players&interval=50ms&heartbeat=1s&format=teehistorian&server=a*"
		resp := d.do(timeout(t), t, http.MethodGet, "/v1/state"+query, map[string]string{"Accept": accept}, nil)
		lines := bufio.NewScanner(resp.Body)
		got := first(func() *replaydv1.WatchStateResponse {
			for lines.Scan() {
				response := &replaydv1.WatchStateResponse{}
				text, found := strings.CutPrefix(lines.Text(), prefix)
				if !found || text == "" {
					continue // another field of a server-sent event
				}
				if err := protojson.Unmarshal([]byte(text), response); err != nil {
					t.Fatal(err)
				}
				return response
			}
			t.Fatal("the stream has ended", lines.Err())
			return nil
		})
		if !proto.Equal(got, want) {
			t.Errorf("%q: %v, gRPC has %v", accept, got, want)
		}
	}
	for path, status := range map[string]int{"/v1/state?columns=nothing": 400, "/v1/state?directory=none": 404} {
		resp := d.do(timeout(t), t, http.MethodGet, path, nil, nil)
		doc.fits(t, http.MethodGet, "/v1/state", resp)
		if resp.StatusCode != status {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if code, _ := d.get(t, "/v1/state", map[string]string{"Accept": "text/event-stream", "Last-Event-ID": "over"}); code != http.StatusNoContent {
		t.Errorf("after a failure: %d", code)
	}
}
