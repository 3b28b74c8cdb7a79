package succession_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/succession"
)

// moment is a time at which a Finder is asked.
type moment struct {
	wrote   []game            // files that are there from now on
	writers string            // names of files that have a writer now, in words
	unknown string            // names of files of which that is not known
	next    map[string]string // by file: with which its server has started again, or ""
}

// TestCrash plays what happens to the servers of one name and port, and asks at each moment which games are over and what followed them.
func TestCrash(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	// silent is a game that was not written to after a second; busy one that was until then.
	silent := func(file string, number int, start float64) game {
		return game{file: file, number: number, started: at(start).Truncate(time.Second), modified: at(start + 0.9)}
	}
	busy := func(file string, number int, start, last float64) game {
		return game{file: file, number: number, started: at(start).Truncate(time.Second), modified: at(last)}
	}
	for what, moments := range map[string][]moment{
		"killed and started again": {
			{wrote: []game{silent("a", 1, 0)}, writers: "a", next: map[string]string{"a": ""}},
			{next: map[string]string{"a": ""}},
			{wrote: []game{silent("b", 2, 9)}, writers: "b", next: map[string]string{"a": "b", "b": ""}},
			{wrote: []game{silent("c", 3, 19)}, writers: "c", next: map[string]string{"a": "b", "b": "c", "c": ""}},
		},
		"started again in the second of its last write": {
			{wrote: []game{busy("a", 1, 0, 10.3), busy("b", 2, 10.6, 11)}, writers: "b", next: map[string]string{"a": "b"}},
		},
		"one that begins while it runs, however silent it is": {
			{wrote: []game{silent("a", 1, 0), silent("b", 2, 9)}, writers: "a b", next: map[string]string{"a": ""}},
			{writers: "b", next: map[string]string{"a": ""}},
			{wrote: []game{silent("c", 3, 60)}, writers: "b c", next: map[string]string{"a": "c", "b": ""}},
		},
		"one that is written again, with as many bytes": {
			{wrote: []game{silent("a", 1, 0), silent("b", 2, 9)}, writers: "b", next: map[string]string{"a": "b"}},
			{wrote: []game{busy("a", 1, 0, 20)}, writers: "a b", next: map[string]string{"a": ""}},
		},
		"one that began while it wrote": {
			{wrote: []game{busy("a", 1, 0, 20), silent("b", 2, 9)}, writers: "b", next: map[string]string{"a": ""}},
		},
		"two servers, of which each is killed in its turn": {
			{wrote: []game{silent("a", 1, 0), silent("x", 2, 0)}, writers: "a x"},
			{wrote: []game{silent("y", 3, 10)}, writers: "a y", next: map[string]string{"x": "y", "a": ""}},
			{wrote: []game{silent("b", 4, 20)}, writers: "b y", next: map[string]string{"x": "y", "a": "b", "y": ""}},
			{wrote: []game{silent("z", 5, 30)}, writers: "b z", next: map[string]string{"x": "y", "a": "b", "y": "z", "b": ""}},
		},
		"two servers that are killed before one of them starts again": {
			{wrote: []game{silent("a", 1, 0), silent("x", 2, 0)}, writers: "a x", next: map[string]string{"a": ""}},
			{wrote: []game{silent("b", 3, 10)}, writers: "b", next: map[string]string{"a": "", "x": ""}},
			{wrote: []game{silent("y", 4, 20)}, writers: "b y", next: map[string]string{"a": "", "x": ""}},
			{wrote: []game{silent("c", 5, 30)}, writers: "c y", next: map[string]string{"a": "", "b": "c", "y": ""}}, // both run again by now
		},
		"the other server was shut down, and may be started again as well": {
			{wrote: []game{silent("a", 1, 0), silent("x.gz", 2, 0)}, writers: "a", next: map[string]string{"a": ""}},
			{wrote: []game{silent("b", 3, 10)}, writers: "b", next: map[string]string{"a": ""}},
		},
		"servers that open their files for each write": {
			{wrote: []game{silent("a", 1, 0), silent("b", 2, 10)}, next: map[string]string{"a": ""}},
		},
		"a copy of the file has no writer, but the game has": {
			{wrote: []game{silent("a", 1, 0), busy("copy", 1, 0, 0.5), silent("b", 2, 10)}, writers: "a b", next: map[string]string{"copy": "", "a": ""}},
			{writers: "b", next: map[string]string{"a": ""}}, // b began before
		},
		"a copy of the file of which that is not known": {
			{wrote: []game{silent("a", 1, 0), busy("copy", 1, 0, 0.5), silent("x", 2, 0)}, writers: "a x", unknown: "copy"},
			{wrote: []game{silent("y", 3, 10)}, writers: "a y", unknown: "copy", next: map[string]string{"x": "y", "a": ""}},
		},
		"it is not known whether it has a writer": {
			{wrote: []game{silent("a", 1, 0), silent("b", 2, 10)}, writers: "b", unknown: "a", next: map[string]string{"a": ""}},
		},
		"it is not known whether another one has a writer": {
			{wrote: []game{silent("a", 1, 0), silent("x", 3, 0), silent("b", 2, 10)}, writers: "b", unknown: "x", next: map[string]string{"a": ""}},
		},
		"a game of its own process is no other process": {
			{
				wrote:   []game{silent("a", 1, 0), {file: "a2", number: 2, prev: 1, started: at(5), modified: at(6)}, silent("b", 3, 10)},
				writers: "b", next: map[string]string{"a2": "b", "b": ""},
			},
		},
		"one that was over for long when it began": {
			{wrote: []game{silent("x", 1, -4000), silent("a", 2, 0), silent("b", 3, 10)}, writers: "b", next: map[string]string{"a": "b"}},
		},
		"killed in the second in which it began, but seen before": {
			{wrote: []game{silent("a", 1, 0)}, writers: "a", next: map[string]string{"a": ""}},
			{wrote: []game{busy("b", 2, 9, 9.1)}, writers: "b", next: map[string]string{"a": "b", "b": ""}},
			{wrote: []game{busy("c", 3, 9.5, 9.6)}, writers: "c", next: map[string]string{"a": "b", "b": "c", "c": ""}},
		},
		"nobody has looked before, and they may have run at once": {
			{wrote: []game{silent("a", 1, 0), silent("x", 2, 1), silent("b", 3, 10)}, writers: "b", next: map[string]string{"a": "", "x": ""}},
		},
		"one that was killed at once": {
			{wrote: []game{silent("a", 1, 0), silent("b", 2, 10), silent("c", 3, 12)}, writers: "c", next: map[string]string{"a": "b", "b": "c", "c": ""}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			x := indexOf(t, dir)
			var now moment
			f := &succession.Finder{Index: x, Writer: func(_ context.Context, e *index.Entry) (source.Writer, time.Time) {
				stat, err := os.Stat(filepath.Join(dir, filepath.Base(e.Name)))
				if err != nil {
					t.Error(err)
					return source.Elsewhere, time.Time{}
				}
				return writerIn(now, filepath.Base(e.Name)), stat.ModTime()
			}}
			for i, m := range moments {
				now = m
				for _, g := range m.wrote {
					g.write(t, dir)
				}
				if _, err := x.InDirectory(t.Context(), "r", index.Everything()); err != nil {
					t.Fatal(err)
				}
				for _, g := range []string{"a", "b", "x", "y"} { // followers of all of them look
					if _, asked := m.next[g]; !asked {
						_, _ = find(t, f, x, g)
					}
				}
				for file, want := range m.next {
					got, writer := find(t, f, x, file)
					if got != want {
						t.Errorf("moment %d: after %s comes %q, want %q; its writer is %v", i, file, got, want, writer)
					}
					if later := writer != source.NotAsked; later && strings.Contains(m.unknown, file) && writer != source.Elsewhere {
						t.Errorf("moment %d: it is not said that the writer of %s is not known: %v", i, file, writer)
					}
				}
			}
		})
	}
}

// writerIn returns whether a file has a writer at a moment.
func writerIn(m moment, file string) source.Writer {
	is := func(list string) bool {
		for word := range strings.FieldsSeq(list) {
			if word == file {
				return true
			}
		}
		return false
	}
	switch {
	case is(m.writers):
		return source.Present
	case is(m.unknown):
		return source.Elsewhere
	}
	return source.Absent
}

// find returns the name of the game with which the server of another one has started again, and whether that one has a writer.
func find(t *testing.T, f *succession.Finder, x *index.Index, file string) (string, source.Writer) {
	t.Helper()
	e, err := x.Get(t.Context(), "r/"+file, index.Everything())
	if err != nil {
		return "", source.NotAsked // not there yet
	}
	found, err := f.Find(t.Context(), e, false, index.Everything())
	if err != nil {
		t.Fatal(err)
	}
	if found.Crash.Next == nil {
		return "", found.Crash.Writer
	}
	return filepath.Base(found.Crash.Next.Name), found.Crash.Writer
}
