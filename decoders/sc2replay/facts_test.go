package sc2replay_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// TestArchon checks that the tracker's units of an archon pair belong to its leader, in any slot, and that each
// player_setup belongs to its own player.
func TestArchon(t *testing.T) {
	for _, tt := range []struct {
		build           int
		leader, partner int // slots
		numbers         string
		want            []string
	}{
		{38215, 3, 0, "2 1 2", []string{
			"0 player_setup Watcher/2\n0 player_setup Alice/2\n0 player_setup Bob/1",
			"0 unit_born Bob/1 1:SCV", "0 unit_born Watcher/2 2:Larva", "12 cmd Alice/2", "20 cmd Bob/1",
		}},
		{80949, 0, 3, "1 2 1", []string{
			"0 player_setup Watcher/2\n0 player_setup Alice/2\n0 player_setup Bob/1",
			"0 unit_born Bob/1 1:SCV", "0 unit_born Alice/2 2:Larva", "12 cmd Alice/2", "20 cmd Bob/1",
		}},
	} {
		r := sc2test.Sample(tt.build)
		lobby := r.InitData["syncLobbyState"].(sc2test.S)["lobbyState"].(sc2test.S)
		slots := lobby["slots"].([]any)
		leader, partner := slots[tt.leader].(sc2test.S), slots[tt.partner].(sc2test.S)
		slots[3].(sc2test.S)["observe"] = 0
		leader["tandemId"] = tt.leader
		if tt.build < 39576 {
			partner["tandemLeaderUserId"] = leader["userId"]
		} else {
			partner["tandemLeaderId"] = tt.leader
		}
		// The tracker and the lobby number the players differently.
		setup := func(player, user, slot int) sc2test.Event {
			return sc2test.Event{Name: "PlayerSetup", User: 16, Value: sc2test.S{"playerId": player, "type": 1, "userId": user, "slotId": slot}}
		}
		r.Tracker = append([]sc2test.Event{setup(2, 2, 3), setup(2, 0, 0), setup(1, 1, 1)}, r.Tracker[2:]...)
		var numbers []string
		for _, q := range open(t, r.Bytes()).Players {
			numbers = append(numbers, fmt.Sprint(q.Ref.PlayerId))
		}
		if got := strings.Join(numbers, " "); got != tt.numbers {
			t.Errorf("%d: the lobby numbers them %s, want %s", tt.build, got, tt.numbers)
		}
		text, err := ends(t, r.Bytes())
		if err != nil {
			t.Errorf("%d: %v", tt.build, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%d: no %q in\n%s", tt.build, want, text)
			}
		}
	}
}

// TestTargets checks the targets of orders of 1.0, where an order always contains every kind of target.
func TestTargets(t *testing.T) {
	at := sc2test.S{"x": 40 * 4096, "y": 50 * 4096, "z": 8 * 4096}
	r := sc2test.Sample(15405)
	none := sc2test.S{"abilLink": 38, "cmdFlags": 256, "targetUnitFlags": 7}
	point := sc2test.S{"abilLink": 38, "targetUnitFlags": 15, "targetPoint": at}
	fogged := sc2test.S{"abilLink": 38, "targetUnitFlags": 87, "targetPoint": at, "targetUnitSnapshotPlayerId": 2}
	unit := sc2test.S{"abilLink": 38, "targetUnitFlags": 55, "targetPoint": at, "targetUnitTag": sc2test.Tag(2), "targetUnitSnapshotPlayerId": 2}
	r.Game = nil
	remembered := sc2test.S{"abilLink": 38, "targetUnitFlags": 87, "targetPoint": at, "targetUnitSnapshotUnitLink": 175}
	for i, s := range []sc2test.S{none, point, fogged, unit, remembered} {
		r.Game = append(r.Game, sc2test.Event{Loop: i, User: 1, Name: "Cmd", Value: s})
	}
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	var got []string
	for d.Next(&ev) == nil {
		if ev.Kind != sc2replay.KindCmd {
			continue
		}
		switch c := &ev.Cmd; c.TargetCase {
		case sc2replay.CmdTargetTargetPoint:
			got = append(got, fmt.Sprintf("point %v", c.TargetPoint))
		case sc2replay.CmdTargetTargetUnit:
			got = append(got, fmt.Sprintf("unit %d at %v", c.TargetUnit.Unit.Index, c.TargetUnit.SnapshotPoint))
		default:
			got = append(got, "none")
		}
	}
	if want := "none, point {40 50 8}, point {40 50 8}, unit 2 at {40 50 8}, unit 0 at {40 50 8}"; strings.Join(got, ", ") != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
}

