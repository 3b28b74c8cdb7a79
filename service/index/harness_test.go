package index_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
)

// patience limits how long a test waits for background work. On an idle machine the work takes milliseconds.
const patience = time.Minute

var sample = sync.OnceValue(func() []byte {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		panic(err)
	}
	return data
})

// identity returns the identity of a game.
func identity(number int) string { return "teehistorian:" + uuid(number) }

func uuid(number int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", number) }

// game returns a game of a server: the sample's records after another header. Pairs of keys and values change other fields of
// the header.
func game(number int, header ...string) []byte {
	end := bytes.IndexByte(sample()[16:], 0) + 16
	fields := map[string]any{}
	if err := json.Unmarshal(sample()[16:end], &fields); err != nil {
		panic(err)
	}
	fields["game_uuid"] = uuid(number)
	for pair := range slices.Chunk(header, 2) {
		fields[pair[0]] = pair[1]
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return slices.Concat(sample()[:16], text, sample()[end:])
}

// tree is a tree of directories that a test changes.
type tree struct {
	testing.TB
	dir string
}

func (t tree) path(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }

func (t tree) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t tree) write(name string, data []byte) {
	t.Helper()
	t.must(os.MkdirAll(filepath.Dir(t.path(name)), 0o700))
	t.must(os.WriteFile(t.path(name), data, 0o600))
}

func (t tree) append(name string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(t.path(name), os.O_WRONLY|os.O_APPEND, 0)
	t.must(err)
	_, err = f.Write(data)
	t.must(errors.Join(err, f.Close()))
}

// rename creates the destination directory.
func (t tree) rename(from, to string) {
	t.Helper()
	t.must(os.MkdirAll(filepath.Dir(t.path(to)), 0o700))
	t.must(os.Rename(t.path(from), t.path(to)))
}

func (t tree) link(from, to string)    { t.Helper(); t.must(os.Link(t.path(from), t.path(to))) }
func (t tree) symlink(from, to string) { t.Helper(); t.must(os.Symlink(from, t.path(to))) }
func (t tree) remove(name string)      { t.Helper(); t.must(os.RemoveAll(t.path(name))) }

func codecOf(f decoders.Format) *codec.Codec {
	for _, c := range describe.Codecs() {
		if c.Format == f {
			return c
		}
	}
	return nil
}

// catalogOf returns a catalogue of directories by alias.
func catalogOf(tb testing.TB, roots map[string]string) *catalog.Catalog {
	tb.Helper()
	var list []catalog.Root
	for alias, dir := range roots {
		list = append(list, catalog.Root{Alias: alias, Dir: dir})
	}
	c, err := catalog.New(list, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// open opens an index of directories. Without a watcher it finds changes only on request.
func open(tb testing.TB, roots map[string]string, change ...func(*index.Config)) *index.Index {
	tb.Helper()
	x, err := tryOpen(tb, roots, change...)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func tryOpen(tb testing.TB, roots map[string]string, change ...func(*index.Config)) (*index.Index, error) {
	tb.Helper()
	c := index.Config{Files: catalogOf(tb, roots), Log: slog.New(slog.DiscardHandler), Codec: codecOf, Describe: describe.Replay}
	for _, f := range change {
		f(&c)
	}
	x, err := index.Open(c)
	if err != nil {
		return nil, err
	}
	tb.Cleanup(func() { closed(tb, x) })
	return x, nil
}

func closed(tb testing.TB, x *index.Index) {
	tb.Helper()
	if err := x.Close(); err != nil {
		tb.Error(err)
	}
}

// one opens an index of a directory with the alias r.
func one(tb testing.TB, change ...func(*index.Config)) (tree, *index.Index) {
	tb.Helper()
	t := tree{tb, tb.TempDir()}
	return t, open(tb, map[string]string{"r": t.dir}, change...)
}

// list returns the names that a query finds, in pages of a given size.
func list(tb testing.TB, x *index.Index, q index.Query, size int) (names []string) {
	tb.Helper()
	for token := ""; ; {
		page, err := x.List(tb.Context(), q, token, size)
		if err != nil {
			tb.Fatalf("%+v: %v", q, err)
		}
		if len(page.Replays) > size {
			tb.Fatalf("%d replays on a page of %d", len(page.Replays), size)
		}
		for _, e := range page.Replays {
			names = append(names, e.Name)
		}
		if token = page.Next; token == "" {
			return names
		}
	}
}

func wantNames(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: %q, want %q", what, got, want)
	}
}

// changes returns the changes since a number, as text, without those of files that were not identified yet.
func changes(tb testing.TB, x *index.Index, from uint64) (list []string) {
	tb.Helper()
	all, _, _, err := x.Since(from, 1<<20)
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range all {
		if c.Entry.Identified {
			list = append(list, fmt.Sprint([]string{"added", "grown", "quiet", "ended", "removed"}[c.Kind], " ", c.Entry.Name))
		}
	}
	return list
}

// await waits until background work makes a condition true.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// notFound asserts that a name leads nowhere.
func notFound(tb testing.TB, x *index.Index, name string, scope index.Scope) {
	tb.Helper()
	if e, err := x.Get(tb.Context(), name, scope); !errors.Is(err, catalog.ErrNotFound) {
		tb.Errorf("%s: %+v, %v", name, e, err)
	}
}
