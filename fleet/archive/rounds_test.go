package archive_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
)

// faulty is the Place of a process that is killed after some changes, or stopped for a while before one.
type faulty struct {
	quick

	stops bool
	left  *atomic.Int64
	going *sync.RWMutex // locked while the process is stopped
}

var errKilled = errors.New("killed")

// lease is the time of the leases of processes that are killed and stopped.
const lease = 20 * time.Millisecond

func (f faulty) do(change func() error) error {
	left := f.left.Add(-1)
	switch {
	case left < 0 && !f.stops:
		return errKilled
	case left == 0 && f.stops:
		f.going.Lock()
		time.Sleep(4 * lease)
		f.going.Unlock()
	}
	f.going.RLock()
	defer f.going.RUnlock()
	return change()
}

func (f faulty) Put(ctx context.Context, name, draft string) error {
	return f.do(func() error { return f.quick.Put(ctx, name, draft) })
}

func (f faulty) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	return f.do(func() error { return f.Dir.Commit(ctx, name, draft, version, files) })
}

func (f faulty) Remove(ctx context.Context, name string) error {
	return f.do(func() error { return f.Dir.Remove(ctx, name) })
}

// TestRounds stages replays, some of them again with other contents, while two processes merge, of which each is killed after some changes, or
// is stopped for longer than its lease. In the end the tables have the rows that one process makes of the last contents, and no other
// file is left. ARCHIVE_ROUNDS=200 for more rounds than 10, ROUNDS_SEED to draw the same again.
func TestRounds(t *testing.T) {
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("ARCHIVE_ROUNDS"), "10"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("ROUNDS_SEED"), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ROUNDS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir, games, want := t.TempDir(), t.TempDir(), t.TempDir()
	kinds := []string{"finish"}
	last := map[int]bool{}
	o := archive.Options{CommitReplays: 3, Lease: lease}
	killed, moved := 0, 0
	for round := range rounds {
		for range 4 {
			n, whole := random.IntN(4+2*round), random.IntN(3) > 0
			stage(t, dir, again(t, games, n, whole), kinds...)
			last[n] = whole
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 2 {
			p := faulty{place(dir), random.IntN(2) == 0, &atomic.Int64{}, &sync.RWMutex{}}
			p.left.Store(1 + random.Int64N(30))
			wg.Go(func() {
				for range 3 {
					_, err := archive.New(p, o).Merge(t.Context())
					mu.Lock()
					switch {
					case errors.Is(err, errKilled):
						killed++
					case err != nil && !errors.Is(err, archive.ErrBusy):
						moved++
						t.Logf("round %d: %v", round, err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for again := range 100 { // before the next contents: which of two that are staged is the later one is a matter of clocks
			_, err := archive.New(place(dir), o).Merge(t.Context())
			if err == nil {
				break
			}
			if again == 99 || !errors.Is(err, archive.ErrBusy) && !errors.Is(err, export.ErrMoved) {
				t.Fatal(err)
			}
		}
	}
	for n, whole := range last {
		stage(t, want, again(t, games, n, whole), kinds...)
	}
	merge(t, want, archive.Options{})
	compare(t, rowsOf(t, dir), rowsOf(t, want))
	t.Logf("%d replays; killed %d times, lost the lease or a race %d times", len(last), killed, moved)
	// Nothing is left to remove.
	if r := merge(t, dir, archive.Options{}); r != (archive.Report{}) {
		t.Errorf("another merge did something: %+v", r)
	}
	unnamed(t, dir)
}

// unnamed reports files that no record of the log, and no metadata, names.
func unnamed(t *testing.T, dir string) {
	t.Helper()
	var text strings.Builder
	for _, pattern := range []string{"commits/*.json", "*/*/metadata/*.metadata.json"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
	}
	hinted := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		base := filepath.Base(path)
		switch {
		case base == "lease.json" || base == "version-hint.text" || filepath.Base(filepath.Dir(path)) == "commits":
		case strings.HasSuffix(base, ".metadata.json"):
			hinted[filepath.Dir(path)]++
		case strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".part"): // a draft of a process that was killed: here, beside its file
		case !strings.Contains(text.String(), base):
			t.Errorf("nobody names %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range hinted {
		if n > 8 {
			t.Errorf("%s has %d versions", dir, n)
		}
	}
}
