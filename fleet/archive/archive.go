package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/replayd/replayd/fleet/export"
)

// Options configure an Archive. Zero values stand for the defaults.
type Options struct {
	// FileBytes is how large files of rows become before another one is begun, in bytes. Default 128 MiB.
	FileBytes int64
	// CommitBytes and CommitReplays limit the staged exports of one commit: their bytes, at least one export, and their number.
	// Default 1 GiB and 5,000.
	CommitBytes   int64
	CommitReplays int
	// SmallFiles is how many files of a table and a day may be smaller than half of FileBytes; so many, or more, are rewritten as
	// one. Default 8.
	SmallFiles int
	// Keep is how long files stay that were rewritten, for queries that have begun before. Default 24 h.
	Keep time.Duration
	// Lease is how long the process that merges may show no sign of life before another one takes its place. Default 30 s.
	Lease time.Duration
	// Log gets a line for each commit, and for staged exports that cannot be read. May be nil.
	Log *slog.Logger
}

// Archive merges staged exports. It belongs to one goroutine.
type Archive struct {
	place      Place
	o          Options
	log        *slog.Logger
	state      *state
	lease      lease
	unreadable map[string]bool // files of tables that are damaged
}

// Report says what Merge did.
type Report struct {
	Commits   int
	Replays   int // whose rows were added
	Removed   int // staged exports whose rows were there already, or that a later one replaces
	Bad       int // staged exports that cannot be read, or do not fit their tables, as the log says; they stay
	Cleaned   int // files that nobody named
	Rewritten int // files that were small, or had deleted rows
}

// Add adds what another Merge did.
func (r *Report) Add(other Report) {
	r.Commits += other.Commits
	r.Replays += other.Replays
	r.Removed += other.Removed
	r.Bad += other.Bad
	r.Cleaned += other.Cleaned
	r.Rewritten += other.Rewritten
}

// ErrBusy means that another process merges.
var ErrBusy = errors.New("another process merges into this archive")

// New returns an Archive. Nothing is read yet.
func New(place Place, o Options) *Archive {
	o.FileBytes = cmp.Or(o.FileBytes, 128<<20)
	o.CommitBytes = cmp.Or(o.CommitBytes, 1<<30)
	o.CommitReplays = cmp.Or(o.CommitReplays, 5000)
	o.SmallFiles = cmp.Or(o.SmallFiles, 8)
	o.Keep = cmp.Or(o.Keep, 24*time.Hour)
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Archive{place: place, o: o, log: o.Log, state: newState(), unreadable: map[string]bool{}}
}

// Merge commits what is staged, completes what a killed process left undone, rewrites small files and those with many deleted rows, and
// removes the files that nobody names. It returns ErrBusy if
// another process merges, which takes up to the time of the lease to tell. After an error, call it again.
func (a *Archive) Merge(ctx context.Context) (report Report, err error) {
	ctx, release, err := a.acquire(ctx)
	if err != nil {
		return report, err
	}
	defer func() {
		if errors.Is(err, context.Canceled) {
			err = context.Cause(ctx) // such as that the lease is lost
		}
		err = errors.Join(err, release())
	}()
	if err := a.load(ctx); err != nil {
		return report, err
	}
	if err := a.publishAll(ctx, slices.Sorted(maps.Keys(a.state.tables))); err != nil {
		return report, err
	}
	staged, err := a.staged(ctx, &report)
	for err == nil && len(staged) > 0 {
		n, bytes := 0, int64(0)
		for n < len(staged) && n < a.o.CommitReplays && (n == 0 || bytes+staged[n].size <= a.o.CommitBytes) {
			bytes += staged[n].size
			n++
		}
		err = a.commit(ctx, staged[:n], &report)
		staged = staged[n:]
	}
	if err != nil {
		return report, err
	}
	if err := a.rewrite(ctx, &report); err != nil {
		return report, err
	}
	report.Cleaned, err = a.clean(ctx)
	return report, err
}

