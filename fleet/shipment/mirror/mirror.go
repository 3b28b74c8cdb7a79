package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/service/catalog"
)

// Options are those of New. The zero value of a field is its default, except where there is none.
type Options struct {
	// Dir is an empty directory, for nobody else. Required.
	Dir string
	// Name describes the stream to the operator, without credentials.
	Name string
	// Open returns the stream. It is called again until it succeeds. Required.
	Open func(ctx context.Context) (*shipment.Stream, error)
	// Source is the only source to mirror. Empty means all.
	Source string
	// MaxBytes is how many bytes the files may have together. Default 8 GiB.
	MaxBytes int64
	// MaxFiles is how many files there may be. Default 100,000.
	MaxFiles int
	// SourceBytes and SourceFiles are how many of them the files of one source may have. Default a quarter, all with Source.
	SourceBytes int64
	SourceFiles int
	// Archive has files that were archived, under the same names. Nil for none.
	Archive catalog.Store
	// Linger is how long a file that was archived stays if there is no Archive. Default 5 minutes.
	Linger time.Duration
	// Log is required.
	Log *slog.Logger
}

// Mirror makes files of a stream. It is a catalog.Store, and safe for concurrent use.
type Mirror struct {
	o     Options
	root  *os.Root
	files catalog.Store // the directory
	ready atomic.Bool

	wake chan struct{} // a file was archived, or is not read any more

	mu      sync.Mutex
	known   map[string]*file // by name: SOURCE/PATH
	lanes   map[string]*lane // by source
	bytes   int64            // of all files
	since   time.Time        // when the stream that is read was made, once that is known
	drafts  int
	objects map[string]map[string]fs.FileInfo // of the archive, by directory and name
	fresh   map[string]fs.FileInfo            // those that were noted since the present listing of the archive began, by path

	ignored, messages, skipped uint64
}

// file is a file of the mirror. Mirror.mu guards it.
type file struct {
	generation shipment.Generation
	length     int64
	sum        hash.Hash // of its bytes
	archived   time.Time // when it was, zero if not
	open       int       // how many have it open
	torn       bool      // bytes are missing, which was logged
	unlisted   int       // how often the stream had nothing of it
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
	return &Mirror{
		o: o, root: root, files: catalog.Directory(dir), wake: make(chan struct{}, 1), known: map[string]*file{}, lanes: map[string]*lane{},
		objects: map[string]map[string]fs.FileInfo{}, fresh: map[string]fs.FileInfo{},
	}, nil
}

// Close closes the directory. Run must have returned.
func (m *Mirror) Close() error { return m.root.Close() }

// Figures are counts of a Mirror.
type Figures struct {
	Ready    bool   // everything was read once
	Files    int    // in the mirror
	Bytes    int64  // in the mirror
	Messages uint64 // that were written
	Ignored  uint64 // that no sender would have written
	Skipped  uint64 // that could not be written when they came, and are read again
	Behind   int    // sources of which messages are left out now
}

// Figures returns the present figures.
func (m *Mirror) Figures() Figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	behind := 0
	for _, l := range m.lanes {
		if l.behind {
			behind++
		}
	}
	return Figures{m.ready.Load(), len(m.known), m.bytes, m.messages, m.ignored, m.skipped, behind}
}

