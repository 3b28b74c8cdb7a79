package index_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
)

// ofSources is a store whose directories are written by different people.
type ofSources struct{ catalog.Store }

func (ofSources) Sources() bool { return true }

// TestFamily puts the same files below two sources of a root and into two roots: a game, a copy of it, and one that names it as the
// game before. Each look-up finds what is of the origin that it is for, and of the origins that belong together with it.
func TestFamily(t *testing.T) {
	t.Parallel()
	origins := []string{"live/a", "live/b", "live/c", "r", "s"}
	for name, test := range map[string]struct {
		lineages []string
		of       string
		want     []string // origins
	}{
		"a source":                              {nil, "live/a/game", []string{"live/a"}},
		"a directory of a source":               {nil, "live/a", []string{"live/a"}},
		"all sources":                           {nil, "live", []string{"live/a", "live/b", "live/c"}},
		"a root":                                {nil, "r/game", []string{"r"}},
		"sources that belong together":          {[]string{"live/a,live/b"}, "live/b/game", []string{"live/a", "live/b"}},
		"the source that does not":              {[]string{"live/a,live/b"}, "live/c/game", []string{"live/c"}},
		"roots that belong together":            {[]string{"r,s"}, "s/game", []string{"r", "s"}},
		"others":                                {[]string{"r,s"}, "live/a/game", []string{"live/a"}},
		"a source and a root":                   {[]string{"live/a,r"}, "r/game", []string{"live/a", "r"}},
		"a whole root and another":              {[]string{"live,r"}, "live/c/game", []string{"live/a", "live/b", "live/c", "r"}},
		"two groups":                            {[]string{"live/a,r", "live/b,s"}, "live/b/game", []string{"live/b", "s"}},
		"the name of no root":                   {nil, "@upload/x", nil},
		"a root whose name another begins with": {nil, "live/aa", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, r, s := tree{t, t.TempDir()}, tree{t, t.TempDir()}, tree{t, t.TempDir()}
			for dir, tr := range map[string]tree{"a/": live, "b/": live, "c/": live, "": r, "./": s} {
				tr.write(dir+"game", game(1))
				tr.write(dir+"next", game(2, "prev_game_uuid", uuid(1)))
			}
			files, err := catalog.New([]catalog.Root{
				{Alias: "live", Store: ofSources{catalog.Directory(live.dir)}}, {Alias: "r", Dir: r.dir}, {Alias: "s", Dir: s.dir},
			}, catalog.Options{})
			live.must(err)
			lineages, err := index.ParseLineages(test.lineages, map[string]bool{"live": true, "r": false, "s": false})
			live.must(err)
			x := open(t, nil, func(c *index.Config) { c.Files, c.Lineages = files, lineages })
			list(t, x, index.Query{Scope: index.Everything()}, 10)

			family := x.Family(test.of, index.Everything())
			check := func(what string, found []*index.Entry) {
				t.Helper()
				var of []string
				for _, e := range found {
					of = append(of, filepath.ToSlash(filepath.Dir(e.Name)))
				}
				if slices.Sort(of); !slices.Equal(of, test.want) {
					t.Errorf("%s: of %q, want %q", what, of, test.want)
				}
			}
			check("copies", family.Copies(identity(1)))
			check("after", family.After(identity(1)))
			for _, origin := range origins {
				if family.Has(origin+"/x") != slices.Contains(test.want, origin) {
					t.Error("it has, or lacks, the files of", origin)
				}
			}
			at, err := x.Get(t.Context(), "r/game", index.Everything())
			live.must(err)
			if e, err := family.OfCursor(t.Context(), cursorOf(at)); err != nil || (e != nil) != (test.want != nil) || e != nil && !family.Has(e.Name) {
				t.Errorf("of a cursor: %+v, %v", e, err)
			}
			only := x.Family(test.of, index.Only(map[string]bool{"s": true}))
			for _, e := range slices.Concat(only.Copies(identity(1)), only.After(identity(1))) {
				if e.Name != "s/game" && e.Name != "s/next" {
					t.Error("who may see s alone finds", e.Name)
				}
			}
		})
	}
}

