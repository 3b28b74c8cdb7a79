package terminal_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// marked marks what has a colour. It stands for [terminal.Painter.Paint].
func marked(_ terminal.Color, text string) string { return "<" + text + ">" }

func dimmed(text string) string { return "<" + text + ">" }

// goldens compares what is printed on terminals of 80 and 120 columns, with colours and without. Colours change nothing else.
func goldens(t *testing.T, name string, printed func(width int, coloured bool) []byte) {
	t.Helper()
	for _, width := range []int{80, 120} {
		plain, coloured := printed(width, false), printed(width, true)
		golden(t, fmt.Sprintf("%s-%d.txt", name, width), plain)
		golden(t, fmt.Sprintf("%s-%d-coloured.txt", name, width), coloured)
		if uncoloured := strings.NewReplacer("<", "", ">", "").Replace(string(coloured)); uncoloured != string(plain) {
			t.Errorf("%s: colours change more than colours", name)
		}
	}
}

// TestList: a narrow terminal gets fewer columns, and a wide one gives what is left to what was cut.
func TestList(t *testing.T) {
	goldens(t, "list", func(width int, coloured bool) []byte {
		l := &terminal.List{Width: width}
		if coloured {
			l.Paint = marked
		}
		return list(t, l, replays()...)
	})
	golden(t, "list-300.txt", list(t, &terminal.List{Width: 300}, replays()...))
}

