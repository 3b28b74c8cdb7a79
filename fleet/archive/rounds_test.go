package archive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
)

// fault is what happens to a process at one of its changes.
type fault int

const (
	nothing fault = iota
	kill          // it makes neither this change nor a later one
	stop          // it stands still for longer than its lease
	cut           // the change is made, and the answer is lost
	faults
)

// faulty is the Place of a process to which something happens.
type faulty struct {
	quick
	fault

	left  *atomic.Int64 // changes until then
	going *sync.RWMutex // locked while the process is stopped
}

var (
	errKilled = errors.New("killed")
	errCut    = errors.New("cut off")
)

// lease is the time of the leases of processes to which something happens.
const lease = 20 * time.Millisecond

// afflicted returns the place of a process to which something happens at one of some changes.
func afflicted(random *rand.Rand, dir string, changes int64) faulty {
	f := faulty{place(dir), fault(random.IntN(int(faults))), &atomic.Int64{}, &sync.RWMutex{}}
	f.left.Store(random.Int64N(changes))
	return f
}

func (f faulty) do(change func() error) error {
	left := f.left.Add(-1)
	switch {
	case f.fault == kill && left < 0:
		return errKilled
	case f.fault == stop && left == -1:
		f.going.Lock()
		time.Sleep(4 * lease)
		f.going.Unlock()
	case f.fault == cut && left == -1:
		return errors.Join(change(), errCut)
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

// rounds is what TestRounds has.
type rounds struct {
	*testing.T

	dir, games string
	kinds      []string
	round      int

	mu              sync.Mutex
	happened        [faults]int // to those who stage
	killed, unready int         // those who merge: were killed, had another error
}

// job stages a replay as workers do: it is given to another one after an error, after a while without an answer, or if the answer was lost. So
// two may do it at the same time.
func (r *rounds) job(random *rand.Rand, path string) {
	first := afflicted(random, r.dir, 2)
	patience := time.Duration(random.Int64N(int64(4 * lease)))
	r.mu.Lock()
	r.happened[first.fault]++
	r.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan error, 1)
	wg.Go(func() {
		done <- exported(r.Context(), path, export.Options{Place: first, Staged: true}, request(r.kinds...))
	})
	select {
	case err := <-done:
		if err == nil && (first.fault == nothing || first.fault == stop) {
			return
		}
		if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, errCut) {
			r.Error(err)
		}
	case <-time.After(patience):
	}
	if err := exported(r.Context(), path, export.Options{Place: place(r.dir), Staged: true}, request(r.kinds...)); err != nil {
		r.Error(err)
	}
}

// merge merges some times, until it is killed.
func (r *rounds) merge(p faulty, o archive.Options) {
	a := archive.New(p, o)
	for range 3 {
		_, err := a.Merge(r.Context())
		r.mu.Lock()
		switch {
		case errors.Is(err, errKilled):
			r.killed++
			r.mu.Unlock()
			return
		case err != nil && !errors.Is(err, archive.ErrBusy):
			r.unready++
			r.Logf("round %d: %v", r.round, err)
		}
		r.mu.Unlock()
	}
}

// TestRounds: workers stage replays, some of them again with other contents, while two processes merge. Each is killed, stopped for longer than
// its lease, or cut off at one of its changes. In the end the tables have the rows that one process makes of the last contents, and no
// other file is left. ARCHIVE_ROUNDS=200 for more rounds than 10, ROUNDS_SEED to draw the same again.
func TestRounds(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("ARCHIVE_ROUNDS"), "10"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("ROUNDS_SEED"), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ROUNDS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := &rounds{T: t, dir: t.TempDir(), games: t.TempDir(), kinds: []string{"finish"}}
	last := map[int]bool{}
	o := archive.Options{CommitReplays: 3, SmallFiles: 3, Lease: lease}
	for r.round = range n {
		jobs := map[int]bool{}
		for range 4 {
			jobs[random.IntN(4+2*r.round)] = random.IntN(3) > 0
		}
		maps.Copy(last, jobs)
		o.Keep = []time.Duration{1, time.Hour}[random.IntN(2)]
		var wg sync.WaitGroup
		for _, n := range slices.Sorted(maps.Keys(jobs)) {
			own, path := rand.New(rand.NewPCG(random.Uint64(), 0)), again(t, r.games, n, jobs[n])
			wg.Go(func() { r.job(own, path) })
		}
		for range 2 {
			p, o := afflicted(random, r.dir, 30), o
			wg.Go(func() { r.merge(p, o) })
		}
		wg.Wait()
		for again := range 100 { // before the next contents: which of two that are staged is the later one is a matter of clocks
			_, err := archive.New(place(r.dir), o).Merge(t.Context())
			if err == nil {
				break
			}
			if again == 99 || !errors.Is(err, archive.ErrBusy) && !errors.Is(err, export.ErrMoved) {
				t.Fatal(err)
			}
		}
	}
	want := t.TempDir()
	for n, whole := range last {
		stage(t, want, again(t, r.games, n, whole), r.kinds...)
	}
	merge(t, want, archive.Options{})
	compare(t, rowsOf(t, r.dir), rowsOf(t, want))
	t.Logf("%d replays; workers killed %d, stopped %d, cut off %d times; merging killed %d times, lost the lease or a race %d times",
		len(last), r.happened[kill], r.happened[stop], r.happened[cut], r.killed, r.unready)
	o.Keep = 1
	time.Sleep(time.Millisecond) // of the time of the last rewriting, which is over then
	merge(t, r.dir, o)
	// Nothing is left to do.
	if r := merge(t, r.dir, o); r != (archive.Report{}) {
		t.Errorf("another merge did something: %+v", r)
	}
	unnamed(t, r.dir)
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