// TestStateOfOrigin checks that a game is not over because a file elsewhere says so.
func TestStateOfOrigin(t *testing.T) {
	t.Parallel()
	r, s := tree{t, t.TempDir()}, tree{t, t.TempDir()}
	r.write("game", game(1)[:6000])
	s.write("next", game(2, "prev_game_uuid", uuid(1)))
	x := open(t, map[string]string{"r": r.dir, "s": s.dir}, surveying)
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	state := func(files int) index.State {
		surveyed(t, x, files)
		e, err := x.Get(t.Context(), "r/game", index.Everything())
		r.must(err)
		return x.StateOf(e, time.Now())
	}
	if got := state(2); got != index.Growing {
		t.Error("a file in another root names it as the one before:", got)
	}
	r.write("next", game(2, "prev_game_uuid", uuid(1)))
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	if got := state(3); got != index.Abandoned {
		t.Error("a file in its own root names it as the one before:", got)
	}
}

// TestStateUnread: whether a game that another one follows has its end is not known before it was decoded.
func TestStateUnread(t *testing.T) {
	t.Parallel()
	r := tree{t, t.TempDir()}
	r.write("game", game(1))
	r.write("next", game(2, "prev_game_uuid", uuid(1)))
	for _, test := range []struct {
		change []func(*index.Config)
		want   index.State
	}{{nil, index.Unknown}, {[]func(*index.Config){surveying}, index.Finished}} {
		x := open(t, map[string]string{"r": r.dir}, test.change...)
		list(t, x, index.Query{Scope: index.Everything()}, 10)
		if test.change != nil {
			surveyed(t, x, 2)
		}
		e, err := x.Get(t.Context(), "r/game", index.Everything())
		r.must(err)
		if got := x.StateOf(e, time.Now()); got != test.want {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

func surveying(c *index.Config) { c.Budget = 1 }

// TestNoted checks that a demo is over because what stands beside another one says so.
func TestNoted(t *testing.T) {
	t.Parallel()
	r := tree{t, t.TempDir()}
	whole := demtest.Fight()
	r.write("a.dem", whole[:len(whole)-30])
	x := open(t, map[string]string{"r": r.dir}, surveying)
	surveyed(t, x, 1)
	e, err := x.Get(t.Context(), "r/a.dem", index.Everything())
	r.must(err)
	r.write(".b.dem.previous", []byte(e.Identity+"\n"))
	r.write("b.dem", demtest.Sample())
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	if after := x.Family("r", index.Everything()).After(e.Identity); len(after) != 1 || after[0].Name != "r/b.dem" || x.StateOf(e, time.Now()) != index.Abandoned {
		t.Errorf("%+v, %v", after, x.StateOf(e, time.Now()))
	}
}

// TestRosterOfOrigin asks for the players at the end of a game, for replays of its own root, of another one, and of one that belongs
// together with it.
func TestRosterOfOrigin(t *testing.T) {
	t.Parallel()
	const before = "ef5c2009-cf60-40cb-9f39-33e9fdde371a"
	data := decodertest.Sample(t, "teehistorian", "mapchange", before+".teehistorian")
	for name, lineages := range map[string][]string{"apart": nil, "together": {"r,s"}} {
		r, s := tree{t, t.TempDir()}, tree{t, t.TempDir()}
		r.write("before", data)
		joined, err := index.ParseLineages(lineages, map[string]bool{"r": false, "s": false})
		r.must(err)
		x := open(t, map[string]string{"r": r.dir, "s": s.dir}, func(c *index.Config) { c.Lineages = joined })
		list(t, x, index.Query{Scope: index.Everything()}, 10)
		roster := func(of string) int {
			return len(x.Family(of, index.Everything()).Roster(t.Context(), "teehistorian:"+before))
		}
		if roster("s/after") > 0 {
			t.Error(name, "a request for another root reads the file, or has players of it")
		}
		if roster("r/after") == 0 {
			t.Error(name, "the own root has no players")
		}
		if got := roster("s/after"); (got > 0) != (lineages != nil) {
			t.Error(name, "what is known of the other root:", got)
		}
	}
}

// TestLineages parses groups of origins, most of which are invalid.
func TestLineages(t *testing.T) {
	sources := map[string]bool{"live": true, "r": false, "s": false, "t": false}
	for _, groups := range [][]string{
		{""}, {"r"}, {"live/a"}, {"r,"}, {"r,r"}, {"r,x"}, {"r,s", "s,t"}, {"r/a,s"}, {"live/,r"}, {"live/a/b,r"}, {"live,live/a"}, {"live/a,r", "live,s"},
	} {
		if _, err := index.ParseLineages(groups, sources); !errors.Is(err, index.ErrLineage) {
			t.Errorf("%q: %v", groups, err)
		}
	}
	l, err := index.ParseLineages([]string{"live", "r,s"}, sources)
	if want := [][]string{{"live"}, {"r", "s"}}; err != nil || !slices.EqualFunc(l.Roots(), want, slices.Equal) {
		t.Errorf("%q, %v", l.Roots(), err)
	}
}

// TestFileOfOrigin: a file that was moved is found again in its own origin, and not below another source of the same root.
func TestFileOfOrigin(t *testing.T) {
	t.Parallel()
	live := tree{t, t.TempDir()}
	live.write("a/game", game(1))
	live.write("b/other", game(2))
	files, err := catalog.New([]catalog.Root{{Alias: "live", Store: ofSources{catalog.Directory(live.dir)}}}, catalog.Options{})
	live.must(err)
	x := open(t, nil, func(c *index.Config) { c.Files = files })
	was, err := x.Get(t.Context(), "live/a/game", index.Everything())
	live.must(err)
	of := func(name string) string {
		e := x.Family(name, index.Everything()).OfFile(t.Context(), was.ID, was.Identity)
		if e == nil {
			return ""
		}
		return e.Name
	}
	live.rename("a/game", "a/moved")
	if got := of("live/a/game"); got != "live/a/moved" {
		t.Errorf("within its source it is %q", got)
	}
	live.rename("a/moved", "b/moved")
	if got := of("live/a/game"); got != "" {
		t.Errorf("another source has it as %q", got)
	}
	if got := of("live/b/other"); got != "live/b/moved" {
		t.Errorf("in its new source it is %q", got)
	}
}

// TestCopies: of several files of a replay each is found as it is now, whichever of them changed, and in any order of removal.
func TestCopies(t *testing.T) {
	tree, x := one(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		tree.write(name, game(1))
	}
	check := func() {
		t.Helper()
		wantNames(t, "all", list(t, x, index.Query{Scope: index.Everything()}, 10), prefixed("r/", names)...)
		var got []string
		for _, e := range x.Family("r", index.Everything()).Copies(identity(1)) {
			if now, err := x.Get(t.Context(), e.Name, index.Everything()); err != nil || now != e {
				t.Errorf("%s has %d bytes, and a copy of it %d: %v", e.Name, now.Size, e.Size, err)
			}
			got = append(got, e.Name)
		}
		wantNames(t, "copies", got, prefixed("r/", names)...)
	}
	check()
	for _, name := range []string{"c", "b", "a"} {
		tree.append(name, []byte("more"))
		check()
	}
	for _, name := range []string{"a", "c", "b"} {
		tree.remove(name)
		names = slices.DeleteFunc(names, func(other string) bool { return other == name })
		check()
	}
}

// prefixed returns texts with a prefix.
func prefixed(prefix string, of []string) (list []string) {
	for _, text := range of {
		list = append(list, prefix+text)
	}
	return list
}
