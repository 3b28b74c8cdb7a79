package service_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// tees is the state of a teehistorian file, summed from its events. It follows only the documentation of the events. It has the
// properties that events have by themselves: not the names, skins and versions that clients state in their messages.
type tees struct {
	players  map[int32]*teehistorianv1.PlayerState
	practice map[int32]bool
}

// apply adds an event.
func (s *tees) apply(e *teehistorianv1.Event) {
	player := func(id int32) *teehistorianv1.PlayerState {
		p := s.players[id]
		if p == nil {
			// A client without a join is connected from the first event that names it.
			p = &teehistorianv1.PlayerState{ClientId: id, Joined: true}
			s.players[id] = p
		}
		return p
	}
	switch k := e.GetKind().(type) {
	case *teehistorianv1.Event_Join:
		p := player(k.Join.GetClientId())
		p.Joined, p.Ready, p.Team, p.Role = true, false, 0, nil
	case *teehistorianv1.Event_Drop:
		p := player(k.Drop.GetClientId())
		p.Joined, p.Ready = false, false
	case *teehistorianv1.Event_PlayerNew:
		p := player(k.PlayerNew.GetClientId())
		p.Joined, p.Alive, p.X, p.Y = true, true, k.PlayerNew.GetX(), k.PlayerNew.GetY()
	case *teehistorianv1.Event_PlayerDiff:
		p := player(k.PlayerDiff.GetClientId())
		p.Alive, p.X, p.Y = true, k.PlayerDiff.GetX(), k.PlayerDiff.GetY()
	case *teehistorianv1.Event_PlayerOld:
		p := player(k.PlayerOld.GetClientId())
		p.Alive, p.X, p.Y = false, k.PlayerOld.GetX(), k.PlayerOld.GetY()
	case *teehistorianv1.Event_InputNew:
		player(k.InputNew.GetClientId()).Input = k.InputNew.GetInput()
	case *teehistorianv1.Event_InputDiff:
		player(k.InputDiff.GetClientId()).Input = k.InputDiff.GetInput()
	case *teehistorianv1.Event_PlayerTeam:
		player(k.PlayerTeam.GetClientId()).Team = k.PlayerTeam.GetTeam()
	case *teehistorianv1.Event_TeamPractice:
		s.practice[k.TeamPractice.GetTeam()] = k.TeamPractice.GetPractice()
	case *teehistorianv1.Event_PlayerReady:
		p := player(k.PlayerReady.GetClientId())
		p.Joined, p.Ready = true, true
	case *teehistorianv1.Event_Ddnetver:
		player(k.Ddnetver.GetClientId()).Joined = true
	default:
		body := e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
		if body == nil || body.Message() == nil {
			return
		}
		for _, name := range []string{"client_id", "other_client_id"} {
			if f := body.Message().Fields().ByTextName(name); f != nil && body.Name() != "player_state" {
				if m := e.ProtoReflect().Get(body).Message(); m.Get(f).Int() >= 0 && (!f.HasPresence() || m.Has(f)) {
					player(int32(m.Get(f).Int()))
				}
			}
		}
	}
}

// state returns the clients that are connected or have a character.
func (s *tees) state() (all []*teehistorianv1.PlayerState) {
	for _, id := range slices.Sorted(maps.Keys(s.players)) {
		if p := s.players[id]; p.GetJoined() || p.GetAlive() {
			p.Practice = s.practice[p.GetTeam()]
			all = append(all, proto.CloneOf(p))
		}
	}
	return all
}

// TestPlayersSummed tests that the state at a tick of a teehistorian file equals the sum of its events from the front, and so do
// the states at its end and before its last events.
func TestPlayersSummed(t *testing.T) {
	for _, path := range replayFiles(t)["teehistorian"] {
		t.Run(filepath.Base(path), func(t *testing.T) { playersSummed(t, path) })
	}
}

func playersSummed(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	d, replay := start(t, dir), copyIn(t, dir, path)
	var whole []*teehistorianv1.Event
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: 4096}, nil)
	for i := range s.Responses {
		whole = append(whole, response(t, s, i).GetBatch().GetTeehistorian().GetEvents()...)
	}
	if s.Err != nil && len(whole) == 0 || len(whole) == 0 {
		t.Skipf("it has no events: %v", s.Err)
	}
	random := randomOf(path)
	last := whole[len(whole)-1].GetAtTick()
	at := []int32{-1, 0, last, last + 1}
	for range *states {
		at = append(at, whole[random.IntN(len(whole))].GetAtTick()+random.Int32N(3)-1)
	}
	slices.Sort(at)
	sum := tees{map[int32]*teehistorianv1.PlayerState{}, map[int32]bool{}}
	next, some := 0, 0
	for _, tick := range slices.Compact(at) {
		for ; next < len(whole) && whole[next].GetAtTick() < tick; next++ {
			sum.apply(whole[next])
		}
		some += comparePlayers(t, d, replay, &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: tick}}, sum.state())
	}
	for n := uint32(1); n < 300; n *= 7 { // the state before the last events of all kinds
		sum := tees{map[int32]*teehistorianv1.PlayerState{}, map[int32]bool{}}
		for _, e := range whole[:max(0, len(whole)-int(n))] {
			sum.apply(e)
		}
		some += comparePlayers(t, d, replay, &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: n}}, sum.state())
	}
	for ; next < len(whole); next++ {
		sum.apply(whole[next])
	}
	comparePlayers(t, d, replay, &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}, sum.state())
	if some == 0 && strings.Contains(path, "testdata") {
		t.Error("no client was compared")
	}
}

// comparePlayers compares the state where a stream starts with the summed one. It returns how many clients there are.
func comparePlayers(t *testing.T, d *daemon, replay string, start *replaydv1.Start, want []*teehistorianv1.PlayerState) int {
	t.Helper()
	at := proto.CloneOf(start)
	at.WithState = true
	req := &replaydv1.StreamEventsRequest{Replay: replay, Start: at}
	if start.GetLastEvents() == 0 { // those are the last ones that match
		req.Include = []*replaydv1.EventFilter{{Kinds: []string{"finish"}}} // few events besides the state
	}
	s := d.Session(timeout(t), req, nil)
	var got []*teehistorianv1.PlayerState
	complete := false
	for i := range s.Responses {
		part := response(t, s, i).GetState()
		complete = complete || part.GetComplete()
		for _, e := range part.GetTeehistorian().GetEvents() {
			p := e.GetPlayerState()
			got = append(got, &teehistorianv1.PlayerState{
				ClientId: p.GetClientId(), Joined: p.GetJoined(), Ready: p.GetReady(), Alive: p.GetAlive(), X: p.GetX(), Y: p.GetY(),
				Team: p.GetTeam(), Practice: p.GetPractice(), Input: p.GetInput(),
			})
		}
	}
	if !complete {
		t.Fatalf("%v: the state has no end: %v", start, s.Err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Fatalf("%v (-summed +told):\n%.4000s", start, diff)
	}
	return len(want)
}