// TestPicked checks that the race that was picked and the race that was played are both read.
func TestPicked(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Attributes[1].Value = "RAND"
	p := open(t, r.Bytes())
	for i, want := range []string{"Random/Terran", "Zerg/Zerg", "/"} {
		if q := &p.Players[i]; string(q.PickedRace)+"/"+string(q.Race) != want {
			t.Errorf("player %d: %s/%s, want %s", i, q.PickedRace, q.Race, want)
		}
	}
}

// TestAttributeValues reads values that are text, text with leading spaces, and numbers.
func TestAttributeValues(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Attributes = []sc2test.Attribute{
		{ID: 3001, Scope: 1, Value: "Terr"}, {ID: 3014, Scope: 1, Value: "  22"},
		{ID: 3000, Scope: 16, Value: "\x00\x00\x00\x04"}, {ID: 3013, Scope: 1},
	}
	var got []string
	for _, a := range open(t, r.Bytes()).Attributes.Attributes {
		got = append(got, fmt.Sprintf("%s %d %v", a.Value, a.Number, a.HasNumber))
	}
	if want := "Terr 0 false,22 0 false, 4 true, 0 false"; strings.Join(got, ",") != want {
		t.Errorf("got %q\nwant %q", strings.Join(got, ","), want)
	}
}

// TestAttributeSource checks that attributes begin with their source since base build 17326, and with the map's
// namespace before.
func TestAttributeSource(t *testing.T) {
	for build, want := range map[int]bool{17325: false, 17326: true, 17327: true} {
		r := sc2test.Sample(16561)
		r.BaseBuild = build
		a := &open(t, r.Bytes()).Attributes
		if a.HasSource != want || a.MapNamespace != 999 || len(a.Attributes) != len(r.Attributes) {
			t.Errorf("%d: source %v, want %v; namespace %d, %d attributes", build, a.HasSource, want, a.MapNamespace, len(a.Attributes))
		}
	}
}

