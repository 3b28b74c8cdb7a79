package facts_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// at returns an event of a player, or of nobody for player 0.
func at(tick int32, player uint32, kind sc2replay.Kind, fill func(*sc2replay.Event)) *sc2replay.Event {
	ev := &sc2replay.Event{AtTick: tick, Kind: kind}
	if player > 0 {
		ev.HasPlayer = true
		ev.Player = sc2replay.PlayerRef{PlayerId: player, HasPlayerId: true, UserId: player - 1, HasUserId: true}
	}
	if fill != nil {
		fill(ev)
	}
	return ev
}

func unit(tag uint32, name string, class sc2replay.UnitClass) sc2replay.Unit {
	return sc2replay.Unit{Tag: tag, TypeName: []byte(name), Class: class}
}

func born(tick int32, player uint32, u sc2replay.Unit, x uint32) *sc2replay.Event {
	return at(tick, player, sc2replay.KindUnitBorn, func(ev *sc2replay.Event) {
		ev.UnitBorn = sc2replay.UnitBorn{Unit: u, ControlPlayerId: player, X: x, Y: 7}
	})
}

func begun(tick int32, player uint32, u sc2replay.Unit, x uint32) *sc2replay.Event {
	return at(tick, player, sc2replay.KindUnitInit, func(ev *sc2replay.Event) {
		ev.UnitInit = sc2replay.UnitInit{Unit: u, ControlPlayerId: player, X: x, Y: 7}
	})
}

func died(tick int32, player uint32, u sc2replay.Unit, x, killer uint32) *sc2replay.Event {
	return at(tick, player, sc2replay.KindUnitDied, func(ev *sc2replay.Event) {
		ev.UnitDied = sc2replay.UnitDied{Unit: u, X: x, Y: 7, KillerPlayerId: killer, HasKillerPlayerId: killer > 0}
	})
}

func stats(tick int32, unspent, income int32, used, made float32) *sc2replay.Event {
	return at(tick, 1, sc2replay.KindPlayerStats, func(ev *sc2replay.Event) {
		ev.PlayerStats = sc2replay.PlayerStats{
			PlayerId: 1, MineralsCurrent: unspent, VespeneCurrent: 1, MineralsCollectionRate: income, FoodUsed: used, FoodMade: made,
		}
	})
}

func upgrade(tick int32, name string, count int32) *sc2replay.Event {
	return at(tick, 1, sc2replay.KindUpgrade, func(ev *sc2replay.Event) {
		ev.Upgrade = sc2replay.Upgrade{PlayerId: 1, UpgradeTypeName: []byte(name), Count: count}
	})
}

func changed(tick int32, u sc2replay.Unit, previous string, began int32) *sc2replay.Event {
	return at(tick, 1, sc2replay.KindUnitTypeChange, func(ev *sc2replay.Event) {
		ev.UnitTypeChange = sc2replay.UnitTypeChange{Unit: u, PreviousTypeName: []byte(previous), StartedTick: began, HasStartedTick: began > 0}
	})
}

func ended(tick int32, state sc2replay.PartState) *sc2replay.Event {
	return at(tick, 0, sc2replay.KindEnd, func(ev *sc2replay.Event) {
		ev.End.DecodeInfo.Parts = []sc2replay.PartStatus{{State: sc2replay.PartStateComplete}, {State: state}}
	})
}

