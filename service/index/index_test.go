package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/watch"
)

// TestMoves moves a known file in every way, and looks it up in every way.
func TestMoves(t *testing.T) {
	t.Parallel()
	data := game(1)
	half := len(data) / 2
	for what, test := range map[string]struct {
		change func(t tree, asked func()) // asked makes the index read the present files
		now    []string                   // the names of the file
	}{
		"renamed":                   {func(t tree, _ func()) { t.rename("a", "b") }, []string{"r/b"}},
		"into a new directory":      {func(t tree, _ func()) { t.rename("a", "x/a") }, []string{"r/x/a"}},
		"into new directories":      {func(t tree, _ func()) { t.rename("a", "x/y/z/a") }, []string{"r/x/y/z/a"}},
		"into a known directory":    {func(t tree, _ func()) { t.rename("a", "d/a") }, []string{"r/d/a"}},
		"twice":                     {func(t tree, _ func()) { t.rename("a", "b"); t.rename("b", "x/c") }, []string{"r/x/c"}},
		"twice, seen between":       {func(t tree, asked func()) { t.rename("a", "b"); asked(); t.rename("b", "x/c") }, []string{"r/x/c"}},
		"there and back":            {func(t tree, asked func()) { t.rename("a", "x/b"); asked(); t.rename("x/b", "a") }, []string{"r/a"}},
		"grown, then renamed":       {func(t tree, _ func()) { t.append("a", data[half:]); t.rename("a", "x/b") }, []string{"r/x/b"}},
		"renamed, then grown":       {func(t tree, _ func()) { t.rename("a", "x/b"); t.append("x/b", data[half:]) }, []string{"r/x/b"}},
		"renamed, seen, then grown": {func(t tree, asked func()) { t.rename("a", "b"); asked(); t.append("b", data[half:]) }, []string{"r/b"}},
		"with its directory":        {func(t tree, asked func()) { t.rename("a", "x/a"); asked(); t.rename("x", "y") }, []string{"r/y/a"}},
		"directory into another":    {func(t tree, asked func()) { t.rename("a", "x/a"); asked(); t.rename("x", "y/z/x") }, []string{"r/y/z/x/a"}},
		"another name":              {func(t tree, _ func()) { t.link("a", "b") }, []string{"r/a", "r/b"}},
		"another name alone":        {func(t tree, asked func()) { t.link("a", "d/b"); asked(); t.remove("a") }, []string{"r/d/b"}},
		"another name, then grown":  {func(t tree, asked func()) { t.link("a", "b"); asked(); t.append("b", data[half:]) }, []string{"r/a", "r/b"}},
		"a link to it":              {func(t tree, _ func()) { t.symlink("a", "b") }, []string{"r/a", "r/b"}},
		"a link to where it was":    {func(t tree, _ func()) { t.rename("a", "d/a"); t.symlink("d/a", "a") }, []string{"r/a", "r/d/a"}},
		"a link that leads astray":  {func(t tree, asked func()) { t.symlink("a", "b"); asked(); t.rename("a", "c") }, []string{"r/c"}},
		"another in its place":      {func(t tree, _ func()) { t.rename("a", "x/b"); t.write("a", game(2)) }, []string{"r/x/b"}},
		"trading places": {func(t tree, asked func()) {
			t.write("b", game(2))
			asked()
			t.rename("a", "tmp")
			t.rename("b", "a")
			t.rename("tmp", "b")
		}, []string{"r/b"}},
		"trading directories": {func(t tree, asked func()) {
			t.rename("a", "x/a")
			t.write("y/a", game(2))
			same := time.Now().Add(-time.Hour).Truncate(time.Second)
			t.must(errors.Join(os.Chtimes(t.path("x"), same, same), os.Chtimes(t.path("y"), same, same)))
			asked()
			t.rename("x", "tmp")
			t.rename("y", "x")
			t.rename("tmp", "y")
		}, []string{"r/y/a"}},
		"out of the root": {func(t tree, _ func()) { t.must(os.Rename(t.path("a"), filepath.Join(t.TempDir(), "a"))) }, nil},
		"removed":         {func(t tree, _ func()) { t.remove("a") }, nil},
		"replaced":        {func(t tree, _ func()) { t.write("b", game(2)); t.rename("b", "a") }, nil},
	} {
		// Each way of looking it up must find it when it comes first.
		for how, ask := range map[string]func(t tree, x *index.Index, was *index.Entry){
			"list": func(t tree, x *index.Index, _ *index.Entry) {
				found := slices.DeleteFunc(list(t, x, index.Query{Scope: index.Everything()}, 10), func(name string) bool {
					e, err := x.Get(t.Context(), name, index.Everything())
					return err != nil || e.Identity != identity(1)
				})
				wantNames(t, "list", found, test.now...)
			},
			"get": func(t tree, x *index.Index, was *index.Entry) {
				for _, name := range test.now {
					if e, err := x.Get(t.Context(), name, index.Everything()); err != nil || e.Name != name || e.Identity != identity(1) || e.ID != was.ID {
						t.Errorf("get %s: %+v, %v", name, e, err)
					}
				}
			},
			"directory": func(t tree, x *index.Index, _ *index.Entry) {
				for _, name := range test.now {
					dir := name[:strings.LastIndex(name, "/")]
					all, err := x.InDirectory(t.Context(), dir, index.Everything())
					if err != nil || !slices.ContainsFunc(all, func(e *index.Entry) bool { return e.Name == name && e.Identity == identity(1) }) {
						t.Errorf("%d in %s, %v", len(all), dir, err)
					}
				}
			},
			"of file": func(t tree, x *index.Index, was *index.Entry) {
				e := x.Family("r", index.Everything()).OfFile(t.Context(), was.ID, was.Identity)
				if e == nil && len(test.now) > 0 || e != nil && !slices.Contains(test.now, e.Name) {
					t.Errorf("of file: %+v", e)
				}
			},
			"of cursor": func(t tree, x *index.Index, was *index.Entry) {
				e, err := x.Family("r", index.Everything()).OfCursor(t.Context(), cursorOf(was))
				if err != nil || e == nil && len(test.now) > 0 || e != nil && !slices.Contains(test.now, e.Name) {
					t.Errorf("of cursor: %+v, %v", e, err)
				}
			},
		} {
			t.Run(what+"/"+how, func(t *testing.T) {
				t.Parallel()
				tr, x := one(t)
				tr.write("a", data[:half])
				tr.write("d/other", game(9))
				was, err := x.Get(t.Context(), "r/a", index.Everything())
				tr.must(err)
				test.change(tr, func() { list(t, x, index.Query{Scope: index.Everything()}, 10) })
				ask(tr, x, was)
				if !slices.Contains(test.now, "r/a") && what != "another in its place" && what != "trading places" && what != "replaced" {
					notFound(t, x, "r/a", index.Everything())
				}
				for _, name := range test.now {
					e, err := x.Get(t.Context(), name, index.Everything())
					tr.must(err)
					if stat, err := os.Stat(tr.path(name[2:])); err != nil || stat.Size() != e.Size {
						t.Errorf("%s has %d bytes, not %d", name, stat.Size(), e.Size)
					}
				}
				list(t, x, index.Query{Scope: index.Everything()}, 10) // Copies and others return only files that were seen
				var copies []string
				for _, e := range x.Family("r", index.Everything()).Copies(identity(1)) {
					copies = append(copies, e.Name)
				}
				wantNames(t, "copies", copies, test.now...)
			})
		}
	}
}

