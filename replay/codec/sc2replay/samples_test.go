package sc2replay_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	decoder "github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/filter"
)

func isSample(p placed) bool { return strings.HasPrefix(p.kind, "sample_") }

// every returns the include filter of samples at the multiples of a number of gameloops.
func every(ticks int32) *replaydv1.EventFilter {
	f := named("sample_player")
	f.Ticks = &replaydv1.TickRange{Every: &ticks}
	return f
}

// economy is what a fold over a replay's events knows of a player.
type economy struct {
	stats    *decoder.PlayerStats
	at       int32
	upgrades int32
}

// folded returns what the samples of a replay must be, from its other events.
func folded(t *testing.T, data []byte, ticks int32) (want []string) {
	t.Helper()
	r, err := decoder.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	players, units, tick := map[uint32]*economy{}, map[uint32]*decoder.UnitState{}, int32(0)
	player := func(id uint32) *economy {
		if players[id] == nil {
			players[id] = &economy{}
		}
		return players[id]
	}
	complete := func(ends int32) {
		for last := tick; tick < ends; tick++ {
			for id := range uint32(32) {
				if p := players[id]; p != nil && tick%ticks == 0 && tick <= last+3000 {
					want = append(want, p.sample(tick, id, units))
				}
			}
		}
	}
	living := func(u *decoder.Unit) *decoder.UnitState {
		if known := units[u.Index]; known != nil && known.Unit.Tag == u.Tag {
			return known
		}
		return &decoder.UnitState{}
	}
	for ev, err := range decoders.All(r.Events(decoder.Options{})) {
		if err != nil {
			break
		}
		ends := ev.AtTick
		if ev.Kind == decoder.KindEnd {
			ends++
		}
		complete(ends)
		switch ev.Kind {
		case decoder.KindPlayerSetup:
			player(ev.PlayerSetup.PlayerId)
		case decoder.KindPlayerStats:
			p, stats := player(ev.PlayerStats.PlayerId), ev.PlayerStats
			p.stats, p.at = &stats, ev.AtTick
		case decoder.KindUpgrade:
			player(ev.Upgrade.PlayerId).upgrades += ev.Upgrade.Count
		case decoder.KindUnitBorn:
			units[ev.UnitBorn.Unit.Index] = &decoder.UnitState{Unit: ev.UnitBorn.Unit, ControlPlayerId: ev.UnitBorn.ControlPlayerId}
		case decoder.KindUnitInit:
			units[ev.UnitInit.Unit.Index] = &decoder.UnitState{Unit: ev.UnitInit.Unit, ControlPlayerId: ev.UnitInit.ControlPlayerId, UnderConstruction: true}
		case decoder.KindUnitDone:
			living(&ev.UnitDone.Unit).UnderConstruction = false
		case decoder.KindUnitOwnerChange:
			living(&ev.UnitOwnerChange.Unit).ControlPlayerId = ev.UnitOwnerChange.ControlPlayerId
		case decoder.KindUnitTypeChange:
			living(&ev.UnitTypeChange.Unit).Unit = ev.UnitTypeChange.Unit
		case decoder.KindUnitDied:
			if u := units[ev.UnitDied.Unit.Index]; u != nil && u.Unit.Tag == ev.UnitDied.Unit.Tag {
				delete(units, ev.UnitDied.Unit.Index)
			}
		}
	}
	return want
}

// sample returns what is compared of a sample.
func (p *economy) sample(tick int32, id uint32, units map[uint32]*decoder.UnitState) string {
	var complete, workers, army, structures, begun uint32
	for _, u := range units {
		switch {
		case u.ControlPlayerId != id:
		case u.UnderConstruction:
			begun++
		default:
			complete++
			for class, n := range map[decoder.UnitClass]*uint32{
				decoder.UnitClassWorker: &workers, decoder.UnitClassArmy: &army, decoder.UnitClassStructure: &structures,
			} {
				if u.Unit.Class == class {
					*n++
				}
			}
		}
	}
	text := fmt.Sprintf("at_tick:%d player_id:%d units:%d,%d,%d,%d,%d upgrades:%d", tick, id, complete, workers, army, structures, begun, p.upgrades)
	if s := p.stats; s != nil {
		text += fmt.Sprint(" stats:", p.at, s.MineralsCurrent, s.VespeneCurrent, s.MineralsCollectionRate, s.VespeneCollectionRate,
			s.WorkersActiveCount, s.FoodUsed, s.FoodMade, s.MineralsUsedCurrentArmy, s.VespeneUsedCurrentArmy,
			s.MineralsLostArmy+s.MineralsLostEconomy+s.MineralsLostTechnology, s.VespeneLostArmy+s.VespeneLostEconomy+s.VespeneLostTechnology,
			s.MineralsKilledArmy+s.MineralsKilledEconomy+s.MineralsKilledTechnology,
			s.VespeneKilledArmy+s.VespeneKilledEconomy+s.VespeneKilledTechnology)
	}
	return text
}

