package teehistorian

import (
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/filter"
)

type event = teehistorian.Event

// properties holds the properties of each kind of event that filters match: the client, the other client of a swap, and the
// team.
var properties = filter.Table[event]{
	teehistorian.KindPlayerDiff:     {Player: func(e *event) int32 { return e.PlayerDiff.ClientId }},
	teehistorian.KindInputDiff:      {Player: func(e *event) int32 { return e.InputDiff.ClientId }},
	teehistorian.KindInputNew:       {Player: func(e *event) int32 { return e.InputNew.ClientId }},
	teehistorian.KindMessage:        {Player: func(e *event) int32 { return e.Message.ClientId }},
	teehistorian.KindPlayerNew:      {Player: func(e *event) int32 { return e.PlayerNew.ClientId }},
	teehistorian.KindPlayerOld:      {Player: func(e *event) int32 { return e.PlayerOld.ClientId }},
	teehistorian.KindJoin:           {Player: func(e *event) int32 { return e.Join.ClientId }},
	teehistorian.KindDrop:           {Player: func(e *event) int32 { return e.Drop.ClientId }},
	teehistorian.KindConsoleCommand: {Player: func(e *event) int32 { return e.ConsoleCommand.ClientId }},
	teehistorian.KindAuthInit:       {Player: func(e *event) int32 { return e.AuthInit.ClientId }},
	teehistorian.KindAuthLogin:      {Player: func(e *event) int32 { return e.AuthLogin.ClientId }},
	teehistorian.KindAuthLogout:     {Player: func(e *event) int32 { return e.AuthLogout.ClientId }},
	teehistorian.KindDdnetverOld:    {Player: func(e *event) int32 { return e.DdnetverOld.ClientId }},
	teehistorian.KindDdnetver:       {Player: func(e *event) int32 { return e.Ddnetver.ClientId }},
	teehistorian.KindJoinver6:       {Player: func(e *event) int32 { return e.Joinver6.ClientId }},
	teehistorian.KindJoinver7:       {Player: func(e *event) int32 { return e.Joinver7.ClientId }},
	teehistorian.KindRejoinver6:     {Player: func(e *event) int32 { return e.Rejoinver6.ClientId }},
	teehistorian.KindPlayerReady:    {Player: func(e *event) int32 { return e.PlayerReady.ClientId }},
	teehistorian.KindPlayerName:     {Player: func(e *event) int32 { return e.PlayerName.ClientId }},
	teehistorian.KindPlayerFinish:   {Player: func(e *event) int32 { return e.PlayerFinish.ClientId }},
	teehistorian.KindPlayerSwap: {
		Player:      func(e *event) int32 { return e.PlayerSwap.ClientId },
		OtherPlayer: func(e *event) int32 { return e.PlayerSwap.OtherClientId },
	},
	teehistorian.KindPlayerTeam: {
		Player: func(e *event) int32 { return e.PlayerTeam.ClientId },
		Team:   func(e *event) int32 { return e.PlayerTeam.Team },
	},
	teehistorian.KindPlayerState: {
		Player: func(e *event) int32 { return e.PlayerState.ClientId },
		Team:   func(e *event) int32 { return e.PlayerState.Team },
		State:  true,
	},
	teehistorian.KindSaveSuccess:  {Team: func(e *event) int32 { return e.SaveSuccess.Team }},
	teehistorian.KindSaveFailure:  {Team: func(e *event) int32 { return e.SaveFailure.Team }},
	teehistorian.KindLoadSuccess:  {Team: func(e *event) int32 { return e.LoadSuccess.Team }},
	teehistorian.KindLoadFailure:  {Team: func(e *event) int32 { return e.LoadFailure.Team }},
	teehistorian.KindTeamPractice: {Team: func(e *event) int32 { return e.TeamPractice.Team }},
	teehistorian.KindTeamFinish:   {Team: func(e *event) int32 { return e.TeamFinish.Team }},
	teehistorian.KindFactFinish: {
		Player: func(e *event) int32 { return known(e.FactFinish.ClientId) },
		Team:   func(e *event) int32 { return known(e.FactFinish.Team) },
	},
	teehistorian.KindFactSession: {Player: func(e *event) int32 { return e.FactSession.ClientId }},
	teehistorian.KindFactTeam: {
		Player: func(e *event) int32 { return e.FactTeam.ClientId },
		Team:   func(e *event) int32 { return e.FactTeam.Team },
	},
	teehistorian.KindFactSave:       {Team: func(e *event) int32 { return e.FactSave.Team }},
	teehistorian.KindFactLoad:       {Team: func(e *event) int32 { return e.FactLoad.Team }},
	teehistorian.KindFactInputStats: {Player: func(e *event) int32 { return e.FactInputStats.ClientId }},
	teehistorian.KindFactChat: {
		Player: func(e *event) int32 { return e.FactChat.ClientId },
		Team:   func(e *event) int32 { return known(e.FactChat.Team) },
	},
	teehistorian.KindFactCallVote: {
		Player:      func(e *event) int32 { return e.FactCallVote.ClientId },
		OtherPlayer: func(e *event) int32 { return known(e.FactCallVote.TargetClientId) },
	},
	teehistorian.KindFactDeath: {
		Player: func(e *event) int32 { return e.FactDeath.ClientId },
		Team:   func(e *event) int32 { return known(e.FactDeath.Team) },
	},
	teehistorian.KindFactRespawn: {
		Player: func(e *event) int32 { return e.FactRespawn.ClientId },
		Team:   func(e *event) int32 { return known(e.FactRespawn.Team) },
	},
	teehistorian.KindFactVote:    {Player: func(e *event) int32 { return e.FactVote.ClientId }},
	teehistorian.KindFactCommand: {Player: func(e *event) int32 { return known(e.FactCommand.ClientId) }},
	teehistorian.KindSamplePlayer: {
		Player: func(e *event) int32 { return e.SamplePlayer.ClientId },
		Team:   func(e *event) int32 { return e.SamplePlayer.Team },
	},
	teehistorian.KindSampleCharacter: {
		Player: func(e *event) int32 { return e.SampleCharacter.ClientId },
		Team:   func(e *event) int32 { return e.SampleCharacter.Team },
		Map:    true,
	},
	teehistorian.KindSampleShot: {Player: func(e *event) int32 { return e.SampleShot.ClientId }, Map: true},
	teehistorian.KindFactFreeze: {
		Player:      func(e *event) int32 { return e.FactFreeze.ClientId },
		OtherPlayer: func(e *event) int32 { return known(e.FactFreeze.OtherClientId) },
		Team:        func(e *event) int32 { return e.FactFreeze.Team },
		Map:         true,
	},
	teehistorian.KindFactThaw: {
		Player:      func(e *event) int32 { return e.FactThaw.ClientId },
		OtherPlayer: func(e *event) int32 { return known(e.FactThaw.OtherClientId) },
		Team:        func(e *event) int32 { return e.FactThaw.Team },
		Map:         true,
	},
	teehistorian.KindFactHit: {
		Player:      func(e *event) int32 { return e.FactHit.ClientId },
		OtherPlayer: func(e *event) int32 { return e.FactHit.OtherClientId },
		Team:        func(e *event) int32 { return e.FactHit.Team },
		Map:         true,
	},
	teehistorian.KindFactHook: {
		Player:      func(e *event) int32 { return e.FactHook.ClientId },
		OtherPlayer: func(e *event) int32 { return e.FactHook.OtherClientId },
		Team:        func(e *event) int32 { return e.FactHook.Team },
		Map:         true,
	},
	teehistorian.KindFactBlock: {
		Player:      func(e *event) int32 { return e.FactBlock.ClientId },
		OtherPlayer: func(e *event) int32 { return e.FactBlock.OtherClientId },
		Team:        func(e *event) int32 { return e.FactBlock.Team },
		Map:         true,
	},
	teehistorian.KindFactCharacterEnd: {
		Player: func(e *event) int32 { return e.FactCharacterEnd.ClientId },
		Team:   func(e *event) int32 { return e.FactCharacterEnd.Team },
		Map:    true,
	},
	teehistorian.KindFactRun: {
		Player: func(e *event) int32 { return e.FactRun.ClientId },
		Team:   func(e *event) int32 { return e.FactRun.Team },
		Map:    true,
	},
}

// known returns the property of a field that may be absent.
func known(value int32) int32 {
	if value < 0 {
		return filter.None
	}
	return value
}
