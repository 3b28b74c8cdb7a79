package dem

import (
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/filter"
)

// properties returns what filters can ask of an event but its class: its player, another one, and its team.
func properties(ev *dem.Event) filter.Event {
	p := encode.None(uint8(ev.Kind))
	p.Tick = ev.AtTick
	switch ev.Kind {
	case dem.KindCombatLog:
		p.Team = team(ev.CombatLog.AttackerTeam)
		if p.Team == filter.None {
			p.Team = team(ev.CombatLog.TargetTeam)
		}
	case dem.KindUserCmd:
		p.Player = player(ev.UserCmd.PlayerSlot)
	case dem.KindChatEvent:
		if ids := ev.ChatEvent.Players; len(ids) > 0 {
			p.Player = player(ids[0])
			if len(ids) > 1 {
				p.Other = player(ids[1])
			}
		}
	case dem.KindChat:
		p.Player = player(ev.Chat.PlayerId)
	case dem.KindPing:
		p.Player = player(ev.Ping.PlayerId)
	case dem.KindMapLine:
		p.Player = player(ev.MapLine.PlayerId)
	case dem.KindChatWheel:
		p.Player = player(ev.ChatWheel.PlayerId)
	default: // about nobody in particular
	}
	return p
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
