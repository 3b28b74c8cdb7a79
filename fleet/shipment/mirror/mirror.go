package mirror

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Options configure New. Unless they are required, fields with zero values have defaults.
type Options struct {
	// Dir is a directory that nobody else uses. Required.
	Dir string
	// Name describes the stream to the operator, without credentials.
	Name string
	// Open returns the stream. It is called again until it succeeds. Required.
	Open func(ctx context.Context) (*shipment.Stream, error)
	// Source is the only source to mirror. Empty means all.
	Source string
	// MaxBytes limits the bytes of all files together. Default 8 GiB.
	MaxBytes int64
	// MaxFiles limits the number of files. Default 100,000.
	MaxFiles int
	// SourceBytes and SourceFiles limit the files of one source. Default a quarter of the total, or all of it with Source.
	SourceBytes int64
	SourceFiles int
	// Archive has archived files, under the same names. Nil for none.
	Archive catalog.Store
	// Linger is how long an archived file stays if there is no Archive. Default 5 minutes.
	Linger time.Duration
	// Keep keeps the files when Run returns, and goes on with files that another Mirror of the same stream has left in Dir.
	// Without Keep, Dir must be empty.
	Keep bool
	// Log is required.
	Log *slog.Logger
}

// Mirror makes files of a stream. It is a catalog.Store, and safe for concurrent use.
type Mirror struct {
	o     Options
	root  *os.Root
	files catalog.Store // the directory
	ready atomic.Bool

	wake chan struct{} // a file was archived, or closed by its last reader

	mu      sync.Mutex
	known   map[string]*file            // by name: SOURCE/PATH
	states  map[string]shipment.Message // the last states of files, by name
	lanes   map[string]*lane            // by source
	bytes   int64                       // of all files
	since   time.Time                   // when the present stream was made, once that is known
	after   uint64                      // the sequence number of the last applied message
	read    struct{ bytes, states bool }
	pruned  bool // the files were compared with the stream's since the start
	drafts  int
	objects map[string]map[string]fs.FileInfo // of the archive, by directory and name
	fresh   map[string]fs.FileInfo            // objects that were noted since the present listing of the archive began, by path

	ignored, messages, skipped uint64
}

// file is a file of the mirror. Mirror.mu guards it.
type file struct {
	generation shipment.Generation
	since      time.Time // when the stream with the generation was made
	after      uint64    // the sequence number of the last applied message
	length     int64
	sum        hash.Hash // of the file's bytes
	inode      source.ID
	modified   time.Time
	archived   time.Time // the time at which it was archived, zero if it was not
	whole      int64     // the file's length in the archive
	open       int       // the number of readers
	torn       bool      // bytes are missing; logged
	adopted    bool      // its generation is that of a file with the same beginning
	unlisted   int       // how many comparisons found nothing of it in the stream
}

// New returns a Mirror that has not started.
func New(o Options) (*Mirror, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 8 << 30
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 100_000
	}
	share := 4
	if o.Source != "" {
		share = 1
	}
	if o.SourceBytes <= 0 {
		o.SourceBytes = max(o.MaxBytes/int64(share), 1)
	}
	if o.SourceFiles <= 0 {
		o.SourceFiles = max(o.MaxFiles/share, 1)
	}
	if o.Linger <= 0 {
		o.Linger = 5 * time.Minute
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	m := &Mirror{
		o: o, root: root, files: catalog.Directory(dir), wake: make(chan struct{}, 1), known: map[string]*file{},
		states: map[string]shipment.Message{}, lanes: map[string]*lane{}, objects: map[string]map[string]fs.FileInfo{}, fresh: map[string]fs.FileInfo{},
	}
	if o.Keep {
		if err := m.load(); err != nil {
			return nil, errors.Join(fmt.Errorf("the files that were kept: %w", err), root.Close())
		}
	}
	return m, nil
}

// Close closes the directory. Run must have returned.
func (m *Mirror) Close() error { return m.root.Close() }

// Figures are counts of a Mirror.
type Figures struct {
	Ready    bool   // everything was read once
	Files    int    // in the mirror
	Bytes    int64  // in the mirror
	Messages uint64 // written messages
	Ignored  uint64 // messages that no sender would have written
	Skipped  uint64 // messages that could not be written when they came, and are read again
	Behind   int    // sources with left-out messages
	Waiting  int    // files with left-out messages
}