// TestOfFile looks up a file that is renamed all the time, between directories that are created and removed. It is always in
// the root, so it must always be found.
func TestOfFile(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprint("watched=", watched), func(t *testing.T) {
			t.Parallel()
			tr, x := one(t, func(c *index.Config) {
				if watched {
					c.Watcher = watcher(t)
				}
			})
			tr.write("a/file", game(1))
			for i := range 20 { // so that a walk takes a while
				tr.write(fmt.Sprintf("b%d/other", i), game(i+2))
			}
			was, err := x.Get(t.Context(), "r/a/file", index.Everything())
			tr.must(err)
			stop := make(chan struct{})
			var mover, askers sync.WaitGroup
			var moves atomic.Int64
			mover.Go(func() {
				at := "a/file"
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					to := []string{"z/file", "a/renamed", "new/deep/file", "b7/file", "a/file"}[i%5]
					tr.rename(at, to)
					if strings.HasPrefix(at, "new/") {
						tr.remove("new")
					}
					at = to
					moves.Add(1)
					if i%3 == 0 {
						tr.append(at, []byte{0})
					}
					time.Sleep(time.Duration(i%7) * 200 * time.Microsecond)
				}
			})
			for range 3 {
				askers.Go(func() {
					for range 40 {
						if e := x.Family("r", index.Everything()).OfFile(t.Context(), was.ID, was.Identity); e == nil || e.ID != was.ID || e.Identity != was.Identity {
							t.Errorf("after %d moves: %+v", moves.Load(), e)
						}
					}
				})
			}
			askers.Wait()
			close(stop)
			mover.Wait()
			names := list(t, x, index.Query{Scope: index.Everything()}, 100)
			if len(names) != 21 {
				t.Errorf("in the end there are %q", names)
			}
		})
	}
}

func watcher(tb testing.TB) *watch.Watcher {
	tb.Helper()
	w, err := watch.New(watch.Options{Interval: 50 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.Close() })
	return w
}

