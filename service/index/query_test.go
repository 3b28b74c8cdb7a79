package index_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
)

func cursorOf(e *index.Entry) cursor.Cursor {
	return cursor.Cursor{Format: e.Format, Replay: cursor.HashOf(e.Identity)}
}

// library returns a directory of games, and an index that has identified all of them.
func library(t *testing.T) (tree, *index.Index) {
	t.Helper()
	tr, x := one(t, func(c *index.Config) { c.Budget = 1 })
	at := time.Unix(1_700_000_000, 0)
	for i := range 7 {
		data := game(i+1, "server_name", fmt.Sprint("Server ", i%2), "map_name", fmt.Sprint("Map", i%3),
			"start_time", at.Add(time.Duration(i)*time.Hour).UTC().Format("2006-01-02T15:04:05-0700"))
		if i == 6 {
			data = data[:len(data)-1] // without its end
		}
		tr.write(fmt.Sprintf("%c/%d", 'a'+i%2, i), data)
	}
	tr.write("a/text", []byte("this is no replay, but a text of some length"))
	tr.write("a-b/map.map", mapFile(t)) // "a-b" comes before "a/"
	await(t, "everything is known", func() bool {
		page, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "*"}}, "", 1)
		return err == nil && page.Total == 8 && page.Searched == 8
	})
	return tr, x
}

func mapFile(t *testing.T) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "testdata", "datafile", "*.map"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMaps: a file of a map's size is found before its beginning was read, and afterwards if it is a map.
func TestMaps(t *testing.T) {
	t.Parallel()
	tr := tree{t, t.TempDir()}
	data := mapFile(t)
	tr.write("map", data)
	tr.write("text", make([]byte, len(data)))
	tr.write("longer", append(data, 0))
	read := make(chan struct{})
	x := open(t, map[string]string{"r": tr.dir}, func(c *index.Config) {
		c.Files = late{c.Files, read}
	})
	t.Cleanup(sync.OnceFunc(func() { close(read) }))
	if err := x.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	maps := func() (names []string) {
		for _, e := range x.Maps(int64(len(data)), "r/game", index.Everything()) {
			names = append(names, e.Name)
		}
		return names
	}
	if got := maps(); !slices.Equal(got, []string{"r/map", "r/text"}) {
		t.Errorf("before they are read: %q", got)
	}
	read <- struct{}{}
	read <- struct{}{}
	read <- struct{}{}
	await(t, "the map alone is found", func() bool { return slices.Equal(maps(), []string{"r/map"}) })
}

// late is a catalogue that opens a file once it is told to.
type late struct {
	index.Files
	read chan struct{}
}