// sampled returns the samples of a replay as folded does.
func sampled(t *testing.T, data []byte, ticks int32) (got []string) {
	t.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{every(ticks)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, _ := codectest.Read(t, open(t, data, codec.Options{Filter: f}), 512)
	var list sc2replayv1.EventList
	if err := proto.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, ev := range list.GetEvents() {
		s := ev.GetSamplePlayer()
		text := fmt.Sprintf("at_tick:%d player_id:%d units:%d,%d,%d,%d,%d upgrades:%d", ev.GetAtTick(), s.GetPlayerId(), s.GetUnits(),
			s.GetWorkers(), s.GetArmy(), s.GetStructures(), s.GetUnderConstruction(), s.GetUpgrades())
		if s.StatsTick != nil {
			text += fmt.Sprint(" stats:", s.GetStatsTick(), s.GetMinerals(), s.GetVespene(), s.GetMineralsRate(), s.GetVespeneRate(),
				s.GetWorkersActive(), s.GetSupplyUsed(), s.GetSupplyMade(), s.GetArmyMinerals(), s.GetArmyVespene(), s.GetMineralsLost(),
				s.GetVespeneLost(), s.GetMineralsKilled(), s.GetVespeneKilled())
		}
		got = append(got, text)
	}
	return got
}

// TestSamplesFold: samples are what a plain fold over all other events has at the end of each gameloop.
func TestSamplesFold(t *testing.T) {
	for name, replay := range map[string]*sc2test.Replay{"battle": sc2test.Battle(), "sample": sc2test.Sample(80949)} {
		data := replay.Bytes()
		for _, ticks := range []int32{1, 16} {
			got := sampled(t, data, ticks)
			want := folded(t, data, ticks)
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, every %d gameloops: %d samples, want %d", name, ticks, len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s: sample %d is %s, want %s", name, i, got[i], want[i])
				}
			}
		}
	}
}

// TestSamples: samples come only to those who name them, at the same positions whatever else is delivered. A stream that begins at any
// place goes on as the whole does, with and without samples.
func TestSamples(t *testing.T) {
	data := sc2test.Battle().Bytes()
	start := decoders.Position{}
	raw := deliver(t, data, start)
	if slices.ContainsFunc(raw, isSample) || slices.ContainsFunc(deliver(t, data, start, &replaydv1.EventFilter{}), isSample) {
		t.Fatal("samples come to those who do not name them")
	}
	facts := named(factKinds()...)
	whole := deliver(t, data, start, &replaydv1.EventFilter{}, facts, every(32))
	if others := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return isSample(p) || isFact(p) }); !slices.Equal(others, raw) {
		t.Fatal("samples change the events of the replay")
	}
	samples := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return !isSample(p) })
	if got := deliver(t, data, start, every(32)); len(got) == 0 || !slices.Equal(got, samples) {
		t.Fatal("samples depend on what else is delivered")
	}
	fewer := deliver(t, data, start, every(64))
	want := slices.DeleteFunc(slices.Clone(samples), func(p placed) bool { return !slices.Contains(fewer, p) })
	if len(fewer) == 0 || len(fewer) >= len(samples) || !slices.Equal(fewer, want) {
		t.Fatal("the samples of fewer gameloops are others")
	}
	for i := range whole {
		if i > 0 && !whole[i-1].at.Before(whole[i].at) {
			t.Fatalf("%+v stands before %+v", whole[i-1], whole[i])
		}
		if i%29 != 0 && (!isSample(whole[i]) || i%7 != 0) {
			continue
		}
		at := whole[i].at
		if got := deliver(t, data, at, &replaydv1.EventFilter{}, facts, every(32)); !slices.Equal(got, whole[i:]) {
			t.Fatalf("a stream that begins with %+v is not the rest of the whole", whole[i])
		}
		r := open(t, data, codec.Options{Start: codec.Start{Position: at}})
		if err := codectest.Seek(r); err != nil || r.Position() != at {
			t.Fatalf("a stream without samples that begins at %+v stands at %+v, %v", at, r.Position(), err)
		}
		rest := slices.DeleteFunc(slices.Clone(raw), func(p placed) bool { return p.at.Before(at) })
		if got := deliver(t, data, at); !slices.Equal(got, rest) {
			t.Fatalf("a stream without samples that begins at %+v is not the rest of the whole", at)
		}
	}
}
