package facts_test

import (
	"fmt"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/facts"
)

type event = teehistorian.Event

// at returns an event.
func at(tick int32, kind teehistorian.Kind, fill func(*event)) *event {
	ev := &event{AtTick: tick, Kind: kind}
	if fill != nil {
		fill(ev)
	}
	return ev
}

func join(tick, id int32) *event {
	return at(tick, teehistorian.KindJoin, func(ev *event) { ev.Join.ClientId = id })
}

func drop(tick, id int32, reason string) *event {
	return at(tick, teehistorian.KindDrop, func(ev *event) {
		ev.Drop = teehistorian.Drop{ClientId: id, Reason: []byte(reason), ReclaimedClientId: -1}
	})
}

func named(tick, id int32, name string) *event {
	return at(tick, teehistorian.KindPlayerName, func(ev *event) {
		ev.PlayerName = teehistorian.PlayerName{ClientId: id, Name: []byte(name)}
	})
}

func asked(tick, id int32, content teehistorian.MessageContentCase, name string) *event {
	return at(tick, teehistorian.KindMessage, func(ev *event) {
		ev.Message = teehistorian.Message{ClientId: id, ContentCase: content}
		ev.Message.StartInfo.Name, ev.Message.ChangeInfo.Name = []byte(name), []byte(name)
	})
}

func team(tick, id, number int32) *event {
	return at(tick, teehistorian.KindPlayerTeam, func(ev *event) {
		ev.PlayerTeam = teehistorian.PlayerTeam{ClientId: id, Team: number}
	})
}

func finish(tick, id, time int32) *event {
	return at(tick, teehistorian.KindPlayerFinish, func(ev *event) {
		ev.PlayerFinish = teehistorian.PlayerFinish{ClientId: id, Time: time}
	})
}

func teamFinish(tick, number, time int32) *event {
	return at(tick, teehistorian.KindTeamFinish, func(ev *event) {
		ev.TeamFinish = teehistorian.TeamFinish{Team: number, Time: time}
	})
}

func damage(tick int32) *event { return at(tick, teehistorian.KindDamage, nil) }

// after marks an event as one behind damage.
func after(ev *event) *event {
	ev.Warnings = []teehistorian.Warning{teehistorian.WarningAfterDamage, teehistorian.WarningTrailingData}
	return ev
}

