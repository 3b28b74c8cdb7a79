package sc2replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

func open(t testing.TB, file []byte) *sc2replay.Replay {
	t.Helper()
	p, err := sc2replay.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all decodes everything into one line per event.
func all(d *sc2replay.Decoder) (lines []string, err error) {
	var ev sc2replay.Event
	for {
		if err := d.Next(&ev); err != nil {
			return lines, err
		}
		lines = append(lines, line(&ev))
	}
}

// line returns the parts of an event that the tests check.
func line(ev *sc2replay.Event) string {
	who := "-"
	if ev.HasPlayer {
		who = fmt.Sprintf("%s/%d", ev.Player.Name, ev.Player.PlayerId)
	}
	what := ""
	switch ev.Kind {
	case sc2replay.KindCameraUpdate:
		what = fmt.Sprintf("to %v distance %v", ev.CameraUpdate.Target, ev.CameraUpdate.Distance)
	case sc2replay.KindSelectionDelta:
		for _, u := range ev.SelectionDelta.AddUnitTags {
			what += fmt.Sprintf("+%d:%s ", u.Index, u.TypeName)
		}
		if ev.SelectionDelta.RemoveMaskCase == sc2replay.SelectionDeltaRemoveMaskMask {
			what += fmt.Sprintf("mask %d %x", ev.SelectionDelta.Mask.Size, ev.SelectionDelta.Mask.Bits)
		}
	case sc2replay.KindCmd:
		c := &ev.Cmd
		if c.HasAbil {
			what = fmt.Sprintf("ability %d.%d ", c.Abil.Link, c.Abil.CommandIndex)
			if len(c.Abil.Name) > 0 {
				what += string(c.Abil.Name) + " "
			}
		}
		switch c.TargetCase {
		case sc2replay.CmdTargetTargetPoint:
			what += fmt.Sprintf("at %v", c.TargetPoint)
		case sc2replay.CmdTargetTargetUnit:
			what += fmt.Sprintf("on %d:%s at %v", c.TargetUnit.Unit.Index, c.TargetUnit.Unit.TypeName, c.TargetUnit.SnapshotPoint)
		}
		if c.HasOtherUnit {
			what += fmt.Sprintf(" with %d", c.OtherUnit.Index)
		}
	case sc2replay.KindChat:
		what = fmt.Sprintf("to %d: %s", ev.Chat.Recipient, ev.Chat.Text)
	case sc2replay.KindUnitBorn:
		what = fmt.Sprintf("%d:%s at %d,%d", ev.UnitBorn.Unit.Index, ev.UnitBorn.Unit.TypeName, ev.UnitBorn.X, ev.UnitBorn.Y)
	case sc2replay.KindUnitTypeChange:
		what = fmt.Sprintf("%s from %s", ev.UnitTypeChange.Unit.TypeName, ev.UnitTypeChange.PreviousTypeName)
	case sc2replay.KindUnitDied:
		what = fmt.Sprintf("%s by %d", ev.UnitDied.Unit.TypeName, ev.UnitDied.KillerPlayerId)
	case sc2replay.KindUnitPositions:
		for _, p := range ev.UnitPositions.Positions {
			what += fmt.Sprintf("%s at %d,%d ", p.Unit.TypeName, p.X, p.Y)
		}
	case sc2replay.KindPlayerStats:
		what = fmt.Sprintf("supply %v", ev.PlayerStats.FoodUsed)
	case sc2replay.KindTriggerUi:
		what = string(ev.TriggerUi.Name)
		for _, f := range ev.TriggerUi.Fields {
			for _, inner := range f.Fields {
				what += fmt.Sprintf(" %s.%s=%s", f.Name, inner.Name, inner.BytesValue)
			}
		}
	case sc2replay.KindOther:
		what = string(ev.Other.Name)
		for _, f := range ev.Other.Fields {
			what += fmt.Sprintf(" %s=%s%v", f.Name, f.BytesValue, f.BoolValue)
		}
	case sc2replay.KindSaveGame:
		what = fmt.Sprintf("%s %s automatic %v", ev.SaveGame.FileName, ev.SaveGame.Name, ev.SaveGame.Automatic)
	case sc2replay.KindPing:
		what = fmt.Sprintf("at %v", ev.Ping.Point)
	case sc2replay.KindPlayerInfo:
		p := &ev.PlayerInfo
		what = fmt.Sprintf("[%s] %s result %d observer %v %s", p.Clan, p.Race, p.Result, p.Observer, p.ToonHandle)
	case sc2replay.KindMember:
		what = fmt.Sprintf("%s %q", ev.Member.Name, ev.Member.Data)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %v %s %s", ev.AtTick, ev.Kind, who, what))
}

func TestSample(t *testing.T) {
	p := open(t, sc2test.Sample(80949).Bytes())
	lines, err := all(p.Events(sc2replay.Options{}))
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	want := `0 start -
0 details -
0 lobby -
0 attributes -
0 game_metadata -
0 player_info Alice/1 [CLAN] Terran result 2 observer false 2-S2-1-1001
0 player_info Bob/2 [] Zerg result 3 observer false 2-S2-1-1002
0 player_info Watcher/3 []  result 0 observer true
0 member - replay.details ""
0 member - replay.initData ""
0 member - replay.attributes.events ""
0 member - replay.game.events ""
0 member - replay.message.events ""
0 member - replay.tracker.events ""
0 member - replay.gamemetadata.json ""
0 member - replay.load.info "loading.dds\x00\x00"
0 member - (listfile) ""
0 member - (attributes) ""
0 user_options Alice/1
0 user_finished_loading_sync -
0 loading_progress Bob/2
0 player_setup Alice/1
0 player_setup Bob/2
0 unit_born Alice/1 1:SCV at 40,48
0 unit_born Bob/2 2:Larva at 88,92
0 unit_init Alice/1
0 upgrade Alice/1
2 camera_update Alice/1 to {40 50.5} distance 34
10 selection_delta Alice/1 +1:SCV +3:Barracks
12 cmd Alice/1 ability 43.1 Patrol at {40 50.5 8}
20 cmd Bob/2 on 2:Larva at {40 50.5 8} with 3
30 control_group_update Alice/1
160 chat Alice/1 to 1: gl hf
160 player_stats Alice/1 supply 12.5
161 chat Bob/2 to 2: größe 한
200 unit_done Alice/1
210 unit_type_change Bob/2 Egg from Larva
220 unit_owner_change Bob/2
240 unit_positions - SCV at 40,48 Egg at 92,96
300 selection_delta Alice/1 mask 2 01
300 unit_died Bob/2 Egg by 1
310 trigger_ui - TriggerMovieStarted
311 save_game Alice/1 a.SC2Save save automatic true
320 ping Bob/2 at {1 -1}
400 unit_init Alice/1
700 unit_done Alice/1
2000 trigger_ui Alice/1 TriggerDialogControl eventData.TextChanged=typed
100000 game_user_leave Bob/2
100000 end -`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s", got)
		for i, l := range strings.Split(want, "\n") {
			if i >= len(lines) || lines[i] != l {
				t.Fatalf("want at line %d: %s", i+1, l)
			}
		}
	}
	if s := p.Start; s.GameSeconds != 6250 || s.RealSeconds < 4464.28 || s.RealSeconds > 4464.29 || string(s.GameSpeed) != "Faster" {
		t.Errorf("length %v s, real %v s at %s", s.GameSeconds, s.RealSeconds, s.GameSpeed)
	}
}

// TestEveryTable decodes the sample in the layouts of every table, and with the base build of one that has no table.
func TestEveryTable(t *testing.T) {
	for _, build := range append(protocol.Default().Builds(), 23925, 24247) {
		r := sc2test.Sample(build)
		for name, base := range map[string]int{"own": 0, "unknown": build + 1} {
			if build == 23925 || build == 24247 || build == 80949 {
				base = 0
			}
			r.BaseBuild = base
			t.Run(fmt.Sprintf("%d %s", build, name), func(t *testing.T) {
				p := open(t, r.Bytes())
				lines, err := all(p.Events(sc2replay.Options{}))
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				text := strings.Join(lines, "\n")
				for _, want := range []string{
					"0 user_options Alice/1", "2 camera_update Alice/1 to {40 50.5} distance 34", "12 cmd Alice/1 ability ", " at {40 50.5 8}",
					"300 selection_delta Alice/1 mask 2 01", "save_game Alice/1 a.SC2Save", "161 chat Bob/2 to 2: größe 한",
					"player_info Alice/1 [CLAN] Terran", "observer true", "2000 trigger_ui Alice/1 TriggerDialogControl eventData.TextChanged=typed",
				} {
					if !strings.Contains(text, want) {
						t.Errorf("no %q in\n%s", want, text)
					}
				}
			})
		}
	}
}

// TestEveryLayout writes every event of every table with random values. In all layouts, every event must be bound to
// its own message, and every stream must be read exactly to its end.
func TestEveryLayout(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for _, build := range append(protocol.Default().Builds(), 23925, 24247) {
		table, err := protocol.Default().Table(build)
		if err != nil {
			t.Fatal(err)
		}
		r := sc2test.Sample(build)
		r.Method = sc2test.Stored
		var want []string
		streams := []*[]sc2test.Event{&r.Game, &r.Message, &r.Tracker}
		for s, events := range streams {
			*events = nil
			for _, e := range table.Events(protocol.Stream(s)) {
				if e == nil {
					continue
				}
				for range 3 {
					value, _ := sc2test.Random(e.Type, rnd).(sc2test.S)
					*events = append(*events, sc2test.Event{Loop: len(want), User: 1, Name: e.Name, Value: value})
					want = append(want, e.Name)
				}
			}
		}
		r.Loops = len(want)
		d := open(t, r.Bytes()).Events(sc2replay.Options{})
		var got []string
		var ev sc2replay.Event
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("table %d: %v", build, err)
			}
			switch ev.Kind {
			case sc2replay.KindStart, sc2replay.KindDetails, sc2replay.KindLobby, sc2replay.KindAttributes,
				sc2replay.KindGameMetadata, sc2replay.KindPlayerInfo, sc2replay.KindMember, sc2replay.KindEnd:
			case sc2replay.KindOther:
				name := string(ev.Other.Name)
				t.Fatalf("table %d: %s has no message of its own, or a layout that is not bound to it", build, name)
			case sc2replay.KindTriggerUi:
				got = append(got, string(ev.TriggerUi.Name))
			default:
				got = append(got, ev.Kind.String())
			}
		}
		for i, name := range want {
			if i >= len(got) || strings.ReplaceAll(got[i], "_", "") != strings.ToLower(name) && got[i] != name {
				t.Fatalf("table %d: event %d of %d is not %s", build, i, len(got), name)
			}
		}
	}
}

