package sc2replay

import (
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/replay/filter"
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

// subject is an event with the teams of its replay's players.
type subject struct {
	ev    *sc2replay.Event
	teams *teams
}

// properties holds the properties of each kind of event that filters match: the player id of the event's player, and that
// player's team. If the event has a second player, they include that player too.
var properties = func() filter.Table[subject] {
	table := make(filter.Table[subject], sc2replay.KindCount)
	for k := range table {
		if kind := sc2replay.Kind(k); kind != sc2replay.KindNone && !aboutNobody[kind] {
			table[k] = filter.Row[subject]{Player: player, Team: team}
		}
	}
	table[sc2replay.KindPlayerState].State = true
	table[sc2replay.KindUnitState].State = true
	table[sc2replay.KindUnitDied].OtherPlayer = func(s *subject) int32 {
		if !s.ev.UnitDied.HasKillerPlayerId {
			return filter.None
		}
		return int32(s.ev.UnitDied.KillerPlayerId)
	}
	table[sc2replay.KindUnitBorn].OtherPlayer = func(s *subject) int32 { return int32(s.ev.UnitBorn.UpkeepPlayerId) }
	table[sc2replay.KindUnitState].OtherPlayer = func(s *subject) int32 { return int32(s.ev.UnitState.UpkeepPlayerId) }
	table[sc2replay.KindResourceTrade].OtherPlayer = func(s *subject) int32 { return int32(s.ev.ResourceTrade.RecipientId) }
	return table
}()

// leastNumbers holds the least numbers of players and teams. Player 0 is the neutral one.
var leastNumbers = map[filter.Property]int32{filter.Players: 0, filter.Teams: 0}

// aboutNobody holds the kinds of events that have no player, because they are about the whole replay.
var aboutNobody = map[sc2replay.Kind]bool{
	sc2replay.KindStart: true, sc2replay.KindDetails: true, sc2replay.KindLobby: true, sc2replay.KindAttributes: true,
	sc2replay.KindGameMetadata: true, sc2replay.KindMember: true, sc2replay.KindEnd: true,
	sc2replay.KindFactMatch: true, sc2replay.KindFactEngagement: true,
}

func player(s *subject) int32 {
	if !s.ev.HasPlayer || !s.ev.Player.HasPlayerId {
		return filter.None
	}
	return int32(s.ev.Player.PlayerId)
}

func team(s *subject) int32 {
	if p := player(s); uint32(p) < uint32(len(s.teams)) {
		return s.teams[p]
	}
	return filter.None
}
