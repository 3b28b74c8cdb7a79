package index_test

import (
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/service/index"
)

// TestLineup: who played in a demo is known when its end is there, and stays known.
func TestLineup(t *testing.T) {
	t.Parallel()
	demo := decodertest.Sample(t, "dem", "dota.dem")
	dir := t.TempDir()
	tr, path := tree{t, filepath.Join(dir, "games")}, filepath.Join(dir, "index")
	tr.write("a.dem", demo[:len(demo)/2])
	lineup := func(x *index.Index) string {
		page, err := x.List(t.Context(), index.Query{Scope: index.Everything()}, "", 10)
		if err != nil || len(page.Replays) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		e := page.Replays[0]
		if (len(e.Players()) > 0) != (e.Lineup() != "") {
			t.Errorf("players %q, lineup %q", e.Players(), e.Lineup())
		}
		return e.Lineup()
	}
	const want = "somebody (npc_dota_hero_axe) vs another (npc_dota_hero_lina), somebody won"
	for _, run := range []string{"at first", "from the stored index"} {
		x := open(t, map[string]string{"r": tr.dir}, func(c *index.Config) { c.Path, c.Budget = path, 1 })
		surveyed(t, x, 1)
		if run == "at first" {
			if got := lineup(x); got != "" {
				t.Errorf("before its end: %q", got)
			}
			tr.append("a.dem", demo[len(demo)/2:])
			await(t, "the demo is over", func() bool {
				if _, err := x.Get(t.Context(), "r/a.dem", index.Everything()); err != nil {
					t.Fatal(err)
				}
				return lineup(x) != ""
			})
		}
		if got := lineup(x); got != want {
			t.Errorf("%s: %q, want %q", run, got, want)
		}
		closed(t, x)
	}
}

// TestLineupDecoded: who played in a demo that does not name its players is known after decoding, can be searched for, and stays known.
func TestLineupDecoded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tr, path := tree{t, filepath.Join(dir, "games")}, filepath.Join(dir, "index")
	tr.write("a.dem", demtest.Players("csgo"))
	for _, budget := range []float64{1, 0} { // without one, the stored index has them
		x := open(t, map[string]string{"r": tr.dir}, func(c *index.Config) { c.Path, c.Budget = path, budget })
		surveyed(t, x, 1)
		for player, n := range map[string]int{"": 1, "LARRY": 1, "watcher": 0} {
			page, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Filter: index.Filter{Player: player}}, "", 10)
			if err != nil || len(page.Replays) != n || n > 0 && page.Replays[0].Lineup() != "somebody vs Larry" {
				t.Errorf("budget %v, player %q: %+v, %v", budget, player, page, err)
			}
		}
		closed(t, x)
	}
}