// Figures returns the present figures.
func (m *Mirror) Figures() Figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := Figures{m.ready.Load(), len(m.known), m.bytes, m.messages, m.ignored, m.skipped, 0, 0}
	for _, l := range m.lanes {
		n.Waiting += len(l.waiting)
		if l.behind() {
			n.Behind++
		}
	}
	return n
}

// Run mirrors until ctx ends, and returns when everything that it started has ended.
func (m *Mirror) Run(ctx context.Context) {
	if m.o.Keep {
		defer m.save() // after the last write
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { m.retire(ctx) })
	wg.Go(func() { m.reconcile(ctx) })
	wg.Go(func() { m.repeat(ctx, m.readStates) })
	if m.o.Archive != nil {
		wg.Go(func() { m.listArchive(ctx) })
	}
	if m.o.Keep {
		wg.Go(func() { m.keepSaved(ctx) })
	}
	m.mu.Lock()
	for _, l := range m.lanes { // of the kept files
		m.catch(ctx, l, &wg)
	}
	m.mu.Unlock()
	m.repeat(ctx, func(ctx context.Context, stream *shipment.Stream, began func()) error {
		since, err := m.madeAt(ctx, stream)
		if err == nil {
			err = m.prune(ctx, stream)
		}
		if err != nil {
			return err
		}
		m.mu.Lock()
		after := m.after
		m.mu.Unlock()
		return stream.Read(ctx, shipment.Which{Source: m.o.Source}, after, since, func(d *shipment.Delivered) error {
			began()
			m.take(ctx, d, stream.Name(), &wg)
			return nil
		}, func() { m.caughtUp(&m.read.bytes) })
	})
}

// repeat opens the stream and calls read, until ctx ends.
func (m *Mirror) repeat(ctx context.Context, read func(ctx context.Context, stream *shipment.Stream, began func()) error) {
	for failures := 0; ctx.Err() == nil; {
		stream, err := m.o.Open(ctx)
		if err == nil {
			err = read(ctx, stream, func() { failures = 0 })
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, shipment.ErrRestarted):
			m.o.Log.WarnContext(ctx, "a live root's stream was made anew or has lost messages; it is read from its beginning", "stream", m.o.Name)
			m.restart()
		case errors.Is(err, shipment.ErrReconnected):
			failures = 0
			continue
		case failures%30 == 3:
			m.o.Log.WarnContext(ctx, "a live root's stream cannot be read; trying again", "stream", m.o.Name, "error", err)
		}
		failures++
		if !shipment.Pause(ctx, min(time.Second, 50*time.Millisecond<<min(failures, 5))) {
			return
		}
	}
}

// madeAt returns when the present stream was made. The first time it asks the stream.
func (m *Mirror) madeAt(ctx context.Context, stream *shipment.Stream) (time.Time, error) {
	m.mu.Lock()
	since := m.since
	m.mu.Unlock()
	if !since.IsZero() {
		return since, nil
	}
	state, err := stream.Position(ctx)
	if err != nil {
		return since, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = state.Created
	return m.since, nil
}

// caughtUp notes that a part of the stream was read. The Store answers once all parts are.
func (m *Mirror) caughtUp(part *bool) {
	m.mu.Lock()
	*part = true
	all := m.read.bytes && m.read.states
	m.mu.Unlock()
	if !all || m.ready.Swap(true) {
		return
	}
	n := m.Figures()
	m.o.Log.Info("a live root is served", "stream", m.o.Name, "files", n.Files, "bytes", n.Bytes)
	m.touch(".")
}

// touch makes the watchers of a directory read it again.
func (m *Mirror) touch(dir string) {
	now := time.Now()
	_ = m.root.Chtimes(dir, now, now)
}

// reconcileEvery is how often the files are compared with the stream's.
const reconcileEvery = 5 * time.Minute

// reconcile removes files of which the stream has had nothing for a while, and forgotten states. They ended while this daemon was
// not connected.
func (m *Mirror) reconcile(ctx context.Context) {
	for shipment.Pause(ctx, reconcileEvery) {
		stream, err := m.o.Open(ctx)
		if err != nil {
			continue
		}
		there, err := stream.Files(ctx, m.o.Source)
		if err != nil {
			continue
		}
		states, err := stream.States(ctx, m.o.Source)
		if err != nil {
			continue
		}
		m.mu.Lock()
		for name := range m.states {
			if !states[name] && m.known[name] == nil {
				delete(m.states, name)
			}
		}
		for name, f := range m.known {
			if f.unlisted++; there[name] {
				f.unlisted = 0
			}
			if f.unlisted > 2 {
				m.archive(f, f.length)
			}
		}
		m.mu.Unlock()
	}
}
