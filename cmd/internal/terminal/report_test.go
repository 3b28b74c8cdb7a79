package terminal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/replayd/replayd/cmd/internal/terminal"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// reports are one of each format, with names that a hostile file may have.
func reports() []*replaydv1.Report {
	list := replays()
	n := func(n int32) *int32 { return &n }
	speed := func(r *replaydv1.Replay, perSecond float64) *replaydv1.Replay {
		r.TicksPerSecond = &perSecond
		return r
	}
	stay := func(id, from int32, to *int32, reason string) *replaydv1.Participant {
		p := &replaydv1.Participant{ClientId: id, FromTick: &from, ToTick: to}
		if reason != "" {
			p.LeaveReason = &reason
		}
		return p
	}
	return []*replaydv1.Report{{
		Replay: speed(list[0], 22.4), Tick: n(25133), Ended: true,
		Game: &replaydv1.Report_Sc2Replay{Sc2Replay: &replaydv1.Sc2ReplayReport{
			Version: &sc2replayv1.Version{Major: 5, Revision: 16, Build: 97563}, Observers: 2, Unproven: true,
			Players: []*replaydv1.Sc2ReplayPlayer{{
				PlayerId: new(uint32(1)), Name: "herO\x1b[31m", Clan: "CLAN", Race: "Protoss", Result: sc2replayv1.Result_RESULT_WIN, Mmr: n(7012), Apm: new(311.4),
				SpendingQuotient: n(97), SupplyCapped: new(0.071), Workers: 71, Army: 58, Structures: 40, WorkersLost: 12, ArmyLost: 133,
				Stats: &sc2replayv1.PlayerStats{MineralsCurrent: 815, VespeneCurrent: 210, MineralsCollectionRate: 2310, VespeneCollectionRate: 985, FoodUsed: 188, FoodMade: 200, MineralsLostArmy: 10900, VespeneLostArmy: 5150, MineralsKilledArmy: 18000},
				Units: []*replaydv1.Sc2ReplayUnits{
					{TypeName: "Stalker", Class: sc2replayv1.UnitClass_UNIT_CLASS_ARMY, Count: 22}, {TypeName: "Probe", Class: sc2replayv1.UnitClass_UNIT_CLASS_WORKER, Count: 71},
					{TypeName: "Nexus", Class: sc2replayv1.UnitClass_UNIT_CLASS_STRUCTURE, Count: 4}, {TypeName: "Pylon", Class: sc2replayv1.UnitClass_UNIT_CLASS_STRUCTURE, Count: 17},
					{TypeName: "Immortal", Class: sc2replayv1.UnitClass_UNIT_CLASS_ARMY, Count: 7}, {TypeName: "WarpPrismPhasing", Class: sc2replayv1.UnitClass_UNIT_CLASS_ARMY, Count: 1},
					{TypeName: "HighTemplar", Class: sc2replayv1.UnitClass_UNIT_CLASS_ARMY, Count: 5}, {TypeName: "Archon", Class: sc2replayv1.UnitClass_UNIT_CLASS_ARMY, Count: 5},
				},
				Upgrades: []*replaydv1.Sc2ReplayUpgrade{{Name: "WarpGateResearch", Tick: 5200}, {Name: "BlinkTech\x07", Tick: 9000}},
			}, {
				PlayerId: new(uint32(2)), Name: "SHIN", Race: "Zerg", Team: 1, Result: sc2replayv1.Result_RESULT_LOSS, LeftTick: n(25100), Workers: 66, Army: 9,
				Stats: &sc2replayv1.PlayerStats{FoodUsed: 94, FoodMade: 200},
			}},
		}},
	}, {
		Replay: speed(list[1], 50), Tick: n(9000),
		Game: &replaydv1.Report_Teehistorian{Teehistorian: &replaydv1.TeehistorianReport{
			ServerName: "My \x1b]0;server\x07", ServerVersion: "0.6.4, 16.4",
			Players: []*replaydv1.TeehistorianPlayer{
				{Name: "nameless tee", Clan: "[\u202e]", Connected: true, Team: n(3), Ticks: 8700, FinishCount: 2, Best: &replaydv1.Finish{Tick: 4000, Time: 3377}, Stays: []*replaydv1.Participant{stay(0, 300, nil, "")}},
				{Name: "名前のないプレイヤー", Ticks: 500, FinishCount: 1, Best: &replaydv1.Finish{Tick: 8000, Time: 190000}, Stays: []*replaydv1.Participant{stay(1, 0, n(500), "timeout\r\n of a very long kind, as servers may be told to give")}},
				{Connected: true, Ticks: 9000, Stays: []*replaydv1.Participant{stay(2, 0, nil, "")}},
			},
			TeamFinishes: []*replaydv1.TeamFinish{{Tick: 4000, Team: 3, Time: 3400, Names: []string{"nameless tee", "\x1b[2J"}}, {Tick: 2000, Team: 4, Time: 3300}},
			Chat:         []*replaydv1.ChatLine{{Tick: 100, ClientId: 2, Text: "hi\nthere"}, {Tick: 200, Name: "x\ty", Text: strings.Repeat("long ", 40)}},
			Votes:        []*replaydv1.CalledVote{{Tick: 700, Name: "nameless tee", Type: "kick", Value: "1", Reason: "blocks"}},
		}},
	}, {
		Replay: list[2], Tick: n(1234), Damage: "dem: record at byte 77\x1b: corrupt",
		Game: &replaydv1.Report_Dem{Dem: &replaydv1.DemReport{
			FileHeader: &demv1.FileHeader{Game: new("dota"), ServerName: "Valve \u2028 Server"}, Match: &demv1.Match{Winner: 2}, // the report is of a moment before its end
			Teams: []*replaydv1.DemTeam{{Number: 1, Name: "Spectator", Score: n(0)}, {Number: 2, Name: "#DOTA_GoodGuys", Score: n(31)}, {Number: 3, Name: "Team\x1b", Score: n(12)}},
			Players: []*replaydv1.DemPlayer{
				{Number: 1, Name: "SourceTV", Team: n(1)},
				{Number: 2, Name: "a1", SteamId: new(uint64(76561198000000000)), Team: n(2), Hero: "npc_dota_hero_dragon_knight", Kills: n(9), Deaths: n(0), Assists: n(12), Level: n(25), NetWorth: n(30100), WardsPlaced: 4, WardsDestroyed: 1},
				{Number: 3, Name: "b1\u200f", Team: n(3), Kills: n(2), Deaths: n(9), Assists: n(1), Level: n(18)},
			},
			Economy: []*replaydv1.DemEconomy{
				{Tick: 0, Sides: []*replaydv1.DemSide{{Team: 2, NetWorth: 3000}, {Team: 3, NetWorth: 3000}}},
				{Tick: 600, Sides: []*replaydv1.DemSide{{Team: 2, NetWorth: 4000}, {Team: 3, NetWorth: 4321}}},
				{Tick: 1200, Sides: []*replaydv1.DemSide{{Team: 2, NetWorth: 9000}, {Team: 3, NetWorth: 5000}}},
			},
			Fights: []*replaydv1.DemFight{{FromTick: 900, ToTick: 1000, Sides: []*replaydv1.DemFightSide{{Team: 2}, {Team: 3, Deaths: 3}}}},
			Objectives: []*replaydv1.DemObjective{
				{Tick: 950, Type: demv1.ObjectiveType_OBJECTIVE_TYPE_BUILDING, Actor: "a1\x1b", Name: "npc_dota_badguys_tower1_mid", Team: n(3), Denied: true},
				{Tick: 990, Type: demv1.ObjectiveType_OBJECTIVE_TYPE_AEGIS_TAKEN, Actor: "a1"}, {Tick: 999, Type: demv1.ObjectiveType_OBJECTIVE_TYPE_MID_BOSS_SPAWNED},
			},
			Kills: []*replaydv1.DemKill{{Tick: 900, Victim: "b1\u200f"}, {Tick: 1000, Killer: "a1", Victim: "b1\x1b", Assists: []string{"SourceTV", "npc_dota_hero_axe"}, Weapon: "item_dagon"}},
		}},
	}, {
		Replay: speed(replays()[2], 64), Tick: n(9000), Ended: true,
		Game: &replaydv1.Report_Dem{Dem: &replaydv1.DemReport{
			FileHeader: &demv1.FileHeader{Game: new("csgo")},
			Teams:      []*replaydv1.DemTeam{{Number: 2, Name: "TERRORIST", Score: n(1)}, {Number: 3, Name: "CT", Score: n(1)}},
			Players: []*replaydv1.DemPlayer{
				{Number: 1, Name: "one", Team: n(2), Kills: n(2), Deaths: n(1), Assists: n(0), Money: n(3250), Rounds: &replaydv1.DemPlayerRounds{Rounds: 2, Damage: 211, Kast: 1, Grenades: 5, Blinded: 2, BlindedSeconds: 4.4}},
				{Number: 2, Name: "two", Team: n(3), Kills: n(1), Deaths: n(1), Assists: n(0), Score: n(2)},
			},
			Rounds: []*replaydv1.DemRound{
				{Tick: 640, Round: &demv1.FactRound{Warmup: true}},
				{Tick: 4000, Round: &demv1.FactRound{Number: n(1), WinnerName: new("Terrorist"), ReasonName: new("TargetBombed"), Sides: []*demv1.RoundSide{{Players: 1, Alive: 1, Buy: "semi_eco"}, {Players: 1, Buy: "eco"}}}},
				{Tick: 9000, Round: &demv1.FactRound{Number: n(2), WinnerName: new("CounterTerrorist"), ReasonName: new("BombDefused\x1b"), Sides: []*demv1.RoundSide{{Players: 1, Buy: "full_buy"}, {Players: 1, Alive: 1, Buy: "full_buy"}}}},
			},
			Kills: []*replaydv1.DemKill{{Tick: 3000, Killer: "one", Victim: "two", Weapon: "ak47", Headshot: true}, {Tick: 8000, Killer: "two", Victim: "one", Headshot: true}},
		}},
	}, {
		Replay: list[3], Ended: true,
		Game: &replaydv1.Report_Datafile{Datafile: &datafilev1.Summary{
			Width: n(64), Height: n(24), NumGroups: 2, NumLayers: 2, Sha256: strings.Repeat("0f", 32), Info: &datafilev1.Info{Author: "a\x1bb", Credits: strings.Repeat("everybody ", 20)},
			Layers: []*datafilev1.LayerSummary{{Layer: 0, Name: "Game", Group: n(1), Kind: datafilev1.LayerKind_LAYER_KIND_GAME, Width: 64, Height: 24}, {Layer: 1, Kind: datafilev1.LayerKind_LAYER_KIND_QUADS, NumElements: 7}},
		}},
	}, {
		Replay: list[3], Tick: n(0), Game: &replaydv1.Report_Teehistorian{Teehistorian: &replaydv1.TeehistorianReport{}},
	}}
}

// TestReports: a report fits the terminal, whatever its width, and only titles have a colour.
func TestReports(t *testing.T) {
	printed := func(width int, dim func(string) string) []byte {
		var out bytes.Buffer
		for i, r := range reports() {
			if i > 0 {
				out.WriteString("\n")
			}
			if err := (&terminal.Reporter{Out: &out, Width: width, Dim: dim}).Print(r); err != nil {
				t.Fatal(err)
			}
		}
		return out.Bytes()
	}
	goldens(t, "report", func(width int, coloured bool) []byte {
		if coloured {
			return printed(width, dimmed)
		}
		return printed(width, nil)
	})
	var lines strings.Builder
	for _, r := range reports() {
		lines.WriteString(terminal.Line(r) + "\n")
	}
	golden(t, "report-lines.txt", []byte(strings.ReplaceAll(lines.String(), "\t", " | ")))
	for width := 40; width < 200; width += 7 {
		for line := range strings.SplitSeq(string(printed(width, nil)), "\n") {
			if n := terminal.Cells(line); n > width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
	}
}
