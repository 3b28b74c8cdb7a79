package facts_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
)

var (
	update = flag.Bool("update", false, "write the golden file anew")
	all    = flag.Bool("all", false, "TestPrefixes takes all files of the corpus")
)

// concluded returns the facts of a file, as far as it can be read.
func concluded(tb testing.TB, data []byte, visit func(ev *event)) {
	tb.Helper()
	d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
	h, err := d.Header()
	if err != nil {
		if len(data) < teehistorian.MaxHeader {
			return // it is cut
		}
		tb.Fatal(err)
	}
	fold := facts.New(h, everything)
	var ev, fact event
	for d.Next(&ev) == nil {
		for fold.Apply(&ev); fold.Next(&fact); {
			visit(&fact)
		}
	}
}

// lines returns the facts of a file as lines.
func lines(tb testing.TB, data []byte) (all []string) {
	tb.Helper()
	concluded(tb, data, func(ev *event) { all = append(all, text(ev)) })
	return all
}

// samples returns the paths of the samples.
func samples(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "teehistorian", "*", "*.teehistorian"))
	if err != nil || len(files) == 0 {
		tb.Skip("there are no samples", err)
	}
	return files
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestGolden compares the facts of the samples with those that were found before.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, path := range samples(t) {
		fmt.Fprintf(&b, "%s\n%s\n\n", filepath.Base(path), strings.Join(lines(t, read(t, path)), "\n"))
	}
	golden := filepath.Join("testdata", "samples.txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(b.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, golden)), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPrefixes: the facts of a file that was cut anywhere are a beginning of those of the whole.
func TestPrefixes(t *testing.T) {
	var inputs [][]byte
	for _, path := range samples(t) {
		if strings.Contains(path, "finished") {
			data := read(t, path)
			inputs = append(inputs, data, teetest.Repeat(data, 60_000), teetest.Damage(teetest.Repeat(data, 60_000)))
		}
	}
	if *all {
		err := filepath.WalkDir(decodertest.Shared(t, "corpus", "teehistorian"), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".teehistorian" {
				inputs = append(inputs, read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, data := range inputs {
		whole := lines(t, data)
		if len(whole) == 0 && !*all {
			t.Errorf("file %d has no facts", i)
		}
		step := max(1000, len(data)/500)
		for n := 0; n < len(data); n += step {
			if part := lines(t, data[:n]); len(part) > len(whole) || !slices.Equal(part, whole[:len(part)]) {
				t.Fatalf("file %d: the facts of the first %d bytes are no beginning of those of all %d", i, n, len(data))
			}
		}
	}
}

// What a server's log says of a rank that it saves, of a client that leaves, of a client that changes its team, of one that says the sentence
// by which the server finds bots, and of what clients type on the remote console. The log has a line for ranks that were saved, for clients
// that had entered the game, for changes that clients asked for, and for commands that the server refuses.
var (
	rank    = regexp.MustCompile(`(?m)INTO record_race\(.*VALUES \('.*?', '(.*)', DATETIME\(.*?\), (\d+\.\d\d),`)
	leave   = regexp.MustCompile(`(?m)chat: \*{3} '(.*)' has left the game(?: \((.*)\))?$`)
	regroup = regexp.MustCompile(`(?m)chat: \*{3} '(.*)' joined team (\d+)$`)
	bot     = regexp.MustCompile(`(?m)hack: (bot) detected, cid=(\d+)$`)
	kill    = regexp.MustCompile(`(?m)game: kill killer='.*' victim='(\d+):.*' weapon=(-[12]) special`)
	typed   = regexp.MustCompile(`(?m)server: ClientId=(\d+) key='\w+' rcon='(.*)'$`)
)

// TestLogs compares facts with the logs of real servers: how many there are, what each says, and the name where the file has it.
func TestLogs(t *testing.T) {
	total := map[teehistorian.Kind]int{}
	unmarked := 0
	for _, run := range decodertest.Recordings(t) {
		if strings.HasPrefix(run.Name, "diskfull") {
			continue // these files lack what the log has
		}
		parts := strings.Split(run.Log, "teehistorian: recording to ")[1:]
		for i, data := range run.Games {
			if data == nil {
				continue
			}
			logged := map[teehistorian.Kind][]string{}
			for kind, form := range map[teehistorian.Kind]*regexp.Regexp{
				teehistorian.KindFactFinish: rank, teehistorian.KindFactSession: leave, teehistorian.KindFactTeam: regroup,
				teehistorian.KindFactDeath: kill, teehistorian.KindFactChat: bot, teehistorian.KindFactCommand: typed,
			} {
				for _, m := range form.FindAllStringSubmatch(parts[i], -1) {
					logged[kind] = append(logged[kind], m[1]+": "+m[2])
				}
			}
			concluded(t, data, func(ev *event) {
				var name []byte
				var what string
				switch ev.Kind {
				case teehistorian.KindFactFinish:
					name, what = ev.FactFinish.Name, fmt.Sprintf("%.2f", ev.FactFinish.Seconds)
				case teehistorian.KindFactSession:
					s := &ev.FactSession
					if s.End != teehistorian.SessionEndDropped || !s.HasEnteredTick {
						return
					}
					name, what = s.Name, string(s.Reason)
				case teehistorian.KindFactTeam:
					name, what = ev.FactTeam.Name, fmt.Sprint(ev.FactTeam.Team)
				case teehistorian.KindFactDeath:
					name, what = fmt.Append(nil, ev.FactDeath.ClientId), fmt.Sprint(-ev.FactDeath.Rule)
				case teehistorian.KindFactChat:
					name, what = []byte("bot"), fmt.Sprint(ev.FactChat.ClientId)
				case teehistorian.KindFactCommand:
					c := &ev.FactCommand
					if c.Source != teehistorian.CommandSourceRemoteConsole {
						return
					}
					name = fmt.Append(nil, c.ClientId)
					what = string(bytes.Join(append([][]byte{c.Command}, c.Arguments...), []byte(" ")))
				default:
					return
				}
				line := fmt.Sprintf("%s: %s", name, what)
				list := logged[ev.Kind]
				at := slices.IndexFunc(list, func(l string) bool { return l == line || len(name) == 0 && strings.HasSuffix(l, line) })
				switch {
				case at >= 0:
					total[ev.Kind]++
					logged[ev.Kind] = slices.Delete(list, at, at+1)
				case ev.Kind != teehistorian.KindFactTeam: // the server changes teams, too
					t.Errorf("%s, game %d: %s %q is not in the log", run.Name, i, ev.Kind, line)
				}
			})
			for kind, left := range logged {
				if kind == teehistorian.KindFactDeath { // a client who asks to die where it has spawned leaves no mark
					marked := slices.DeleteFunc(left, func(line string) bool { return strings.HasSuffix(line, ": -2") })
					unmarked += len(left) - len(marked)
					left = marked
				}
				if len(left) > 0 && kind != teehistorian.KindFactCommand {
					t.Errorf("%s, game %d: only the log has %s %q", run.Name, i, kind, left)
				}
			}
		}
	}
	if total[teehistorian.KindFactFinish] < 110 || total[teehistorian.KindFactSession] < 100 || total[teehistorian.KindFactTeam] < 15 ||
		total[teehistorian.KindFactChat] < 7 || total[teehistorian.KindFactCommand] < 30 || total[teehistorian.KindFactDeath] < 110 || unmarked > 15 {
		t.Errorf("only %v", total)
	}
	t.Logf("%v, %d deaths are in the log alone", total, unmarked)
}

// FuzzFacts concludes the facts of arbitrary records: a Fold that was restored in between has the same ones, and there is room for all
// that an event completes.
func FuzzFacts(f *testing.F) {
	header, records := teetest.Parts(read(f, samples(f)[0]))
	f.Add(records[:2000], uint16(0))
	f.Add(records[len(records)-2000:], uint16(9))
	f.Fuzz(func(t *testing.T, records []byte, every uint16) {
		d := teehistorian.New(bytes.NewReader(slices.Concat(header, records)), teehistorian.Options{})
		h, err := d.Header()
		if err != nil {
			t.Fatal(err)
		}
		fold, other := facts.New(h, everything), facts.New(h, everything)
		var ev event
		for n := 1; d.Next(&ev) == nil; n++ {
			got := apply(fold, &ev)
			if !slices.Equal(apply(other, &ev), got) || len(got) >= decoders.Room {
				t.Fatalf("%d facts of %s, others where the Fold was restored", len(got), ev.Kind)
			}
			if n%(int(every)+100) != 0 {
				continue
			}
			if other, err = facts.Restore(h, everything, other.Snapshot(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
