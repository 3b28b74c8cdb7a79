package sc2_test

import (
	"testing"

	"github.com/replayd/replayd/clients/go/sc2"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

// TestGameState applies events after a state. The events of the state must not be modified.
func TestGameState(t *testing.T) {
	var g sc2.GameState
	unit := func(index, recycle uint32, of string) *sc2replayv1.Unit {
		return &sc2replayv1.Unit{Tag: index<<18 | recycle, Index: index, Recycle: recycle, TypeName: &of}
	}
	scv, depot := unit(7, 1, "SCV"), unit(3, 2, "SupplyDepot")
	told := &sc2replayv1.UnitState{Unit: scv, ControlPlayerId: 1, X: 4, Y: 5, PlaceTick: 9, TypeTick: 9}
	had := &sc2replayv1.PlayerState{PlayerId: 1, Upgrades: []*sc2replayv1.Upgrade{{PlayerId: 1, UpgradeTypeName: "Stimpack", Count: 1}}}
	at := func(tick int32, e *sc2replayv1.Event) {
		e.AtTick = tick
		g.Apply(e)
	}
	at(100, &sc2replayv1.Event{Kind: &sc2replayv1.Event_PlayerState{PlayerState: had}})
	at(100, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitState{UnitState: told}})
	at(110, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitInit{UnitInit: &sc2replayv1.UnitInit{Unit: depot, ControlPlayerId: 2, X: 1}}})
	at(120, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitPositions{UnitPositions: &sc2replayv1.UnitPositions{
		Positions: []*sc2replayv1.UnitPosition{{Unit: scv, X: 8, Y: 9}, {Unit: unit(3, 1, ""), X: 50}},
	}}})
	at(130, &sc2replayv1.Event{Kind: &sc2replayv1.Event_Upgrade{Upgrade: &sc2replayv1.Upgrade{PlayerId: 1, UpgradeTypeName: "Stimpack", Count: 2}}})
	at(140, &sc2replayv1.Event{Kind: &sc2replayv1.Event_PlayerStats{PlayerStats: &sc2replayv1.PlayerStats{PlayerId: 1, MineralsCurrent: 300}}})
	if units := g.Units(); len(units) != 2 || units[0].GetUnit() != depot || !units[0].GetUnderConstruction() || units[0].GetX() != 1 {
		t.Errorf("units %v", units)
	}
	if u := g.Unit(scv.GetTag()); u.GetX() != 8 || u.GetPlaceTick() != 120 || u.GetTypeTick() != 9 || told.GetX() != 4 {
		t.Errorf("%v, told %v", u, told)
	}
	if p := g.Player(1); p.GetUpgrades()[0].GetCount() != 3 || p.GetStats().GetMineralsCurrent() != 300 || p.GetStatsTick() != 140 ||
		had.GetUpgrades()[0].GetCount() != 1 || had.Stats != nil {
		t.Errorf("%v, told %v", p, had)
	}
	at(150, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitDone{UnitDone: &sc2replayv1.UnitDone{Unit: depot}}})
	lowered := unit(3, 2, "SupplyDepotLowered")
	at(160, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitTypeChange{UnitTypeChange: &sc2replayv1.UnitTypeChange{Unit: lowered}}})
	at(170, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitOwnerChange{UnitOwnerChange: &sc2replayv1.UnitOwnerChange{Unit: depot, ControlPlayerId: 1}}})
	at(180, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitDied{UnitDied: &sc2replayv1.UnitDied{Unit: scv}}})
	// An earlier unit with the same index.
	at(190, &sc2replayv1.Event{Kind: &sc2replayv1.Event_UnitDied{UnitDied: &sc2replayv1.UnitDied{Unit: unit(3, 1, "")}}})
	of := g.UnitsOf(1)
	if len(of) != 1 || of[0].GetUnit() != lowered || of[0].GetUnderConstruction() || of[0].GetTypeTick() != 160 || of[0].GetAppearedTick() != 110 {
		t.Errorf("units of player 1: %v", of)
	}
	if g.Unit(scv.GetTag()) != nil || len(g.UnitsOf(2)) != 0 || g.Player(2) != nil || len(g.Players()) != 1 {
		t.Errorf("%v, %v", g.Units(), g.Players())
	}
}