// slow is a file system in which Stat of one name can be delayed, so that it returns an old result.
type slow struct {
	index.Files
	name string

	mu      sync.Mutex
	armed   bool
	looked  chan struct{} // Stat was called
	release chan struct{} // Stat may return
}

func (s *slow) Look(name string) (catalog.File, bool, error) {
	f, dir, err := s.Files.Look(name)
	s.mu.Lock()
	held := s.armed && name == s.name
	if held {
		s.armed = false
	}
	s.mu.Unlock()
	if held {
		s.looked <- struct{}{}
		<-s.release
	}
	return f, dir, err
}

// TestOldLooks checks that a Stat that began before another one and ended after it has no effect.
func TestOldLooks(t *testing.T) {
	t.Parallel()
	data := game(1)
	for what, test := range map[string]struct {
		change func(t tree)
		after  []string // the expected changes
		now    []string
		size   int
	}{
		"removed":            {func(t tree) { t.remove("a") }, []string{"removed r/a"}, nil, 0},
		"moved":              {func(t tree) { t.rename("a", "x/b") }, []string{"added r/x/b", "removed r/a"}, []string{"r/x/b"}, 3000},
		"grown":              {func(t tree) { t.append("a", data[3000:5000]) }, []string{"grown r/a"}, []string{"r/a"}, 5000},
		"replaced":           {func(t tree) { t.write("b", game(2)); t.rename("b", "a") }, []string{"added r/a"}, []string{"r/a"}, len(game(2))},
		"removed, and again": {func(t tree) { t.remove("a"); t.write("a", data[:4000]) }, []string{"grown r/a"}, []string{"r/a"}, 4000},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var s *slow
			tr, x := one(t, func(c *index.Config) {
				s = &slow{Files: c.Files, name: "r/a", looked: make(chan struct{}), release: make(chan struct{})}
				c.Files = s
			})
			tr.write("a", data[:3000])
			old := time.Now().Add(-time.Hour) // so that lists need not check it themselves
			tr.must(os.Chtimes(tr.path("a"), old, old))
			wantNames(t, "before", list(t, x, index.Query{Scope: index.Everything()}, 10), "r/a")
			from := x.Now()
			s.mu.Lock()
			s.armed = true
			s.mu.Unlock()
			got := make(chan error)
			go func() {
				_, err := x.Get(context.Background(), "r/a", index.Everything())
				got <- err
			}()
			<-s.looked
			test.change(tr)
			meanwhile := make(chan struct{})
			go func() {
				defer close(meanwhile)
				wantNames(t, "meanwhile", list(t, x, index.Query{Scope: index.Everything()}, 10), test.now...)
			}()
			select {
			case <-meanwhile:
			case <-time.After(200 * time.Millisecond): // it may have to wait for the Stat
			}
			close(s.release)
			<-meanwhile
			<-got // it existed at the time of the request, or is gone now
			// The order of adding and removing is that of directories.
			after := changes(t, x, from)
			for range 3 {
				wantNames(t, "after", list(t, x, index.Query{Scope: index.Everything()}, 10), test.now...)
			}
			late := changes(t, x, from)
			slices.Sort(after)
			after = slices.Compact(after)
			if what != "removed, and again" { // it may be the same file to the file system, or another
				wantNames(t, "changes", after, test.after...)
			}
			if len(late) != len(changes(t, x, from)) {
				t.Errorf("then %q", late)
			}
			for _, name := range test.now {
				if e, err := x.Get(t.Context(), name, index.Everything()); err != nil || e.Size != int64(test.size) {
					t.Errorf("%+v, %v", e, err)
				}
			}
		})
	}
}

// TestGrowing checks that a growing file is added once and then reported as grown, despite requests meanwhile.
func TestGrowing(t *testing.T) {
	t.Parallel()
	data := game(1)
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprint("watched=", watched), func(t *testing.T) {
			t.Parallel()
			tr, x := one(t, func(c *index.Config) {
				if watched {
					c.Watcher, c.Budget = watcher(t), 1
				}
			})
			list(t, x, index.Query{Scope: index.Everything()}, 10)
			from := x.Now()
			tr.write("a", data[:3000])
			list(t, x, index.Query{Scope: index.Everything()}, 10)
			var askers sync.WaitGroup
			stop := make(chan struct{})
			for i := range 4 {
				askers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						switch i {
						case 0:
							list(t, x, index.Query{Scope: index.Everything()}, 10)
						case 1:
							_, _ = x.InDirectory(t.Context(), "r", index.Everything())
						default:
							if _, err := x.Get(t.Context(), "r/a", index.Everything()); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			for n := 3000; n < 5000; n += 50 {
				tr.append("a", data[n:n+50])
				time.Sleep(time.Millisecond)
			}
			close(stop)
			askers.Wait()
			if e, err := x.Get(t.Context(), "r/a", index.Everything()); err != nil || e.Size != 5000 {
				t.Errorf("%+v, %v", e, err)
			}
			all := changes(t, x, from)
			if n := len(slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c != "added r/a" })); n != 1 {
				t.Errorf("it was added %d times: %q", n, all)
			}
			if i := slices.Index(all, "removed r/a"); i >= 0 {
				t.Errorf("it was removed: %q", all)
			}
		})
	}
}

