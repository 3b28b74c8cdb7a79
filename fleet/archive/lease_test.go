package archive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// unpublished makes an archive of which something is left to put, and returns a file that is missing.
func unpublished(t *testing.T, dir string) (missing string) {
	t.Helper()
	stage(t, dir, again(t, t.TempDir(), 0, true), "finish")
	merge(t, dir, archive.Options{})
	missing = filepath.Join(dir, "teehistorian", "finish", "metadata", "version-hint.text")
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	return missing
}

// TestLease: whoever merges for longer than the time of the lease keeps it. That of a process that was killed ends after this time, and one that
// was given back at once.
func TestLease(t *testing.T) {
	dir := t.TempDir()
	missing := unpublished(t, dir)
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
		if err := os.Remove(missing); err != nil {
			t.Fatal(err)
		}
		takes(dead{place(dir)}, errKilled, 0)
		takes(place(dir), nil, o.Lease)
	})
}

// stalled is a place whose process stands still when it looks at the lease for the second time.
type stalled struct {
	slow

	looked *atomic.Int64
}

func (s stalled) Version(ctx context.Context, name string) (string, error) {
	if name == "lease.json" && s.looked.Add(1) == 2 {
		time.Sleep(10 * time.Minute)
	}
	return s.slow.Version(ctx, name)
}

// TestLostLease: whoever stood still for longer than its lease leaves the lease to the process that has taken it, and says so.
func TestLostLease(t *testing.T) {
	dir := t.TempDir()
	unpublished(t, dir)
	synctest.Test(t, func(t *testing.T) {
		o := archive.Options{Lease: time.Minute}
		first, second := slow{place(dir), &sync.Once{}, time.Hour}, slow{place(dir), &sync.Once{}, time.Hour}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := archive.New(stalled{first, &atomic.Int64{}}, o).Merge(t.Context()); err == nil || !strings.Contains(err.Error(), "the lease is lost") {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		if _, err := archive.New(second, o).Merge(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
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
