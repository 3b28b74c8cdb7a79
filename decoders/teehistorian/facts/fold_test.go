package facts_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/facts"
)

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
				login(3, 1, teehistorian.AuthLevelHelper, ""), appeared(4, 1, 0, 0), named(4, 1, "a"), drop(5, 1, ""), named(6, 1, "gone"),
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
				called(3, 3, "spectate", "1024", "", true), called(4, 3, "spectate", "12x", "", false), called(4, 3, "spectate", "12", "", false), called(5, 3, "kick", "1023", "", false),
				called(6, 3, "option", "12", "why", false), voted(7, 3, -1), voted(8, 12, 1),
			},
			[]string{
				`2 fact_call_vote 3 "(1)one" asked "one": "Kick" "12" "blocks", false, of 12 "bad"`,
				`3 fact_call_vote 3 "(1)one" asked "one": "spectate" "1024" "", true, of -1 ""`,
				`4 fact_call_vote 3 "(1)one" asked "one": "spectate" "12x" "", false, of -1 ""`,
				`4 fact_call_vote 3 "(1)one" asked "one": "spectate" "12" "", false, of 12 "bad"`,
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
				`500 fact_input_stats 3 "a" from 0: 6 inputs, fire 19 (1.9, every 1.67 ± 5.00), hook 2 (0.2, every 30.00 ± 0.00), jump 2, turns 4, aims 0, odd 2 (30)`,
				`1000 fact_input_stats 3 "a" from 500: 1 inputs, fire 6 (0.6, every 0.00 ± 0.00), hook 0 (0.0, every -), jump 0, turns 0, aims 0, odd 1 (0.5)`,
				`3100 fact_input_stats 4 "" from 1000: 1 inputs, fire 8 (0.8, every 0.00 ± 0.00), hook 0 (0.0, every -), jump 0, turns 0, aims 0, odd 1 (0.4)`,
			},
		},
		"intervals and aims": {
			latest, []*event{
				firstInput(0, 3, aim(0, 0)), begins(5), input(5, 3, aim(9, 0)), input(6, 3, aim(9, 1)), // a right angle is no jump
				input(10, 3, teehistorian.Input{TargetX: -8, TargetY: 70, Fire: 1, Hook: 1}),                       // and a little more is one
				input(12, 3, teehistorian.Input{TargetX: 1 << 30, TargetY: 1 << 30, Fire: 2}),                      // a release
				input(20, 3, teehistorian.Input{TargetX: math.MinInt32, TargetY: math.MinInt32, Fire: 3, Hook: 1}), // to the other side
				input(21, 3, teehistorian.Input{TargetX: math.MinInt32, TargetY: math.MinInt32, Fire: 3}),
				input(25, 3, teehistorian.Input{Fire: 4}), input(26, 3, teehistorian.Input{Fire: 5}), // no aim is up
				input(499, 3, teehistorian.Input{TargetY: 7, Fire: 6}), begins(500), input(501, 3, fire(7)), begins(1000),
			},
			[]string{
				`500 fact_input_stats 3 "" from 0: 9 inputs, fire 3 (0.3, every 8.00 ± 2.00), hook 2 (0.2, every 10.00 ± 0.00), jump 0, turns 0, aims 3, odd 0 (-)`,
				`1000 fact_input_stats 3 "" from 500: 1 inputs, fire 1 (0.1, every -), hook 0 (0.0, every -), jump 0, turns 0, aims 1, odd 0 (-)`,
			},
		},
		"deaths": {
			latest, []*event{
				named(1, 3, "a"), team(1, 3, 7), appeared(2, 3, 50, 60), gone(9, 3, 51, 61), appeared(34, 3, 50, 60), appeared(35, 3, 50, 60), gone(40, 3, 52, 62), gone(41, 3, 0, 0),
			},
			[]string{
				`1 fact_team 3 "a" from 0 to 7`, `9 fact_death 3 "a" in team 7, rule 1, at 51,61, from 2`,
				`34 fact_respawn 3 "a" in team 7, at 50,60, from 9`, `40 fact_death 3 "a" in team 7, rule 1, at 52,62, from 35`,
			},
		},
		"clients who ask to die": {
			latest, []*event{
				appeared(2, 3, 50, 60), appeared(2, 4, 150, 60), moved(3, 3, -100, 0, 50, 60), asks(4, 3), asks(4, 4), begins(5), moved(5, 3, 0, 65, 150, 60),
				moved(5, 4, 64, -64, 50, 60), asks(6, 3), moved(8, 3, 65, 0, 150, 60), // refused, and too late
				asks(9, 3), moved(10, 3, 65, 0, 151, 60), asks(11, 3), gone(12, 3, 9, 9), appeared(12, 3, 50, 60), moved(13, 3, 99, 0, 50, 60), // nowhere
				command(20, 4, 128, "kill"), moved(21, 4, 0, -65, 50, 60), command(22, 4, 4, "kill"), moved(23, 4, -65, 0, 50, 60),
				asks(24, 3), begins(25), asks(25, 4), moved(26, 3, -65, 0, 50, 60), // it was refused, and another one asks
			},
			[]string{
				`5 fact_death 3 "" in team 0, rule 2, at 150,-5, from 2`, `5 fact_respawn 3 "" in team 0, at 150,60, from 5`,
				`12 fact_death 3 "" in team 0, rule 2, at 9,9, from 5`, `12 fact_respawn 3 "" in team 0, at 50,60, from 12`,
				`20 fact_command 4 "" asked "", source 1, flags 128, login 0 "": kill []`,
				`21 fact_death 4 "" in team 0, rule 2, at 50,125, from 2`, `21 fact_respawn 4 "" in team 0, at 50,60, from 21`,
				`22 fact_command 4 "" asked "", source 2, flags 4, login 0 "": kill []`,
			},
		},
		"characters that do not die": {
			latest, []*event{
				join(1, 3), appeared(2, 3, 50, 60), drop(3, 3, ""), join(3, 3), gone(4, 3, 1, 1), appeared(5, 3, 50, 60), // its client has left
				asksTeam(6, 3, -1), gone(7, 3, 1, 1), appeared(9, 3, 50, 60), asksTeam(10, 3, -1), gone(12, 3, 1, 1), asksTeam(13, 3, -1), // refused; it died
				appeared(14, 3, 50, 60), asksTeam(15, 3, 0), gone(16, 3, 1, 1), appeared(20, 3, 50, 60),
				command(20, 3, 128, "set_team", "3"), gone(21, 3, 1, 1), appeared(21, 3, 50, 60), // a command of the chat does nothing
				command(21, -1, 4, "set_team", "3", "-1"), command(21, -1, 4, "set_team"), gone(22, 3, 1, 1),
				appeared(23, 3, 50, 60), command(24, 5, 4, "set_team_all", "-1"), gone(25, 3, 1, 1),
			},
			[]string{
				`3 fact_session 3 "" asked "", 1 1 -, end 1 "" to -1, version 0, login 0 "", 0 finishes`,
				`12 fact_death 3 "" in team 0, rule 1, at 1,1, from 9`, `16 fact_death 3 "" in team 0, rule 1, at 1,1, from 14`,
				`20 fact_respawn 3 "" in team 0, at 50,60, from 16`, `20 fact_command 3 "" asked "", source 1, flags 128, login 0 "": set_team ["3"]`,
				`21 fact_death 3 "" in team 0, rule 1, at 1,1, from 20`, `21 fact_respawn 3 "" in team 0, at 50,60, from 21`,
				`21 fact_command -1 "" asked "", source 3, flags 4, login 0 "": set_team ["3" "-1"]`,
				`21 fact_command -1 "" asked "", source 3, flags 4, login 0 "": set_team []`,
				`24 fact_command 5 "" asked "", source 2, flags 4, login 0 "": set_team_all ["-1"]`,
			},
		},
		"deaths of 0.7 clients, and damage": {
			latest, []*event{
				protocol(1, 3, teehistorian.KindJoinver7), join(1, 3), appeared(2, 3, 50, 60), gone(3, 3, 1, 1), appeared(4, 3, 50, 60), asks(5, 3), gone(6, 3, 1, 1),
				protocol(7, 4, teehistorian.KindJoinver7), protocol(7, 4, teehistorian.KindJoinver6), join(7, 4), appeared(8, 4, 50, 60), gone(9, 4, 1, 1),
				appeared(10, 4, 50, 60), asks(10, 4), damage(11), after(moved(11, 4, 99, 0, 50, 60)), after(gone(12, 4, 1, 1)), after(appeared(13, 4, 50, 60)),
				after(gone(14, 4, 1, 1)),
			},
			[]string{
				`3 fact_death 3 "" in team 0, rule 0, at 1,1, from 2`, `4 fact_respawn 3 "" in team 0, at 50,60, from 3`,
				`6 fact_death 3 "" in team 0, rule 2, at 1,1, from 4`, `9 fact_death 4 "" in team 0, rule 1, at 1,1, from 8`,
				`10 fact_respawn 4 "" in team 0, at 50,60, from 9`, `14 fact_death [12] 4 "" in team -1, rule 1, at 1,1, from 13`,
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

// TestPlaces: 64 places where characters appear are known, each once.
func TestPlaces(t *testing.T) {
	fold := facts.New(latest, everything)
	for n := range int32(200) {
		x := max(n-100, 0)
		apply(fold, appeared(n, 3, x, 0))
		apply(fold, gone(n, 3, x, 0))
	}
	var err error
	if fold, err = facts.Restore(latest, everything, fold.Snapshot(nil)); err != nil {
		t.Fatal(err)
	}
	died := func(tick, x int32) int {
		apply(fold, appeared(tick, 3, 0, 0))
		apply(fold, asks(tick, 3))
		return len(apply(fold, moved(tick+1, 3, 99, 0, x, 0)))
	}
	if got := []int{died(300, 0), died(310, 63), died(320, 64)}; !slices.Equal(got, []int{2, 2, 0}) {
		t.Errorf("%d facts", got)
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
		command(5, 1, 4, "say", "a"), appeared(6, 1, 9, 9), asks(7, 1), moved(8, 1, 99, 0, 9, 9), gone(9, 1, 9, 9), appeared(10, 1, 9, 9), begins(500), input(600, 1, fire(1)), begins(1000), drop(1001, 1, "left"), ended(1002), begins(0),
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
			appeared(7, 1, 40, 50), asks(7, 1),
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
			finish(10, 1, 1), teamFinish(10, 7, 1), said(10, 1, teehistorian.SayModeAll, -1, "a"), command(10, 5, 4, "say"), moved(8, 1, 99, 0, 40, 50), gone(10, 5, 1, 1),
			appeared(11, 5, 40, 50), input(11, 5, fire(20)), begins(500), begins(1000), drop(1001, 1, ""), join(1002, teehistorian.MaxClients-1), ended(1003),
		} {
			if diff := cmp.Diff(apply(fold, ev), apply(again, ev)); diff != "" {
				t.Error(diff)
			}
		}
	})
}
