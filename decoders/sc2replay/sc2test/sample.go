package sc2test

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Tag returns the tag of the n-th unit of samples.
func Tag(n int) int { return n<<18 | 1 }

// Sample returns a short game of two players and an observer, with events of every stream that the table has.
func Sample(build int) *Replay {
	table, err := protocol.Default().Table(build)
	if err != nil {
		panic(err)
	}
	expansion := names.Liberty
	switch {
	case build >= 34784:
		expansion = names.Void
	case build >= 24764:
		expansion = names.Swarm
	}
	known, own := names.Default().Find(expansion, build)
	if !own {
		known = nil
	}
	patrol := link(func(n uint32) ([]byte, bool) { return known.Command(n, 1) }, "Patrol", 38)
	scv := link(known.Unit, "SCV", 45)
	larva := link(known.Unit, "Larva", 77)
	has := func(s protocol.Stream, name string) bool {
		return slices.ContainsFunc(table.Events(s), func(e *protocol.Event) bool { return e != nil && e.Name == name })
	}
	r := &Replay{
		Table: build, Version: [3]int{1, 0, 0}, Loops: 2240, Method: Bzip2,
		Details: sampleDetails(expansion), InitData: sampleLobby(),
		Attributes: []Attribute{{3000, 16, "Fasr"}, {3001, 1, "Terr"}, {3001, 2, "Zerg"}, {2001, 16, "1v1"}, {424242, 1, "x"}},
		Message: []Event{
			{0, 1, "LoadingProgress", S{"progress": 100}},
			{160, 0, "Chat", S{"recipient": 0, "string": "gl hf"}},
			{161, 1, "Chat", S{"recipient": 1, "string": "größe 한"}},
			{320, 1, "Ping", S{"recipient": 1, "point": S{"x": 4096, "y": -4096}}},
		},
		More: []Member{{Name: "replay.load.info", Data: []byte("loading.dds\x00\x00"), Method: Stored}},
	}
	first, second, noUser := 0, 1, 16
	if build < firstWithUserID {
		first, second = 1, 2
	}
	for i := range r.Message {
		r.Message[i].User += first
	}
	if build >= 34784 {
		r.Version = [3]int{3, 0, 0}
	} else if build >= 24764 {
		r.Version = [3]int{2, 0, 0}
	}
	at := S{"x": 40 * 4096, "y": 50*4096 + 2048, "z": 8 * 4096}
	target := S{"tag": Tag(2), "timer": 3, "snapshotUnitLink": larva, "snapshotControlPlayerId": 2, "snapshotPlayerId": 2, "snapshotPoint": at}
	leave := "PlayerLeave"
	if has(protocol.Game, "GameUserLeave") {
		leave = "GameUserLeave"
	}
	r.Game = []Event{
		{0, first, "UserOptions", S{"syncChecksummingEnabled": true, "baseBuildNum": build, "hotkeyProfile": "mine"}},
		{0, noUser, "UserFinishedLoadingSync", S{}},
		{2, first, "CameraUpdate", S{"target": S{"x": 40 * 256, "y": 50*256 + 128}, "distance": 34 * 256, "follow": true}},
		{10, first, "SelectionDelta", S{"controlGroupId": 10, "delta": S{
			"removeMask":   C{"None", nil},
			"addSubgroups": []any{S{"unitLink": scv, "subgroupPriority": 1, "intraSubgroupPriority": 1, "count": 2}},
			"addUnitTags":  []any{Tag(1), Tag(3)},
		}}},
		{12, first, "Cmd", S{
			"cmdFlags": 256, "abil": S{"abilLink": patrol, "abilCmdIndex": 1}, "data": C{"TargetPoint", at}, "sequence": 1,
			"abilLink": patrol, "abilCmdIndex": 1, "targetPoint": at,
		}},
		{20, second, "Cmd", S{
			"data": C{"TargetUnit", target}, "sequence": 1, "otherUnit": Tag(3),
			"abilLink": 0xFFFF, "abilCmdIndex": 0xFF, "targetPoint": at, "targetUnitTag": Tag(2), "targetUnitTimer": 3,
			"targetUnitSnapshotUnitLink": larva, "targetUnitSnapshotPlayerId": 2,
		}},
		{30, first, "ControlGroupUpdate", S{"controlGroupIndex": 4, "controlGroupUpdate": 0, "mask": C{"None", nil}}},
		{300, first, "SelectionDelta", S{"controlGroupId": 10, "delta": S{"removeMask": removed(table)}}},
		{310, noUser, "TriggerMovieStarted", S{}},
		{311, first, "SaveGame", S{"fileName": "a.SC2Save", "automatic": true, "name": "save"}},
		{2000, first, "TriggerDialogControl", S{"controlId": 7, "eventType": -1, "eventData": C{"TextChanged", "typed"}}},
		{100_000, second, leave, S{}},
	}
	r.Loops = 100_000
	if has(protocol.Tracker, "UnitBorn") {
		r.Tracker = sampleTracker(has(protocol.Tracker, "PlayerSetup")) // PlayerSetup was introduced together with places in whole cells
	}
	if build >= 44401 {
		r.Metadata = `{"Title":"Testbed","BaseBuild":"Base44401","Duration":6250,"Players":[` +
			`{"PlayerID":1,"MMR":4321,"APM":150.5,"Result":"Win","SelectedRace":"Rand","AssignedRace":"Terr"},` +
			`{"PlayerID":2,"APM":99,"Result":"Loss","SelectedRace":"Zerg","AssignedRace":"Zerg"}]}`
	}
	return r
}

