package terminal_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/cmd/internal/terminal"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

var update = flag.Bool("update", false, "write the golden files")

// replays are one of each kind, with names that a hostile file may have.
func replays() []*replaydv1.Replay {
	at := timestamppb.New(time.Date(2026, 7, 19, 9, 31, 43, 0, time.UTC))
	team := func(n int32) *int32 { return &n }
	all := []*replaydv1.Replay{{
		Name: "games/a.SC2Replay", Format: replaydv1.Format_FORMAT_SC2REPLAY, State: replaydv1.ReplayState_REPLAY_STATE_FINISHED,
		MapName: "Ruby Rock LE", SizeBytes: 243_100, ModifyTime: at, StartTime: at, Duration: durationpb.New(1122 * time.Second),
		Players: []*replaydv1.Player{
			{Name: "herO", Character: "Protoss", Team: team(0), Result: replaydv1.PlayerResult_PLAYER_RESULT_WIN},
			{Name: "SHIN", Character: "Zerg", Team: team(1), Result: replaydv1.PlayerResult_PLAYER_RESULT_LOSS},
		},
		Doubts: []string{"names are guesses\x1b[2J", "events may be false"},
		Header: &replaydv1.Replay_Sc2Replay{Sc2Replay: &sc2replayv1.Header{Start: &sc2replayv1.Start{
			Version: &sc2replayv1.Version{Major: 5, Minor: 0, Revision: 16, Build: 97563},
		}}},
	}, {
		Name: "games/live.teehistorian", Format: replaydv1.Format_FORMAT_TEEHISTORIAN, State: replaydv1.ReplayState_REPLAY_STATE_GROWING,
		MapName: "Sunny\x1b[31m Side\u202e Up\n", SizeBytes: 12_392, ModifyTime: at, TicksPerSecond: new(float64),
		Players: []*replaydv1.Player{{Name: "nameless tee"}, {Name: "名前のないプレイヤー"}, {Name: "x\ty\x7f"}, {Name: "e\u0301"}, {Name: ""}},
		Participants: []*replaydv1.Participant{
			{ClientId: 3, Names: []string{"Ada", "Grace\r"}, Clan: "[\x07]", FromTick: new(int32), ToTick: team(4550), Roles: []string{"admin"}, LeaveReason: new("bye"), FinishCount: 2},
			{ClientId: 4, FromTick: new(int32(100))},
		},
		ParticipantsLeftOut: 7,
		Header:              &replaydv1.Replay_Teehistorian{Teehistorian: &teehistorianv1.Header{ServerName: "My \x1b]0;server\x07", ServerVersion: "0.6.4, 16.4"}},
	}, {
		Name: "games/match.dem.gz", Format: replaydv1.Format_FORMAT_DEM, Compression: replaydv1.Compression_COMPRESSION_GZIP, MapName: "dota",
		SizeBytes: 52_700_000_000, Duration: durationpb.New(3909 * time.Second),
		Players: []*replaydv1.Player{
			{Name: "a1", Team: team(2)}, {Name: "a2", Team: team(2)}, {Name: "a3", Team: team(2)}, {Name: "b1", Team: team(3)}, {Name: "b2", Team: team(3)},
		},
	}, {Name: "maps/empty.map", Format: replaydv1.Format_FORMAT_DATAFILE}}
	for _, r := range all {
		r.Lineup = codec.Lineup(r.GetPlayers())
	}
	return all
}

// golden compares what was printed with a file, which -update writes. Nothing printed may command a terminal.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if i := bytes.IndexFunc(got, func(r rune) bool {
		return r != '\n' && (r < ' ' || r == 0x7f || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069)
	}); i >= 0 {
		t.Errorf("%s: byte %d commands the terminal: %q", name, i, got)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: printed\n%s\nwant\n%s", name, got, want)
	}
}

func list(t *testing.T, l *terminal.List, replays ...*replaydv1.Replay) []byte {
	t.Helper()
	var out bytes.Buffer
	l.Out = &out
	for _, r := range replays {
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestList: a narrow terminal gets fewer columns, and a wide one gives what is left to what was cut.
func TestList(t *testing.T) {
	golden(t, "list-80.txt", list(t, &terminal.List{Width: 80}, replays()...))
	golden(t, "list-120.txt", list(t, &terminal.List{Width: 120}, replays()...))
	golden(t, "list-300.txt", list(t, &terminal.List{Width: 300}, replays()...))
	coloured := list(t, &terminal.List{Width: 80, Dim: func(s string) string { return "<" + s + ">" }}, replays()...)
	if first, rest, _ := strings.Cut(string(coloured), "\n"); !strings.HasPrefix(first, "<FORMAT") || !strings.HasSuffix(first, "NAME>") || strings.Contains(rest, "<") {
		t.Errorf("the titles alone have a colour, and have %s", coloured)
	}
}

// TestPages: a long list has its titles once, each replay once, and no more of it waits than a page.
func TestPages(t *testing.T) {
	for _, n := range []int{0, 1, terminal.PageSize, terminal.PageSize + 1, 3 * terminal.PageSize} {
		var out bytes.Buffer
		l := &terminal.List{Out: &out, Width: 80}
		for i := range n {
			if err := l.Add(replays()[i%4]); err != nil {
				t.Fatal(err)
			}
			if waiting := i + 1 - max(0, bytes.Count(out.Bytes(), []byte("\n"))-1); waiting >= terminal.PageSize {
				t.Fatalf("%d replays wait", waiting)
			}
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		want := n
		if n > 0 {
			want++
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want || bytes.Count(out.Bytes(), []byte("FORMAT")) != min(1, n) {
			t.Errorf("%d replays have %d lines", n, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	var out bytes.Buffer
	for i, r := range replays() {
		var counts *terminal.Counts
		if i == 0 {
			counts = &terminal.Counts{End: "error", Detail: "cut\x1b[2J short", Events: map[string]int64{"rare": 1, "often": 1234, "also_rare": 1},
				Unknown: []*demv1.UnknownField{{Message: "CMsg", Number: 9, Count: 3}, {Message: "CMsg", Number: 2, Count: 1, Changed: true}}, MoreUnknown: 4}
		}
		if err := terminal.Describe(&out, r, counts); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden(t, "describe.txt", out.Bytes())
}