// TestTable is TestList for rows of texts, of which the last is never cut.
func TestTable(t *testing.T) {
	goldens(t, "table", func(width int, coloured bool) []byte {
		var out bytes.Buffer
		table := &terminal.Table{Out: &out, Width: width, Columns: []terminal.Column{
			{Title: "ID"}, {Title: "TENANT", Wide: true}, {Title: "FAILURE", Most: 30}, {Title: "SOURCE"},
		}}
		if coloured {
			table.Paint = marked
		}
		for _, row := range [][]string{
			{"1", "default", "CORRUPT at byte 77: something that is longer than the column\x1b[2J", "games/a.dem"}, {"22", "\u202e", "", strings.Repeat("long/", 40)},
		} {
			if err := table.Add(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	})
}

// TestEvents: the line of an event is cut where the terminal ends, with what it has of colours.
func TestEvents(t *testing.T) {
	events := []string{
		`{"sequence":"0","offset":"7","index":"1","at_tick":10,"kind":"join","join":{"client_id":0}}`,
		`{"sequence":"1","offset":"7","index":"2","at_tick":-2147483648,"kind":"message","message":{"text":"hi \u001b[2J` + "\u202e \u0085" + `","list":[1, 2],"more":{"a":"` +
			strings.Repeat("名", 50) + `"}},"warnings":["odd"]}`,
		`{"sequence":"2","offset":"8","index":"0","at_tick":1,"kind":"a_kind_of_more_than_eighteen_letters","a_kind_of_more_than_eighteen_letters":{}}`,
	}
	printed := func(width int, coloured bool) []byte {
		var out []byte
		for _, event := range events {
			var err error
			if out, err = (&terminal.Events{Width: width, Painter: terminal.Painter{On: coloured}}).Append(out, []byte(event)); err != nil {
				t.Fatal(err)
			}
			out = append(out, '\n')
		}
		if coloured { // sequences of escapes as marks
			out = []byte(strings.NewReplacer("\x1b[0m", ">", "\x1b[2m", "<", "\x1b[32m", "<", "\x1b[36m", "<").Replace(string(out)))
		}
		return out
	}
	goldens(t, "events", printed)
	golden(t, "events-whole.txt", printed(0, false))
	whole := strings.Split(string(printed(1000, false)), "\n")
	for width := 1; width < 200; width++ {
		for i, line := range strings.Split(string(printed(width, false)), "\n") {
			if n := terminal.Cells(line); n > width || line != whole[i] && (terminal.Cells(whole[i]) <= width || !strings.HasSuffix(line, "…")) {
				t.Errorf("a line of %d on a terminal of %d: %q of %q", n, width, line, whole[i])
			}
		}
	}
	if _, err := (&terminal.Events{}).Append(nil, []byte(`{"kind":`)); err == nil {
		t.Error("no error for half an event")
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
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want || bytes.Count(out.Bytes(), []byte("NAME")) != min(1, n) {
			t.Errorf("%d replays have %d lines", n, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	goldens(t, "describe", func(width int, coloured bool) []byte {
		d := terminal.Description{Width: width}
		if coloured {
			d.Dim = dimmed
		}
		return describe(t, &d)
	})
	whole := describe(t, &terminal.Description{})
	golden(t, "describe.txt", whole)
	for width := 36; width < 130; width++ { // on a narrow terminal there are more lines, of the same words
		narrow := string(describe(t, &terminal.Description{Width: width}))
		if got, want := strings.Fields(narrow), strings.Fields(string(whole)); !slices.Equal(got, want) {
			t.Errorf("on a terminal of %d: %q", width, narrow)
		}
		for line := range strings.SplitSeq(narrow, "\n") {
			if n := terminal.Cells(line); n > width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
	}
	var out bytes.Buffer
	long := strings.Repeat("long ", 40) + "name"
	if err := (&terminal.Description{Out: &out, Width: 80}).Print(&replaydv1.Replay{Name: long}, nil); err != nil || !strings.Contains(out.String(), long) {
		t.Errorf("a name, which other commands take, is printed as %q: %v", out.String(), err)
	}
}

func describe(t *testing.T, d *terminal.Description) []byte {
	t.Helper()
	var out bytes.Buffer
	d.Out = &out
	for i, r := range replays() {
		var counts *terminal.Counts
		if i == 0 {
			counts = &terminal.Counts{End: "error", Detail: "cut\x1b[2J short", Events: map[string]int64{"rare": 1, "often": 1234, "also_rare": 1},
				Unknown: []*demv1.UnknownField{{Message: "CMsg", Number: 9, Count: 3}, {Message: "CMsg", Number: 2, Count: 1, Changed: true}}, MoreUnknown: 4}
		}
		if err := d.Print(r, counts); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	return out.Bytes()
}

// TestResult: what a list says of who played and how it ended.
func TestResult(t *testing.T) {
	win, loss, tie := replaydv1.PlayerResult_PLAYER_RESULT_WIN, replaydv1.PlayerResult_PLAYER_RESULT_LOSS, replaydv1.PlayerResult_PLAYER_RESULT_TIE
	played := func(results ...replaydv1.PlayerResult) *replaydv1.Replay {
		r := &replaydv1.Replay{}
		for i, result := range results {
			team := int32(i)
			r.Players = append(r.Players, &replaydv1.Player{Name: string(rune('A' + i)), Team: &team, Result: result})
		}
		r.Lineup = codec.Lineup(r.GetPlayers())
		return r
	}
	raced := &replaydv1.Replay{Participants: []*replaydv1.Participant{
		{Names: []string{"slow"}, Finishes: []*replaydv1.Finish{{Time: 5000}, {Time: 4000}}},
		{Names: []string{"before", "fast"}, Finishes: []*replaydv1.Finish{{Time: 3377}, {Time: 3400}}},
		{}, {Names: []string{"slow"}},
	}}
	fought := played(loss, win, win) // a demo of Dota 2
	fought.Format, fought.Players[2].Team = replaydv1.Format_FORMAT_DEM, new(int32(3))
	*fought.Players[0].Team, *fought.Players[1].Team = 2, 3
	fought.Lineup = codec.Lineup(fought.GetPlayers())
	for _, c := range []struct {
		of              *replaydv1.Replay
		players, result string
	}{
		{played(), "", ""},
		{played(win, loss), "A vs B", "A won"},
		{played(win, win, loss), "A, B, C", "A and B won"},
		{played(win, win), "A vs B", ""},
		{played(loss, loss, win), "A, B, C", "C won"},
		{played(tie, tie), "A vs B", "tie"},
		{played(loss, loss), "A vs B", ""},
		{fought, "A vs B, C", "Dire won"},
		{raced, "slow, fast", "1:07.54 fast"},
	} {
		if players, result := terminal.Players(c.of), terminal.Result(c.of); players != c.players || result != c.result {
			t.Errorf("%q, %q; want %q, %q", players, result, c.players, c.result)
		}
	}
}