func (l late) OpenContext(ctx context.Context, name string) (*source.File, error) {
	select {
	case <-l.read:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return l.Files.OpenContext(ctx, name)
}

// TestList lists by each condition, in pages of each size.
func TestList(t *testing.T) {
	t.Parallel()
	_, x := library(t)
	at := time.Unix(1_700_000_000, 0)
	games := []string{"r/a/0", "r/a/2", "r/a/4", "r/a/6", "r/b/1", "r/b/3", "r/b/5"}
	for what, test := range map[string]struct {
		q    index.Query
		want []string
	}{
		"all":              {index.Query{Scope: index.Everything()}, append([]string{"r/a-b/map.map"}, games...)},
		"a root":           {index.Query{Scope: index.Everything(), Dir: "r"}, append([]string{"r/a-b/map.map"}, games...)},
		"a directory":      {index.Query{Scope: index.Everything(), Dir: "r/a"}, games[:4]},
		"a format":         {index.Query{Scope: index.Everything(), Formats: []decoders.Format{decoders.Teehistorian}}, games},
		"two formats":      {index.Query{Scope: index.Everything(), Formats: []decoders.Format{decoders.Datafile, decoders.Dem}}, []string{"r/a-b/map.map"}},
		"a server":         {index.Query{Scope: index.Everything(), Filter: index.Filter{Server: "server 1*"}}, games[4:]},
		"a server, in a":   {index.Query{Scope: index.Everything(), Dir: "r/a", Filter: index.Filter{Server: "server 1*"}}, nil},
		"exactly a map":    {index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "map0"}}, []string{"r/a/0", "r/a/6", "r/b/3"}},
		"a letter":         {index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "?ap1"}}, []string{"r/a/4", "r/b/1"}},
		"nothing of it":    {index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "ap1"}}, nil},
		"from":             {index.Query{Scope: index.Everything(), Filter: index.Filter{From: at.Add(4 * time.Hour)}}, []string{"r/a/4", "r/a/6", "r/b/5"}},
		"until":            {index.Query{Scope: index.Everything(), Filter: index.Filter{Until: at.Add(time.Hour)}}, []string{"r/a/0", "r/b/1"}},
		"from and until":   {index.Query{Scope: index.Everything(), Filter: index.Filter{From: at.Add(2 * time.Hour), Until: at.Add(2 * time.Hour)}}, []string{"r/a/2"}},
		"all, by server":   {index.Query{Scope: index.Everything(), Filter: index.Filter{Server: "*"}}, append([]string{"r/a-b/map.map"}, games...)},
		"finished":         {index.Query{Scope: index.Everything(), Filter: index.Filter{States: []index.State{index.Finished}}}, append([]string{"r/a-b/map.map"}, slices.DeleteFunc(slices.Clone(games), func(n string) bool { return n == "r/a/6" })...)},
		"growing":          {index.Query{Scope: index.Everything(), Filter: index.Filter{States: []index.State{index.Growing}}}, []string{"r/a/6"}},
		"a player":         {index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "alic?"}}, games},
		"nobody":           {index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "alic"}}, nil},
		"player and state": {index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "ALICE", States: []index.State{index.Growing}}}, []string{"r/a/6"}},
	} {
		for _, size := range []int{1, 2, 3, 7, 8, 100} {
			wantNames(t, fmt.Sprint(what, " by ", size), list(t, x, test.q, size), test.want...)
		}
		page, err := x.List(t.Context(), test.q, "", 1)
		if err != nil || page.Searched != page.Total {
			t.Errorf("%s: %d of %d were searched, %v", what, page.Searched, page.Total, err)
		}
	}
}

// TestPatterns tests patterns for which a careless matcher is wrong or takes exponential time.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "x", true}, {"**", "x", true}, {"x*", "x", true}, {"*x", "x", true}, {"?", "x", true}, {"??", "x", false}, {"x?", "x", false},
		{"a*b*c", "aXbXbc", true}, {"a*b*c", "aXbXb", false}, {"*ab", "aab", true}, {"*.map", "a.map.map", true}, {"a*a", "a", false},
		{"ÄÖ?", "äöü", true}, {"?", "ü", true}, {"*ü", "Ü", true}, {"[x]", "[x]", true}, {`\*`, `\anything`, true},
		{"*a*a*a*a*a*a*a*a*a*a*a*a*b", string(slices.Repeat([]byte("a"), 4000)), false},
	} {
		tr, x := one(t)
		tr.write("a", game(1, "map_name", test.text))
		if len(list(t, x, index.Query{Scope: index.Everything()}, 10)) != 1 {
			t.Fatal("it is not there")
		}
		if got := len(list(t, x, index.Query{Scope: index.Everything(), Filter: index.Filter{Map: test.pattern}}, 10)) == 1; got != test.want {
			t.Errorf("%q of %.20q: %v", test.pattern, test.text, got)
		}
	}
}

// TestTokens checks that a token continues its own list, and no other.
func TestTokens(t *testing.T) {
	t.Parallel()
	tr, x := library(t)
	queries := []index.Query{
		{}, {Dir: "r"}, {Dir: "r/a"}, {Formats: []decoders.Format{decoders.Teehistorian}},
		{Formats: []decoders.Format{decoders.Teehistorian, decoders.Datafile}},
		{Filter: index.Filter{Map: "*"}}, {Filter: index.Filter{Server: "*"}}, {Filter: index.Filter{Player: "*"}},
		{Filter: index.Filter{From: time.Unix(1, 0)}}, {Filter: index.Filter{Until: time.Unix(1_800_000_000, 0)}},
		{Filter: index.Filter{States: []index.State{index.Finished}}},
	}
	for i := range queries {
		queries[i].Scope = index.Everything()
	}
	for i, q := range queries {
		page, err := x.List(t.Context(), q, "", 2)
		if err != nil || page.Next == "" {
			t.Fatal(i, page, err)
		}
		for j, other := range queries {
			if _, err := x.List(t.Context(), other, page.Next, 2); (err == nil) != (i == j) || err != nil && !errors.Is(err, index.ErrToken) {
				t.Errorf("a token of %d for %d: %v", i, j, err)
			}
		}
	}
	for _, bad := range []string{"x", "====", base64.RawURLEncoding.EncodeToString([]byte("123456")), base64.RawURLEncoding.EncodeToString([]byte("123456r/a/0"))} {
		if _, err := x.List(t.Context(), index.Query{Scope: index.Everything()}, bad, 2); !errors.Is(err, index.ErrToken) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// Files that always exist are listed once while others are added and removed.
	page, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Dir: "r/a"}, "", 2)
	tr.must(err)
	tr.remove("a/2") // the token's last name
	tr.write("a/1", game(20))
	tr.write("a/5", game(21))
	rest, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Dir: "r/a"}, page.Next, 10)
	tr.must(err)
	var names []string
	for _, e := range rest.Replays {
		names = append(names, e.Name)
	}
	wantNames(t, "the rest", names, "r/a/4", "r/a/5", "r/a/6")
}

