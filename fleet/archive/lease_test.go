package archive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/replayd/replayd/fleet/archive"
)

// slow is a place whose first Put takes some time.
type slow struct {
	quick

	once  *sync.Once
	lasts time.Duration
}

func (s slow) Put(ctx context.Context, name, draft string) error {
	s.once.Do(func() { time.Sleep(s.lasts) })
	return s.quick.Put(ctx, name, draft)
}

// dead is the place of a process that has died: it changes nothing any more.
type dead struct{ quick }

func (dead) Put(context.Context, string, string) error { return errKilled }

func (d dead) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	if version != "" { // it had taken the lease
		return errKilled
	}
	return d.Dir.Commit(ctx, name, draft, version, files)
}

// TestLease: whoever merges for longer than the time of the lease keeps it. That of a process that was killed ends after this time, and one that
// was given back at once.
func TestLease(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	stage(t, dir, again(t, games, 0, true), "finish")
	merge(t, dir, archive.Options{})
	hints, err := filepath.Glob(filepath.Join(dir, "*", "*", "metadata", "version-hint.text"))
	if err != nil || len(hints) == 0 {
		t.Fatal(hints, err)
	}
	for _, hint := range hints { // so that there is something to put
		if err := os.Remove(hint); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		o := archive.Options{Lease: time.Minute}
		takes := func(p archive.Place, want error, lasts time.Duration) {
			t.Helper()
			begun := time.Now()
			if _, err := archive.New(p, o).Merge(t.Context()); !errors.Is(err, want) || time.Since(begun) != lasts {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(begun), want, lasts)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { takes(slow{place(dir), &sync.Once{}, time.Hour}, nil, time.Hour) })
		time.Sleep(time.Second)
		for range 3 {
			takes(place(dir), archive.ErrBusy, o.Lease)
		}
		wg.Wait()
		takes(place(dir), nil, 0)
		if err := os.Remove(filepath.Join(dir, "lease.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(hints[0]); err != nil {
			t.Fatal(err)
		}
		takes(dead{place(dir)}, errKilled, 0)
		takes(place(dir), nil, o.Lease)
	})
}

// TestLater: of two staged exports of a replay the one that was written later is added.
func TestLater(t *testing.T) {
	games := t.TempDir()
	for _, whole := range []bool{false, true} {
		dir, want := t.TempDir(), t.TempDir()
		stage(t, want, again(t, games, 0, whole), "finish")
		stage(t, dir, again(t, games, 0, whole), "finish")
		later, err := filepath.Glob(filepath.Join(dir, "staged", "*", "*", "*.zip"))
		if err != nil || len(later) != 1 {
			t.Fatal(later, err)
		}
		stage(t, dir, again(t, games, 0, !whole), "finish")
		if err := os.Chtimes(later[0], time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if r := merge(t, dir, archive.Options{}); r != (archive.Report{Commits: 1, Replays: 1, Removed: 1}) {
			t.Errorf("%+v", r)
		}
		merge(t, want, archive.Options{})
		compare(t, rowsOf(t, dir), rowsOf(t, want))
	}
}
