package index_test

import (
	"bytes"
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
)

// objects is a store of many games in directories of 1,000. Only their headers differ.
type objects int

type object struct {
	name string
	n    int
	dir  bool
	*bytes.Reader
}

func (o object) Name() string       { return o.name }
func (o object) IsDir() bool        { return o.dir }
func (o object) Sys() any           { return nil }
func (o object) ModTime() time.Time { return time.Unix(1700000000, 0) }
func (o object) Size() int64        { return int64(len(sample())) }
func (o object) Mode() fs.FileMode {
	if o.dir {
		return fs.ModeDir
	}
	return 0
}

// FileID implements source.Object.
func (o object) FileID() source.ID          { return source.ID{Device: 1, Inode: uint64(o.n) + 1} }
func (o object) Stat() (fs.FileInfo, error) { return o, nil }
func (o object) Close() error               { return nil }

func (objects) String() string       { return "objects" }
func (objects) Path(string) string   { return "" }
func (objects) Every() time.Duration { return time.Hour }

func (objects) find(name string) object {
	n, err := strconv.Atoi(strings.TrimSuffix(path.Base(name), ".teehistorian"))
	return object{name: path.Base(name), n: n, dir: err != nil || !strings.HasSuffix(name, ".teehistorian")}
}

func (s objects) Stat(_ context.Context, name string) (fs.FileInfo, error) { return s.find(name), nil }

func (s objects) Open(_ context.Context, name string) (source.Handle, error) {
	o := s.find(name)
	o.Reader = bytes.NewReader(game(o.n+1, "prev_game_uuid", uuid(o.n)))
	return o, nil
}

func (s objects) ReadDir(_ context.Context, dir string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	if dir == "." {
		for i := range (int(s) + 999) / 1000 {
			each(object{name: fmt.Sprintf("d%04d", i), dir: true})
		}
	} else if n, err := strconv.Atoi(strings.TrimPrefix(dir, "d")); err == nil {
		for i := n * 1000; i < min(int(s), (n+1)*1000); i++ {
			each(s.find(fmt.Sprintf("%08d.teehistorian", i)))
		}
	}
	return s.find(dir), nil
}

// TestObjects measures an index of INDEX_OBJECTS objects of a bucket: its memory, and a first search after a restart.
func TestObjects(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("INDEX_OBJECTS"))
	if err != nil {
		t.Skip("no INDEX_OBJECTS, such as 1000000")
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
		if _, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "none"}}, "", 100); err != nil {
			t.Fatal(err)
		}
		searched := time.Since(begun)
		for x.Figures().Identified < n {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(6 * time.Second) // stored
		t.Logf("%s: opened in %v, searched in %v, all known in %v, %d bytes an object", what, opened, searched, time.Since(begun), (heap()-before)/uint64(n))
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