// TestWatched checks that changes are reported without a request if there is a watcher.
func TestWatched(t *testing.T) {
	t.Parallel()
	tr := tree{t, t.TempDir()}
	data := game(1)
	tr.write("silent", data[:3000])
	almost := time.Now().Add(-time.Minute + 2*time.Second)
	tr.must(os.Chtimes(tr.path("silent"), almost, almost))
	x := open(t, map[string]string{"r": tr.dir}, func(c *index.Config) { c.Watcher, c.Budget = watcher(t), 1 })
	saw := func(what string) func() bool {
		return func() bool { return slices.Contains(changes(t, x, 0), what) }
	}
	tr.write("new/deep/a", game(2)[:3000])
	await(t, "added", saw("added r/new/deep/a"))
	tr.append("new/deep/a", game(2)[3000:])
	await(t, "grown", saw("grown r/new/deep/a"))
	await(t, "ended", saw("ended r/new/deep/a"))
	tr.rename("new/deep/a", "new/b")
	await(t, "added by another name", saw("added r/new/b"))
	await(t, "removed by its name", saw("removed r/new/deep/a"))
	tr.rename("new", "newer")
	await(t, "moved with its directory", saw("added r/newer/b"))
	tr.remove("newer")
	await(t, "removed with its directory", saw("removed r/newer/b"))
	await(t, "quiet", saw("quiet r/silent"))
	if f := x.Figures(); f.Files != 1 || f.Identified != 1 {
		t.Errorf("in the end %+v", f)
	}
}

// TestLinkedDirectory checks that files below a link to a directory are in no list, but can be requested by name.
func TestLinkedDirectory(t *testing.T) {
	t.Parallel()
	tr, x := one(t)
	tr.write("d/a", game(1))
	tr.symlink("d", "link")
	wantNames(t, "list", list(t, x, index.Query{Scope: index.Everything()}, 10), "r/d/a")
	if e, err := x.Get(t.Context(), "r/link/a", index.Everything()); err != nil || e.Identity != identity(1) || e.Name != "r/link/a" {
		t.Errorf("%+v, %v", e, err)
	}
	wantNames(t, "list", list(t, x, index.Query{Scope: index.Everything()}, 10), "r/d/a")
	notFound(t, x, "r/link/b", index.Everything())
}

// TestBehind checks that a reader receives an error when the changes it needs are no longer kept.
func TestBehind(t *testing.T) {
	t.Parallel()
	var g *growing
	tr, x := one(t, func(c *index.Config) {
		g = &growing{Files: c.Files}
		c.Files = g
	})
	tr.write("a", game(1)[:3000])
	if _, err := x.Get(t.Context(), "r/a", index.Everything()); err != nil {
		t.Fatal(err)
	}
	from := x.Now()
	grow := func(n int) {
		for range n {
			g.by.Add(1)
			if _, err := x.Get(t.Context(), "r/a", index.Everything()); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow(1)
	_, next, more, err := x.Since(from, 100)
	if err != nil || next != from+1 {
		t.Fatal(next, err)
	}
	select {
	case <-more:
		t.Fatal("there is more")
	default:
	}
	grow(1)
	<-more
	const kept = 1 << 16
	grow(kept - 2)
	all, next, _, err := x.Since(from, 1<<20)
	if err != nil || len(all) != kept || next != from+kept || all[0].Entry.Size+kept-1 != all[kept-1].Entry.Size {
		t.Fatalf("%d changes, up to %d, %v", len(all), next-from, err)
	}
	grow(1)
	if _, _, _, err := x.Since(from, 1); !errors.Is(err, index.ErrBehind) {
		t.Error(err)
	}
	if part, next, _, err := x.Since(from+1, 10); err != nil || len(part) != 10 || next != from+11 {
		t.Error(len(part), next, err)
	}
}

// growing is a file system whose files grow by script.
type growing struct {
	index.Files
	by atomic.Int64
}

func (g *growing) Look(name string) (catalog.File, bool, error) {
	f, dir, err := g.Files.Look(name)
	f.Size += g.by.Load()
	return f, dir, err
}

// describing counts the headers that are read.
func describing(n *atomic.Int64) func(*index.Config) {
	return func(c *index.Config) {
		c.Describe = func(ctx context.Context, file *source.File) (*replaydv1.Replay, error) {
			n.Add(1)
			return describe.Replay(ctx, file)
		}
	}
}
