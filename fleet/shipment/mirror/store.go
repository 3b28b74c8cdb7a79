package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

var _ catalog.Store = (*Mirror)(nil)

// errNotReady is the error of a Store that does not have all files yet.
var errNotReady = fmt.Errorf("%w: the live root is still copied from its stream", source.ErrStore)

// String implements catalog.Store.
func (m *Mirror) String() string { return m.o.Name }

// Every implements catalog.Store. The daemon notices changes by itself.
func (m *Mirror) Every() time.Duration { return 0 }

// Sources tells catalog.Root.Sources that each directory belongs to one source.
func (m *Mirror) Sources() bool { return true }

// Path implements catalog.Store. It is empty for a file that only the archive has.
func (m *Mirror) Path(p string) string {
	m.mu.Lock()
	f := m.known[p]
	m.mu.Unlock()
	if stat, err := m.root.Stat(p); f != nil || err == nil && stat.IsDir() {
		return filepath.Join(m.o.Dir, filepath.FromSlash(p))
	}
	return ""
}

// Stat implements catalog.Store.
func (m *Mirror) Stat(ctx context.Context, p string) (fs.FileInfo, error) {
	if !m.ready.Load() {
		return nil, errNotReady
	}
	stat, err := m.files.Stat(ctx, p)
	if m.o.Archive == nil || !errors.Is(err, fs.ErrNotExist) {
		return stat, err
	}
	m.mu.Lock()
	object := m.objects[path.Dir(p)][path.Base(p)]
	m.mu.Unlock()
	if object != nil {
		return object, nil
	}
	return m.o.Archive.Stat(ctx, p)
}

// Open implements catalog.Store.
func (m *Mirror) Open(ctx context.Context, p string) (source.Handle, error) {
	if !m.ready.Load() {
		return nil, errNotReady
	}
	m.mu.Lock()
	if f := m.known[p]; f != nil {
		defer m.mu.Unlock()
		h, err := m.root.Open(p)
		if err != nil {
			return nil, err
		}
		f.open++
		return &handle{File: h, done: sync.OnceFunc(func() { m.closed(f) })}, nil
	}
	m.mu.Unlock()
	h, err := m.files.Open(ctx, p)
	switch {
	case err == nil:
		return struct{ source.Handle }{h}, nil // a copy, so not an *os.File: see source.WriterOf
	case m.o.Archive == nil || !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return m.o.Archive.Open(ctx, p)
}

// handle is an open file of the mirror.
type handle struct {
	*os.File

	done func()
}

// Writer implements source.Witness. The file is a copy, whose writer is on another machine.
func (h *handle) Writer() source.Writer { return source.Elsewhere }

// Close implements io.Closer.
func (h *handle) Close() error {
	err := h.File.Close()
	h.done()
	return err
}

func (m *Mirror) closed(f *file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.open--; f.open == 0 && !f.archived.IsZero() {
		m.poke()
	}
}

// ReadDir implements catalog.Store.
func (m *Mirror) ReadDir(ctx context.Context, p string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	if !m.ready.Load() {
		return nil, errNotReady
	}
	there := map[string]bool{}
	self, err := m.files.ReadDir(ctx, p, func(stat fs.FileInfo) {
		there[stat.Name()] = true
		each(stat)
	})
	if err != nil {
		return nil, err
	}
	// After the mirror's own files: a file that moves to the archive is among its objects before it leaves the mirror.
	m.mu.Lock()
	var objects []fs.FileInfo
	for name, stat := range m.objects[p] {
		if !there[name] {
			objects = append(objects, stat)
		}
	}
	m.mu.Unlock()
	for _, stat := range objects {
		each(stat)
	}
	return self, nil
}

// retireEvery is how often retire tries to remove archived files if nothing else wakes it.
const retireEvery = 10 * time.Second

// retire removes archived files, once the archive has them and nobody reads them here.
func (m *Mirror) retire(ctx context.Context) {
	tick := time.NewTicker(retireEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		case <-tick.C:
		}
		for name, f := range m.retired() {
			if m.o.Archive == nil {
				m.retireFile(name, nil)
				continue
			}
			stat, err := m.o.Archive.Stat(ctx, name)
			switch there := err == nil && !stat.IsDir() && stat.Size() == f.whole; {
			case there && f.open > 0:
				m.fill(ctx, name, f.length)
			case there:
				m.retireFile(name, stat)
			case errors.Is(err, fs.ErrNotExist) && m.gone(name):
				m.retireFile(name, nil)
			}
		}
	}
}

