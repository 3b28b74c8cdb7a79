package sc2replay_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/filter"
)

func reported(t *testing.T, data []byte, tick *int32) *replaydv1.Report {
	t.Helper()
	r := &replaydv1.Report{Replay: &replaydv1.Replay{}}
	if err := encoder.Codec.Report(context.Background(), codectest.Input(data), codec.ReportOptions{Tick: tick, Pause: func(int64) error { return nil }}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// reportGames returns replays: one that is made, and some of the corpus.
func reportGames(t *testing.T) map[string][]byte {
	t.Helper()
	games := map[string][]byte{"battle": sc2test.Battle().Bytes()}
	for _, of := range []string{"5.0.11.89720", "4.11.4.78285", "3.14.0.54518", "2.1.4", "1.4.3.21029"} {
		files, _ := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "corpus", "sc2replay", of, "*.SC2Replay"))
		for _, path := range files[:min(len(files), 2)] {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			games[filepath.Base(path)] = data
		}
	}
	return games
}

// TestReport: the units, upgrades and economy of a report are those of the state at the same place, and its players those of the facts.
func TestReport(t *testing.T) {
	games := reportGames(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, data := range games {
		whole := reported(t, data, nil)
		if !whole.GetEnded() || whole.GetDamage() != "" || len(whole.GetSc2Replay().GetPlayers()) == 0 {
			t.Errorf("%s: %v", name, whole)
		}
		ticks := []int32{0, whole.GetTick()}
		for range 3 {
			ticks = append(ticks, random.Int32N(whole.GetTick()+1))
		}
		for _, tick := range ticks {
			got := reported(t, data, &tick)
			if got.GetTick() != tick && !got.GetEnded() {
				t.Errorf("%s at %d: it is of %d", name, tick, got.GetTick())
			}
			compareWithState(t, name, data, tick, got.GetSc2Replay())
		}
		if again := reported(t, data, new(whole.GetTick())); !proto.Equal(again, whole) {
			t.Errorf("%s: the report of the last tick is not that of the end", name)
		}
		compareWithFacts(t, name, data, whole)
	}
	if decodertest.Shared(t, "corpus", "sc2replay"); len(games) < 4 { // it skips without the corpus
		t.Errorf("only %d games", len(games))
	}
}

// compareWithState compares a report with the state that a stream begins with behind the tick.
func compareWithState(t *testing.T, name string, data []byte, tick int32, got *replaydv1.Sc2ReplayReport) {
	t.Helper()
	r := open(t, data, codec.Options{State: true, Start: codec.Start{Tick: new(tick + 1)}})
	_ = codectest.Seek(r) // the end is as good
	workers, units := map[uint32]uint32{}, map[uint32]uint32{}
	stats := map[uint32]*sc2replayv1.PlayerState{}
	for over := false; !over; {
		b := codec.Batch{MaxEvents: 1000, MaxBytes: 1 << 20}
		over = r.(codec.Presenter).Present(&b) != nil
		var list sc2replayv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			t.Fatal(err)
		}
		for _, ev := range list.GetEvents() {
			if p := ev.GetPlayerState(); p != nil {
				stats[p.GetPlayerId()] = p
			}
			u := ev.GetUnitState()
			if u == nil || u.GetUnderConstruction() || u.GetUnit().GetClass() == sc2replayv1.UnitClass_UNIT_CLASS_UNSPECIFIED {
				continue
			}
			units[u.GetControlPlayerId()]++
			if u.GetUnit().GetClass() == sc2replayv1.UnitClass_UNIT_CLASS_WORKER {
				workers[u.GetControlPlayerId()]++
			}
		}
	}
	for _, p := range got.GetPlayers() {
		id, total := p.GetPlayerId(), uint32(0)
		for i, u := range p.GetUnits() {
			if total += u.GetCount(); i > 0 && u.GetCount() > p.GetUnits()[i-1].GetCount() {
				t.Errorf("%s at %d: %v are behind %v", name, tick, u, p.GetUnits()[i-1])
			}
		}
		if p.GetWorkers() != workers[id] || total != units[id] || p.GetWorkers()+p.GetArmy()+p.GetStructures() != total {
			t.Errorf("%s at %d: player %d has %d workers of %d units, and not %d of %d", name, tick, id, p.GetWorkers(), total, workers[id], units[id])
		}
		if !proto.Equal(p.GetStats(), stats[id].GetStats()) || p.GetStatsTick() != stats[id].GetStatsTick() {
			t.Errorf("%s at %d: player %d has other stats", name, tick, id)
		}
		for _, u := range p.GetUpgrades() {
			if u.GetTick() > tick || !slices.ContainsFunc(stats[id].GetUpgrades(), func(o *sc2replayv1.Upgrade) bool { return o.GetUpgradeTypeName() == u.GetName() }) {
				t.Errorf("%s at %d: player %d has no upgrade %v", name, tick, id, u)
			}
		}
	}
}

// compareWithFacts compares a report of the end with the facts.
func compareWithFacts(t *testing.T, name string, data []byte, whole *replaydv1.Report) {
	t.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{named("fact_player")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, data, codec.Options{Filter: f})
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	facts := map[uint32]*sc2replayv1.FactPlayer{}
	for err := codec.ErrYield; err == nil || errors.Is(err, codec.ErrYield); {
		b := codec.Batch{MaxEvents: 100, MaxBytes: 1 << 20}
		err = r.Fill(&b)
		var list sc2replayv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			t.Fatal(err)
		}
		for _, ev := range list.GetEvents() {
			facts[ev.GetFactPlayer().GetPlayerId()] = ev.GetFactPlayer()
		}
	}
	for _, p := range whole.GetSc2Replay().GetPlayers() {
		f := facts[p.GetPlayerId()]
		if p.GetPlayerId() == 0 || f == nil {
			continue
		}
		if p.GetSpendingQuotient() != f.GetSpendingQuotient() || p.GetArmyLost() != f.GetArmyLost() || p.GetWorkersLost() != f.GetWorkersLost() ||
			p.GetResult() != f.GetResult() || (p.LeftTick != nil) != (f.LeftTick != nil) || (p.Apm != nil) != (f.Actions != nil) && whole.GetTick() > 100 {
			t.Errorf("%s: %v, but %v", name, p, f)
		}
	}
}

// TestReportOfDamage: whatever a file has, its report is small, or an error of the file.
func TestReportOfDamage(t *testing.T) {
	codectest.CheckReports(t, encoder.Codec, sc2test.Battle().Bytes())
}

func FuzzReport(f *testing.F) {
	f.Add(sc2test.Battle().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) { codectest.CheckReport(t, encoder.Codec, data) })
}