// firstWithUserID is the base build since which events refer to users instead of players.
const firstWithUserID = 24247

// removed returns the removal of the first of two selected units, in the form that the table has.
func removed(table *protocol.Table) any {
	if table.Build < 16561 {
		return B{2, []byte{1}}
	}
	return C{"Mask", B{2, []byte{1}}}
}

// link returns the lowest link with a name, or otherwise if there is none.
func link(name func(link uint32) (name []byte, sure bool), want string, otherwise int) int {
	for n := range uint32(4096) {
		if name, _ := name(n); string(name) == want {
			return int(n)
		}
	}
	return otherwise
}

// standardData returns the handle of the mod with an expansion's balance data.
func standardData(e names.Expansion) string {
	mods := map[names.Expansion]string{names.Liberty: "Liberty", names.Swarm: "Swarm", names.Void: "Void"}
	hash := sha256.Sum256([]byte("Standard Data: " + mods[e] + ".SC2Mod"))
	return "s2ma\x00\x00EU" + string(hash[:])
}

func sampleDetails(e names.Expansion) S {
	player := func(name, race string, id, team, result, slot int) S {
		return S{
			"name": name, "race": race, "control": 2, "teamId": team, "handicap": 100, "result": result, "workingSetSlotId": slot,
			"toon": S{"region": 2, "programId": "\x00\x00S2", "realm": 1, "id": id}, "color": S{"a": 255, "r": 180, "g": 20, "b": 30},
		}
	}
	return S{
		"playerList": []any{
			player("&lt;CLAN&gt;<sp/>Alice", "Terran", 1001, 0, 1, 0), player("Bob", "Зерги", 1002, 1, 2, 1),
		},
		"title": "Testbed", "description": strings.Repeat("A map to try things out on. ", 12), "thumbnail": S{"file": "Minimap.tga"}, "isBlizzardMap": true,
		"timeUTC": int64(129_240_000_000_000_000), "timeLocalOffset": int64(72_000_000_000), "gameSpeed": 4, "mapFileName": "test.SC2Map",
		"cacheHandles": []any{standardData(e), "s2ma\x00\x00EUthe map"},
	}
}

