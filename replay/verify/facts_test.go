package verify_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
)

// TestRunsOfFacts: the runs of a report are those that facts have, also where a move is not what it was.
func TestRunsOfFacts(t *testing.T) {
	recording, course := read(t, race+"race.teehistorian"), read(t, race+"course.map")
	m, err := tiles.Open(bytes.NewReader(course), int64(len(course)))
	if err != nil {
		t.Fatal(err)
	}
	recording[moves(t, recording)[100].offset+1]++
	var want, got []string
	for _, p := range report(t, recording).Players {
		for _, r := range p.Runs {
			want = append(want, fmt.Sprint(p.ClientID, r.FirstTick, r.LastTick, r.Proven, r.Corrected, r.Unknown))
		}
	}
	d := teehistorian.New(bytes.NewReader(recording), teehistorian.Options{})
	header, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	world := physics.New(header, m, func(*physics.Result) {})
	world.Tell()
	for ev, err := range decoders.All(d) {
		if err != nil {
			t.Fatal(err)
		}
		world.Apply(ev)
		var fact teehistorian.Event
		for world.Next(&fact) {
			if f := &fact.FactRun; fact.Kind == teehistorian.KindFactRun {
				got = append(got, fmt.Sprint(f.ClientId, f.FromTick, f.Tick, f.ProvenTicks, f.CorrectedTicks, f.UnknownTicks))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) != 14 {
		t.Errorf("%q, want %q", got, want)
	}
}
