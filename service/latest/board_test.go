package latest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	replayd "github.com/replayd/replayd/clients/go"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/service/latest"
)

// sample returns a sample of a client.
func sample(id, x int32, name string) *teehistorianv1.Event {
	e := &teehistorianv1.Event{Kind: &teehistorianv1.Event_SamplePlayer{SamplePlayer: &teehistorianv1.SamplePlayer{
		ClientId: id, Team: x / 2, X: &x, Y: new(int32(0)),
	}}}
	if name != "" {
		e.Player = &teehistorianv1.Player{Name: name}
	}
	return e
}

func encoded(tb rapid.TB, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// at returns a list of events as samples of a tick.
func at(tick int32, events []*teehistorianv1.Event) *teehistorianv1.EventList {
	list := &teehistorianv1.EventList{}
	for _, e := range events {
		e = proto.CloneOf(e)
		e.AtTick = tick
		list.Events = append(list.Events, e)
	}
	return list
}

// TestFold: whatever happens to a game, and whenever clients ask, what they have folded is the whole state, with the wanted columns.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SampledFrom([][]string{nil, {"x"}, {"team", "y"}}).Draw(t, "columns")
		b, err := latest.NewBoard(&teehistorian.Codec, columns...)
		if err != nil {
			t.Fatal(err)
		}
		type client struct {
			latest.Client
			states replayd.States
			whole  bool
		}
		clients := []*client{{states: replayd.States{}}, {states: replayd.States{}}, {states: replayd.States{}, whole: true}}
		var want *replaydv1.WatchedReplay
		name, tick, unfinished := "", int32(0), false
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5: // a tick
				if !unfinished || rapid.Bool().Draw(t, "later") {
					tick += rapid.Int32Range(1, 3).Draw(t, "ticks")
				}
				unfinished = rapid.Bool().Draw(t, "unfinished")
				var events []*teehistorianv1.Event
				for id := range int32(5) {
					if rapid.Bool().Draw(t, "plays") {
						events = append(events, sample(id, rapid.Int32Range(0, 3).Draw(t, "x"), rapid.SampledFrom([]string{"", "a"}).Draw(t, "name")))
					}
				}
				if err := b.Set(tick, unfinished, encoded(t, at(tick, events))); err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if p := e.GetSamplePlayer(); columns != nil {
						if !slices.Contains(columns, "x") {
							p.X = nil
						}
						if !slices.Contains(columns, "y") {
							p.Y = nil
						}
						if !slices.Contains(columns, "team") {
							p.Team = 0
						}
					}
				}
				want = &replaydv1.WatchedReplay{
					Replay: 7, Whole: true, Tick: &tick, Unfinished: unfinished,
					Players: &replaydv1.WatchedReplay_Teehistorian{Teehistorian: &teehistorianv1.EventList{Events: events}},
				}
				want = proto.CloneOf(want)
			case what == 5:
				name = rapid.StringN(1, 5, -1).Draw(t, "name")
				if err := b.Describe(name); err != nil {
					t.Fatal(err)
				}
			default:
				c := clients[what%len(clients)]
				response := &replaydv1.WatchStateResponse{}
				if err := proto.Unmarshal(c.Take(b, nil, 7, c.whole), response); err != nil {
					t.Fatal(err)
				}
				for _, of := range response.GetReplays() {
					for _, e := range of.GetTeehistorian().GetEvents() {
						if slices.Contains(of.GetRemoved(), e.GetSamplePlayer().GetClientId()) {
							t.Fatalf("who is there has left: %v", of)
						}
					}
				}
				c.states.Apply(response)
				if again := c.Take(b, nil, 7, c.whole); len(again) > 0 {
					t.Fatalf("what the client has comes again: % x", again)
				}
				if want == nil {
					continue
				}
				got := proto.CloneOf(c.states[7])
				if got.GetDescription().GetName() != name || got.Age == nil {
					t.Fatalf("%v; its name is %q", got, name)
				}
				got.Description, got.Age = nil, nil
				if !proto.Equal(got, want) {
					t.Fatalf("the client has %v, want %v", got, want)
				}
				if c.whole && len(response.GetReplays()) > 0 && response.GetReplays()[0].Tick != nil && !response.GetReplays()[0].GetWhole() {
					t.Fatal("a client that wants whole states has a difference")
				}
			}
		}
	})
}