// TestUnitPositions checks that each unit's index is relative to the one before it, that the unit is the last one that began at
// the index, if there is one, and that an incomplete position stays in items. Orders still name the units before it.
func TestUnitPositions(t *testing.T) {
	r := sc2test.Sample(80949)
	for i, name := range []string{"SCV", "Marine"} {
		r.Tracker = append(r.Tracker, sc2test.Event{Loop: 1000 + i, Name: "UnitBorn", Value: sc2test.S{
			"unitTagIndex": 10, "unitTagRecycle": i + 1, "unitTypeName": name,
		}})
	}
	r.Tracker = append(r.Tracker, sc2test.Event{Loop: 2000, Name: "UnitPositions", Value: sc2test.S{
		"firstUnitIndex": 5, "items": []any{0, 1, 2, 3, 4, 5, 2, 7, 8, 9},
	}})
	last := len(r.Game) - 1
	r.Game = slices.Insert(r.Game, last, sc2test.Event{Loop: 2001, User: r.Game[last].User, Name: "Cmd", Value: sc2test.S{
		"data": sc2test.C{Name: "TargetUnit", Value: sc2test.S{"tag": 10<<18 | 1}}, "otherUnit": 10<<18 | 2,
	}})
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	got := ""
	for d.Next(&ev) == nil {
		switch {
		case ev.AtTick == 2000 && ev.Kind == sc2replay.KindUnitPositions:
			for _, p := range ev.UnitPositions.Positions {
				got += fmt.Sprintln(p.Unit.Index, p.Unit.Recycle, string(p.Unit.TypeName), p.X, p.Y)
			}
			got += fmt.Sprintln(ev.UnitPositions.Items)
		case ev.AtTick == 2001:
			got += fmt.Sprintln(string(ev.Cmd.TargetUnit.Unit.TypeName), string(ev.Cmd.OtherUnit.TypeName))
		}
	}
	if want := "5 0  1 2\n8 0  4 5\n10 2 Marine 7 8\n[9]\nSCV Marine\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStarted checks when units that hatch, are built or leave a cocoon were begun.
func TestStarted(t *testing.T) {
	r := sc2test.Sample(80949)
	unit := func(n int, more sc2test.S) sc2test.S {
		s := sc2test.S{"unitTagIndex": n, "unitTagRecycle": 1}
		maps.Copy(s, more)
		return s
	}
	change := func(loop, n int, name string) sc2test.Event {
		return sc2test.Event{Loop: loop, Name: "UnitTypeChange", Value: unit(n, sc2test.S{"unitTypeName": name})}
	}
	born := func(loop, n int, name string, more sc2test.S) sc2test.Event {
		s := unit(n, sc2test.S{"unitTypeName": name, "controlPlayerId": 2, "upkeepPlayerId": 2})
		maps.Copy(s, more)
		return sc2test.Event{Loop: loop, Name: "UnitBorn", Value: s}
	}
	r.Tracker = append(r.Tracker[:6:6],
		change(100, 2, "Egg"),
		born(372, 5, "Drone", sc2test.S{"creatorUnitTagIndex": 2, "creatorUnitTagRecycle": 1, "creatorAbilityName": "LarvaTrain"}),
		change(372, 2, "Larva"),
		born(400, 6, "Marine", sc2test.S{"creatorUnitTagIndex": 3, "creatorUnitTagRecycle": 1}),
		born(500, 7, "Zergling", nil),
		change(600, 7, "BanelingCocoon"),
		change(920, 7, "Baneling"),
		sc2test.Event{Loop: 1000, Name: "UnitDone", Value: unit(4, nil)},
	)
	r.Tracker = append(r.Tracker[:6:6], append([]sc2test.Event{
		{Loop: 50, Name: "UnitInit", Value: unit(4, sc2test.S{"unitTypeName": "SpawningPool", "controlPlayerId": 2})},
	}, r.Tracker[6:]...)...)
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	var got []string
	note := func(u sc2replay.Unit, tick int32, has bool) {
		if ev.AtTick > 0 {
			got = append(got, fmt.Sprintf("%d %s %d %d %v", ev.AtTick, u.TypeName, u.Class, tick, has))
		}
	}
	for d.Next(&ev) == nil {
		switch ev.Kind {
		case sc2replay.KindUnitBorn:
			note(ev.UnitBorn.Unit, ev.UnitBorn.StartedTick, ev.UnitBorn.HasStartedTick)
		case sc2replay.KindUnitTypeChange:
			note(ev.UnitTypeChange.Unit, ev.UnitTypeChange.StartedTick, ev.UnitTypeChange.HasStartedTick)
		case sc2replay.KindUnitDone:
			note(ev.UnitDone.Unit, ev.UnitDone.StartedTick, ev.UnitDone.HasStartedTick)
		}
	}
	want := `100 Egg 0 0 false
372 Drone 1 100 true
372 Larva 0 0 false
400 Marine 2 0 false
500 Zergling 2 0 false
600 BanelingCocoon 2 0 false
920 Baneling 2 600 true
1000 SpawningPool 3 50 true`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestReferee: a slot's observe is 0 for those who play, 1 for spectators and 2 for referees. Both watch, and neither is listed
// in the details.
func TestReferee(t *testing.T) {
	for observe, want := range []bool{false, true, true} {
		r := sc2test.Sample(24944) // the details have no slot numbers: they list who plays in the order of the slots
		slots := r.InitData["syncLobbyState"].(sc2test.S)["lobbyState"].(sc2test.S)["slots"].([]any)
		slots[0].(sc2test.S)["observe"] = observe
		for _, slot := range slots {
			slot.(sc2test.S)["workingSetSlotId"] = nil
		}
		for _, player := range r.Details["playerList"].([]any) {
			player.(sc2test.S)["workingSetSlotId"] = nil
		}
		players := open(t, r.Bytes()).Players
		if players[0].Observer != want || want && players[0].PickedRace != nil {
			t.Errorf("observe %d: %+v, want an observer: %v", observe, players[0], want)
		}
		// The first of the details is the first player who does not watch.
		first := players[0].ToonHandle
		if want {
			first = players[1].ToonHandle
		}
		if string(first) != "2-S2-1-1001" {
			t.Errorf("observe %d: the first of the details is not the first who plays: %+v", observe, players)
		}
	}
}
