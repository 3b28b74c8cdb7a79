package ship

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/watch"
)

// Archive is where finished files go. A bucket.Bucket is one.
type Archive interface {
	Put(ctx context.Context, path string, body io.ReadSeeker, size int64) error
	Open(ctx context.Context, path string) (source.Handle, error)
}

// Options configure New. Unless they are required, fields with zero values have defaults.
type Options struct {
	// Dir is the directory whose files are shipped. Required.
	Dir string
	// Source is the first element of their names. Required.
	Source string
	// Open returns the stream. It is called again until it succeeds. Required.
	Open func(ctx context.Context) (*shipment.Stream, error)
	// Connected reports whether NATS can be reached now. Nil means always.
	Connected func() bool
	// Watcher reports changes. Required.
	Watcher *watch.Watcher
	// Archive gets finished files under SOURCE/PATH. Nil: they stay in the stream for as long as they are in the directory.
	Archive Archive
	// Quiet is how long after its last write a file without its own end counts as over. Default an hour.
	Quiet time.Duration
	// HasEnd reports whether a replay of size bytes has its own end. It is called whenever a file pauses, so it should cost
	// little for a file without one. Nil: no file has one.
	HasEnd func(replay io.ReaderAt, size int64) bool
	// Ended is how long after its last write a file is searched for its own end. Default 2 s.
	Ended time.Duration
	// MaxAge is the age of the last write up to which a file is shipped of which the stream has nothing. Default a day.
	MaxAge time.Duration
	// Batch is how long a file's writes are collected for one message. The first write after a pause does not wait. Default 0.
	Batch time.Duration
	// Absent is how long a file must be gone before the stream is told. Default 10 s.
	Absent time.Duration
	// Rescan is how often directories are listed although nothing reports a change. Default 30 s.
	Rescan time.Duration
	// Chunks limits the chunks of files in memory, of shipment.MaxChunk bytes each. Default 8.
	Chunks int
	// MaxFiles limits the files that are followed at once. Further ones wait. Default 10,000.
	MaxFiles int
	// Lease is how long an owner must be silent before another shipper takes its source over. Default 30 s.
	Lease time.Duration
	// Adopt takes over a source that was shipped from another directory. Files that this directory lacks are removed.
	Adopt bool
	// Log is required.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	if o.HasEnd == nil {
		o.HasEnd = func(io.ReaderAt, int64) bool { return false }
	}
	set(&o.Quiet, time.Hour)
	set(&o.Ended, 2*time.Second)
	set(&o.MaxAge, 24*time.Hour)
	set(&o.Absent, 10*time.Second)
	set(&o.Rescan, 30*time.Second)
	set(&o.Lease, 30*time.Second)
	if o.Chunks <= 0 {
		o.Chunks = 8
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 10_000
	}
	if o.Connected == nil {
		o.Connected = func() bool { return true }
	}
	return o
}

// Figures are counts since the start.
type Figures struct {
	Files    int    // that are followed now
	Bytes    uint64 // shipped
	Messages uint64 // with bytes, shipped
	Conflict uint64 // messages that were refused because their subject had another last one
	Failures uint64 // of NATS, the disk and the archive
	Archived uint64 // files
}

// Shipper ships the files of a directory.
type Shipper struct {
	o      Options
	stream *shipment.Stream
	slots  chan []byte
	wg     sync.WaitGroup

	bytes, messages, conflicts, failures, archived atomic.Uint64
	archiving                                      sync.Mutex // held while a file is archived: one at a time

	mu    sync.Mutex
	files map[string]*settled // the last state of each file, by path; nil while it is followed
	dirs  map[string]bool
	kept  map[string]bool // paths with messages in the stream that were not looked at yet
	full  bool            // MaxFiles was reached; logged
	busy  int             // the number of files that are followed
	owned *claim          // the claim on the source
	empty bool            // the directory has no files; logged

	waiting map[string]string // reasons for which files wait, by path
}

// settled describes a file that is not followed any more.
type settled struct {
	id       source.ID
	size     int64
	modified time.Time
}

// New returns a Shipper that has not started.
func New(o Options) (*Shipper, error) {
	o = o.withDefaults()
	if err := shipment.CheckSource(o.Source); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	s := &Shipper{
		o: o, slots: make(chan []byte, o.Chunks), files: map[string]*settled{}, dirs: map[string]bool{}, kept: map[string]bool{},
		waiting: map[string]string{},
	}
	for range o.Chunks {
		s.slots <- nil // made when it is needed
	}
	return s, nil
}

// Figures returns the present figures.
func (s *Shipper) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Figures{
		Files: s.busy, Bytes: s.bytes.Load(), Messages: s.messages.Load(), Conflict: s.conflicts.Load(),
		Failures: s.failures.Load(), Archived: s.archived.Load(),
	}
}