// text returns a fact as a line.
func text(ev *sc2replay.Event) string {
	optional := func(has bool, v any) string {
		if !has {
			return "-"
		}
		return fmt.Sprint(v)
	}
	head := fmt.Sprintf("%d %s %s", ev.AtTick, ev.Kind, optional(ev.HasPlayer, ev.Player.PlayerId))
	switch ev.Kind {
	case sc2replay.KindFactUnit:
		u := &ev.FactUnit
		return fmt.Sprintf("%s %s was %s, %s %s, end %d by %s to %s, at %d", head, u.Unit.TypeName, u.FirstTypeName,
			optional(u.HasAppearedTick, u.AppearedTick), optional(u.HasCompleteTick, u.CompleteTick), u.End,
			optional(u.HasKillerPlayerId, u.KillerPlayerId), optional(u.HasBecame, string(u.Became.TypeName)), u.X)
	case sc2replay.KindFactBuildStep:
		s := &ev.FactBuildStep
		line := fmt.Sprintf("%s %s begun %s supply %s upgrade %v unit %v", head, s.Name, optional(s.HasBeganTick, s.BeganTick),
			optional(s.HasSupply, s.Supply), s.Upgrade, s.HasUnit)
		if s.End != sc2replay.StepEndComplete {
			line += fmt.Sprint(" end ", s.End)
		}
		return line
	case sc2replay.KindFactSupplyBlock:
		b := &ev.FactSupplyBlock
		return fmt.Sprintf("%s from %d, %d of %v, maxed %v, unfinished %v", head, b.BeganTick, b.Samples, b.SupplyMade, b.Maxed, b.Unfinished)
	case sc2replay.KindFactEconomy:
		return head + " " + economyText(&ev.FactEconomy)
	case sc2replay.KindFactEngagement:
		e := &ev.FactEngagement
		return fmt.Sprintf("%s %d to %d at %v: %v", head, e.BeganTick, e.LastTick, e.Place, e.Sides)
	case sc2replay.KindFactControlGroup:
		g := &ev.FactControlGroup
		return fmt.Sprintf("%s %d %d: %s", head, g.Group, g.Action, groupText(g.Units, g.UnitsKnown))
	case sc2replay.KindFactOrder:
		return head + " " + orderText(&ev.FactOrder)
	case sc2replay.KindFactUpgrade:
		return fmt.Sprintf("%s %s %d", head, ev.FactUpgrade.Name, ev.FactUpgrade.Count)
	case sc2replay.KindFactChat:
		return fmt.Sprintf("%s %s observer %v to %d %s: %s", head, ev.FactChat.Name, ev.FactChat.Observer, ev.FactChat.Recipient,
			refs(ev.FactChat.Recipients), ev.FactChat.Text)
	case sc2replay.KindFactMatch:
		return head + " " + matchText(&ev.FactMatch)
	}
	p := &ev.FactPlayer
	return fmt.Sprintf("%s at %s quotient %s capped %s of %d actions %s left %s made %d %d lost %d %d supply %s result %d apm %s mmr %s", head,
		optional(p.HasStartPlace, p.StartPlace.X), optional(p.HasSpendingQuotient, p.SpendingQuotient),
		optional(p.HasSupplyCapped, p.SupplyCapped), p.Samples, optional(p.HasActions, p.Actions), optional(p.HasLeftTick, p.LeftTick),
		p.ArmyMade, p.WorkersMade, p.ArmyLost, p.WorkersLost, optional(p.HasSupply, p.Supply), p.Result,
		optional(p.HasActionsPerMinute, fmt.Sprintf("%.3g", p.ActionsPerMinute)), optional(p.HasMmr, p.Mmr))
}

func refs(all []sc2replay.PlayerRef) string {
	names := []string{}
	for i := range all {
		names = append(names, string(all[i].Name))
	}
	return fmt.Sprint(names)
}

func matchText(m *sc2replay.FactMatch) string {
	line := fmt.Sprintf("%s of %s, %s %v, %s %s, from %d for %d, %v s", m.Map, m.MapHandle, m.Expansion, m.ExpansionGuessed, m.Teams, m.GameMode,
		m.BeganTick, m.LengthTicks, m.LengthSeconds)
	if m.HasStartTime {
		line += " at " + m.StartTime.String()
	}
	line += fmt.Sprintf(", chosen %v, won by %s, source %d:", m.PlayersChosen, optional(m.HasWinnerTeam, m.WinnerTeam), m.ResultSource)
	for i := range m.Players {
		p := &m.Players[i]
		line += fmt.Sprintf(" %s %s %d %d %v", p.Ref.Name, p.Race, p.Team, p.Result, p.Computer)
	}
	return line
}

// conclude returns the facts of events, without those of economies, orders and control groups.
func conclude(events ...*sc2replay.Event) (all []string) {
	var want sc2replay.Kinds
	for kind := range want {
		switch kind := sc2replay.Kind(kind); kind {
		case sc2replay.KindFactEconomy, sc2replay.KindFactOrder, sc2replay.KindFactControlGroup:
		default:
			want[kind] = true
		}
	}
	return concludeOnly(want, events...)
}

// of returns a set of one kind.
func of(kind sc2replay.Kind) (kinds sc2replay.Kinds) {
	kinds[kind] = true
	return kinds
}

// concludeOnly returns the facts of some kinds.
func concludeOnly(want sc2replay.Kinds, events ...*sc2replay.Event) (all []string) {
	fold := facts.New(nil)
	fold.Want(&want)
	var fact sc2replay.Event
	for _, ev := range events {
		for fold.Apply(ev); fold.Pending(); {
			if fold.Next(&fact); want[fact.Kind] {
				all = append(all, text(&fact))
			}
		}
		if fold.Next(&fact) {
			all = append(all, "a fact that was not pending")
		}
	}
	return all
}