func sampleLobby() S {
	user := func(name string) S { return S{"name": name, "randomSeed": 7, "toonHandle": "", "scaledRating": nil} }
	slot := func(control, user, team, observe, set int) S {
		s := S{"control": control, "teamId": team, "handicap": 100, "observe": observe, "workingSetSlotId": set, "colorPref": 1 + user}
		if control == 2 {
			s["userId"] = user
		}
		return s
	}
	return S{"syncLobbyState": S{
		"userInitialData": []any{user("Alice"), user("Bob"), user("Watcher")},
		"gameDescription": S{
			"gameCacheName": "Dflt", "gameSpeed": 4, "maxUsers": 16, "maxTeams": 2, "maxColors": 15, "maxRaces": 3, "maxControls": 4,
			"mapSizeX": 200, "mapSizeY": 176, "mapAuthorName": "1-S2-1-26", "clientDebugFlags": 265,
			"slotDescriptions": []any{S{"allowedColors": B{16, []byte{0xFF, 0x7F}}, "allowedRaces": B{3, []byte{7}}}},
			"cacheHandles":     []any{"s2ma\x00\x00EUthe map"},
		},
		"lobbyState": S{
			"maxUsers": 16, "randomSeed": 99, "hostUserId": 0, "gameDuration": 0,
			"slots": []any{
				slot(2, 0, 0, 0, 0), slot(2, 1, 1, 0, 1), slot(0, 9, 0, 0, 2), slot(2, 2, 0, 1, 3),
			},
		},
	}}
}

func sampleTracker(setup bool) []Event {
	unit := func(n int) S { return S{"unitTagIndex": n, "unitTagRecycle": 1} }
	with := func(s S, more S) S {
		maps.Copy(s, more)
		return s
	}
	cells := 4
	var events []Event
	if setup {
		cells = 1
		events = append(events,
			Event{0, 16, "PlayerSetup", S{"playerId": 1, "type": 1, "userId": 0, "slotId": 0}},
			Event{0, 16, "PlayerSetup", S{"playerId": 2, "type": 1, "userId": 1, "slotId": 1}},
		)
	}
	return append(events,
		Event{0, 16, "UnitBorn", with(unit(1), S{"unitTypeName": "SCV", "controlPlayerId": 1, "upkeepPlayerId": 1, "x": 40 / cells, "y": 48 / cells})},
		Event{0, 16, "UnitBorn", with(unit(2), S{"unitTypeName": "Larva", "controlPlayerId": 2, "upkeepPlayerId": 2, "x": 88 / cells, "y": 92 / cells})},
		Event{0, 16, "UnitInit", with(unit(3), S{"unitTypeName": "Barracks", "controlPlayerId": 1, "upkeepPlayerId": 1, "x": 44 / cells, "y": 52 / cells})},
		Event{0, 16, "Upgrade", S{"playerId": 1, "upgradeTypeName": "SprayTerran", "count": 1}},
		Event{160, 16, "PlayerStats", S{"playerId": 1, "stats": S{"scoreValueMineralsCurrent": 50, "scoreValueFoodUsed": 12*4096 + 2048}}},
		Event{200, 16, "UnitDone", unit(3)},
		Event{210, 16, "UnitTypeChange", with(unit(2), S{"unitTypeName": "Egg"})},
		Event{220, 16, "UnitOwnerChange", with(unit(3), S{"controlPlayerId": 2, "upkeepPlayerId": 2})},
		Event{240, 16, "UnitPositions", S{"firstUnitIndex": 1, "items": []any{0, 40 / cells, 48 / cells, 1, 92 / cells, 96 / cells}}},
		Event{300, 16, "UnitDied", with(unit(2), S{"killerPlayerId": 1, "x": 92 / cells, "y": 96 / cells, "killerUnitTagIndex": 1, "killerUnitTagRecycle": 1})},
		Event{400, 16, "UnitInit", with(unit(4), S{"unitTypeName": "SupplyDepot", "controlPlayerId": 1, "upkeepPlayerId": 1, "x": 48 / cells, "y": 60 / cells})},
		Event{700, 16, "UnitDone", unit(4)},
	)
}
