package facts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		return fmt.Sprintf("%s %d %q from %d: %d inputs, fire %d (%.1f), hook %d (%.1f), jump %d, turns %d, odd %d (%s)", head, f.ClientId, f.Name,
			f.FromTick, f.Inputs, f.FirePresses, f.FirePerSecond, f.HookPresses, f.HookPerSecond, f.JumpPresses, f.DirectionChanges,
			f.OddInputs, optional(f.HasOddClicksPerSecond, f.OddClicksPerSecond))
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

// apply returns the facts that an event completes.
func apply(fold *facts.Fold, ev *event) (all []string) {
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

func appeared(tick, id int32) *event {
	return at(tick, teehistorian.KindPlayerNew, func(ev *event) { ev.PlayerNew.ClientId = id })
}

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

// TestFacts concludes each fact, with what is known and without. It does so again from a snapshot behind each event.
func TestFacts(t *testing.T) {
	following := &teehistorian.Header{Version: 2, VersionMinor: 23, PrevGameUUID: "before"}
	two := &teehistorian.SavedTeam{Practice: true, Tees: []teehistorian.SavedTee{{Name: []byte("a"), Time: 70}, {Name: []byte("b"), Time: 80}}}
	for name, tt := range map[string]struct {
		header *teehistorian.Header
		events []*event
		want   []string
	}{
		"a finish": {
			latest, []*event{join(5, 3), named(6, 3, "a"), named(7, 3, "b"), team(8, 3, 9), finish(100, 3, 48)},
			[]string{`8 fact_team 3 "b" from 0 to 9`, `100 fact_finish 3 "b" in team 9: 48 or 0.96 from 52`},
		},
		"nothing else is known": {
			latest, []*event{finish(100, 3, 101)}, []string{`100 fact_finish 3 "" in team 0: 101 or 2.02 from -`},
		},
		"from the first tick, and a time that is none": {
			latest, []*event{finish(100, 3, 100), finish(100, 3, -1)},
			[]string{`100 fact_finish 3 "" in team 0: 100 or 2.00 from 0`, `100 fact_finish 3 "" in team 0: -1 or -0.02 from -`},
		},
		"a server that records no teams": {
			&teehistorian.Header{Version: 2, VersionMinor: 1}, []*event{join(5, 3), finish(100, 3, 1)},
			[]string{`100 fact_finish 3 "" in team -1: 1 or 0.02 from 99`},
		},
		"a name that is too long": {
			latest, []*event{named(6, 3, strings.Repeat("n", 300)), finish(10, 3, 1)},
			[]string{`10 fact_finish 3 "` + strings.Repeat("n", 128) + `" in team 0: 1 or 0.02 from 9`},
		},
		"a team": {
			latest, []*event{
				join(1, 1), join(1, 4), join(1, 5), team(2, 5, 7), team(2, 1, 7), team(2, 4, 7), team(3, 4, 0), team(3, 2, 8), teamFinish(50, 7, 10),
				drop(60, 1, ""), teamFinish(70, 7, 10),
			},
			[]string{
				`2 fact_team 5 "" from 0 to 7`, `2 fact_team 1 "" from 0 to 7`, `2 fact_team 4 "" from 0 to 7`, `3 fact_team 4 "" from 7 to 0`,
				`3 fact_team 2 "" from 0 to 8`, `50 fact_finish all of [1 5] in team 7: 10 or 0.20 from 40`,
				`60 fact_session 1 "" asked "", 1 1 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
				`70 fact_finish all of [5] in team 7: 10 or 0.20 from 60`,
			},
		},
		"a stay": {
			latest, []*event{
				join(5, 3), asked(5, 3, startInfo, "one"), named(5, 3, "(1)one"), version(5, 3, 16040), ready(6, 3), ready(7, 3),
				asked(8, 3, changeInfo, "two"), asked(8, 3, emoticon, "three"), named(9, 3, "two"), login(10, 3, teehistorian.AuthLevelModerator, ""),
				login(11, 3, teehistorian.AuthLevelAdmin, "admin"), team(12, 3, 4), finish(20, 3, 1), finish(30, 3, 2), drop(40, 3, "Timeout"), finish(50, 3, 1),
			},
			[]string{
				`12 fact_team 3 "two" from 0 to 4`,
				`20 fact_finish 3 "two" in team 4: 1 or 0.02 from 19`, `30 fact_finish 3 "two" in team 4: 2 or 0.04 from 28`,
				`40 fact_session 3 "two" asked "two", 5 5 6, end 1 "Timeout" to -1, version 16040, login 3 "admin", 2 finishes`,
				`50 fact_finish 3 "" in team 0: 1 or 0.02 from 49`,
			},
		},
		"a client that joins in tick 0 of a first game": {
			latest, []*event{join(0, 3), drop(1, 3, "")},
			[]string{`1 fact_session 3 "" asked "", 0 0 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`},
		},
		"another client in the slot": {
			latest, []*event{join(5, 3), named(5, 3, "a"), team(5, 3, 2), join(9, 3), named(10, 3, "b"), drop(11, 3, ""), drop(12, 3, "")},
			[]string{
				`5 fact_team 3 "a" from 0 to 2`, `9 fact_session 3 "a" asked "", 5 5 -, end 2 "" to -1, version 0, login 0 "", 0 finishes`,
				`11 fact_session 3 "b" asked "", 9 9 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
				`12 fact_session 3 "" asked "", - 12 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
			},
		},
		"clients that stayed over a change of the map": {
			following, []*event{
				login(0, 3, teehistorian.AuthLevelHelper, "helper"), join(0, 3), join(0, 4), join(0, 4), join(1, 5), drop(50, 3, ""), ended(60), ended(60),
			},
			[]string{
				`0 fact_session 4 "" asked "", - 0 -, end 2 "" to -1, version 0, login 0 "", 0 finishes`,
				`50 fact_session 3 "" asked "", - 0 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
				`60 fact_session 4 "" asked "", - 0 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
				`60 fact_session 5 "" asked "", 1 1 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
				`60 fact_session 4 "" asked "", - 0 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
				`60 fact_session 5 "" asked "", 1 1 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
			},
		},
		"a server that writes no joins": {
			latest, []*event{
				login(3, 1, teehistorian.AuthLevelHelper, ""), appeared(4, 1), named(4, 1, "a"), drop(5, 1, ""), named(6, 1, "gone"),
				login(6, 1, teehistorian.AuthLevelAdmin, ""), firstInput(7, 1, fire(0)), firstInput(8, 2, fire(0)), join(9, 2), ended(10),
			},
			[]string{
				`5 fact_session 1 "a" asked "", - 3 -, end 1 "" to -1, version 0, login 1 "", 0 finishes`,
				`9 fact_session 2 "" asked "", - 8 -, end 2 "" to -1, version 0, login 0 "", 0 finishes`,
				`10 fact_session 1 "gone" asked "", - 7 -, end 3 "" to -1, version 0, login 3 "", 0 finishes`,
				`10 fact_session 2 "" asked "", 9 9 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
			},
		},
		"damage": {
			latest, []*event{
				firstInput(0, 1, fire(0)), join(0, 1), named(1, 1, "a"), team(2, 1, 7), firstInput(0, 9, fire(0)), input(4, 9, fire(1)), damage(5), after(finish(6, 1, 2)), after(team(7, 1, 7)),
				after(named(7, 1, "b")), after(finish(8, 1, 2)), after(teamFinish(8, 7, 2)), after(input(9, 1, fire(8))), after(begins(500)),
				after(drop(501, 1, "")), after(join(502, 2)), after(ended(503)),
			},
			[]string{
				`2 fact_team 1 "a" from 0 to 7`, `6 fact_finish [12] 1 "" in team -1: 2 or 0.04 from -`, `7 fact_team [12] 1 "" from -1 to 7`,
				`8 fact_finish [12] 1 "b" in team 7: 2 or 0.04 from -`, `8 fact_finish [12] all of [1] in team 7: 2 or 0.04 from -`,
				`501 fact_session [12] 1 "b" asked "", - - -, end 1 "" to -1, version 0, login 0 "", 2 finishes`,
				`503 fact_session [12] 2 "" asked "", 502 502 -, end 3 "" to -1, version 0, login 0 "", 0 finishes`,
			},
		},
		"saved and loaded": {
			latest, []*event{
				team(1, 3, 7), saved(5, 7, two), saved(6, 7, nil), team(7, 2, 7), loaded(8, 7, two),
				loaded(9, 6, &teehistorian.SavedTeam{Practice: true, Tees: two.Tees, Error: []byte("cut")}),
			},
			[]string{
				`1 fact_team 3 "" from 0 to 7`, `5 fact_save team 7: id of [3], names ["a" "b"], time 80, practice true`,
				`6 fact_save team 7: id of [3], names [], time -, practice false`, `7 fact_team 2 "" from 0 to 7`,
				`8 fact_load team 7: id of [2 3], names ["a" "b"], time 80, practice true`,
				`9 fact_load team 6: id of [], names [], time -, practice false`,
			},
		},
		"talk": {
			latest, []*event{
				join(1, 3), asked(1, 3, startInfo, "one"), said(2, 3, teehistorian.SayModeAll, -1, "hello"), named(3, 3, "(1)one"),
				team(3, 3, 9), said(4, 3, teehistorian.SayModeTeam, -1, " /rank"), said(4, 3, teehistorian.SayModeTeam, -1, "\x01 /w a b"),
				said(5, 3, teehistorian.SayModeTeam, -1, "a /rank"), said(6, 3, teehistorian.SayModeWhisper, 4, "psst"), said(7, 3, teehistorian.SayModeAll, -1, " "),
			},
			[]string{
				`2 fact_chat 3 "" asked "one" in team 0, mode 1 to -1: "hello"`, `3 fact_team 3 "(1)one" from 0 to 9`,
				`5 fact_chat 3 "(1)one" asked "one" in team 9, mode 2 to -1: "a /rank"`, `6 fact_chat 3 "(1)one" asked "one" in team 9, mode 3 to 4: "psst"`,
				`7 fact_chat 3 "(1)one" asked "one" in team 9, mode 1 to -1: " "`,
			},
		},
		"talk on a server that records no teams": {
			&teehistorian.Header{Version: 1}, []*event{said(2, 3, teehistorian.SayModeAll, -1, "hello"), damage(3), after(said(4, 3, teehistorian.SayModeAll, -1, "hello"))},
			[]string{`2 fact_chat 3 "" asked "" in team -1, mode 1 to -1: "hello"`, `4 fact_chat [12] 3 "" asked "" in team -1, mode 1 to -1: "hello"`},
		},
		"votes": {
			latest, []*event{
				join(1, 3), asked(1, 3, startInfo, "one"), named(1, 3, "(1)one"), named(1, 12, "bad"), called(2, 3, "Kick", "12", "blocks", false),
				called(3, 3, "spectate", "1024", "", true), called(4, 3, "spectate", "12x", "", false), called(5, 3, "kick", "1023", "", false),
				called(6, 3, "option", "12", "why", false), voted(7, 3, -1), voted(8, 12, 1),
			},
			[]string{
				`2 fact_call_vote 3 "(1)one" asked "one": "Kick" "12" "blocks", false, of 12 "bad"`,
				`3 fact_call_vote 3 "(1)one" asked "one": "spectate" "1024" "", true, of -1 ""`,
				`4 fact_call_vote 3 "(1)one" asked "one": "spectate" "12x" "", false, of -1 ""`,
				`5 fact_call_vote 3 "(1)one" asked "one": "kick" "1023" "", false, of 1023 ""`,
				`6 fact_call_vote 3 "(1)one" asked "one": "option" "12" "why", false, of -1 ""`,
				`7 fact_vote 3 "(1)one" asked "one": -1`, `8 fact_vote 12 "bad" asked "": 1`,
			},
		},
		"commands": {
			latest, []*event{
				command(0, -2, 4, "tune", "gravity", "0.5"), command(0, -3, 4, "sv_name", "x"), command(0, -1, 4, "status"), command(1, 3, 128, "team", "7"),
				asked(1, 3, startInfo, "one"), named(2, 3, "(1)one"), login(3, 3, teehistorian.AuthLevelAdmin, "boss"), command(4, 3, 4, "say", "hi"),
				command(5, 3, 128, "rank"), command(6, 3, 1, "odd"),
			},
			[]string{
				`0 fact_command -1 "" asked "", source 4, flags 4, login 0 "": tune ["gravity" "0.5"]`,
				`0 fact_command -1 "" asked "", source 5, flags 4, login 0 "": sv_name ["x"]`,
				`0 fact_command -1 "" asked "", source 3, flags 4, login 0 "": status []`,
				`1 fact_command 3 "" asked "", source 1, flags 128, login 0 "": team ["7"]`,
				`4 fact_command 3 "(1)one" asked "one", source 2, flags 4, login 3 "boss": say ["hi"]`,
				`5 fact_command 3 "(1)one" asked "one", source 1, flags 128, login 0 "": rank []`,
				`6 fact_command 3 "(1)one" asked "one", source 0, flags 1, login 0 "": odd []`,
			},
		},
		"inputs": {
			latest, []*event{
				named(0, 3, "a"), firstInput(0, 3, fire(1)), firstInput(1, 4, fire(0)), begins(10),
				input(10, 3, teehistorian.Input{Fire: 2, Hook: 1, Jump: 1, Direction: -1}),         // a release
				input(20, 3, teehistorian.Input{Fire: 5, Hook: 1, Jump: 3, Direction: -7}),         // two presses
				input(30, 3, teehistorian.Input{Fire: 5, Hook: 0, Jump: 2}), input(40, 4, fire(3)), // nothing, and one who is not known from 0 on
				input(40, 3, teehistorian.Input{Fire: 15, Hook: 1, Jump: 1, Direction: 1}), // ten are not odd
				input(50, 3, fire(64+27)), input(50, 3, fire(40)), // 12 in 10 ticks, and 13 in none
				begins(499), begins(500), input(500, 3, fire(40+11)), begins(1000), input(1000, 4, fire(20)), begins(3100),
			},
			[]string{
				`500 fact_input_stats 3 "a" from 0: 6 inputs, fire 19 (1.9), hook 2 (0.2), jump 2, turns 4, odd 2 (30)`,
				`1000 fact_input_stats 3 "a" from 500: 1 inputs, fire 6 (0.6), hook 0 (0.0), jump 0, turns 0, odd 1 (0.5)`,
				`3100 fact_input_stats 4 "" from 1000: 1 inputs, fire 8 (0.8), hook 0 (0.0), jump 0, turns 0, odd 1 (0.4)`,
			},
		},
		"inputs of clients that leave": {
			latest, []*event{
				firstInput(0, 3, fire(0)), firstInput(0, 4, fire(0)), input(5, 3, fire(1)), input(5, 4, fire(1)), drop(6, 3, ""), join(7, 4), input(8, 3, fire(3)),
				input(8, 4, fire(3)), begins(500),
			},
			[]string{
				`6 fact_session 3 "" asked "", - 0 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
				`7 fact_session 4 "" asked "", - 0 -, end 2 "" to -1, version 0, login 0 "", 0 finishes`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range tt.events {
				fold := facts.New(tt.header, everything)
				var all []string
				for i, ev := range tt.events {
					if i == n {
						var err error
						if fold, err = facts.Restore(tt.header, everything, fold.Snapshot(nil)); err != nil {
							t.Fatal(err)
						}
					}
					all = append(all, apply(fold, ev)...)
				}
				if diff := cmp.Diff(tt.want, all); diff != "" {
					t.Fatalf("restored behind %d events: %s", n, diff)
				}
			}
		})
	}
}

// TestRoom: no event completes more facts than there is room for behind it, and what is left over stands behind the next tick.
func TestRoom(t *testing.T) {
	fold := facts.New(latest, everything)
	for id := range int32(300) {
		apply(fold, firstInput(0, id, fire(0)))
		apply(fold, input(1, id, fire(1)))
	}
	var told []int
	for _, ev := range []*event{begins(500), finish(500, 3, 1), begins(501), begins(502), begins(503), ended(504)} {
		told = append(told, len(apply(fold, ev)))
		var err error
		if fold, err = facts.Restore(latest, everything, fold.Snapshot(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{127, 1, 127, 46, 0, 127}; !slices.Equal(told, want) {
		t.Errorf("%d facts, want %d", told, want)
	}
}

// TestAllocations: events cost no memory of their own, with facts or without.
func TestAllocations(t *testing.T) {
	fold, fact := facts.New(latest, everything), new(event)
	if fold.Held() != 0 {
		t.Errorf("%d bytes are held without a client", fold.Held())
	}
	contents := &teehistorian.SavedTeam{Tees: []teehistorian.SavedTee{{Name: []byte("a")}}}
	events := []*event{
		join(1, 1), asked(1, 1, startInfo, "a"), named(1, 1, "a"), team(2, 1, 7), firstInput(2, 1, fire(0)), finish(3, 1, 2), teamFinish(3, 7, 2),
		saved(4, 7, contents), said(5, 1, teehistorian.SayModeAll, -1, "a"), called(5, 1, "kick", "1", "", false), voted(5, 1, 1),
		command(5, 1, 4, "say", "a"), begins(500), input(600, 1, fire(1)), begins(1000), drop(1001, 1, "left"), ended(1002), begins(0),
	}
	run := func() {
		for _, ev := range events {
			for fold.Apply(ev); fold.Next(fact); {
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
	before := fold.Held()
	fold.Apply(firstInput(4, teehistorian.MaxClients-1, fire(0)))
	if held := fold.Held(); held < before*8 || held > 1<<20 {
		t.Errorf("%d bytes are held for all clients, %d for a few", held, before)
	}
}

// FuzzRestore restores arbitrary snapshots: each gives an error, or a Fold with the same snapshot that takes any event.
func FuzzRestore(f *testing.F) {
	for _, o := range []facts.Options{{}, everything} {
		fold := facts.New(latest, o)
		for _, ev := range []*event{
			join(1, 1), named(1, 1, "a"), team(2, 70, 7), drop(3, 70, ""), firstInput(4, 5, fire(0)), input(5, 5, fire(9)), damage(5), named(6, 1000, "b"),
		} {
			fold.Apply(ev)
			f.Add(fold.Snapshot(nil), o.Inputs)
		}
	}
	f.Fuzz(func(t *testing.T, snapshot []byte, inputs bool) {
		o := facts.Options{Inputs: inputs}
		fold, err := facts.Restore(latest, o, snapshot)
		if _, other := facts.Restore(latest, facts.Options{Inputs: !inputs}, snapshot); (err == nil || other == nil) && errors.Is(other, facts.ErrSnapshot) == errors.Is(err, facts.ErrSnapshot) {
			t.Error("a snapshot serves both with inputs and without")
		}
		if err != nil {
			return
		}
		again, err := facts.Restore(latest, o, fold.Snapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range []*event{
			finish(10, 1, 1), teamFinish(10, 7, 1), said(10, 1, teehistorian.SayModeAll, -1, "a"), command(10, 5, 4, "say"), input(11, 5, fire(20)), begins(500), begins(1000), drop(1001, 1, ""), join(1002, teehistorian.MaxClients-1), ended(1003),
		} {
			if diff := cmp.Diff(apply(fold, ev), apply(again, ev)); diff != "" {
				t.Error(diff)
			}
		}
	})
}
