package sc2replay_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// stateLines returns a state as text.
func stateLines(s *sc2replay.State) (lines []string) {
	var ev sc2replay.Event
	for i := range s.Len() {
		if !s.Present(i, &ev) {
			continue
		}
		who := "-"
		if ev.HasPlayer {
			who = fmt.Sprintf("%s/%d", ev.Player.Name, ev.Player.PlayerId)
		}
		switch p, u := &ev.PlayerState, &ev.UnitState; ev.Kind {
		case sc2replay.KindPlayerState:
			line := fmt.Sprintf("%d %s player %d", ev.AtTick, who, p.PlayerId)
			if p.HasSetup {
				line += fmt.Sprintf(" slot %d", p.Setup.SlotId)
			}
			if p.HasStats {
				line += fmt.Sprintf(" supply %v at %d", p.Stats.FoodUsed, p.StatsTick)
			}
			for _, u := range p.Upgrades {
				line += fmt.Sprintf(" %s=%d", u.UpgradeTypeName, u.Count)
			}
			lines = append(lines, line)
		case sc2replay.KindUnitState:
			line := fmt.Sprintf("%d %s %s %d.%d of %d/%d at %d,%d in %d, there since %d, so since %d",
				ev.AtTick, who, u.Unit.TypeName, u.Unit.Index, u.Unit.Recycle, u.ControlPlayerId, u.UpkeepPlayerId,
				u.X, u.Y, u.PlaceTick, u.AppearedTick, u.TypeTick)
			if u.UnderConstruction {
				line += " under construction"
			}
			if u.HasCreator {
				line += fmt.Sprintf(" by %s %d %s", u.Creator.TypeName, u.Creator.Index, u.CreatorAbilityName)
			}
			lines = append(lines, line)
		default:
			lines = append(lines, "kind "+ev.Kind.String())
		}
	}
	return lines
}

// TestState follows a short game and checks the state before certain ticks.
func TestState(t *testing.T) {
	r := sc2test.Sample(80949)
	born := sc2test.S{
		"unitTagIndex": 2, "unitTagRecycle": 2, "unitTypeName": "Drone", "controlPlayerId": 2, "upkeepPlayerId": 2, "x": 9, "y": 8,
		"creatorUnitTagIndex": 2, "creatorUnitTagRecycle": 1, "creatorAbilityName": "LarvaTrain",
	}
	upgrade := sc2test.S{"playerId": 1, "upgradeTypeName": "SprayTerran", "count": 2}
	r.Tracker = append(r.Tracker,
		sc2test.Event{Loop: 800, User: 16, Name: "UnitBorn", Value: born},
		sc2test.Event{Loop: 810, User: 16, Name: "Upgrade", Value: upgrade},
	)
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	s := sc2replay.NewState(d)
	if got := stateLines(s); len(got) != 0 {
		t.Errorf("before the first event: %q", got)
	}
	ticks := map[int32][]string{
		200: {
			"161 Alice/1 player 1 slot 0 supply 12.5 at 160 SprayTerran=1", "161 Bob/2 player 2 slot 1",
			"161 Alice/1 SCV 1.1 of 1/1 at 40,48 in 0, there since 0, so since 0",
			"161 Bob/2 Larva 2.1 of 2/2 at 88,92 in 0, there since 0, so since 0",
			"161 Alice/1 Barracks 3.1 of 1/1 at 44,52 in 0, there since 0, so since 0 under construction",
		},
		300: {
			"300 Alice/1 player 1 slot 0 supply 12.5 at 160 SprayTerran=1", "300 Bob/2 player 2 slot 1",
			"300 Alice/1 SCV 1.1 of 1/1 at 40,48 in 240, there since 0, so since 0",
			"300 Bob/2 Egg 2.1 of 2/2 at 92,96 in 240, there since 0, so since 210",
			"300 Bob/2 Barracks 3.1 of 2/2 at 44,52 in 0, there since 0, so since 0",
		},
		10_000: {
			"2000 Alice/1 player 1 slot 0 supply 12.5 at 160 SprayTerran=3", "2000 Bob/2 player 2 slot 1",
			"2000 Alice/1 SCV 1.1 of 1/1 at 40,48 in 240, there since 0, so since 0",
			"2000 Bob/2 Drone 2.2 of 2/2 at 9,8 in 800, there since 800, so since 800 by Egg 2 LarvaTrain",
			"2000 Bob/2 Barracks 3.1 of 2/2 at 44,52 in 0, there since 0, so since 0",
			"2000 Alice/1 SupplyDepot 4.1 of 1/1 at 48,60 in 400, there since 400, so since 400",
		},
	}
	var ev sc2replay.Event
	seen := 0
	for d.Next(&ev) == nil {
		// At tick 300, a game event precedes the tracker's event.
		due := ev.AtTick
		if ev.AtTick == 300 && ev.Kind != sc2replay.KindUnitDied {
			due = 0
		}
		if ev.AtTick == 100_000 {
			due = 10_000
		}
		if want, ok := ticks[due]; ok && ev.Kind != sc2replay.KindEnd {
			if got := stateLines(s); !slices.Equal(got, want) {
				t.Errorf("before %d: got\n%q\nwant\n%q", due, got, want)
			}
			seen++
		}
		s.Apply(&ev)
	}
	if seen != len(ticks) {
		t.Errorf("checked %d times", seen)
	}
}

