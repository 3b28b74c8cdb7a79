package dem

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	"github.com/replayd/replayd/replay/filter"
)

type event = dem.Event

// properties holds the properties of each kind of event that filters match: the player if the event has a player's number, the
// teams of the combat log, the type of events of kinds that have types, and the class and fields of an entity.
var properties = filter.Table[event]{
	dem.KindEntityUpdated: {Classes: true, Fields: true},
	dem.KindEntityCreated: {Classes: true, Fields: true},
	dem.KindEntityEntered: {Classes: true, Fields: true},
	dem.KindSampleEntity:  {Classes: true, Fields: true},
	dem.KindSamplePlayer: {
		Player: func(e *event) int32 { return player(e.SamplePlayer.PlayerId) },
		Team:   func(e *event) int32 { return e.SamplePlayer.Team },
	},
	dem.KindEntityLeft:    {Classes: true},
	dem.KindEntityDeleted: {Classes: true},
	dem.KindCombatLog: {
		Team:      func(e *event) int32 { return team(e.CombatLog.AttackerTeam) },
		OtherTeam: func(e *event) int32 { return team(e.CombatLog.TargetTeam) },
		Type:      func(e *event) []byte { return typeName(dem.KindCombatLog, int32(e.CombatLog.Type), nil) },
		Types:     enumNames(demv1.CombatLogType_name),
	},
	dem.KindGameEvent: {Type: func(e *event) []byte { return typeName(dem.KindGameEvent, e.GameEvent.Id, e.GameEvent.Name) }},
	dem.KindOrder: {
		Type:  func(e *event) []byte { return typeName(dem.KindOrder, e.Order.Type, e.Order.TypeName) },
		Types: sync.OnceValue(dem.OrderTypes),
	},
	dem.KindModifier:         {Type: func(e *event) []byte { return e.Modifier.Name }},
	dem.KindStringTableEntry: {Type: func(e *event) []byte { return e.StringTableEntry.Table }},
	dem.KindMessage:          {Type: func(e *event) []byte { return typeName(dem.KindMessage, int32(e.Message.Id), e.Message.Name) }},
	dem.KindCommand:          {Type: func(e *event) []byte { return typeName(dem.KindCommand, int32(e.Command.Id), e.Command.Name) }},
	dem.KindFault: {
		Type:  func(e *event) []byte { return typeName(dem.KindFault, int32(e.Fault.Kind), nil) },
		Types: enumNames(demv1.FaultKind_name),
	},
	dem.KindUserCmd: {Player: func(e *event) int32 { return player(e.UserCmd.PlayerSlot) }},
	dem.KindChatEvent: {
		Player:      func(e *event) int32 { return nth(e.ChatEvent.Players, 0) },
		OtherPlayer: func(e *event) int32 { return nth(e.ChatEvent.Players, 1) },
		Type:        func(e *event) []byte { return typeName(dem.KindChatEvent, e.ChatEvent.Type, e.ChatEvent.TypeName) },
		Types:       sync.OnceValue(dem.ChatEventTypes),
	},
	dem.KindPlayerInfo: {Player: func(e *event) int32 { return player(e.PlayerInfo.Slot) }},
	dem.KindChat:       {Player: func(e *event) int32 { return player(e.Chat.PlayerId) }},
	dem.KindPing:       {Player: func(e *event) int32 { return player(e.Ping.PlayerId) }},
	dem.KindMapLine:    {Player: func(e *event) int32 { return player(e.MapLine.PlayerId) }},
	dem.KindChatWheel:  {Player: func(e *event) int32 { return player(e.ChatWheel.PlayerId) }},
	dem.KindDamage: {
		Player:      func(e *event) int32 { return player(e.Damage.AttackerSlot) },
		OtherPlayer: func(e *event) int32 { return player(e.Damage.VictimSlot) },
	},
	dem.KindAbilityChange: {
		Player: func(e *event) int32 { return player(e.AbilityChange.PlayerSlot) },
		Type:   func(e *event) []byte { return typeName(dem.KindAbilityChange, int32(e.AbilityChange.Type), nil) },
		Types:  enumNames(demv1.AbilityChangeType_name),
	},
	dem.KindFactKill: {
		Player:      func(e *event) int32 { return actor(e.FactKill.HasKiller, &e.FactKill.Killer) },
		OtherPlayer: func(e *event) int32 { return actor(e.FactKill.HasVictim, &e.FactKill.Victim) },
		Team:        func(e *event) int32 { return side(e.FactKill.HasKiller, &e.FactKill.Killer) },
		OtherTeam:   func(e *event) int32 { return side(e.FactKill.HasVictim, &e.FactKill.Victim) },
	},
	dem.KindFactPlayerRound: {
		Player: func(e *event) int32 { return actor(e.FactPlayerRound.HasPlayer, &e.FactPlayerRound.Player) },
		Team:   func(e *event) int32 { return side(e.FactPlayerRound.HasPlayer, &e.FactPlayerRound.Player) },
	},
	dem.KindFactObjective: {
		Player: func(e *event) int32 { return actor(e.FactObjective.HasActor, &e.FactObjective.Actor) },
		Team:   func(e *event) int32 { return side(e.FactObjective.HasActor, &e.FactObjective.Actor) },
	},
	dem.KindFactPurchase: {
		Player: func(e *event) int32 { return actor(e.FactPurchase.HasBuyer, &e.FactPurchase.Buyer) },
		Team:   func(e *event) int32 { return side(e.FactPurchase.HasBuyer, &e.FactPurchase.Buyer) },
	},
	dem.KindFactGrenade: {
		Player: func(e *event) int32 { return actor(e.FactGrenade.HasPlayer, &e.FactGrenade.Player) },
		Team:   func(e *event) int32 { return side(e.FactGrenade.HasPlayer, &e.FactGrenade.Player) },
	},
	dem.KindFactBlind: {
		Player:      func(e *event) int32 { return actor(e.FactBlind.HasAttacker, &e.FactBlind.Attacker) },
		OtherPlayer: func(e *event) int32 { return actor(e.FactBlind.HasVictim, &e.FactBlind.Victim) },
		Team:        func(e *event) int32 { return side(e.FactBlind.HasAttacker, &e.FactBlind.Attacker) },
		OtherTeam:   func(e *event) int32 { return side(e.FactBlind.HasVictim, &e.FactBlind.Victim) },
	},
	dem.KindFactBuyback: {
		Player: func(e *event) int32 { return actor(e.FactBuyback.HasPlayer, &e.FactBuyback.Player) },
		Team:   func(e *event) int32 { return side(e.FactBuyback.HasPlayer, &e.FactBuyback.Player) },
	},
	dem.KindFactRune: {
		Player: func(e *event) int32 { return actor(e.FactRune.HasPlayer, &e.FactRune.Player) },
		Team:   func(e *event) int32 { return side(e.FactRune.HasPlayer, &e.FactRune.Player) },
	},
	dem.KindFactSmoke: {
		Player:      func(e *event) int32 { return actor(e.FactSmoke.HasActor, &e.FactSmoke.Actor) },
		OtherPlayer: func(e *event) int32 { return actor(e.FactSmoke.HasPlayer, &e.FactSmoke.Player) },
		Team:        func(e *event) int32 { return side(e.FactSmoke.HasActor, &e.FactSmoke.Actor) },
		OtherTeam:   func(e *event) int32 { return side(e.FactSmoke.HasPlayer, &e.FactSmoke.Player) },
	},
	dem.KindFactWard: {
		Player: func(e *event) int32 { return actor(e.FactWard.HasPlayer, &e.FactWard.Player) },
		Team:   func(e *event) int32 { return side(e.FactWard.HasPlayer, &e.FactWard.Player) },
	},
	dem.KindFactDraft: {
		Player: func(e *event) int32 { return actor(e.FactDraft.HasPlayer, &e.FactDraft.Player) },
		Team:   func(e *event) int32 { return side(e.FactDraft.HasPlayer, &e.FactDraft.Player) },
	},
	dem.KindFactDamage: {
		Player:      func(e *event) int32 { return actor(e.FactDamage.HasAttacker, &e.FactDamage.Attacker) },
		OtherPlayer: func(e *event) int32 { return actor(e.FactDamage.HasVictim, &e.FactDamage.Victim) },
		Team:        func(e *event) int32 { return side(e.FactDamage.HasAttacker, &e.FactDamage.Attacker) },
		OtherTeam:   func(e *event) int32 { return side(e.FactDamage.HasVictim, &e.FactDamage.Victim) },
	},
	dem.KindVoice: {Player: func(e *event) int32 { return player(e.Voice.PlayerSlot) }},
}