// TestBeta decodes a replay in the presumed form of the beta of 2010: a bit-packed header and the oldest layouts.
func TestBeta(t *testing.T) {
	for _, build := range []int{13891, 14093, 14133, 14219, 14259, 14356, 14593, 14621, 14803, 15133, 15250, 15343, 15392} {
		r := sc2test.Sample(15405)
		r.Beta, r.BaseBuild, r.Version = true, build, [3]int{0, 3, 0}
		p := open(t, r.Bytes())
		if !p.Start.BetaHeader || p.Start.Version.BaseBuild != uint32(build) || p.Start.ElapsedGameLoops != 100_000 {
			t.Errorf("%d: header %+v", build, p.Start)
		}
		lines, err := all(p.Events(sc2replay.Options{}))
		if !errors.Is(err, io.EOF) {
			t.Errorf("%d: %v", build, err)
		}
		if want := "12 cmd Alice/1 ability 38.1 Patrol at {40 50.5 8}"; !slices.Contains(lines, want) {
			t.Errorf("%d: no %q in\n%s", build, want, strings.Join(lines, "\n"))
		}
		if info := p.Start.DecodeInfo; info.TableBuild != 15405 || info.Match != sc2replay.TableMatchNearest {
			t.Errorf("%d: %+v", build, info)
		}
	}
	// Builds since 15405 had it in 1.0, too.
	for _, build := range []int{15449, 15580, 15623} {
		r := sc2test.Sample(15405)
		r.Beta, r.BaseBuild = true, build
		if _, err := all(open(t, r.Bytes()).Events(sc2replay.Options{})); !errors.Is(err, io.EOF) {
			t.Errorf("%d: %v", build, err)
		}
	}
}

