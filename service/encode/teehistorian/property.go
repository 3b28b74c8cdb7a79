package teehistorian

import (
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/filter"
)

// properties returns what filters can ask of an event: its client, the other one of a swap, and its team.
func properties(ev *teehistorian.Event) filter.Event {
	p := encode.None(uint8(ev.Kind))
	p.Tick = ev.AtTick
	switch ev.Kind {
	case teehistorian.KindPlayerDiff:
		p.Player = ev.PlayerDiff.ClientId
	case teehistorian.KindInputDiff:
		p.Player = ev.InputDiff.ClientId
	case teehistorian.KindInputNew:
		p.Player = ev.InputNew.ClientId
	case teehistorian.KindMessage:
		p.Player = ev.Message.ClientId
	case teehistorian.KindPlayerNew:
		p.Player = ev.PlayerNew.ClientId
	case teehistorian.KindPlayerOld:
		p.Player = ev.PlayerOld.ClientId
	case teehistorian.KindJoin:
		p.Player = ev.Join.ClientId
	case teehistorian.KindDrop:
		p.Player = ev.Drop.ClientId
	case teehistorian.KindConsoleCommand:
		p.Player = ev.ConsoleCommand.ClientId
	case teehistorian.KindAuthInit:
		p.Player = ev.AuthInit.ClientId
	case teehistorian.KindAuthLogin:
		p.Player = ev.AuthLogin.ClientId
	case teehistorian.KindAuthLogout:
		p.Player = ev.AuthLogout.ClientId
	case teehistorian.KindDdnetverOld:
		p.Player = ev.DdnetverOld.ClientId
	case teehistorian.KindDdnetver:
		p.Player = ev.Ddnetver.ClientId
	case teehistorian.KindJoinver6:
		p.Player = ev.Joinver6.ClientId
	case teehistorian.KindJoinver7:
		p.Player = ev.Joinver7.ClientId
	case teehistorian.KindSaveSuccess:
		p.Team = ev.SaveSuccess.Team
	case teehistorian.KindSaveFailure:
		p.Team = ev.SaveFailure.Team
	case teehistorian.KindLoadSuccess:
		p.Team = ev.LoadSuccess.Team
	case teehistorian.KindLoadFailure:
		p.Team = ev.LoadFailure.Team
	case teehistorian.KindPlayerState:
		p.Player, p.Team = ev.PlayerState.ClientId, ev.PlayerState.Team
	case teehistorian.KindPlayerTeam:
		p.Player, p.Team = ev.PlayerTeam.ClientId, ev.PlayerTeam.Team
	case teehistorian.KindTeamPractice:
		p.Team = ev.TeamPractice.Team
	case teehistorian.KindPlayerReady:
		p.Player = ev.PlayerReady.ClientId
	case teehistorian.KindPlayerSwap:
		p.Player, p.Other = ev.PlayerSwap.ClientId, ev.PlayerSwap.OtherClientId
	case teehistorian.KindRejoinver6:
		p.Player = ev.Rejoinver6.ClientId
	case teehistorian.KindPlayerName:
		p.Player = ev.PlayerName.ClientId
	case teehistorian.KindPlayerFinish:
		p.Player = ev.PlayerFinish.ClientId
	case teehistorian.KindTeamFinish:
		p.Team = ev.TeamFinish.Team
	case teehistorian.KindNone, teehistorian.KindTick, teehistorian.KindFinish, teehistorian.KindUnknownEx,
		teehistorian.KindTest, teehistorian.KindAntibot: // about nobody in particular
	}
	return p
}