// TestStateBounds checks that the state stays small, however many units, players and upgrades there are.
func TestStateBounds(t *testing.T) {
	d := open(t, sc2test.Sample(80949).Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	if err := d.Next(&ev); err != nil {
		t.Fatal(err)
	}
	s := sc2replay.NewState(d)
	random := rand.New(rand.NewPCG(1, 2))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 2_000_000 {
		ev.AtTick = int32(i)
		switch i % 4 {
		case 0, 1:
			index := random.Uint32N(1 << 15)
			if i > 1_900_000 {
				index = random.Uint32()
			}
			ev.Kind = sc2replay.KindUnitBorn
			ev.UnitBorn = sc2replay.UnitBorn{
				Unit: sc2replay.Unit{Index: index, Recycle: uint32(i), Tag: index<<18 | uint32(i)&(1<<18-1), TypeName: []byte("Zergling")},
				X:    math.MaxUint32, ControlPlayerId: random.Uint32(),
			}
		case 2:
			ev.Kind = sc2replay.KindUpgrade
			ev.Upgrade = sc2replay.Upgrade{PlayerId: random.Uint32N(40), UpgradeTypeName: fmt.Appendf(nil, "%0*d", 1+i%300, random.Uint32()), Count: 1}
		case 3:
			ev.Kind, ev.PlayerStats = sc2replay.KindPlayerStats, sc2replay.PlayerStats{PlayerId: random.Uint32()}
		}
		s.Apply(&ev)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 8<<20 {
		t.Errorf("the state has %d KB", n>>10)
	} else {
		t.Logf("the state has %d KB", n>>10)
	}
	units, players, longest, left := 0, 0, 0, uint32(0)
	for i := range s.Len() {
		if !s.Present(i, &ev) {
			continue
		}
		if ev.Kind == sc2replay.KindUnitState {
			units++
			continue
		}
		players++
		n := 0
		for _, u := range ev.PlayerState.Upgrades {
			n += len(u.UpgradeTypeName)
		}
		longest, left = max(longest, n), left+ev.PlayerState.UpgradesLeftOut
		if len(ev.PlayerState.Upgrades) > sc2replay.MaxUpgrades {
			t.Errorf("%d upgrades", len(ev.PlayerState.Upgrades))
		}
	}
	if units != sc2replay.MaxUnits || players != sc2replay.MaxPlayers || longest > 32<<10 || left == 0 {
		t.Errorf("%d units, %d players, names of %d bytes, %d upgrades left out", units, players, longest, left)
	}
	runtime.KeepAlive(s)
}
