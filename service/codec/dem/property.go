package dem

import (
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/service/filter"
)

type event = dem.Event

// properties holds the properties of each kind of event that filters match: the player if the event has a player's number, the
// teams of the combat log, and the class and fields of an entity.
var properties = filter.Table[event]{
	dem.KindEntityUpdated: {Classes: true, Fields: true},
	dem.KindEntityCreated: {Classes: true, Fields: true},
	dem.KindEntityEntered: {Classes: true, Fields: true},
	dem.KindEntityLeft:    {Classes: true},
	dem.KindEntityDeleted: {Classes: true},
	dem.KindCombatLog: {
		Team:      func(e *event) int32 { return team(e.CombatLog.AttackerTeam) },
		OtherTeam: func(e *event) int32 { return team(e.CombatLog.TargetTeam) },
	},
	dem.KindUserCmd: {Player: func(e *event) int32 { return player(e.UserCmd.PlayerSlot) }},
	dem.KindChatEvent: {
		Player:      func(e *event) int32 { return nth(e.ChatEvent.Players, 0) },
		OtherPlayer: func(e *event) int32 { return nth(e.ChatEvent.Players, 1) },
	},
	dem.KindPlayerInfo: {Player: func(e *event) int32 { return player(e.PlayerInfo.Slot) }},
	dem.KindChat:       {Player: func(e *event) int32 { return player(e.Chat.PlayerId) }},
	dem.KindPing:       {Player: func(e *event) int32 { return player(e.Ping.PlayerId) }},
	dem.KindMapLine:    {Player: func(e *event) int32 { return player(e.MapLine.PlayerId) }},
	dem.KindChatWheel:  {Player: func(e *event) int32 { return player(e.ChatWheel.PlayerId) }},
}

// entityKinds are the kinds of events about an entity.
var entityKinds = func() (kinds []uint8) {
	for k := range properties {
		if properties[k].Classes {
			kinds = append(kinds, uint8(k))
		}
	}
	return kinds
}()

func nth(players []int32, i int) int32 {
	if i >= len(players) {
		return filter.None
	}
	return player(players[i])
}

func player(id int32) int32 {
	if id < 0 {
		return filter.None
	}
	return id
}

func team(n uint32) int32 {
	if n == 0 {
		return filter.None
	}
	return int32(n)
}
