package archive_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/describe"
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
	if n, err := a.Bring(t.Context(), place(plain), nil); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if r, err := a.Merge(t.Context()); r.Replays != 4 || err != nil {
		t.Fatal(r, err)
	}
	compare(t, rowsOf(t, dir), rowsOf(t, want))
	if n, err := a.Bring(t.Context(), place(plain), nil); n != 0 || err != nil {
		t.Error("brought again:", n, err)
	}
	stage(t, dir, again(t, games, 0, true), kinds...) // the same as what was brought
	if r := merge(t, dir, archive.Options{}); r.Replays != 0 || r.Removed != 1 {
		t.Errorf("%+v", r)
	}
}

// TestComments: columns of what was brought have the comments of the table that the program knows, and otherwise those of what is staged later. A
// comment stays as it is.
func TestComments(t *testing.T) {
	want, plain, games := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, again(t, games, 0, true), export.Options{Place: place(plain), Format: tablefile.Parquet}, "player_diff", "input_new")
	stage(t, want, again(t, games, 1, true), "player_diff", "input_new")
	merge(t, want, archive.Options{})
	hint := filepath.Join("teehistorian", "input_new", "metadata", "version-hint.text")
	commented := columnsOf(t, filepath.Join(want, hint))
	for what, known := range map[string]func(string, string) *arrow.Schema{"known": knownTable, "not known": nil} {
		dir := t.TempDir()
		a := archive.New(place(dir), archive.Options{})
		_, err := a.Bring(t.Context(), place(plain), known)
		if err == nil {
			_, err = a.Merge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := columnsOf(t, filepath.Join(dir, hint)); maps.Equal(got, commented) != (known != nil) {
			t.Errorf("%s: %+v, want %+v", what, got, commented)
		}
		stage(t, dir, again(t, games, 1, true), "player_diff", "input_new")
		merge(t, dir, archive.Options{})
		if got := columnsOf(t, filepath.Join(dir, hint)); !maps.Equal(got, commented) {
			t.Errorf("%s, then staged: %+v, want %+v", what, got, commented)
		}
	}
	other := func(format, kind string) *arrow.Schema {
		known := knownTable(format, kind)
		if known == nil {
			return nil
		}
		fields := known.Fields()
		for i := range fields {
			fields[i].Metadata = arrow.MetadataFrom(map[string]string{arrowipc.CommentKey: "another one"})
		}
		return arrow.NewSchema(fields, nil)
	}
	a := archive.New(place(want), archive.Options{})
	_, err := a.Bring(t.Context(), place(plain), other)
	if err == nil {
		_, err = a.Merge(t.Context())
	}
	if got := columnsOf(t, filepath.Join(want, hint)); err != nil || !maps.Equal(got, commented) {
		t.Errorf("%v, %+v, want %+v", err, got, commented)
	}
}

// knownTable returns the table of a kind as this program writes it.
func knownTable(format, kind string) *arrow.Schema {
	tables := describe.Named(format).Tables
	at := slices.IndexFunc(tables.Kinds, func(k table.Kind) bool { return k.Name == kind })
	if at < 0 {
		return nil
	}
	return arrowipc.Schema(tables.Layout(false), uint8(at))
}