const (
	army   = sc2replay.UnitClassArmy
	worker = sc2replay.UnitClassWorker
	other  = sc2replay.UnitClassUnspecified
)

// TestFacts concludes each fact, and none where one of its conditions does not hold.
func TestFacts(t *testing.T) {
	egg := unit(9, "Egg", other)
	hatched := func(tick int32, creator sc2replay.Unit) *sc2replay.Event {
		ev := born(tick, 1, unit(10, "Zergling", army), 3)
		ev.UnitBorn.Creator, ev.UnitBorn.HasCreator, ev.UnitBorn.StartedTick, ev.UnitBorn.HasStartedTick = creator, true, 40, true
		return ev
	}
	done := at(60, 1, sc2replay.KindUnitDone, func(ev *sc2replay.Event) {
		ev.UnitDone = sc2replay.UnitDone{Unit: unit(5, "Barracks", other), StartedTick: 20, HasStartedTick: true}
	})
	for name, tt := range map[string]struct {
		events []*sc2replay.Event
		want   []string
	}{
		"killed": {
			[]*sc2replay.Event{born(0, 1, unit(5, "SCV", worker), 3), died(70, 1, unit(5, "SCV", worker), 8, 2)},
			[]string{"70 fact_unit 1 SCV was SCV, 0 0, end 1 by 2 to -, at 8"},
		},
		"the replay does not tell": {
			[]*sc2replay.Event{born(0, 1, unit(5, "SCV", worker), 3), died(70, 1, unit(5, "SCV", worker), 8, 0)},
			[]string{"70 fact_unit 1 SCV was SCV, 0 0, end 0 by - to -, at 8"},
		},
		"never seen": {
			[]*sc2replay.Event{died(70, 1, unit(5, "SCV", worker), 8, 0)},
			[]string{"70 fact_unit 1 SCV was , - -, end 0 by - to -, at 8"},
		},
		"cancelled": {
			[]*sc2replay.Event{begun(20, 1, unit(5, "Barracks", other), 3), died(30, 1, unit(5, "Barracks", other), 3, 0)},
			[]string{
				"30 fact_unit 1 Barracks was Barracks, 20 -, end 4 by - to -, at 3",
				"30 fact_build_step 1 Barracks begun 20 supply - upgrade false unit true end 3",
			},
		},
		"killed under construction": {
			[]*sc2replay.Event{begun(20, 1, unit(5, "Barracks", other), 3), died(30, 1, unit(5, "Barracks", other), 3, 2)},
			[]string{
				"30 fact_unit 1 Barracks was Barracks, 20 -, end 1 by 2 to -, at 3",
				"30 fact_build_step 1 Barracks begun 20 supply - upgrade false unit true end 2",
			},
		},
		"unfinished": {
			[]*sc2replay.Event{
				stats(10, 50, 0, 12, 15), begun(20, 1, unit(9, "Barracks", other), 3), begun(21, 1, unit(5, "Bunker", other), 3),
				begun(22, 0, unit(6, "Ruins", other), 3), begun(23, 1, unit(7, "Depot", other), 3), stats(30, 50, 0, 13, 15),
				at(31, 0, sc2replay.KindUnitOwnerChange, func(ev *sc2replay.Event) {
					ev.UnitOwnerChange = sc2replay.UnitOwnerChange{Unit: unit(7, "Depot", other)}
				}), ended(40, sc2replay.PartStateComplete),
			},
			[]string{
				"40 fact_match -  of ,  false,  , from 0 for 40, 0 s, chosen false, won by -, source 0:",
				"40 fact_player 1 at - quotient 102 capped 0 of 2 actions 0 left - made 0 0 lost 0 0 supply 13 result 0 apm - mmr -",
				"40 fact_build_step 1 Bunker begun 21 supply 12 upgrade false unit true end 4",
				"40 fact_build_step 1 Barracks begun 20 supply 12 upgrade false unit true end 4",
			},
		},
		"complete": {
			[]*sc2replay.Event{
				stats(10, 50, 0, 12, 15), begun(20, 1, unit(5, "Barracks", other), 3), stats(50, 50, 0, 14, 15), done,
				died(90, 1, unit(5, "Barracks", other), 3, 0),
			},
			[]string{
				"60 fact_build_step 1 Barracks begun 20 supply 12 upgrade false unit true",
				"90 fact_unit 1 Barracks was Barracks, 20 60, end 0 by - to -, at 3",
			},
		},
		"hatched": {
			[]*sc2replay.Event{born(5, 1, egg, 3), hatched(50, egg), died(50, 1, egg, 3, 0)},
			[]string{
				"5 fact_build_step 1 Egg begun - supply - upgrade false unit true",
				"50 fact_build_step 1 Zergling begun 40 supply - upgrade false unit true",
				"50 fact_unit 1 Egg was Egg, 5 5, end 2 by - to -, at 3",
			},
		},
		"an egg that ended later": {
			[]*sc2replay.Event{born(0, 1, egg, 3), hatched(50, egg), died(51, 1, egg, 3, 0)},
			[]string{
				"50 fact_build_step 1 Zergling begun 40 supply - upgrade false unit true",
				"51 fact_unit 1 Egg was Egg, 0 0, end 0 by - to -, at 3",
			},
		},
		"became": {
			[]*sc2replay.Event{
				born(0, 1, unit(6, "Drone", worker), 3), begun(30, 1, unit(7, "SpawningPool", other), 4), died(30, 1, unit(6, "Drone", worker), 4, 0),
			},
			[]string{"30 fact_unit 1 Drone was Drone, 0 0, end 3 by - to SpawningPool, at 4"},
		},
		"a drone elsewhere": {
			[]*sc2replay.Event{begun(30, 1, unit(7, "SpawningPool", other), 4), died(30, 1, unit(6, "Drone", worker), 5, 0)},
			[]string{"30 fact_unit 1 Drone was , - -, end 0 by - to -, at 5"},
		},
		"a drone of another player": {
			[]*sc2replay.Event{begun(30, 2, unit(7, "SpawningPool", other), 4), died(30, 1, unit(6, "Drone", worker), 4, 0)},
			[]string{"30 fact_unit 1 Drone was , - -, end 0 by - to -, at 4"},
		},
		"a drone later": {
			[]*sc2replay.Event{begun(30, 1, unit(7, "SpawningPool", other), 4), died(31, 1, unit(6, "Drone", worker), 4, 0)},
			[]string{"31 fact_unit 1 Drone was , - -, end 0 by - to -, at 4"},
		},
		"one structure, two drones": {
			[]*sc2replay.Event{
				begun(30, 1, unit(7, "SpawningPool", other), 4), died(30, 1, unit(6, "Drone", worker), 4, 0), died(30, 1, unit(8, "Drone", worker), 4, 0),
			},
			[]string{
				"30 fact_unit 1 Drone was , - -, end 3 by - to SpawningPool, at 4", "30 fact_unit 1 Drone was , - -, end 0 by - to -, at 4",
			},
		},
		"steps": {
			[]*sc2replay.Event{
				born(0, 1, unit(1, "SCV", worker), 3), born(9, 0, unit(2, "MineralField", other), 3), born(10, 1, unit(3, "Marine", army), 3),
				upgrade(11, "Stimpack", 1), upgrade(12, "SprayTerran", 1), upgrade(13, "RewardDanceGhost", 1), upgrade(14, "Stimpack", 0),
				changed(20, unit(4, "OrbitalCommand", other), "CommandCenter", 0), changed(21, unit(4, "OrbitalCommandFlying", other), "OrbitalCommand", 0),
				changed(22, unit(4, "OrbitalCommand", other), "OrbitalCommandFlying", 0), changed(23, unit(5, "Baneling", army), "BanelingCocoon", 17),
			},
			[]string{
				"10 fact_build_step 1 Marine begun - supply - upgrade false unit true",
				"11 fact_build_step 1 Stimpack begun - supply - upgrade true unit false", "11 fact_upgrade 1 Stimpack 1",
				"20 fact_build_step 1 OrbitalCommand begun - supply - upgrade false unit true",
				"23 fact_build_step 1 Baneling begun 17 supply - upgrade false unit true",
			},
		},
		"a game": {
			[]*sc2replay.Event{
				at(0, 1, sc2replay.KindPlayerInfo, func(ev *sc2replay.Event) { ev.PlayerInfo.Result = sc2replay.ResultWin }),
				born(0, 1, unit(1, "CommandCenter", other), 30), born(1, 2, unit(2, "Nexus", other), 40),
				stats(160, 99, 800, 15, 15), stats(320, 300, 1001, 14, 23), at(330, 1, sc2replay.KindCmd, nil),
				at(331, 1, sc2replay.KindSelectionDelta, nil), at(332, 1, sc2replay.KindCameraUpdate, nil),
				born(340, 1, unit(3, "SCV", worker), 3), died(350, 1, unit(3, "SCV", worker), 3, 2), died(351, 1, unit(4, "SCV", worker), 3, 1),
				at(400, 1, sc2replay.KindGameUserLeave, nil), ended(410, sc2replay.PartStateAbsent),
			},
			[]string{
				"1 fact_build_step 2 Nexus begun - supply - upgrade false unit true",
				"320 fact_supply_block 1 from 160, 1 of 15, maxed false, unfinished false",
				"340 fact_build_step 1 SCV begun - supply 14 upgrade false unit true",
				"350 fact_unit 1 SCV was SCV, 340 340, end 1 by 2 to -, at 3",
				"351 fact_unit 1 SCV was , - -, end 1 by 1 to -, at 3",
				"410 fact_match -  of ,  false,  , from 0 for 410, 0 s, chosen false, won by 0, source 2:   0 2 false",
				// 200 unspent, 900 of income: 35*(1.233-5.298)+240 is 97.7
				"410 fact_player 1 at 30 quotient 98 capped 0.5 of 2 actions 2 left 400 made 0 1 lost 0 1 supply 14 result 2 apm - mmr -",
				"410 fact_player 2 at - quotient - capped - of 0 actions 0 left - made 0 0 lost 0 0 supply - result 0 apm - mmr -",
			},
		},
		"a damaged game": {[]*sc2replay.Event{stats(160, 99, 800, 15, 15), ended(410, sc2replay.PartStatePartial)}, nil},
		"an unproven game": {[]*sc2replay.Event{stats(160, 99, 800, 15, 15), at(410, 0, sc2replay.KindEnd, func(ev *sc2replay.Event) {
			ev.End.DecodeInfo.Unproven = true
		})}, nil},
		"an unreadable part": {[]*sc2replay.Event{stats(160, 99, 800, 15, 15), ended(410, sc2replay.PartStateUnreadable)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, conclude(tt.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnfinishedRoom: of more constructions than there is room for behind the end, those with the lowest tags are facts.
func TestUnfinishedRoom(t *testing.T) {
	events := []*sc2replay.Event{stats(1, 50, 0, 12, 15)}
	for i := range uint32(300) {
		events = append(events, begun(5, 1, unit(1000-i, "Pylon", other), 3))
	}
	got := conclude(append(events, ended(40, sc2replay.PartStateComplete))...)
	if len(got) >= decoders.Room || len(got) < 100 {
		t.Errorf("%d facts behind one event", len(got))
	}
}

// TestNumbers: numbers of players that no game has are nobody's.
func TestNumbers(t *testing.T) {
	if got := conclude(born(5, 1<<31, unit(1, "SCV", worker), 3), born(5, sc2replay.MaxPlayers, unit(1, "SCV", worker), 3)); got != nil {
		t.Error(got)
	}
}

// TestRoom: an event completes fewer facts than there is room for behind it, and none of them costs memory of its own.
func TestRoom(t *testing.T) {
	p, err := sc2replay.Open(bytes.NewReader(sc2test.Battle().Bytes()), int64(len(sc2test.Battle().Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	var events []*sc2replay.Event
	for d := p.Events(sc2replay.Options{}); ; {
		ev := new(sc2replay.Event)
		if err := d.Next(ev); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	whole := concludeOnly(sc2replay.AllKinds(), events...)
	for n := range events {
		if part := concludeOnly(sc2replay.AllKinds(), events[:n]...); !slices.Equal(part, whole[:len(part)]) {
			t.Fatalf("the facts of the first %d events are no beginning of those of all %d", n, len(events))
		}
	}
	kinds := map[string]int{}
	for _, line := range whole {
		var tick int
		var kind string
		_, _ = fmt.Sscan(line, &tick, &kind)
		kinds[kind]++
	}
	if len(kinds) != 10 {
		t.Errorf("facts of the kinds %v", kinds)
	}
	fold, fact := facts.New(nil), new(sc2replay.Event)
	cmdEvent := at(1, 1, sc2replay.KindCmd, nil)
	fold.Apply(cmdEvent)
	if n := testing.AllocsPerRun(100, func() { fold.Apply(cmdEvent); fold.Next(fact) }); n > 0 {
		t.Errorf("an order takes %v allocations", n)
	}
	if fold.Held() != 0 {
		t.Errorf("%d bytes are held without a unit", fold.Held())
	}
}
