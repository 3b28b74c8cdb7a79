package index_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/service/index"
)

// numbered reads everything below a root and returns the replays of a selection in the order of their numbers, from a number on.
func numbered(tb testing.TB, x *index.Index, q index.Query, alias string, after uint64) (list []index.Numbered) {
	tb.Helper()
	s := x.Select(q)
	if err := s.Refresh(tb.Context(), index.Numbered{Root: alias}); err != nil {
		tb.Fatal(err)
	}
	await(tb, "all replays have numbers", func() bool {
		return !slices.ContainsFunc(entries(tb, x, q), func(e *index.Entry) bool {
			_, ok := s.Of(e)
			return !ok
		})
	})
	for {
		found, last, _ := s.Next(alias, after)
		list = append(list, found...)
		if last == after {
			return list
		}
		after = last
	}
}

// entries returns the entries of all replays of a query.
func entries(tb testing.TB, x *index.Index, q index.Query) []*index.Entry {
	tb.Helper()
	page, err := x.List(tb.Context(), q, "", 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return page.Replays
}

// texts returns numbers as text.
func texts(list []index.Numbered) (all []string) {
	for _, n := range list {
		all = append(all, fmt.Sprint(n.Root, " ", n.Number, " ", n.Identity))
	}
	return all
}

// TestNumbers: a replay keeps its number under other names, compressed and copied; a selection counts it once, also if it has moved into
// the selection's directory or to a root that belongs together with its own. Another root changes no number.
func TestNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, s := tree{t, filepath.Join(dir, "r")}, tree{t, filepath.Join(dir, "s")}
	s.write("seen", game(7))
	r.write("live/1", game(1))
	joined, err := index.ParseLineages([]string{"r,s"}, map[string]bool{"r": false, "s": false})
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, map[string]string{"r": r.dir, "s": s.dir}, func(c *index.Config) {
		c.Path, c.Lineages = filepath.Join(dir, "index"), joined
	})
	all, live, old := index.Query{Scope: index.Everything()}, index.Query{Scope: index.Everything(), Dir: "r/live"},
		index.Query{Scope: index.Everything(), Dir: "r/old"}
	only := index.Query{Scope: index.Only(map[string]bool{"s": true})}
	want := func(step string, q index.Query, alias string, want ...string) {
		t.Helper()
		wantNames(t, step, texts(numbered(t, x, q, alias, 0)), want...)
	}
	want("one game", all, "r", "r 1 "+identity(1))
	r.write("live/2", game(2))
	r.write("live/copy", game(1))
	want("a copy", all, "r", "r 1 "+identity(1), "r 2 "+identity(2))
	r.rename("live/1", "live/renamed")
	r.write("live/2.gz", decodertest.Gzip(t, game(2)))
	r.remove("live/2")
	want("renamed and compressed", live, "r", "r 1 "+identity(1), "r 2 "+identity(2))
	r.rename("live/2.gz", "old/2.gz")
	r.write("live/3", game(3))
	r.rename("live/renamed", "old/1")
	want("moved", all, "r", "r 1 "+identity(1), "r 2 "+identity(2), "r 5 "+identity(3))
	want("moved out", live, "r", "r 1 "+identity(1), "r 2 "+identity(2), "r 5 "+identity(3))
	moved := numbered(t, x, old, "r", 0)
	if len(moved) != 2 || moved[0].Number+moved[1].Number != 3+4 {
		t.Errorf("moved in: %v", texts(moved))
	}
	r.remove("live/copy")
	s.write("archived", game(3))
	want("archived elsewhere", all, "s", "s 1 "+identity(7))
	want("of those who see the archive alone", only, "s", "s 1 "+identity(7), "s 2 "+identity(3))
	sel := x.Select(all)
	for _, n := range numbered(t, x, all, "r", 0) {
		files, known := sel.Files(n, false)
		if !known || len(files) == 0 || files[0].Identity != n.Identity {
			t.Fatalf("%v has the files %v", n, files)
		}
		if back, ok := sel.Of(files[0]); !ok || back != n {
			t.Errorf("%s has the number %v, want %v", files[0].Name, back, n)
		}
	}
	out := numbered(t, x, live, "r", 0)[1]
	for anywhere, want := range map[bool]int{false: 0, true: 1} {
		if files, known := x.Select(live).Files(out, anywhere); len(files) != want || !known {
			t.Errorf("the game that was moved out has the files %v, known %v", files, known)
		}
	}
	if !sel.Gone("r") || sel.Gone("none") {
		t.Error("it is not known what is there")
	}
	s.remove("")
	if err := sel.Refresh(t.Context(), index.Numbered{Root: "s"}); err != nil || sel.Gone("s") {
		t.Errorf("a missing root has lost its files for good: %v", err)
	}
}

// TestNumbersLast: numbers outlive the process, whatever happens to the files, and end with the index or its lineages.
func TestNumbersLast(t *testing.T) {
	t.Parallel()
	tr, stored := storing(t, 30)
	random, q := rand.New(rand.NewPCG(1, 0)), index.Query{Scope: index.Everything()}
	joined, err := index.ParseLineages([]string{"r,s"}, map[string]bool{"r": false, "s": false})
	if err != nil {
		t.Fatal(err)
	}
	other := tree{t, t.TempDir()}
	start := func(change ...func(*index.Config)) *index.Index {
		return open(t, map[string]string{"r": tr.dir, "s": other.dir}, append(change, func(c *index.Config) { c.Path = stored })...)
	}
	x := start()
	before, generation := numbered(t, x, q, "r", 0), x.Generation()
	if len(before) != 30 {
		t.Fatalf("%d numbers", len(before))
	}
	for round := range 5 {
		there := entries(t, x, q)
		closed(t, x)
		for _, e := range there {
			name, _ := filepath.Rel("r", e.Name)
			switch random.IntN(5) {
			case 0:
				tr.rename(name, path.Join(path.Dir(name), fmt.Sprint("renamed", random.Int())))
			case 1:
				tr.remove(name)
			}
		}
		tr.write(fmt.Sprint("0/new", round), game(1000+round))
		x = start()
		after := numbered(t, x, q, "r", 0)
		if len(after) != len(before)+1 || x.Generation() != generation {
			t.Fatalf("round %d: %d numbers after %d", round, len(after), len(before))
		}
		for i, n := range after {
			_, there := x.Select(q).Files(n, false)
			if want := uint64(i + 1); n.Number != want || n.Identity == "" != !there {
				t.Errorf("round %d: %v is number %d", round, n, want)
			}
			if i < len(before) && n.Identity != "" && before[i].Identity != "" && n.Identity != before[i].Identity {
				t.Errorf("round %d: %v was %v", round, n, before[i])
			}
		}
		before = after
	}
	closed(t, x)
	x = start(func(c *index.Config) { c.Lineages = joined })
	if again := numbered(t, x, q, "r", 0); x.Generation() == generation || again[len(again)-1].Number != uint64(len(again)) {
		t.Errorf("with other lineages there are the numbers %v", texts(again))
	}
}
