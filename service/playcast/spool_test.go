package playcast_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/replayd/replayd/service/playcast"
)

// TestSpool: which files are removed, by their age and by what they take together.
func TestSpool(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.Add(-time.Duration(n) * 24 * time.Hour) }
	fill := func(t *testing.T) (dir string) {
		dir = t.TempDir()
		for name, f := range map[string]struct {
			text     string
			modified time.Time
		}{
			"eu1/.playcast.json":                     {`{"file":"2026-01-09T00-00-00Z.dem"}`, day(1)},
			"eu1/2026-01-01T00-00-00Z.dem":           {"0123456789", day(8)},
			"eu1/2026-01-03T00-00-00Z.dem":           {"0123456789", day(6)},
			"eu1/2026-01-03T00-00-00Z-2.dem":         {"0123456789", day(5)},
			"eu1/.2026-01-03T00-00-00Z.dem.previous": {"dem:1", day(6)},
			"eu1/2026-01-09T00-00-00Z.dem":           {"0123456789", day(9)}, // a match of which nothing comes
			"eu1/mine.dem":                           {"0123456789", day(9)},
			"over/.playcast.json":                    {`{"file":"2026-01-02T00-00-00Z.dem","over":true}`, day(7)},
			"over/2026-01-02T00-00-00Z.dem":          {"0123456789", day(7)},
			"other/2026-01-01T00-00-00Z.dem":         {"0123456789", day(9)},
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, f.modified, f.modified); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for what, c := range map[string]struct {
		spool playcast.Spool
		gone  []string
	}{
		"neither": {},
		"by age":  {playcast.Spool{Age: 6*24*time.Hour + time.Hour}, []string{"eu1/2026-01-01T00-00-00Z.dem", "over/2026-01-02T00-00-00Z.dem"}},
		"by size": {playcast.Spool{Size: 25}, []string{
			"eu1/.2026-01-03T00-00-00Z.dem.previous", "eu1/2026-01-01T00-00-00Z.dem", "eu1/2026-01-03T00-00-00Z.dem", "over/2026-01-02T00-00-00Z.dem",
		}},
		"just enough": {playcast.Spool{Size: 50}, nil},
		"by both":     {playcast.Spool{Size: 45, Age: 7*24*time.Hour + time.Hour}, []string{"eu1/2026-01-01T00-00-00Z.dem"}},
	} {
		t.Run(what, func(t *testing.T) {
			dir := fill(t)
			before := list(t, dir)
			c.spool.Dirs, c.spool.Below, c.spool.Log = []string{filepath.Join(dir, "eu1")}, []string{dir}, slog.New(slog.DiscardHandler)
			c.spool.Sweep(t.Context(), now)
			left := list(t, dir)
			if gone := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(left, name) }); !slices.Equal(gone, c.gone) {
				t.Errorf("%q are gone", gone)
			}
		})
	}
}

// list returns the names of all files below a directory, in order.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
