package index_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/streamtest"
)

// objects is a store of many games in directories of perDirectory. Only their headers differ.
type objects int

const perDirectory = 100

// object is an open one.
type object struct {
	*bytes.Reader
	stat source.Object
}

func (o object) Stat() (fs.FileInfo, error) { return o.stat, nil }
func (o object) Close() error               { return nil }

func (objects) String() string       { return "objects" }
func (objects) Place() string        { return "objects" }
func (objects) Path(string) string   { return "" }
func (objects) Every() time.Duration { return time.Hour }

func (objects) find(name string) (at source.Object, n int) {
	at.Base = path.Base(name)
	file, is := strings.CutSuffix(at.Base, ".teehistorian")
	n, _ = strconv.Atoi(file)
	if at.Dir = !is; is {
		at.Contents, at.Bytes, at.Written = source.ID{Device: 1, Inode: uint64(n) + 1}, int64(len(sample())), time.Unix(1700000000, 0)
	}
	return at, n
}

func (s objects) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	at, _ := s.find(name)
	return at, nil
}

func (s objects) Open(_ context.Context, name string) (source.Handle, error) {
	at, n := s.find(name)
	return object{bytes.NewReader(game(n+1, "prev_game_uuid", uuid(n))), at}, nil
}

func (s objects) ReadDir(_ context.Context, dir string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	if dir == "." {
		for i := range (int(s) + perDirectory - 1) / perDirectory {
			each(source.Object{Base: fmt.Sprintf("d%04d", i), Dir: true})
		}
	} else if n, err := strconv.Atoi(strings.TrimPrefix(dir, "d")); err == nil {
		for i := n * perDirectory; i < min(int(s), (n+1)*perDirectory); i++ {
			at, _ := s.find(fmt.Sprintf("%08d.teehistorian", i))
			each(at)
		}
	}
	return s.Stat(context.Background(), dir)
}

// TestObjects: an object of a bucket takes 1 KiB at most. INDEX_OBJECTS=1000000 for a million, of which the times are printed: a search after
// a start waits for no listing.
func TestObjects(t *testing.T) {
	streamtest.SkipLong(t) // which takes memory of its own
	asked := os.Getenv("INDEX_OBJECTS")
	n, err := strconv.Atoi(cmp.Or(asked, "10000"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := catalog.New([]catalog.Root{{Alias: "r", Store: objects(n)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "index")
	for _, what := range []string{"first", "again"} {
		before := heap()
		begun := time.Now()
		x, err := tryOpen(t, nil, func(c *index.Config) { c.Files, c.Path = files, at })
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Since(begun)
		query := index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "none"}}
		if _, err := x.List(t.Context(), query, "", 100); err != nil {
			t.Fatal(err)
		}
		searched := time.Since(begun)
		for x.Figures().Identified < n {
			time.Sleep(100 * time.Millisecond)
		}
		known := time.Since(begun)
		if _, err := x.List(t.Context(), query, "", 100); err != nil {
			t.Fatal(err)
		}
		again := time.Since(begun) - known
		if asked != "" {
			time.Sleep(6 * time.Second) // stored
		}
		each := (heap() - before) / uint64(n)
		t.Logf("%s: opened in %v, searched in %v, all known in %v, another search takes %v, %d bytes an object", what, opened, searched, known, again, each)
		if each > 1024 && (asked != "" || what == "again") { // the changes that are kept take as much of few objects
			t.Errorf("%s: %d bytes an object", what, each)
		}
		closed(t, x)
	}
}

// heap returns the bytes of the heap that are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