// text returns a fact as a line.
func text(ev *event) string {
	head := fmt.Sprintf("%d %s", ev.AtTick, ev.Kind)
	if len(ev.Warnings) > 0 {
		head += fmt.Sprint(" ", ev.Warnings)
	}
	optional := func(has bool, v any) string {
		if !has {
			return "-"
		}
		return fmt.Sprint(v)
	}
	save := &ev.FactSave
	switch ev.Kind {
	case teehistorian.KindFactFinish:
		f := &ev.FactFinish
		who := fmt.Sprintf("%d %q", f.ClientId, f.Name)
		if f.ClientId < 0 {
			who = fmt.Sprint("all of ", f.MemberClientIds)
		}
		return fmt.Sprintf("%s %s in team %d: %d or %.2f from %s", head, who, f.Team, f.Time, f.Seconds, optional(f.HasReckonedTick, f.ReckonedTick))
	case teehistorian.KindFactSession:
		s := &ev.FactSession
		return fmt.Sprintf("%s %d %q asked %q, %s %s %s, end %d %q to %d, version %d, login %d %q, %d finishes", head, s.ClientId, s.Name,
			s.RequestedName, optional(s.HasJoinedTick, s.JoinedTick), optional(s.HasFirstTick, s.FirstTick),
			optional(s.HasEnteredTick, s.EnteredTick), s.End, s.Reason, s.ReclaimedClientId, s.ClientVersion, s.AuthLevel, s.Role, s.Finishes)
	case teehistorian.KindFactTeam:
		f := &ev.FactTeam
		return fmt.Sprintf("%s %d %q from %d to %d", head, f.ClientId, f.Name, f.PreviousTeam, f.Team)
	case teehistorian.KindFactInputStats:
		f := &ev.FactInputStats
		return fmt.Sprintf("%s %d %q from %d: %d inputs, fire %d (%.1f, every %s), hook %d (%.1f, every %s), jump %d, turns %d, aims %d, odd %d (%s)", head, f.ClientId, f.Name,
			f.FromTick, f.Inputs, f.FirePresses, f.FirePerSecond,
			optional(f.HasFireInterval && f.HasFireIntervalSpread, fmt.Sprintf("%.2f ± %.2f", f.FireInterval, f.FireIntervalSpread)),
			f.HookPresses, f.HookPerSecond, optional(f.HasHookInterval && f.HasHookIntervalSpread, fmt.Sprintf("%.2f ± %.2f", f.HookInterval, f.HookIntervalSpread)),
			f.JumpPresses, f.DirectionChanges, f.AimJumps, f.OddInputs, optional(f.HasOddClicksPerSecond, f.OddClicksPerSecond))
	case teehistorian.KindFactChat:
		f := &ev.FactChat
		return fmt.Sprintf("%s %d %q asked %q in team %d, mode %d to %d: %q", head, f.ClientId, f.Name, f.RequestedName, f.Team, f.Mode,
			f.TargetClientId, f.Text)
	case teehistorian.KindFactCallVote:
		f := &ev.FactCallVote
		return fmt.Sprintf("%s %d %q asked %q: %q %q %q, %v, of %d %q", head, f.ClientId, f.Name, f.RequestedName, f.Type, f.Value, f.Reason,
			f.Force, f.TargetClientId, f.TargetName)
	case teehistorian.KindFactVote:
		f := &ev.FactVote
		return fmt.Sprintf("%s %d %q asked %q: %d", head, f.ClientId, f.Name, f.RequestedName, f.Vote)
	case teehistorian.KindFactCommand:
		f := &ev.FactCommand
		return fmt.Sprintf("%s %d %q asked %q, source %d, flags %d, login %d %q: %s %q", head, f.ClientId, f.Name, f.RequestedName, f.Source,
			f.Flags, f.AuthLevel, f.Role, f.Command, f.Arguments)
	case teehistorian.KindFactDeath:
		f := &ev.FactDeath
		return fmt.Sprintf("%s %d %q in team %d, rule %d, at %d,%d, from %d", head, f.ClientId, f.Name, f.Team, f.Rule, f.X, f.Y, f.BeganTick)
	case teehistorian.KindFactRespawn:
		f := &ev.FactRespawn
		return fmt.Sprintf("%s %d %q in team %d, at %d,%d, from %d", head, f.ClientId, f.Name, f.Team, f.X, f.Y, f.BeganTick)
	case teehistorian.KindFactLoad:
		save = &ev.FactLoad
	}
	return fmt.Sprintf("%s team %d: %s of %d, names %q, time %s, practice %v", head, save.Team, save.SaveId, save.MemberClientIds,
		save.SavedNames, optional(save.HasTime, save.Time), save.Practice)
}

// latest is a header of a server that records all.
var latest = &teehistorian.Header{Version: 2, VersionMinor: 23}

// everything are the options with which all facts are concluded.
var everything = facts.Options{Inputs: true}

// apply returns the facts that an event completes. Ticks of which the fold wants nothing are left out.
func apply(fold *facts.Fold, ev *event) (all []string) {
	if ev.Kind == teehistorian.KindTick && ev.Tick.Skipped == 0 && !fold.WantsTick(ev.AtTick) {
		return nil
	}
	var fact event
	for fold.Apply(ev); fold.Pending(); {
		fold.Next(&fact)
		all = append(all, text(&fact))
	}
	if fold.Next(&fact) {
		all = append(all, "a fact that was not pending")
	}
	return all
}

func ready(tick, id int32) *event {
	return at(tick, teehistorian.KindPlayerReady, func(ev *event) { ev.PlayerReady.ClientId = id })
}

func version(tick, id, number int32) *event {
	return at(tick, teehistorian.KindDdnetver, func(ev *event) { ev.Ddnetver = teehistorian.Ddnetver{ClientId: id, Version: number} })
}

func login(tick, id int32, level teehistorian.AuthLevel, role string) *event {
	return at(tick, teehistorian.KindAuthLogin, func(ev *event) {
		ev.AuthLogin = teehistorian.AuthLogin{ClientId: id, Level: level, Role: []byte(role)}
	})
}

// appeared returns an event of a character that appears at x, y.
func appeared(tick, id, x, y int32) *event {
	return at(tick, teehistorian.KindPlayerNew, func(ev *event) { ev.PlayerNew = teehistorian.PlayerNew{ClientId: id, X: x, Y: y} })
}

// gone returns an event of a character that disappears.
func gone(tick, id, x, y int32) *event {
	return at(tick, teehistorian.KindPlayerOld, func(ev *event) { ev.PlayerOld = teehistorian.PlayerOld{ClientId: id, X: x, Y: y} })
}