func TestBetaNames(t *testing.T) {
	if link, index := sc2replay.BetaAbilityCode(0x060D0A); link != 109 || index != 10 {
		t.Errorf("Factory is %d.%d", link, index)
	}
	for _, tt := range []struct{ got, want string }{
		{sc2replay.BetaEventType(27), "Action"}, {sc2replay.BetaEventType(49), "Replay"}, {sc2replay.BetaEventType(200), ""},
		{sc2replay.BetaEventName(0, 0x05), "UserFinishedLoadingSync"}, {sc2replay.BetaEventName(0, 0x2B), "UserOptions"},
		{sc2replay.BetaEventName(1, 0x09), "PlayerLeave"}, {sc2replay.BetaEventName(1, 0x9B), "Cmd"},
		{sc2replay.BetaEventName(1, 0xAC), "SelectionDelta"}, {sc2replay.BetaEventName(1, 0x3D), "ControlGroupUpdate"},
		{sc2replay.BetaEventName(1, 0x8F), "ResourceTrade"}, {sc2replay.BetaEventName(3, 0xF1), "CameraUpdate"},
		{sc2replay.BetaEventName(3, 0x87), "TriggerDialogControl"}, {sc2replay.BetaEventName(7, 0x0F), ""},
		{sc2replay.SpeedName(0), "Slower"}, {sc2replay.SpeedName(5), ""}, {sc2replay.DifficultyName(5), "Insane"},
		{sc2replay.ColorName(1), "Red"}, {sc2replay.ColorName(15), "Pink"}, {sc2replay.ColorName(0), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// TestFitMovesToNeighbour writes a build between two tables in the layouts of the newer one, as betas were written.
func TestFitMovesToNeighbour(t *testing.T) {
	r := sc2test.Sample(34784)
	r.BaseBuild = 33000
	p := open(t, r.Bytes())
	d := p.Events(sc2replay.Options{})
	var ev sc2replay.Event
	if err := d.Next(&ev); err != nil {
		t.Fatal(err)
	}
	if info := ev.Start.DecodeInfo; info.Match != sc2replay.TableMatchFitted || info.TableBuild != 34784 {
		t.Errorf("%+v", info)
	}
	if _, err := all(d); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestBrokenStream breaks the game events. The events before the break and the other streams must be delivered.
func TestBrokenStream(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Method = sc2test.Stored
	file := r.Bytes()
	at := bytes.Index(file, []byte("a.SC2Save"))
	file[at-3] |= 0xE0 // the number of the event becomes 127
	file[at-2] |= 0x0F
	p := open(t, file)
	lines, err := all(p.Events(sc2replay.Options{}))
	var e *decoders.Error
	if !errors.As(err, &e) || e.Tick < 310 || e.Offset == 0 || !strings.Contains(e.What, "replay.game.events") {
		t.Errorf("error %v", err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"12 cmd", "300 unit_died", "320 ping", "end -"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "game_user_leave") {
		t.Error("an event from beyond the break")
	}
}

func TestBackups(t *testing.T) {
	table, _ := protocol.Default().Table(80949)
	r := sc2test.Sample(80949)
	details := r.Details
	r.Details = sc2test.S{"title": "blanked"}
	r.More = append(r.More, sc2test.Member{Name: "replay.details.backup", Data: sc2test.AppendVersioned(nil, table.Details, details)})
	var w sc2test.PackedWriter
	w.Value(table.InitData, r.InitData)
	r.InitData = nil
	r.More = append(r.More, sc2test.Member{Name: "replay.initData.backup", Data: w.Buf})
	p := open(t, r.Bytes())
	if p.Fault != nil {
		t.Error(p.Fault)
	}
	if string(p.Details.Title) != "Testbed" || len(p.Players) != 3 {
		t.Errorf("%q with %d players", p.Details.Title, len(p.Players))
	}
}

func TestWithoutLobbyOrDetails(t *testing.T) {
	r := sc2test.Sample(80949)
	r.InitData = nil
	if p := open(t, r.Bytes()); len(p.Players) != 2 || string(p.Players[1].Ref.Name) != "Bob" || p.Players[1].Ref.PlayerId != 2 {
		t.Errorf("without a lobby: %+v", p.Players)
	}
	r = sc2test.Sample(80949)
	r.Details = nil
	if p := open(t, r.Bytes()); len(p.Players) != 3 || string(p.Players[1].Race) != "Zerg" {
		t.Errorf("without details: %+v", p.Players)
	}
}

// TestClock checks real seconds and the clock that the game showed, in old and new replays, and where the speed comes from.
func TestClock(t *testing.T) {
	at := func(build, speed int, without ...string) *sc2test.Replay {
		r := sc2test.Sample(build)
		r.Loops = 22400
		r.Details["gameSpeed"] = speed
		r.InitData["syncLobbyState"].(sc2test.S)["gameDescription"].(sc2test.S)["gameSpeed"] = speed
		r.Attributes[0].Value = []string{"Slor", "Slow", "Norm", "Fast", "Fasr"}[speed]
		r.Without = without
		return r
	}
	all := []string{"replay.details", "replay.initData", "replay.attributes.events"}
	for _, tt := range []struct {
		name           string
		r              *sc2test.Replay
		real, shown    float64
		perReal, perOf float64
		speed          string
	}{
		{"new", at(80949, 4), 1000, 1000, 22.4, 22.4, "Faster"},
		{"old", at(24764, 4), 1000, 1400, 22.4, 16, "Faster"},
		{"oldest", at(15405, 4), 1000, 1400, 22.4, 16, "Faster"},
		{"new, slower", at(80949, 0), 22400 / 9.6, 22400 / 9.6, 9.6, 9.6, "Slower"},
		{"old, normal", at(17266, 2), 1400, 1400, 16, 16, "Normal"},
		{"of the lobby", at(80949, 3, all[0]), 22400 / 19.2, 22400 / 19.2, 19.2, 19.2, "Fast"},
		{"of the attributes", at(80949, 1, all[:2]...), 22400 / 12.8, 22400 / 12.8, 12.8, 12.8, "Slow"},
		{"assumed", at(80949, 1, all...), 1000, 1000, 22.4, 22.4, ""},
	} {
		s := open(t, tt.r.Bytes()).Start
		for what, pair := range map[string][2]float64{
			"real": {s.RealSeconds, tt.real}, "clock": {s.ClockSeconds, tt.shown}, "normal": {s.GameSeconds, 1400},
			"loops per real": {s.LoopsPerRealSecond, tt.perReal}, "loops per clock": {s.LoopsPerClockSecond, tt.perOf},
		} {
			if d := pair[0] - pair[1]; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s: %s seconds %v, want %v", tt.name, what, pair[0], pair[1])
			}
		}
		if string(s.GameSpeed) != tt.speed {
			t.Errorf("%s: speed %q", tt.name, s.GameSpeed)
		}
	}
}

func TestSeek(t *testing.T) {
	u, err := open(t, sc2test.Sample(80949).Bytes()).Unpack()
	if err != nil {
		t.Fatal(err)
	}
	d := u.Events(sc2replay.Options{})
	var positions []decoders.Position
	var lines []string
	var ev sc2replay.Event
	for {
		at := d.Position()
		if n := len(positions); n > 0 && (at.Offset < positions[n-1].Offset || at == positions[n-1]) {
			t.Fatalf("position %+v after %+v", at, positions[n-1])
		}
		if d.Next(&ev) != nil {
			break
		}
		positions = append(positions, at)
		lines = append(lines, line(&ev))
	}
	for i, at := range positions {
		d := u.Events(sc2replay.Options{})
		if err := d.Seek(at); err != nil || d.Position() != at {
			t.Fatalf("%+v: at %+v: %v", at, d.Position(), err)
		}
		if rest, _ := all(d); !slices.Equal(rest, lines[i:]) {
			t.Fatalf("from %+v: %d events, want %d", at, len(rest), len(lines)-i)
		}
	}
}

func TestWant(t *testing.T) {
	p := open(t, sc2test.Sample(80949).Bytes())
	want := sc2replay.Kinds{sc2replay.KindPlayerInfo: true, sc2replay.KindEnd: true}
	d := p.Events(sc2replay.Options{Want: &want})
	var ev sc2replay.Event
	n := 0
	for d.Next(&ev) == nil {
		if ev.Kind == sc2replay.KindPlayerInfo {
			n++
		}
		if ev.Kind == sc2replay.KindMember && ev.Member.Data != nil {
			t.Error("contents that are not in Want")
		}
	}
	if n != 3 || ev.Kind != sc2replay.KindEnd {
		t.Errorf("%d players, then %v", n, ev.Kind)
	}
}

// TestWantChangesNothing checks that all events are delivered at the same positions, whatever Want is.
func TestWantChangesNothing(t *testing.T) {
	u, err := open(t, sc2test.Sample(80949).Bytes()).Unpack()
	if err != nil {
		t.Fatal(err)
	}
	places := func(want *sc2replay.Kinds) (out []string) {
		d := u.Events(sc2replay.Options{Want: want})
		var ev sc2replay.Event
		for at := d.Position(); d.Next(&ev) == nil; at = d.Position() {
			ev.Member.Data = nil
			out = append(out, fmt.Sprint(at, line(&ev)))
		}
		return out
	}
	all := places(nil)
	for k := range sc2replay.KindCount {
		var want sc2replay.Kinds
		want[k] = true
		if got := places(&want); !slices.Equal(got, all) {
			t.Errorf("%v only: %d events, want %d", sc2replay.Kind(k), len(got), len(all))
		}
	}
}

func TestPrivateMember(t *testing.T) {
	r := sc2test.Sample(80949)
	r.More = append(r.More, sc2test.Member{Name: "replay.server.battlelobby", Data: []byte("Name#1234")})
	p := open(t, r.Bytes())
	for _, reveal := range []bool{false, true} {
		lines, _ := all(p.Events(sc2replay.Options{RevealPrivate: reveal}))
		if got := strings.Contains(strings.Join(lines, "\n"), "Name#1234"); got != reveal {
			t.Errorf("reveal %v: has contents: %v", reveal, got)
		}
	}
}

func TestAllocations(t *testing.T) {
	r := sc2test.Sample(80949)
	var events []sc2test.Event
	for i := range 2000 {
		e := r.Game[2+i%3]
		e.Loop = i
		events = append(events, e)
	}
	r.Game, r.Loops = events, 2000
	u, err := open(t, r.Bytes()).Unpack()
	if err != nil {
		t.Fatal(err)
	}
	var ev sc2replay.Event
	if n := testing.AllocsPerRun(5, func() {
		d := u.Events(sc2replay.Options{})
		for d.Next(&ev) == nil {
		}
	}); n > 200 {
		t.Errorf("%v allocations for %d events: it should be those for the head of the replay only", n, len(events))
	}
}

// TestPhantoms checks that a computer that observes is nobody, unless the details list it, and that others keep their numbers.
func TestPhantoms(t *testing.T) {
	r := sc2test.Sample(80949)
	state := r.InitData["syncLobbyState"].(sc2test.S)["lobbyState"].(sc2test.S)
	slot := func(set int) sc2test.S {
		return sc2test.S{"control": 3, "observe": 1, "workingSetSlotId": set, "handicap": 100}
	}
	state["slots"] = slices.Insert(state["slots"].([]any), 1, any(slot(20)), any(slot(21)))
	r.Details["playerList"] = append(r.Details["playerList"].([]any), sc2test.S{"name": "A.I.", "control": 3, "workingSetSlotId": 21, "result": 2})
	var got []string
	for _, p := range open(t, r.Bytes()).Players {
		got = append(got, fmt.Sprintf("%s %d observer %v computer %v", p.Ref.Name, p.Ref.PlayerId, p.Observer, p.Computer))
	}
	want := []string{
		"Alice 1 observer false computer false", "A.I. 3 observer false computer true", "Bob 4 observer false computer false",
		"Watcher 5 observer true computer false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestNothingIsAbsent checks that values that stand for nothing are absent, and that hashes are text.
func TestNothingIsAbsent(t *testing.T) {
	r := sc2test.Sample(80949)
	users := r.InitData["syncLobbyState"].(sc2test.S)["userInitialData"].([]any)
	for i, rating := range []int{-36400, 4321} {
		users[i].(sc2test.S)["scaledRating"] = rating
	}
	hash := strings.Repeat("\xA5", 32)
	users[1].(sc2test.S)["clanLogo"] = "s2ma\x00\x00KR" + hash
	r.Details["cacheHandles"] = []any{"s2ma\x00\x00EU" + hash, "\xFF2ma\x00\x00EU" + hash}
	r.Metadata = `{"Players":[{"PlayerID":1,"MMR":-36400},{"PlayerID":2,"MMR":-36400}]}`
	p := open(t, r.Bytes())
	if a, b := &p.Players[0], &p.Players[1]; a.HasMmr || !b.HasMmr || b.Mmr != 4321 {
		t.Errorf("ratings %+v, %+v", a, b)
	}
	if u := &p.Lobby.UserInitialData[0]; u.HasScaledRating || u.ScaledRating != 0 || p.Metadata.Players[0].HasMmr {
		t.Errorf("ratings %+v, %+v", u, p.Metadata)
	}
	text := strings.Repeat("a5", 32)
	for got, want := range map[string]string{
		string(p.Details.CacheHandles[0]): "EU/" + text + ".s2ma", string(p.Details.CacheHandles[1]): "ff326d6100004555" + text,
		string(p.Lobby.UserInitialData[1].ClanLogo): "KR/" + text + ".s2ma", string(p.Start.NgdpRootKey.Data): strings.Repeat("0", 32),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