// TestDirectories tests directories that cannot be listed.
func TestDirectories(t *testing.T) {
	t.Parallel()
	tr := tree{t, t.TempDir()}
	tr.write("a/file", game(1))
	x := open(t, map[string]string{"r": tr.dir, "waited": filepath.Join(tr.dir, "not", "yet")})
	for name, want := range map[string]error{
		"r/a/file": catalog.ErrNotDirectory, "r/b": catalog.ErrNotFound, "other": catalog.ErrNotFound, "r/../r": catalog.ErrOutside,
		"/r": catalog.ErrOutside, "r//a": catalog.ErrName,
	} {
		if _, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Dir: name}, "", 10); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNames(t, "a root that is not there", list(t, x, index.Query{Scope: index.Everything(), Dir: "waited"}, 10))
	tr.write("not/yet/b", game(2))
	wantNames(t, "it came", list(t, x, index.Query{Scope: index.Everything(), Dir: "waited"}, 10), "waited/b")
	tr.remove("not")
	wantNames(t, "it went", list(t, x, index.Query{Scope: index.Everything(), Dir: "waited"}, 10))
	wantNames(t, "all", list(t, x, index.Query{Scope: index.Everything()}, 10), "r/a/file")
}

// TestCoverage checks the count of files that were not read, or not decoded yet.
func TestCoverage(t *testing.T) {
	t.Parallel()
	tr, x := one(t) // without a budget nothing is decoded
	for i := range 3 {
		tr.write(fmt.Sprint(i), game(i+1))
	}
	tr.write("map.map", mapFile(t))
	tr.write("text", []byte("this is no replay, but a text of some length"))
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	for what, test := range map[string]struct {
		q               index.Query
		total, searched int
	}{
		"headers":   {index.Query{Scope: index.Everything(), Filter: index.Filter{Map: "*"}}, 4, 4},
		"players":   {index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "*"}}, 4, 1},
		"states":    {index.Query{Scope: index.Everything(), Filter: index.Filter{States: []index.State{index.Finished}}}, 4, 1},
		"of a kind": {index.Query{Scope: index.Everything(), Formats: []decoders.Format{decoders.Datafile}, Filter: index.Filter{Player: "*"}}, 1, 1},
		"none":      {index.Query{Scope: index.Everything()}, 0, 0},
	} {
		page, err := x.List(t.Context(), test.q, "", 10)
		if err != nil || page.Total != test.total || page.Searched != test.searched {
			t.Errorf("%s: %d of %d, %v", what, page.Searched, page.Total, err)
		}
	}
}

