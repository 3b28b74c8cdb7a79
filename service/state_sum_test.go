package service_test

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/clients/go/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

var states = flag.Int("states", 12, "at how many ticks of each demo TestStateSummed compares the state; with -corpus, of the corpus")

// TestStateSummed: the state at a tick of a demo equals the sum of its events from the front. So a client that starts there
// holds the same as a client that has read everything. The client library makes the sum, independently of the decoder.
func TestStateSummed(t *testing.T) {
	for _, path := range replayFiles(t)["dem"] {
		t.Run(filepath.Base(path), func(t *testing.T) { stateSummed(t, path) })
	}
}

func stateSummed(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	d, replay := start(t, dir), copyIn(t, dir, path)
	var whole []*demv1.EventList
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
		Replay: replay, Include: []*replaydv1.EventFilter{{Kinds: append(dem.Kinds, "tick")}}, MaxBatchEvents: 4096,
	}, nil)
	var last int32
	for i := range s.Responses {
		r := response(t, s, i)
		if list := r.GetBatch().GetDem(); list != nil {
			whole = append(whole, list)
		}
		last = max(last, r.GetEnd().GetLastTick())
	}
	if len(whole) == 0 {
		t.Skip("it has no entities")
	}
	random := randomOf(path)
	at := []int32{-1, 0, last, last + 1}
	for range *states {
		at = append(at, random.Int32N(last+2))
	}
	slices.Sort(at)
	var sum dem.EntityState
	list, next, told := 0, 0, 0
	for _, tick := range slices.Compact(at) {
		for ; list < len(whole); list, next = list+1, 0 {
			events := whole[list].GetEvents()
			for ; next < len(events) && events[next].GetAtTick() < tick; next++ {
				sum.Apply(events[next], func(i uint32) string { return whole[list].GetStrings()[i] })
			}
			if next < len(events) {
				break
			}
		}
		got := stateAtTick(t, d, replay, tick)
		told += len(got.All())
		if diff := cmp.Diff(sum.All(), got.All()); diff != "" {
			t.Fatalf("at tick %d (-summed +told):\n%.4000s", tick, diff)
		}
	}
	if told == 0 {
		t.Error("no entity was compared")
	}
}

// stateAtTick returns the state from a stream that starts at a tick.
func stateAtTick(t *testing.T, d *daemon, replay string, tick int32) *dem.EntityState {
	t.Helper()
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
		Replay: replay, Include: []*replaydv1.EventFilter{{Kinds: []string{"stop"}}},
		Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: tick}, WithState: true},
	}, nil)
	if s.Err != nil {
		t.Fatalf("at tick %d: %v", tick, s.Err)
	}
	state, complete := new(dem.EntityState), false
	for i := range s.Responses {
		part := response(t, s, i).GetState()
		for _, e := range part.GetDem().GetEvents() {
			state.Apply(e, func(i uint32) string { return part.GetDem().GetStrings()[i] })
		}
		complete = complete || part.GetComplete()
	}
	if !complete {
		t.Fatalf("at tick %d the state has no end", tick)
	}
	return state
}
