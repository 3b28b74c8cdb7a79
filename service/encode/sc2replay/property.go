package sc2replay

import (
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/filter"
)

// teams are the teams of players by player id.
type teams [32]int32

func teamsOf(players []sc2replay.PlayerInfo) (t teams) {
	for i := range t {
		t[i] = filter.None
	}
	for i := range players {
		q := &players[i]
		if q.Ref.HasPlayerId && q.Ref.PlayerId < uint32(len(t)) && !q.Observer {
			t[q.Ref.PlayerId] = int32(q.Team)
		}
	}
	return t
}

// property is what filters can ask of an event: its tick, the player id of whom it is about, that player's team, and the
// player id of the other one where there are two.
func property(ev *sc2replay.Event, t *teams) filter.Event {
	e := encode.None(uint8(ev.Kind))
	e.Tick = ev.AtTick
	if ev.HasPlayer && ev.Player.HasPlayerId {
		e.Player = int32(ev.Player.PlayerId)
		if ev.Player.PlayerId < uint32(len(t)) {
			e.Team = t[ev.Player.PlayerId]
		}
	}
	switch ev.Kind {
	case sc2replay.KindUnitDied:
		if ev.UnitDied.HasKillerPlayerId {
			e.Other = int32(ev.UnitDied.KillerPlayerId)
		}
	case sc2replay.KindUnitBorn:
		e.Other = int32(ev.UnitBorn.UpkeepPlayerId)
	case sc2replay.KindResourceTrade:
		e.Other = int32(ev.ResourceTrade.RecipientId)
	}
	return e
}