// publishAll publishes tables.
func (a *Archive) publishAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := a.publish(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// stagedFile is a staged export.
type stagedFile struct {
	export.Staged

	name    string
	size    int64
	written time.Time
}

// id identifies the replay.
func (s *stagedFile) id() string { return s.Format + "/" + s.Base }

// staged lists the staged exports that are to be committed, by day. It removes those that are not needed any more.
func (a *Archive) staged(ctx context.Context, report *Report) ([]stagedFile, error) {
	last := map[string]stagedFile{}
	var done []string
	err := a.place.List(ctx, export.StagedDir, func(f File) error {
		at, ok := export.ParseStaged(f.Name)
		s := stagedFile{at, f.Name, f.Size, f.Written}
		if !ok {
			return nil
		}
		if before, twice := last[s.id()]; twice {
			if cmp.Or(before.written.Compare(s.written), cmp.Compare(before.name, s.name)) > 0 {
				s, before = before, s
			}
			done = append(done, before.name)
		}
		last[s.id()] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, s := range last {
		if a.state.replays[id].key == s.Key {
			done = append(done, s.name)
			delete(last, id)
		}
	}
	for _, name := range done {
		if err := a.place.Remove(ctx, name); err != nil {
			return nil, err
		}
	}
	report.Removed += len(done)
	return slices.SortedFunc(maps.Values(last), func(s, t stagedFile) int {
		return cmp.Or(cmp.Compare(s.Day, t.Day), cmp.Compare(s.id(), t.id()))
	}), nil
}

// ours are the names of files that commits make.
var ours = regexp.MustCompile(`^[^/]+/[^/]+/(data/\d{8}-[0-9A-Z]+-\d+\.parquet|metadata/(\d{8}-[0-9A-Z]+-(rows|deletes)\.avro|v\d+\.metadata\.json|snap-\d+\.avro))$`)

// published are the names of files that follow from the log.
var published = regexp.MustCompile(`/metadata/(v\d+\.metadata\.json|snap-\d+\.avro)$`)

// clean removes the files that nobody names.
func (a *Archive) clean(ctx context.Context) (int, error) {
	named := map[string]bool{}
	for name, t := range a.state.tables {
		t.names(name, func(file string) { named[file] = true })
	}
	for file, at := range a.state.retired {
		if a.now()-at < a.o.Keep.Milliseconds() {
			named[file] = true
		}
	}
	var old []string
	failed := false // there are files of commits that failed
	err := a.place.List(ctx, ".", func(f File) error {
		if ours.MatchString(f.Name) && !named[f.Name] {
			old = append(old, f.Name)
			failed = failed || !published.MatchString(f.Name) && a.state.retired[f.Name] == 0
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if failed { // a process that lost its lease while it wrote these files can no longer commit them after this
		if err := a.write(ctx, &record{Number: a.state.last + 1, Time: a.now()}); err != nil {
			return 0, err
		}
	}
	for _, name := range old {
		if err := a.place.Remove(ctx, name); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

// lease is a lease that this process had last.
type lease struct {
	Holder string `json:"holder"`
	Beat   int    `json:"beat"`
	Over   bool   `json:"over,omitempty"`
}

// acquire takes the lease. The returned context ends when it is lost. Clocks are not compared: the lease of a holder ends when it stayed the
// same for its time.
func (a *Archive) acquire(ctx context.Context) (context.Context, func() error, error) {
	version, err := a.place.Version(ctx, leaseName)
	if err != nil {
		return nil, nil, err
	}
	if version != "" {
		if over, err := a.over(ctx); err != nil {
			return nil, nil, err
		} else if !over {
			a.log.InfoContext(ctx, "another process merges, or was killed; waiting for a sign of life", "lease", a.o.Lease)
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-time.After(a.o.Lease):
			}
			if now, err := a.place.Version(ctx, leaseName); err != nil || now != version {
				return nil, nil, cmp.Or(err, ErrBusy)
			}
		}
	}
	a.lease = lease{Holder: rand.Text()}
	if err := a.beat(ctx, version); err != nil {
		if errors.Is(err, export.ErrMoved) {
			err = ErrBusy
		}
		return nil, nil, err
	}
	working, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-working.Done():
				return
			case <-time.After(a.o.Lease / 3):
			}
			version, err := a.place.Version(working, leaseName)
			if err == nil {
				a.lease.Beat++
				err = a.renew(working, version)
			}
			if err != nil && working.Err() == nil {
				cancel(fmt.Errorf("the lease is lost: %w", err))
				return
			}
		}
	}()
	return working, func() error {
		cancel(nil)
		<-done
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		version, err := a.place.Version(ctx, leaseName)
		if err == nil {
			a.lease.Over = true
			err = a.renew(ctx, version)
		}
		if errors.Is(err, errLost) || errors.Is(err, export.ErrMoved) {
			return nil // another process has it
		}
		return err
	}, nil
}

var errLost = errors.New("another process took it")

// over reports whether the last holder has given the lease back.
func (a *Archive) over(ctx context.Context) (bool, error) {
	l, err := a.holder(ctx)
	return l.Over, err
}

// holder reads the lease.
func (a *Archive) holder(ctx context.Context) (l lease, err error) {
	b, err := a.place.Read(ctx, leaseName, 1<<10)
	if err == nil {
		_ = json.Unmarshal(b, &l) // damaged: as long as nobody writes it, it is over after its time
	}
	return l, err
}

// renew writes the lease if this process still has it.
func (a *Archive) renew(ctx context.Context, version string) error {
	l, err := a.holder(ctx)
	if err != nil {
		return err
	}
	if l.Holder != a.lease.Holder {
		return errLost
	}
	return a.beat(ctx, version)
}

// beat writes the lease.
func (a *Archive) beat(ctx context.Context, version string) error {
	b, err := json.Marshal(a.lease)
	if err != nil {
		return err
	}
	return export.CommitBytes(ctx, a.place, leaseName, b, version, nil)
}
