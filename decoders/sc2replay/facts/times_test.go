package facts_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// reckoned returns the steps of a game of a version, as "name began reckoned".
func reckoned(t *testing.T, build int, change func(*sc2test.Replay)) (steps []string) {
	t.Helper()
	r := sc2test.Sample(80949)
	r.Build = build
	born := func(loop int, name string) sc2test.Event {
		ev := sc2test.Owned(loop, 1, name)
		ev.Value["unitTagIndex"] = 200 + len(r.Tracker)
		return ev
	}
	r.Tracker = append(r.Tracker,
		sc2test.Event{Loop: 790, User: 16, Name: "UnitInit", Value: sc2test.Owned(0, 2, "Stalker").Value},
		sc2test.Event{Loop: 799, User: 16, Name: "UnitDone", Value: sc2test.S{"unitTagIndex": 102, "unitTagRecycle": 1}},
		born(800, "Stalker"), born(801, "SCV"), born(802, "Nobody"),
		sc2test.Event{Loop: 2500, User: 16, Name: "Upgrade", Value: sc2test.S{"playerId": 1, "upgradeTypeName": "Stimpack", "count": 1}},
	)
	change(r)
	file := r.Bytes()
	p, err := sc2replay.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	fold := facts.New(p)
	var ev, fact sc2replay.Event
	for d := p.Events(sc2replay.Options{}); d.Next(&ev) == nil; {
		for fold.Apply(&ev); fold.Next(&fact); {
			if s := &fact.FactBuildStep; fact.Kind == sc2replay.KindFactBuildStep {
				steps = append(steps, fmt.Sprintf("%s %s %s", s.Name, optional(s.HasBeganTick, s.BeganTick), optional(s.HasReckonedTick, s.ReckonedTick)))
			}
		}
	}
	return steps
}

func optional(has bool, v any) string {
	if !has {
		return "-"
	}
	return fmt.Sprint(v)
}

// TestReckoned: where the replay does not tell when a step was begun, its build time does, if the table has one for the build and the
// expansion. What the replay tells is left as it is.
func TestReckoned(t *testing.T) {
	same := func(*sc2test.Replay) {}
	unknown := []string{"Barracks 0 -", "SupplyDepot 400 -", "Stalker 790 -", "Stalker - -", "SCV - -", "Nobody - -", "Stimpack - -"}
	for name, tt := range map[string]struct {
		build  int
		change func(*sc2test.Replay)
		want   []string
	}{
		"5.0.11":          {89720, same, []string{"Barracks 0 -", "SupplyDepot 400 -", "Stalker 790 -", "Stalker - 128", "SCV - 532", "Nobody - -", "Stimpack - 260"}},
		"5.0.14":          {93272, same, []string{"Barracks 0 -", "SupplyDepot 400 -", "Stalker 790 -", "Stalker - 195", "SCV - 532", "Nobody - -", "Stimpack - 260"}},
		"before":          {89719, same, unknown},
		"of no expansion": {93272, func(r *sc2test.Replay) { r.Details["cacheHandles"] = nil }, unknown},
		"too early to have been made": {93272, func(r *sc2test.Replay) {
			r.Tracker = append(r.Tracker[:2], sc2test.Owned(600, 1, "Stalker"), sc2test.Owned(605, 1, "Stalker"))
		}, []string{"Stalker - -", "Stalker - 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reckoned(t, tt.build, tt.change); !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// warped are the units that a warp gate makes in no time of the table.
var warped = map[string]bool{"Zealot": true, "Stalker": true, "Sentry": true, "Adept": true, "HighTemplar": true, "DarkTemplar": true}

// TestTimesCorpus compares the table with what takes its time before our eyes: what hatches, and morphs with a cocoon. Of
// each kind the median counts: some are interrupted.
func TestTimesCorpus(t *testing.T) {
	type key struct {
		name string
		want int32
	}
	all := map[key][]int32{}
	root := decodertest.Shared(t, "corpus", "sc2replay")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil //nolint:nilerr // not all of the corpus is whole
		}
		fold := facts.New(p)
		var ev, fact sc2replay.Event
		for d := p.Events(sc2replay.Options{}); d.Next(&ev) == nil; {
			for fold.Apply(&ev); fold.Next(&fact); {
				s := &fact.FactBuildStep
				want, ok := p.BuildTime(s.Name)
				if fact.Kind != sc2replay.KindFactBuildStep || !s.HasBeganTick || s.BeganTick == 0 || !ok || warped[string(s.Name)] {
					continue
				}
				k := key{string(s.Name), want}
				all[k] = append(all[k], fact.AtTick-s.BeganTick)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b key) int { return cmp.Compare(a.name, b.name) }) {
		took := all[k]
		slices.Sort(took)
		if d := took[len(took)/2] - k.want; d < -12 || d > 12 {
			t.Logf("%s took %d gameloops, by the table %d (%d of them)", k.name, took[len(took)/2], k.want, len(took))
			continue
		}
		same++
	}
	t.Logf("%d of %d are the same to half a second", same, len(all))
	if same*10 < 9*len(all) {
		t.Errorf("only %d of %d are the same", same, len(all))
	}
}
