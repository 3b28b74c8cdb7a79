package succession_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/succession"
)

const sampleFile = "../../testdata/teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"

func uuidOf(number int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", number) }

// game describes a file: the records of a sample after a header of its own.
type game struct {
	file         string
	number, prev int // numbers for the game UUIDs; prev 0 means none
	started      time.Time
	modified     time.Time // zero means a minute after the start
	server       string    // its name, "ctf" if empty
}

func (g game) write(t *testing.T, dir string) {
	t.Helper()
	sample, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.IndexByte(sample[16:], 0) + 16
	header := map[string]any{}
	if err := json.Unmarshal(sample[16:end], &header); err != nil {
		t.Fatal(err)
	}
	header["game_uuid"], header["server_name"] = uuidOf(g.number), cmp.Or(g.server, "ctf")
	header["start_time"] = g.started.UTC().Format("2006-01-02T15:04:05-0700")
	if g.prev != 0 {
		header["prev_game_uuid"] = uuidOf(g.prev)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	data := slices.Concat(sample[:16], text, sample[end:])
	if filepath.Ext(g.file) == ".gz" {
		data = decodertest.Gzip(t, data)
	}
	path := filepath.Join(dir, g.file)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	modified := g.modified
	if modified.IsZero() {
		modified = g.started.Add(time.Minute)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

// indexOf returns an index of a directory, the root r.
func indexOf(t *testing.T, dir string) *index.Index {
	t.Helper()
	files, err := catalog.New([]catalog.Root{{Alias: "r", Dir: dir}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(index.Config{
		Files: files, Log: slog.New(slog.DiscardHandler), Codec: registry.Of, Describe: describe.Replay,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// foundIn reads the games of a directory, and finds what may follow the one in the file "of".
func foundIn(t *testing.T, dir string, finished bool) succession.Found {
	t.Helper()
	x := indexOf(t, dir)
	if _, err := x.InDirectory(t.Context(), "r", index.Everything()); err != nil { // reads all headers
		t.Fatal(err)
	}
	e, err := x.Get(t.Context(), "r/of", index.Everything())
	if err != nil {
		t.Fatal(err)
	}
	found, err := (&succession.Finder{Index: x}).Find(t.Context(), e, finished, index.Everything())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLikely: the games with which a server may have gone on are named, those of the same server first and in the order in which they began,
// each once. Of a game without an end only those of the same server are.
func TestLikely(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	for i, g := range []game{
		{file: "of"}, {file: "before", started: began.Add(-time.Hour)}, {file: "a", server: "other"}, {file: "c"}, {file: "b"}, {file: "b.gz"}, {file: "d", prev: 4},
	} {
		if g.number = i + 1; g.started.IsZero() {
			g.started = began.Add(time.Duration(map[string]int{"of": 0, "a": 70, "b": 80, "b.gz": 80, "c": 90, "d": 100}[g.file]) * time.Second)
		}
		if g.file == "b.gz" {
			g.number = 5
		}
		g.write(t, dir)
	}
	for finished, want := range map[bool][]string{true: {"b", "c", "a"}, false: {"b", "c"}} {
		var got []string
		for _, name := range foundIn(t, dir, finished).Likely {
			got = append(got, strings.TrimSuffix(filepath.Base(name), ".gz"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("finished %t: %q, want %q", finished, got, want)
		}
	}
}

// TestFind checks which files around a finished game are found as linked, as restarted, and as next.
func TestFind(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := game{file: "of", number: 1, started: began} // it ended after a minute
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for what, test := range map[string]struct {
		others                  []game
		linked, restarted, next string // names of files
	}{
		"of copies that name it, the one that may grow": {
			[]game{{file: "a.gz", number: 2, prev: 1, started: at(60)}, {file: "b", number: 2, prev: 1, started: at(60)}}, "b", "", "",
		},
		"of games that name it, the one that began first": {
			[]game{{file: "a", number: 2, prev: 1, started: at(90)}, {file: "b", number: 3, prev: 1, started: at(61)}}, "b", "", "",
		},
		"of copies that began next, the one that may grow": {
			[]game{{file: "a.gz", number: 2, started: at(70)}, {file: "b", number: 2, started: at(70)}}, "", "b", "b",
		},
		"a clock that is two seconds slow":   {[]game{{file: "a", number: 2, started: at(58)}}, "", "a", "a"},
		"a game that began before it ended":  {[]game{{file: "a", number: 2, started: at(57)}}, "", "", "a"},
		"two servers that began at once":     {[]game{{file: "a", number: 2, started: at(70)}, {file: "b", number: 3, started: at(71)}}, "", "", "a"},
		"two servers, one after the other":   {[]game{{file: "a", number: 2, started: at(70)}, {file: "b", number: 3, started: at(72)}}, "", "a", "a"},
		"an earlier game of the same server": {[]game{{file: "a", number: 2, started: at(-90)}, {file: "b", number: 3, started: at(70)}}, "", "b", "b"},
		"the other of two servers of one name, during a short game": {
			[]game{
				{file: "of", number: 1, started: began, modified: at(3)},
				{file: "a", number: 2, started: at(-60), modified: at(0)}, {file: "b", number: 3, started: at(-60), modified: at(1)},
				{file: "c", number: 4, started: at(2)},
			}, "", "", "c",
		},
		"two servers of one name, long ago": {
			[]game{
				{file: "a", number: 2, started: at(-7300), modified: at(-7200)}, {file: "b", number: 3, started: at(-7290), modified: at(-7210)},
				{file: "c", number: 4, started: at(61)},
			}, "", "c", "c",
		},
		"one of the same second, written before": {
			[]game{{file: "a", number: 2, started: at(0), modified: at(30)}}, "", "", "",
		},
		"one of the same second, written later": {
			[]game{{file: "a", number: 2, started: at(0), modified: at(90)}}, "", "", "a",
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			of.write(t, dir)
			for _, g := range test.others {
				g.write(t, dir)
			}
			found := foundIn(t, dir, true)
			for which, pair := range map[string]struct {
				got  *index.Entry
				want string
			}{"linked": {found.Linked, test.linked}, "restarted": {found.Restarted, test.restarted}, "next": {found.Next, test.next}} {
				name := ""
				if pair.got != nil {
					name = filepath.Base(pair.got.Name)
				}
				if name != pair.want {
					t.Errorf("%s: %q, want %q", which, name, pair.want)
				}
			}
		})
	}
}
