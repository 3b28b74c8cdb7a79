package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service"
)

var finishLine = regexp.MustCompile(`chat: \*\*\* (.+) finished in: +(\d+) minute\(s\) +(\d+)\.(\d+) second`)

// TestFinishes compares the finishes in the games of one server with the server's log, over changes of the map. It resolves the
// players' names. It streams the games by following from game to game, and each game alone. The facts say the same as the records.
func TestFinishes(t *testing.T) {
	corpus := filepath.Join("..", "..", "shared", "corpus", "teehistorian", "ddnet-20.1.1")
	if !exists(corpus) {
		t.Skip("no corpus")
	}
	var want []string
	for _, m := range finishLine.FindAllStringSubmatch(string(read(t, filepath.Join(corpus, "server.log"))), -1) {
		want = append(want, fmt.Sprintf("%s %s:%s.%s", m[1], m[2], m[3], m[4]))
	}
	dir := t.TempDir()
	d := start(t, dir)
	for _, path := range find(t, corpus, ".teehistorian") {
		copyIn(t, dir, path)
	}
	all, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	replays := all.GetReplays()
	slices.SortFunc(replays, func(a, b *replaydv1.Replay) int { return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime()) })
	for how, follows := range map[string]bool{"each": false, "followed": true} {
		var got, facts []string
		for _, replay := range replays {
			s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
				Replay: replay.GetName(), ResolvePlayers: true, Include: []*replaydv1.EventFilter{{Kinds: []string{"player_finish", "fact_finish", "finish"}}},
				Follow: follows,
			}, func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetFollowStatus().GetState() != replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP
			})
			for i := range s.Responses {
				for _, ev := range response(t, s, i).GetBatch().GetTeehistorian().GetEvents() {
					line := func(ticks int32) string {
						return fmt.Sprintf("%s %d:%d.%02d", ev.GetPlayer().GetName(), ticks/3000, ticks%3000/50, ticks%50*2)
					}
					if f := ev.GetPlayerFinish(); f != nil {
						got = append(got, line(f.GetTime()))
					}
					if f := ev.GetFactFinish(); f != nil {
						facts = append(facts, line(f.GetTime()))
					}
				}
			}
		}
		if !slices.Equal(got, want) || !slices.Equal(facts, want) {
			t.Errorf("%s: got  %q\nfacts %q\nwant %q", how, got, facts, want)
		}
		t.Logf("%s: %d finishes of %d", how, len(got), len(want))
	}
}

// TestPlayers checks the players of a running game and of a finished one, without a stream.
func TestPlayers(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	data := read(t, killedSample)
	w := create(t, dir, "live.teehistorian")
	w.write(data)
	resp, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{
		Replay: name("live.teehistorian"), View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := resp.GetReplay()
	if len(r.GetPlayers()) == 0 || r.PlayersTick == nil || r.GetPlayers()[0].GetName() == "" || r.GetHeader() != nil {
		t.Errorf("got %v", r)
	}
	if r.GetState() != replaydv1.ReplayState_REPLAY_STATE_GROWING {
		t.Errorf("state %v", r.GetState())
	}
	if r.GetLineup() != codec.Lineup(r.GetPlayers()) || r.GetLineup() == "" {
		t.Errorf("lineup %q", r.GetLineup())
	}
	for _, sample := range []string{samples("sc2replay", "beta.SC2Replay")} {
		if _, err := os.Stat(sample); err != nil {
			continue
		}
		resp, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{
			Replay: copyIn(t, dir, sample), View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS,
		})
		if err != nil || resp.GetReplay().GetHeader() != nil || resp.GetReplay().GetState() != replaydv1.ReplayState_REPLAY_STATE_FINISHED {
			t.Errorf("%s: %v, %v", sample, resp, err)
		}
	}
}

// TestParticipants: everybody who took part is known of a running game, of one that ended when nobody was connected, and of an upload.
// Their connections have pseudonyms, which are those of the events.
func TestParticipants(t *testing.T) {
	dir := t.TempDir()
	key := codec.Secrets{Key: []byte("a key")}
	d := start(t, dir, func(c *service.Config) { c.Secrets = key })
	stored, err := createReplay(timeout(t), d.client, nil, read(t, finishedSample))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{copyIn(t, dir, finishedSample), stored.GetName()}
	w := create(t, dir, "live.teehistorian")
	w.write(read(t, killedSample))
	for _, replay := range append(names, name("live.teehistorian")) {
		resp, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{
			Replay: replay, View: replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS,
		})
		if err != nil {
			t.Fatal(err)
		}
		r := resp.GetReplay()
		if len(r.GetParticipants()) == 0 || r.PlayersTick == nil || r.GetHeader() != nil || len(r.GetPlayers()) > 0 {
			t.Errorf("%s: %v", replay, r)
		}
		hashes := map[string]bool{"": true}
		for _, p := range r.GetParticipants() {
			if len(p.GetNames()) == 0 || len(p.GetConnectionIds()) > 0 {
				t.Errorf("%s: %v", replay, p)
			}
			for _, hash := range p.GetConnectionPseudonyms() {
				hashes[hash] = true
			}
		}
		if strings.HasPrefix(replay, "@") {
			continue
		}
		session := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
			Replay: replay, Include: []*replaydv1.EventFilter{{Kinds: []string{"ddnetver"}}},
		}, func(*replaydv1.StreamEventsResponse) bool { return true })
		for i := range session.Responses {
			for _, ev := range response(t, session, i).GetBatch().GetTeehistorian().GetEvents() {
				if v := ev.GetDdnetver(); !hashes[v.GetConnectionPseudonym()] || v.GetConnectionPseudonym() == "" || v.GetConnectionId() != "" || !v.GetRedacted() {
					t.Errorf("%s: %v", replay, v)
				}
			}
		}
	}
}