// Run ships until ctx ends, and returns when everything that it started has ended. It returns an *OwnedError if the source
// belongs to another directory.
func (s *Shipper) Run(ctx context.Context) error {
	defer s.wg.Wait()
	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	telling.Go(func() { s.tellWaits(ctx) })
	for {
		if !s.retry(ctx, "opening the stream", func() (err error) { // also after it was lost
			s.stream, err = s.o.Open(ctx)
			return err
		}) {
			return nil
		}
		c, err := s.claim(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.files, s.dirs, s.kept, s.owned = map[string]*settled{}, map[string]bool{}, map[string]bool{}, c
		s.mu.Unlock()
		if err = c.during(ctx, s.ship); err == nil {
			return nil
		}
		s.o.Log.ErrorContext(ctx, "nothing is shipped until the source is claimed again", "source", s.o.Source, "error", err)
	}
}

// ship ships until ctx ends.
func (s *Shipper) ship(ctx context.Context) {
	var paths []string
	if !s.retry(ctx, "listing the stream", func() (err error) {
		paths, err = s.stream.Paths(ctx, s.o.Source)
		return err
	}) {
		return
	}
	s.mu.Lock()
	for _, p := range paths {
		s.kept[p] = true
	}
	s.mu.Unlock()
	s.wg.Go(func() { s.watch(ctx, ".") })
	s.wg.Go(func() { s.keepStream(ctx) })
	// Files in the stream that are no longer in the directory are looked at after a first listing, which finds most files.
	if !shipment.Pause(ctx, s.o.Absent) {
		return
	}
	s.mu.Lock()
	paths = paths[:0]
	for p := range s.kept {
		paths = append(paths, p)
	}
	s.mu.Unlock()
	for _, p := range paths {
		s.begin(ctx, p, nil)
	}
	s.sweep(ctx)
}

// lookEvery is how often a shipper looks whether its stream is there.
const lookEvery = 10 * time.Second

// keepStream makes the stream anew if somebody has deleted it. Files whose messages are refused meanwhile are sent again.
func (s *Shipper) keepStream(ctx context.Context) {
	for shipment.Pause(ctx, min(lookEvery, s.o.Lease)) {
		_, err := s.stream.Position(ctx)
		if _, states := s.stream.States(ctx, s.o.Source); err == nil {
			err = states
		}
		if !errors.Is(err, shipment.ErrNoStream) {
			continue
		}
		s.o.Log.ErrorContext(ctx, "the stream is gone; it is made anew, and gets what is in the directory", "stream", s.stream.Name())
		if _, err := s.o.Open(ctx); err != nil {
			s.failed(ctx, 3, "making the stream", err)
		}
	}
}

// mayRemove reports whether a file that the directory lacks may be removed from the stream: only the owner of the source removes
// files, and a directory without any was more likely not mounted than emptied.
func (s *Shipper) mayRemove(ctx context.Context) bool {
	has := s.hasFiles()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !has && !s.empty {
		s.o.Log.WarnContext(ctx, "the directory is empty: nothing is removed from the stream until it has a file again", "directory", s.o.Dir)
	}
	s.empty = !has
	return has && s.owned.holds()
}

// hasFiles reports whether the directory has something to ship, or a directory that has.
func (s *Shipper) hasFiles() bool {
	f, err := os.Open(s.o.Dir)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	for {
		entries, err := f.ReadDir(64)
		for _, e := range entries {
			if shipment.CheckPath(e.Name()) == nil {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// retry calls f until it succeeds, with growing pauses. It returns false if ctx has ended.
func (s *Shipper) retry(ctx context.Context, doing string, f func() error) bool {
	defer s.waits("", nil)
	for n := 0; ; n++ {
		err := f()
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		s.waits("", err)
		s.failed(ctx, n, doing, err)
		if !s.wait(ctx, n) {
			return false
		}
	}
}

// failed counts a failure. It logs only some of those that repeat.
func (s *Shipper) failed(ctx context.Context, n int, doing string, err error) {
	s.failures.Add(1)
	if n == 3 || n > 3 && n%20 == 0 {
		s.o.Log.WarnContext(ctx, "trying again: "+doing, "error", err)
	}
}

// wait is the pause before another attempt. It grows with the number of attempts, and lasts while NATS cannot be reached. It
// returns false if ctx has ended.
func (s *Shipper) wait(ctx context.Context, n int) bool {
	d := 50 * time.Millisecond << min(n, 6)
	d += rand.N(d) //nolint:gosec // nobody gains by guessing it
	for {
		if !shipment.Pause(ctx, min(d, time.Second)) {
			return false
		}
		if d -= time.Second; d <= 0 && s.o.Connected() {
			return true
		}
		d = max(d, 50*time.Millisecond)
	}
}

// watch lists a directory whenever it may have changed, until it is gone.
func (s *Shipper) watch(ctx context.Context, dir string) {
	defer func() {
		s.mu.Lock()
		delete(s.dirs, dir)
		s.mu.Unlock()
	}()
	sub, err := s.o.Watcher.Subscribe(filepath.Join(s.o.Dir, filepath.FromSlash(dir)))
	var changed <-chan struct{}
	if err != nil {
		s.o.Log.WarnContext(ctx, "a directory is not watched", "directory", dir, "error", err)
	} else {
		defer sub.Close()
		changed = sub.C
	}
	tick := time.NewTicker(s.o.Rescan)
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
		err := s.list(ctx, dir)
		switch {
		case err != nil && dir != "." && errors.Is(err, fs.ErrNotExist):
			return // the listing that finds it again watches it again
		case err != nil && first:
			s.o.Log.WarnContext(ctx, "a directory cannot be read", "directory", dir, "error", err)
		}
	}
}

// list looks at the entries of a directory.
func (s *Shipper) list(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(s.o.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	there := map[string]bool{}
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			p := path.Join(dir, e.Name())
			if shipment.CheckPath(p) != nil {
				continue
			}
			there[p] = true
			stat, err := root.Stat(p)
			switch {
			case err != nil:
			case stat.IsDir() && e.IsDir():
				s.enter(ctx, p)
			case stat.Mode().IsRegular():
				s.begin(ctx, p, stat)
			}
		}
		if err != nil {
			break
		}
	}
	s.mu.Lock()
	var gone []string
	for p, end := range s.files {
		if end != nil && !there[p] && path.Dir(p) == dir {
			gone = append(gone, p)
		}
	}
	s.mu.Unlock()
	for _, p := range gone {
		s.begin(ctx, p, nil)
	}
	return nil
}

// enter begins to watch a directory.
func (s *Shipper) enter(ctx context.Context, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs[dir] || len(s.dirs) >= s.o.MaxFiles {
		return
	}
	s.dirs[dir] = true
	s.wg.Go(func() { s.watch(ctx, dir) })
}

// begin begins to follow a file, unless there is nothing to do for it. stat is nil if the file is gone.
func (s *Shipper) begin(ctx context.Context, p string, stat fs.FileInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, known := s.files[p]
	switch {
	case known && end == nil: // it is followed
		return
	case stat == nil:
	case known && end.id == source.Identify(stat) && end.size == stat.Size() && end.modified.Equal(stat.ModTime()):
		return
	case !known && !s.kept[p] && (stat.Size() == 0 || time.Since(stat.ModTime()) > s.o.MaxAge):
		return
	}
	if s.busy >= s.o.MaxFiles {
		if !s.full {
			s.full = true
			s.o.Log.WarnContext(ctx, "too many files at once: some wait", "files", s.busy)
		}
		return
	}
	s.files[p] = nil
	delete(s.kept, p)
	s.busy++
	s.wg.Go(func() {
		end := s.follow(ctx, p)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
		if s.files[p] = end; end == nil {
			delete(s.files, p)
		}
	})
}

// forgetAfter is how long the last message of a file stays after the file has left the stream.
const forgetAfter = time.Hour

// sweep purges the last messages of files that left the stream long ago, now and then.
func (s *Shipper) sweep(ctx context.Context) {
	for {
		paths, err := s.stream.Paths(ctx, s.o.Source)
		if err != nil {
			paths = nil
		}
		for _, p := range paths {
			s.forget(ctx, p)
			if ctx.Err() != nil {
				return
			}
		}
		if !shipment.Pause(ctx, forgetAfter/4+rand.N(forgetAfter/4)) { //nolint:gosec // nobody gains by guessing it
			return
		}
	}
}

// forget purges a path's messages from the stream if nobody needs them: they identify an archived file for as long as it would be
// shipped again.
func (s *Shipper) forget(ctx context.Context, p string) {
	s.mu.Lock()
	end, known := s.files[p]
	s.mu.Unlock()
	if known && (end == nil || time.Since(end.modified) < s.o.MaxAge+forgetAfter) {
		return
	}
	subject, err := shipment.Subject(s.stream.Name(), s.o.Source, p)
	if err != nil {
		return
	}
	found, err := s.stream.Find(ctx, subject)
	if err != nil || found.State == nil || found.Last() != found.State || time.Since(found.State.Time) < forgetAfter {
		return
	}
	last := found.State
	if last.Kind == shipment.Removed || last.Kind == shipment.Archived && time.Since(last.Modified) > s.o.MaxAge+forgetAfter {
		if b := found.Bytes(); b != nil { // it should have been removed with the state
			err = s.stream.Drop(ctx, subject, b.Sequence+1)
		}
		if err == nil {
			_ = s.stream.Forget(ctx, subject, last.Sequence) // otherwise tried again later
		}
	}
}
