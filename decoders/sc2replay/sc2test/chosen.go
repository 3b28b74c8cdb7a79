package sc2test

// Chosen returns a game of four in the lobby, of whom the map chooses the second and the third after the start, as GameHeart
// does. The others only get beacons.
func Chosen() *Replay {
	r := Sample(80949)
	names := []string{"Alice", "Bob", "Carol", "Dave"}
	lobby := r.InitData["syncLobbyState"].(S)
	var users, slots, players []any
	r.Tracker = nil
	for i, name := range names {
		users = append(users, S{"name": name})
		slots = append(slots, S{"control": 2, "userId": i, "teamId": i, "handicap": 100, "workingSetSlotId": i})
		players = append(players, S{"name": name, "race": "Terran", "control": 2, "teamId": i, "workingSetSlotId": i})
		r.Tracker = append(r.Tracker, Event{0, 16, "PlayerSetup", S{"playerId": i + 1, "type": 1, "userId": i, "slotId": i}})
	}
	lobby["userInitialData"], lobby["lobbyState"].(S)["slots"], r.Details["playerList"] = users, slots, players
	lobby["gameDescription"].(S)["gameOptions"] = S{}
	for player := range len(names) + 1 {
		r.Tracker = append(r.Tracker, Owned(0, player, "BeaconArmy"))
	}
	r.Tracker = append(r.Tracker, Owned(0, 0, "CommandCenter"), // nobody's unit
		Owned(800, 2, "CommandCenter"), Owned(800, 2, "SCV"), Owned(800, 3, "Nexus"), Owned(810, 3, "Probe"))
	return r
}

// Owned returns the tracker's event that a unit is born.
func Owned(loop, player int, typeName string) Event {
	return Event{loop, 16, "UnitBorn", S{
		"unitTagIndex": 100 + player, "unitTagRecycle": 1, "unitTypeName": typeName, "controlPlayerId": player, "upkeepPlayerId": player,
		"x": 10, "y": 20,
	}}
}