// TestScope makes every request for files in a root that is out of scope. No answer may reveal them.
func TestScope(t *testing.T) {
	t.Parallel()
	seen, hidden := tree{t, t.TempDir()}, tree{t, t.TempDir()}
	seen.write("d/a", game(1))
	hidden.write("d/a", game(1)) // a copy
	hidden.write("d/next", game(2, "prev_game_uuid", uuid(1)))
	hidden.write("own", game(3))
	if err := os.Link(seen.path("d/a"), hidden.path("d/link")); err != nil {
		t.Fatal(err)
	}
	x := open(t, map[string]string{"seen": seen.dir, "hidden": hidden.dir}, func(c *index.Config) { c.Budget = 1 })
	ctx, scope := t.Context(), index.Only(map[string]bool{"seen": true})
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	await(t, "all is known", func() bool { return x.Figures().Surveyed == 5 })

	for _, dir := range []string{"", "seen"} {
		wantNames(t, "list", list(t, x, index.Query{Scope: scope, Dir: dir}, 1), "seen/d/a")
	}
	page, err := x.List(ctx, index.Query{Scope: scope, Filter: index.Filter{Player: "*"}}, "", 10)
	if err != nil || page.Total != 1 || page.Searched != 1 || len(page.Replays) != 1 {
		t.Errorf("a search has %d of %d, %v", page.Searched, page.Total, err)
	}
	// A token does not widen the scope.
	page, err = x.List(ctx, index.Query{Scope: index.Everything()}, "", 1)
	if err != nil || page.Replays[0].Name != "hidden/d/a" {
		t.Fatal(page, err)
	}
	if page, err = x.List(ctx, index.Query{Scope: scope}, page.Next, 10); err != nil || len(page.Replays) != 1 || page.Replays[0].Name != "seen/d/a" {
		t.Errorf("%+v, %v", page, err)
	}
	// Files out of scope yield the same errors as missing files.
	same := func(what string, got, missing error, hiddenName, missingName string) {
		t.Helper()
		if got == nil || missing == nil || !errors.Is(got, catalog.ErrNotFound) || got.Error() != fmt.Sprintf("%q: %v", hiddenName, catalog.ErrNotFound) ||
			missing.Error() != fmt.Sprintf("%q: %v", missingName, catalog.ErrNotFound) {
			t.Errorf("%s: %v, but what is not there: %v", what, got, missing)
		}
	}
	for _, name := range []string{"hidden", "hidden/d", "hidden/own", "hidden/nothing"} {
		_, err := x.Get(ctx, name, scope)
		_, missing := x.Get(ctx, "nowhere/d", scope)
		same("get "+name, err, missing, name, "nowhere/d")
		_, err = x.List(ctx, index.Query{Scope: scope, Dir: name}, "", 10)
		_, missing = x.List(ctx, index.Query{Scope: scope, Dir: "nowhere"}, "", 10)
		same("list "+name, err, missing, name, "nowhere")
		_, err = x.InDirectory(ctx, name, scope)
		_, missing = x.InDirectory(ctx, "nowhere", scope)
		same("directory "+name, err, missing, name, "nowhere")
	}
	if all, err := x.InDirectory(ctx, "seen/d", scope); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	if after := x.Family("hidden", scope).After(identity(1)); len(after) != 0 {
		t.Errorf("after: %+v", after[0])
	}
	if after := x.Family("hidden", index.Everything()).After(identity(1)); len(after) != 1 {
		t.Error("nothing comes after it")
	}
	if copies := x.Family("seen", scope).Copies(identity(1)); len(copies) != 1 || copies[0].Name != "seen/d/a" {
		t.Errorf("copies: %d", len(copies))
	}
	if copies := x.Family("hidden", index.Everything()).Copies(identity(1)); len(copies) != 2 {
		t.Errorf("all copies: %d", len(copies))
	}
	if copies := x.Family("hidden", scope).Copies(identity(3)); len(copies) != 0 {
		t.Errorf("copies: %d", len(copies))
	}
	was, err := x.Get(ctx, "seen/d/a", scope)
	seen.must(err)
	own, err := x.Get(ctx, "hidden/own", index.Everything())
	seen.must(err)
	if e, err := x.Family("hidden", scope).OfCursor(ctx, cursorOf(own)); err != nil || e != nil {
		t.Errorf("of cursor: %+v, %v", e, err)
	}
	if e, err := x.Family("seen", scope).OfCursor(ctx, cursorOf(own)); err != nil || e != nil {
		t.Errorf("of cursor: %+v, %v", e, err)
	}
	if e, err := x.Family("seen", scope).OfCursor(ctx, cursorOf(was)); err != nil || e == nil || e.Name != "seen/d/a" {
		t.Errorf("of cursor: %+v, %v", e, err)
	}
	if e := x.Family("seen", index.Everything()).OfFile(ctx, own.ID, own.Identity); e != nil {
		t.Errorf("of file: %+v", e)
	}
	seen.remove("d/a") // its other name is out of scope
	if e := x.Family("seen", index.Everything()).OfFile(ctx, was.ID, was.Identity); e != nil {
		t.Errorf("of file: %+v", e)
	}
	if e := x.Family("hidden", index.Everything()).OfFile(ctx, was.ID, was.Identity); e == nil || e.Name != "hidden/d/link" {
		t.Errorf("of file: %+v", e)
	}
	if all := list(t, x, index.Query{Scope: index.Scope{}}, 10); len(all) > 0 {
		t.Errorf("who may see nothing sees %q", all)
	}

	blind, sighted := x.Family("seen", scope).Interest("hidden/d", identity(1)), x.Family("hidden", index.Everything()).Interest("hidden/d", identity(1))
	defer blind.Close()
	defer sighted.Close()
	<-blind.C
	<-sighted.C
	hidden.write("d/later", game(4, "prev_game_uuid", uuid(1)))
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	select {
	case <-blind.C:
		t.Error("it is notified that something came where nothing may be seen")
	default:
	}
	notified := func(what string, i *index.Interest) {
		t.Helper()
		select {
		case <-i.C:
		case <-time.After(patience):
			t.Fatal("no notification of " + what)
		}
	}
	notified("what may be seen", sighted)
	seen.write("d/later", game(4, "prev_game_uuid", uuid(1)))
	list(t, x, index.Query{Scope: index.Everything()}, 10)
	notified("what came where it may be seen", blind)
}