// TestLeastBytes: players who have not changed are not sent, also when they have changed in a column that nobody wants.
func TestLeastBytes(t *testing.T) {
	b, err := latest.NewBoard(&teehistorian.Codec, "team")
	if err != nil {
		t.Fatal(err)
	}
	c := &latest.Client{}
	unfinished := false
	take := func(tick int32, events ...*teehistorianv1.Event) *replaydv1.WatchedReplay {
		if err := b.Set(tick, unfinished, encoded(t, at(tick, events))); err != nil {
			t.Fatal(err)
		}
		response := &replaydv1.WatchStateResponse{}
		if err := proto.Unmarshal(c.Take(b, nil, 1, false), response); err != nil || len(response.GetReplays()) != 1 {
			t.Fatal(response, err)
		}
		return response.GetReplays()[0]
	}
	if first := take(1, sample(1, 2, ""), sample(4, 2, "")); !first.GetWhole() || len(first.GetTeehistorian().GetEvents()) != 2 {
		t.Errorf("the first state is %v", first)
	}
	if moved := take(2, sample(1, 3, ""), sample(4, 3, "")); moved.GetWhole() || len(moved.GetTeehistorian().GetEvents()) != 0 || moved.GetTick() != 2 {
		t.Errorf("players have moved, whose places nobody wants: %v", moved)
	}
	changed := take(3, sample(4, 6, ""))
	if list := changed.GetTeehistorian().GetEvents(); len(list) != 1 || list[0].GetSamplePlayer().GetTeam() != 3 || list[0].GetAtTick() != 0 ||
		!slices.Equal(changed.GetRemoved(), []int32{1}) {
		t.Errorf("a player has changed, another has left: %v", changed)
	}
	if again := take(4, sample(4, 7, "")); len(again.GetRemoved()) > 0 {
		t.Errorf("who has left is told again: %v", again)
	}
	unfinished = true
	if open := take(5, sample(4, 6, "")); !open.GetUnfinished() {
		t.Errorf("a tick may go on: %v", open)
	}
	unfinished = false
	if closed := take(5, sample(4, 6, "")); closed.GetUnfinished() || len(closed.GetTeehistorian().GetEvents()) != 0 {
		t.Errorf("the tick was complete: %v", closed)
	}
}

// TestOver: the end and each failure are told once, and a game that can be read again has no failure.
func TestOver(t *testing.T) {
	b, err := latest.NewBoard(&dem.Codec)
	if err != nil {
		t.Fatal(err)
	}
	var c latest.Client
	take := func() (of *replaydv1.WatchedReplay) {
		response := &replaydv1.WatchStateResponse{}
		if err := proto.Unmarshal(c.Take(b, nil, 1, false), response); err != nil {
			t.Fatal(err)
		}
		if len(response.GetReplays()) > 0 {
			of = response.GetReplays()[0]
		}
		return of
	}
	once := func(what string, is bool) {
		t.Helper()
		if again := take(); !is || again != nil {
			t.Errorf("%s: it is %v, and then comes %v", what, is, again)
		}
	}
	b.Fail(&replaydv1.SubscriptionFailure{Message: "first", Retried: true})
	once("a failure", take().GetFailure().GetMessage() == "first")
	b.Fail(&replaydv1.SubscriptionFailure{Message: "second", Retried: true})
	once("another one", take().GetFailure().GetMessage() == "second")
	list := &demv1.EventList{Events: []*demv1.Event{{AtTick: 5, Kind: &demv1.Event_SamplePlayer{SamplePlayer: &demv1.SamplePlayer{PlayerId: 3}}}}}
	if err := b.Set(5, false, encoded(t, list)); err != nil {
		t.Fatal(err)
	}
	now := take()
	other := &replaydv1.WatchStateResponse{}
	if err := proto.Unmarshal(new(latest.Client).Take(b, nil, 1, false), other); err != nil || other.GetReplays()[0].GetFailure() != nil {
		t.Errorf("a client that comes when the game can be read again has %v, %v", other, err)
	}
	once("a state", now.GetFailure() == nil && now.GetDem().GetEvents()[0].GetSamplePlayer().GetPlayerId() == 3)
	b.Finish(replaydv1.EndReason_END_REASON_REMOVED)
	once("the end", take().GetEnd() == replaydv1.EndReason_END_REASON_REMOVED)
}

// TestAge: a response tells how old a state is, in microseconds.
func TestAge(t *testing.T) {
	for _, old := range []time.Duration{-time.Second, 0, time.Microsecond, 1999 * time.Nanosecond, time.Second, 90*time.Second + 1500*time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			b, err := latest.NewBoard(&teehistorian.Codec)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Set(5, false, encoded(t, at(5, []*teehistorianv1.Event{sample(1, 2, "")}))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(max(old, 0))
			if old < 0 { // read after the time of the answer was taken
				b.Read(time.Now().Add(-old))
			}
			var got replaydv1.WatchStateResponse
			if err := proto.Unmarshal(new(latest.Client).Take(b, nil, 1, false), &got); err != nil {
				t.Fatal(err)
			}
			if age := got.GetReplays()[0].GetAge(); age == nil || age.AsDuration() != max(old, 0).Truncate(time.Microsecond) {
				t.Errorf("a state of %v is %v old", old, age)
			}
		})
	}
}

// TestHostile: what is no list of samples, or too large for a response, is an error.
func TestHostile(t *testing.T) {
	b, err := latest.NewBoard(&teehistorian.Codec, "x")
	if err != nil {
		t.Fatal(err)
	}
	whole := encoded(t, at(1, []*teehistorianv1.Event{sample(1, 2, "name")}))
	for n := 1; n < len(whole); n++ {
		if b.Set(1, false, whole[:n]) == nil {
			t.Errorf("%d bytes of %d are a list", n, len(whole))
		}
	}
	var many []*teehistorianv1.Event
	for id := range int32(20_000) {
		many = append(many, sample(id, 1, strings.Repeat("n", 40)))
	}
	if err := b.Set(2, false, encoded(t, at(2, many))); err == nil || !strings.Contains(fmt.Sprint(err), "the players of the game take more than") {
		t.Errorf("20,000 players: %v", err)
	}
}
