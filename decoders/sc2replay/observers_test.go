package sc2replay_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// watching returns the names of a replay's observers and how it is known of each player, when the events have been looked at. It checks
// that the first events say the same.
func watching(t *testing.T, file []byte) string {
	t.Helper()
	u, err := open(t, file).Unpack()
	if err != nil {
		t.Fatal(err)
	}
	of := func(p *sc2replay.PlayerInfo) string {
		return fmt.Sprintf("%s %v %d, ", p.Ref.Name, p.Observer, p.ObserverSource)
	}
	var listed, delivered string
	for i := range u.Replay().Players {
		listed += of(&u.Replay().Players[i])
	}
	d := open(t, file).Events(sc2replay.Options{})
	var ev sc2replay.Event
	for d.Next(&ev) == nil {
		if ev.Kind == sc2replay.KindPlayerInfo {
			delivered += of(&ev.PlayerInfo)
			if ev.PlayerInfo.Observer && len(ev.PlayerInfo.PickedRace) > 0 {
				t.Errorf("%s observes and has picked %s", ev.PlayerInfo.Ref.Name, ev.PlayerInfo.PickedRace)
			}
		}
	}
	if listed != delivered {
		t.Errorf("the events say %s, the list %s", delivered, listed)
	}
	return strings.TrimSuffix(listed, ", ")
}

// TestChosen: where the map chooses the players, those whom it has not chosen are observers, by the rule. Without one of the rule's
// conditions, everybody is what the lobby says.
func TestChosen(t *testing.T) {
	const lobby = "Alice false 1, Bob false 1, Carol false 1, Dave false 1"
	add := func(events ...sc2test.Event) func(*sc2test.Replay) {
		return func(r *sc2test.Replay) { r.Tracker = append(r.Tracker, events...) }
	}
	options := func(r *sc2test.Replay) sc2test.S {
		return r.InitData["syncLobbyState"].(sc2test.S)["gameDescription"].(sc2test.S)["gameOptions"].(sc2test.S)
	}
	for name, tt := range map[string]struct {
		change func(*sc2test.Replay)
		want   string
	}{
		"as it is":         {func(*sc2test.Replay) {}, "Alice true 3, Bob false 3, Carol false 3, Dave true 3"},
		"two town halls":   {func(r *sc2test.Replay) { r.Tracker = slices.Delete(r.Tracker, 9, 10) }, "Alice true 3, Bob false 3, Carol false 3, Dave true 3"},
		"a late recruit":   {add(sc2test.Owned(90_000, 4, "Marine")), "Alice true 3, Bob false 3, Carol false 3, Dave false 3"},
		"a structure":      {add(sc2test.Event{Loop: 900, User: 16, Name: "UnitInit", Value: sc2test.Owned(0, 1, "Bunker").Value}), "Alice false 3, Bob false 3, Carol false 3, Dave true 3"},
		"a gift":           {add(sc2test.Event{Loop: 900, User: 16, Name: "UnitOwnerChange", Value: sc2test.Owned(0, 1, "").Value}), "Alice false 3, Bob false 3, Carol false 3, Dave true 3"},
		"of nobody's kind": {add(sc2test.Owned(900, 1, "Larva")), "Alice true 3, Bob false 3, Carol false 3, Dave true 3"},
		"from the beginning": {func(r *sc2test.Replay) {
			r.Tracker[4] = sc2test.Owned(0, 2, "Hatchery")
		}, lobby},
		"one town hall": {func(r *sc2test.Replay) { r.Tracker = r.Tracker[:len(r.Tracker)-2] }, lobby},
		"none":          {func(r *sc2test.Replay) { r.Tracker = r.Tracker[:9] }, lobby},
		"of the ladder": {func(r *sc2test.Replay) { options(r)["amm"] = true }, lobby},
		"no tracker":    {func(r *sc2test.Replay) { r.Without = []string{"replay.tracker.events"} }, lobby},
		"no lobby":      {func(r *sc2test.Replay) { r.InitData = nil }, strings.ReplaceAll(lobby, "1", "2")},
	} {
		t.Run(name, func(t *testing.T) {
			r := sc2test.Chosen()
			tt.change(r)
			if got := watching(t, r.Bytes()); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
	// Nobody knows what an unreadable rest of the tracker's events says.
	r := sc2test.Chosen()
	r.Method = sc2test.Stored
	file := r.Bytes()
	file[bytes.LastIndex(file, []byte("Probe"))] ^= 2 // only the checksum shows it
	if got := watching(t, file); got != lobby {
		t.Errorf("with a wrong checksum %s", got)
	}
	r.NoSums = true
	file = r.Bytes()
	at := bytes.LastIndex(file, []byte("Probe"))
	file[at-2] = 0xFF // the tag of the name
	if got := watching(t, file); got != lobby {
		t.Errorf("with damage %s", got)
	}
	if open(t, sc2test.Chosen().Bytes()).Settled() || !open(t, sc2test.Sample(80949).Bytes()).Settled() {
		t.Error("whether the events have to say who plays")
	}
}

// TestChosenCorpus: in the corpus, one map chooses the players. In every other replay the lobby or the details say who plays.
func TestChosenCorpus(t *testing.T) {
	sources := map[sc2replay.ObserverSource]int{}
	corpus(t, func(name string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if !p.Settled() {
			u, err := p.Unpack()
			if err != nil {
				t.Error(name, err)
				return
			}
			p = u.Replay()
		}
		ruled := ""
		for i := range p.Players {
			q := &p.Players[i]
			sources[q.ObserverSource]++
			if q.ObserverSource == sc2replay.ObserverSourceRule {
				ruled += fmt.Sprintf("%d %v, ", q.Ref.PlayerId, q.Observer)
			}
		}
		want := ""
		if strings.HasSuffix(name, "gameheart/gh_sameteam.SC2Replay") {
			want = "1 true, 2 true, 3 true, 4 true, 5 false, 6 true, 7 false, "
		}
		if ruled != want {
			t.Errorf("%s: by the rule %q, want %q", name, ruled, want)
		}
	})
	t.Log(sources)
	if sources[sc2replay.ObserverSourceUnspecified] > 0 || sources[sc2replay.ObserverSourceLobby] < 600 {
		t.Errorf("sources %v", sources)
	}
}