// TestListedOnce checks that files that always exist are listed exactly once, in pages of any size, while others are added and
// removed.
func TestListedOnce(t *testing.T) {
	t.Parallel()
	tr, x := one(t)
	var stays []string
	for i := range 30 {
		stays = append(stays, fmt.Sprintf("r/%d/%02d-stays", i%3, i))
		tr.write(stays[i][2:], game(i+1))
	}
	slices.Sort(stays)
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("%d/%02d-goes", i%4, i%31)
			tr.write(name, game(100+i))
			if i%2 == 0 {
				tr.rename(name, "3/other")
			} else {
				tr.remove(name)
			}
		}
	})
	for _, size := range []int{1, 2, 7, 100} {
		got := slices.DeleteFunc(list(t, x, index.Query{Scope: index.Everything()}, size), func(name string) bool { return !strings.HasSuffix(name, "stays") })
		wantNames(t, fmt.Sprint("pages of ", size), got, stays...)
	}
	close(stop)
	others.Wait()
}

// TestListedByMany checks that a file whose header is not complete yet is in every list, though others read its beginning meanwhile.
func TestListedByMany(t *testing.T) {
	t.Parallel()
	tr, x := one(t)
	tr.write("cut", game(1)[:200])
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				page, err := x.List(t.Context(), index.Query{Scope: index.Everything()}, "", 10)
				if err != nil || len(page.Replays) != 1 || page.Replays[0].Format != decoders.Teehistorian {
					t.Error(page, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestBesideDirectories: a directory has the files whose names sort before, among and behind those in directories below it, and only these.
func TestBesideDirectories(t *testing.T) {
	tree, x := one(t)
	in := map[string][]string{
		"r":       {"r/a!", "r/a-", "r/a.", "r/a0", "r/aa", "r/b"},
		"r/a":     {"r/a/!", "r/a/0", "r/a/a"},
		"r/a/a.d": {"r/a/a.d/a", "r/a/a.d/b"},
		"r/a1":    {"r/a1/a"},
	}
	for _, names := range in {
		for i, name := range names {
			tree.write(strings.TrimPrefix(name, "r/"), game(i+1))
		}
	}
	check := func() {
		t.Helper()
		for dir, want := range in {
			all, err := x.InDirectory(t.Context(), dir, index.Everything())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range all {
				got = append(got, e.Name)
			}
			wantNames(t, dir, got, want...)
		}
	}
	check()
	tree.remove("a0")
	in["r"] = []string{"r/a!", "r/a-", "r/a.", "r/aa", "r/b"}
	check()
	tree.remove("a")
	delete(in, "r/a")
	delete(in, "r/a/a.d")
	check()
	wantNames(t, "all", list(t, x, index.Query{Scope: index.Everything()}, 100), "r/a!", "r/a-", "r/a.", "r/a1/a", "r/aa", "r/b")
}