// moved returns an event of a character that moves to x, y.
func moved(tick, id, dx, dy, x, y int32) *event {
	return at(tick, teehistorian.KindPlayerDiff, func(ev *event) {
		ev.PlayerDiff = teehistorian.PlayerDiff{ClientId: id, Dx: dx, Dy: dy, X: x, Y: y}
	})
}

// asks returns an event of a client who asks to die, and asksTeam of one who asks for a team.
func asks(tick, id int32) *event {
	return message(tick, id, teehistorian.MessageContentKill, func(*teehistorian.Message) {})
}

func asksTeam(tick, id, team int32) *event {
	return message(tick, id, teehistorian.MessageContentSetTeam, func(m *teehistorian.Message) { m.SetTeam.Team = team })
}

// protocol returns an event of the protocol of a client that joins next.
func protocol(tick, id int32, kind teehistorian.Kind) *event {
	return at(tick, kind, func(ev *event) { ev.Joinver6.ClientId, ev.Joinver7.ClientId = id, id })
}

func aim(x, y int32) teehistorian.Input { return teehistorian.Input{TargetX: x, TargetY: y} }

func begins(tick int32) *event { return at(tick, teehistorian.KindTick, nil) }

func firstInput(tick, id int32, in teehistorian.Input) *event {
	return at(tick, teehistorian.KindInputNew, func(ev *event) {
		ev.InputNew = teehistorian.InputNew{ClientId: id, Input: in, HasInput: true}
	})
}

func input(tick, id int32, in teehistorian.Input) *event {
	return at(tick, teehistorian.KindInputDiff, func(ev *event) {
		ev.InputDiff = teehistorian.InputDiff{ClientId: id, Input: in, HasInput: true}
	})
}

func fire(counter int32) teehistorian.Input { return teehistorian.Input{Fire: counter} }

// saved returns an event of a saved game with those characters.
func saved(tick, number int32, contents *teehistorian.SavedTeam) *event {
	return at(tick, teehistorian.KindSaveSuccess, func(ev *event) {
		if ev.SaveSuccess = (teehistorian.SaveSuccess{Team: number, SaveId: []byte("id")}); contents != nil {
			ev.SaveSuccess.Contents, ev.SaveSuccess.HasContents = *contents, true
		}
	})
}

// loaded is saved for a game that is loaded.
func loaded(tick, number int32, contents *teehistorian.SavedTeam) *event {
	ev := saved(tick, number, contents)
	ev.Kind, ev.LoadSuccess = teehistorian.KindLoadSuccess, teehistorian.LoadSuccess(ev.SaveSuccess)
	return ev
}

// message returns an event of a message that a client sent.
func message(tick, id int32, content teehistorian.MessageContentCase, fill func(*teehistorian.Message)) *event {
	return at(tick, teehistorian.KindMessage, func(ev *event) {
		ev.Message = teehistorian.Message{ClientId: id, ContentCase: content}
		fill(&ev.Message)
	})
}

func said(tick, id int32, mode teehistorian.SayMode, to int32, text string) *event {
	return message(tick, id, teehistorian.MessageContentSay, func(m *teehistorian.Message) {
		m.Say = teehistorian.Say{Mode: mode, TargetClientId: to, Text: []byte(text)}
	})
}

func called(tick, id int32, kind, value, reason string, force bool) *event {
	return message(tick, id, teehistorian.MessageContentCallVote, func(m *teehistorian.Message) {
		m.CallVote = teehistorian.CallVote{Type: []byte(kind), Value: []byte(value), Reason: []byte(reason), Force: force}
	})
}

func voted(tick, id, vote int32) *event {
	return message(tick, id, teehistorian.MessageContentVote, func(m *teehistorian.Message) { m.Vote.Vote = vote })
}

func command(tick, id, flags int32, name string, arguments ...string) *event {
	return at(tick, teehistorian.KindConsoleCommand, func(ev *event) {
		ev.ConsoleCommand = teehistorian.ConsoleCommand{ClientId: id, Flags: flags, Command: []byte(name)}
		for _, a := range arguments {
			ev.ConsoleCommand.Arguments = append(ev.ConsoleCommand.Arguments, []byte(a))
		}
	})
}

const (
	startInfo  = teehistorian.MessageContentStartInfo
	changeInfo = teehistorian.MessageContentChangeInfo
	emoticon   = teehistorian.MessageContentEmoticon
)

// ended is the event of a file's own end.
func ended(tick int32) *event { return at(tick, teehistorian.KindFinish, nil) }
