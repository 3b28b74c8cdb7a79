package sc2test

// Bots returns the sample as a game of two programs that play by the game's API. Such a replay names no accounts and no mods,
// and its attributes are empty.
func Bots() *Replay {
	r := Sample(75689)
	r.Version = [3]int{4, 10, 0}
	r.Details["cacheHandles"] = nil
	for i, p := range r.Details["playerList"].([]any) {
		p.(S)["name"], p.(S)["toon"] = []string{"first", "second"}[i], S{}
	}
	lobby := r.InitData["syncLobbyState"].(S)
	lobby["gameDescription"].(S)["cacheHandles"] = nil
	lobby["userInitialData"] = []any{S{"name": "first"}, S{"name": "second"}}
	state := lobby["lobbyState"].(S)
	state["slots"] = state["slots"].([]any)[:2]
	r.Attributes = nil
	r.More = append(r.More, Member{Name: "replay.attributes.events", Data: []byte{}, Method: Stored})
	return r
}