// leastNumbers holds the least numbers of players and teams. Team 0 of the combat log is no team.
var leastNumbers = map[filter.Property]int32{filter.Players: 0, filter.Teams: 1}

// enums holds the names of types, for kinds whose type is an enum of the API.
var enums = map[dem.Kind]map[int32][]byte{
	dem.KindCombatLog: bytesOf(demv1.CombatLogType_name), dem.KindFault: bytesOf(demv1.FaultKind_name),
	dem.KindAbilityChange: bytesOf(demv1.AbilityChangeType_name),
}

// typeName returns the name by which filters select a type of events: its name, or its number in decimal if it has none. name is
// not used for types that are enums of the API.
func typeName(kind dem.Kind, number int32, name []byte) []byte {
	if names, ok := enums[kind]; ok {
		name = names[number]
	}
	if len(name) == 0 {
		return strconv.AppendInt(nil, int64(number), 10)
	}
	return name
}

func bytesOf(names map[int32]string) map[int32][]byte {
	out := make(map[int32][]byte, len(names))
	for n, name := range names {
		out[n] = []byte(name)
	}
	return out
}

// enumNames returns a function that returns the names of an enum, by their numbers.
func enumNames(names map[int32]string) func() []string {
	return sync.OnceValue(func() (out []string) {
		for _, n := range slices.Sorted(maps.Keys(names)) {
			out = append(out, names[n])
		}
		return out
	})
}

// entityKinds are the kinds of events about an entity, and fieldKinds those of them that have fields.
var (
	entityKinds = kindsWith(func(k int) bool { return properties[k].Classes })
	fieldKinds  = kindsWith(func(k int) bool { return properties[k].Fields })
)

func kindsWith(has func(k int) bool) (kinds []uint8) {
	for k := range properties {
		if has(k) {
			kinds = append(kinds, uint8(k))
		}
	}
	return kinds
}

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

func actor(there bool, a *dem.Actor) int32 {
	if !there {
		return filter.None
	}
	return player(a.PlayerId)
}

func side(there bool, a *dem.Actor) int32 {
	if !there {
		return filter.None
	}
	return team(uint32(a.Team))
}

func team(n uint32) int32 {
	if n == 0 {
		return filter.None
	}
	return int32(n)
}
