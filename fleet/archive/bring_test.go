package archive_test

import (
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// TestBring: exports of before have the rows that they have if they are staged. What the archive has stays.
func TestBring(t *testing.T) {
	dir, want, plain, games := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	kinds := []string{"player_diff", "message", "finish"}
	for path, kinds := range map[string][]string{
		filepath.Join(samples, "dem", "dota.dem"):        {"combat_log", "match_summary", "voice", "game_event", "player_info", "user_cmd"},
		filepath.Join(samples, "datafile", "sample.map"): {"layer_bounds", "envelope_points"}, again(t, games, 0, true): kinds, again(t, games, 1, false): kinds,
	} {
		run(t, path, export.Options{Place: place(plain), Format: tablefile.Parquet}, kinds...)
		stage(t, want, path, kinds...)
	}
	run(t, again(t, games, 2, true), export.Options{Place: place(plain), Format: tablefile.Parquet}, "finish")
	stage(t, dir, again(t, games, 2, false), "message")
	stage(t, want, again(t, games, 2, false), "message")
	run(t, again(t, games, 3, true), export.Options{Place: place(plain), Format: tablefile.CSV}, "finish")
	merge(t, want, archive.Options{})
	a := archive.New(place(dir), archive.Options{})
	if _, err := a.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Bring(t.Context(), place(plain)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if r, err := a.Merge(t.Context()); r.Replays != 4 || err != nil {
		t.Fatal(r, err)
	}
	compare(t, rowsOf(t, dir), rowsOf(t, want))
	if n, err := a.Bring(t.Context(), place(plain)); n != 0 || err != nil {
		t.Error("brought again:", n, err)
	}
	stage(t, dir, again(t, games, 0, true), kinds...) // the same as what was brought
	if r := merge(t, dir, archive.Options{}); r.Replays != 0 || r.Removed != 1 {
		t.Errorf("%+v", r)
	}
}
