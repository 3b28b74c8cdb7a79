package archive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	o := archive.Options{CommitReplays: 3, SmallFiles: 3, Lease: lease}
	killed, moved := 0, 0
	for round := range rounds {
		for range 4 {
			n, whole := random.IntN(4+2*round), random.IntN(3) > 0
			stage(t, dir, again(t, games, n, whole), kinds...)
			last[n] = whole
		}
		o.Keep = []time.Duration{1, time.Hour}[random.IntN(2)]
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
	o.Keep = 1
	time.Sleep(time.Millisecond) // of the time of the last rewriting, which is over then
	merge(t, dir, o)
	// Nothing is left to do.
	if r := merge(t, dir, o); r != (archive.Report{}) {
		t.Errorf("another merge did something: %+v", r)
	}
	unnamed(t, dir)
}

// unnamed reports files that neither the log nor what engines read names.
func unnamed(t *testing.T, dir string) {
	t.Helper()
	named := map[string]bool{}
	hints, err := filepath.Glob(filepath.Join(dir, "*", "*", "metadata", "version-hint.text"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range hints {
		named[hint] = true
		for _, s := range metadataOf(t, hint).Snapshots {
			named[filepath.Join(filepath.Dir(hint), fmt.Sprintf("v%d.metadata.json", s.ID))] = true
			named[s.List] = true
			for _, m := range manifests(t, s.List) {
				named[m.path] = true
				for _, f := range filesOf(t, m.path, m.length) {
					named[f.path] = true
				}
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		base := filepath.Base(path)
		draft := strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".part") // of a process that was killed: here, beside its file
		if base != "lease.json" && filepath.Base(filepath.Dir(path)) != "commits" && !draft && !named[path] {
			t.Errorf("nobody names %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