// Run mirrors until ctx ends, and returns when everything that it started has ended.
func (m *Mirror) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { m.retire(ctx) })
	if m.o.Archive != nil {
		wg.Go(func() { m.listArchive(ctx) })
	}
	var after uint64
	for failures := 0; ctx.Err() == nil; {
		stream, err := m.o.Open(ctx)
		if err == nil {
			reading, stop := context.WithCancel(ctx)
			wg.Go(func() { m.reconcile(reading, stream) })
			var since time.Time
			if since, err = m.madeAt(ctx, stream); err == nil {
				err = stream.Read(reading, m.o.Source, after, since, func(d *shipment.Delivered) error {
					failures = 0
					m.take(ctx, stream.Name(), d, &wg)
					after = d.Sequence
					return nil
				}, m.caughtUp)
			}
			stop()
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, shipment.ErrRestarted):
			m.o.Log.WarnContext(ctx, "a live root's stream was made anew or has lost messages; it is read from its beginning", "stream", m.o.Name)
			after = 0
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

// madeAt returns when the stream that is read was made. The first time it asks the stream.
func (m *Mirror) madeAt(ctx context.Context, stream *shipment.Stream) (time.Time, error) {
	m.mu.Lock()
	since := m.since
	m.mu.Unlock()
	if !since.IsZero() {
		return since, nil
	}
	state, err := stream.State(ctx)
	if err != nil {
		return since, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = state.Created
	return m.since, nil
}

// caughtUp makes the Store answer.
func (m *Mirror) caughtUp() {
	if m.ready.Swap(true) {
		return
	}
	n := m.Figures()
	m.o.Log.Info("a live root is served", "stream", m.o.Name, "files", n.Files, "bytes", n.Bytes)
	m.touch(".")
}

// touch makes whoever watches a directory read it again.
func (m *Mirror) touch(dir string) {
	now := time.Now()
	_ = m.root.Chtimes(dir, now, now)
}

// permanent reports whether an error of the file system is due to the name alone.
func permanent(err error) bool {
	for _, e := range []error{
		syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP, syscall.EILSEQ, syscall.ENOTEMPTY,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ignoredError says why a message is ignored.
type ignoredError struct{ why string }

func (e *ignoredError) Error() string { return e.why }

// apply applies a message of a source to a file. The Mirror must be locked.
func (m *Mirror) apply(name string, l *lane, msg *shipment.Message) error {
	f := m.known[name]
	ours := f != nil && f.generation == msg.Generation
	switch {
	case msg.Kind == shipment.Bytes && (f == nil || !ours):
		if msg.Offset != 0 {
			return &ignoredError{"it is not the first of its file"}
		}
		return m.create(name, l, msg)
	case !ours:
		return nil // the end of a file that is not here
	case msg.Kind == shipment.Bytes:
		return m.extend(name, l, f, msg)
	case msg.Kind == shipment.Removed:
		return m.remove(name, f)
	case msg.Offset != f.length:
		return &ignoredError{"the file has another length"}
	case msg.Kind == shipment.Finished:
		m.finish(name, f, msg)
		return nil
	}
	if f.archived.IsZero() {
		f.archived = time.Now()
	}
	m.poke()
	return nil
}

// create makes a file, or replaces one.
func (m *Mirror) create(name string, l *lane, msg *shipment.Message) error {
	old, more := m.known[name], 1
	if old != nil {
		more = 0
	}
	if err := m.room(l, int64(len(msg.Data)), more); err != nil {
		return err
	}
	if err := m.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	// Under a hidden name first, so that nobody sees a part of the message, or a new file without its time.
	m.drafts++
	draft := fmt.Sprintf("%s/.draft-%d", path.Dir(name), m.drafts)
	err := m.root.WriteFile(draft, msg.Data, 0o600)
	if err == nil {
		err = m.root.Chtimes(draft, time.Time{}, modified(msg))
	}
	if err == nil {
		err = m.root.Rename(draft, name)
	}
	if err != nil {
		_ = m.root.Remove(draft)
		return err
	}
	f := &file{generation: msg.Generation, sum: sha256.New()}
	f.add(m, l, msg.Data)
	if old != nil {
		m.forget(name, l, old)
	}
	m.known[name] = f
	l.files++
	return nil
}

// add counts bytes that were appended to a file.
func (f *file) add(m *Mirror, l *lane, data []byte) {
	_, _ = f.sum.Write(data)
	n := int64(len(data))
	f.length += n
	l.bytes += n
	m.bytes += n
}

// forget removes a file from what is known and counted.
func (m *Mirror) forget(name string, l *lane, f *file) {
	m.bytes -= f.length
	l.bytes -= f.length
	l.files--
	delete(m.known, name)
}

// modified returns the time of a file's last write.
func modified(msg *shipment.Message) time.Time {
	if now := time.Now(); msg.Modified.After(now) {
		return now
	}
	return msg.Modified
}

// extend appends to a file what it does not have of a message.
func (m *Mirror) extend(name string, l *lane, f *file, msg *shipment.Message) error {
	if msg.Offset > f.length {
		if !f.torn {
			f.torn = true
			m.o.Log.Error("bytes of a file are missing in the stream; it does not grow any more", "stream", m.o.Name, "file", name, "offset", f.length)
		}
		return &ignoredError{"bytes before it are missing"}
	}
	n := msg.End() - f.length
	if err := m.room(l, max(n, 0), 0); err != nil {
		return err
	}
	h, err := m.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer h.Close()                                            //nolint:errcheck // the length is checked by those who read
	if had := min(f.length, msg.End()) - msg.Offset; had > 0 { // a message that was here before
		b := make([]byte, had)
		if _, err := h.ReadAt(b, msg.Offset); err != nil {
			return err
		}
		if !bytes.Equal(b, msg.Data[:had]) {
			return &ignoredError{"the file has other bytes there"}
		}
	}
	if n <= 0 {
		return nil
	}
	rest := msg.Data[f.length-msg.Offset:]
	if _, err := h.WriteAt(rest, f.length); err != nil {
		return err
	}
	f.add(m, l, rest)
	f.archived, f.unlisted = time.Time{}, 0
	return m.root.Chtimes(name, time.Time{}, modified(msg))
}

// finish compares a file with its sum, and tells the operator if it differs.
func (m *Mirror) finish(name string, f *file, msg *shipment.Message) {
	if [sha256.Size]byte(f.sum.Sum(nil)) != msg.Sum {
		m.o.Log.Warn("a finished file is not the one beside the game server, which was changed in the middle", "stream", m.o.Name, "file", name)
	}
}

// remove removes a file.
func (m *Mirror) remove(name string, f *file) error {
	if err := m.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	source, _, _ := strings.Cut(name, "/")
	m.forget(name, m.lane(source), f)
	// A directory that the archive has stays, to be watched.
	for dir := path.Dir(name); dir != "." && m.objects[dir] == nil && m.root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}

// poke makes retire look.
func (m *Mirror) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// reconcileEvery is how often the files are compared with those of the stream.
const reconcileEvery = 5 * time.Minute

// reconcile removes files of which the stream has had nothing for a while. Their end came while this daemon was not connected.
func (m *Mirror) reconcile(ctx context.Context, stream *shipment.Stream) {
	for shipment.Pause(ctx, reconcileEvery) {
		there, err := stream.Files(ctx, m.o.Source)
		if err != nil {
			continue
		}
		m.mu.Lock()
		for name, f := range m.known {
			if f.unlisted++; there[name] {
				f.unlisted = 0
			}
			if f.unlisted > 2 {
				if f.archived.IsZero() {
					f.archived = time.Now()
				}
				m.poke()
			}
		}
		m.mu.Unlock()
	}
}