// retired returns copies of the files that may leave the mirror, and of files with readers of which the archive has more.
func (m *Mirror) retired() map[string]file {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := map[string]file{}
	for name, f := range m.known {
		leaves := f.open == 0 && (m.o.Archive != nil || f.unlisted > 2 || time.Since(f.archived) > m.o.Linger)
		if !f.archived.IsZero() && (leaves || m.o.Archive != nil && f.length < f.whole) {
			files[name] = *f
		}
	}
	return files
}

// gone reports whether the stream has not had a file for a while.
func (m *Mirror) gone(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.known[name]
	return f != nil && f.unlisted > 2
}

// retireFile removes a file, and notes the object that has its name from now on.
func (m *Mirror) retireFile(name string, object fs.FileInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.known[name]
	if f == nil || f.archived.IsZero() || f.open > 0 || object != nil && object.Size() != f.whole {
		return // it has changed meanwhile
	}
	if object != nil {
		m.note(path.Dir(name), object)
	}
	_ = m.remove(name, f) // tried again later
}

// note notes an object of the archive.
func (m *Mirror) note(dir string, object fs.FileInfo) {
	if m.objects[dir] == nil {
		m.objects[dir] = map[string]fs.FileInfo{}
	}
	m.objects[dir][object.Name()] = object
	m.fresh[path.Join(dir, object.Name())] = object
}

// listArchive lists the archive at its interval.
func (m *Mirror) listArchive(ctx context.Context) {
	for {
		every := m.o.Archive.Every()
		if err := m.listOnce(ctx); err != nil && ctx.Err() == nil {
			m.o.Log.WarnContext(ctx, "the archive of a live root cannot be listed", "archive", m.o.Archive.String(), "error", err)
			every = min(every, 10*time.Second)
		}
		if !shipment.Pause(ctx, every) {
			return
		}
	}
}

// maxDepth is how many levels of directories of the archive are listed.
const maxDepth = 32

// listOnce lists the archive. It makes the archive's directories in the mirror, so that they can be watched, and touches changed
// ones.
func (m *Mirror) listOnce(ctx context.Context) error {
	m.mu.Lock()
	clear(m.fresh)
	m.mu.Unlock()
	found := map[string]map[string]fs.FileInfo{}
	todo := []string{"."}
	if m.o.Source != "" {
		todo = []string{m.o.Source}
	}
	for depth := 0; len(todo) > 0 && depth < maxDepth; depth++ {
		var below []string
		for _, dir := range todo {
			entries := map[string]fs.FileInfo{}
			_, err := m.o.Archive.ReadDir(ctx, dir, func(stat fs.FileInfo) {
				p := path.Join(dir, stat.Name())
				switch {
				case stat.IsDir():
					below = append(below, p)
				case dir != ".": // entries outside sources are not ours
					entries[stat.Name()] = stat
				}
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err == nil {
				found[dir] = entries
			}
		}
		todo = below
	}
	for dir := range found {
		_ = m.root.MkdirAll(dir, 0o700) // a file of that name in the mirror hides it
	}
	m.mu.Lock()
	for p, object := range m.fresh { // the list may lack objects archived since
		dir := path.Dir(p)
		if found[dir] == nil {
			found[dir] = map[string]fs.FileInfo{}
		}
		found[dir][object.Name()] = object
	}
	var changed []string
	for dir, entries := range found {
		if !same(entries, m.objects[dir]) {
			changed = append(changed, dir)
		}
	}
	for dir := range m.objects {
		if found[dir] == nil {
			changed = append(changed, dir)
		}
	}
	m.objects = found
	m.mu.Unlock()
	for _, dir := range changed {
		m.touch(dir)
	}
	return nil
}

func same(a, b map[string]fs.FileInfo) bool {
	if len(a) != len(b) {
		return false
	}
	for name, stat := range a {
		if old := b[name]; old == nil || source.Identify(old) != source.Identify(stat) {
			return false
		}
	}
	return true
}
