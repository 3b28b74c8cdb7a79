package watch

import (
	"path/filepath"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// target is a path that is subscribed to.
type target struct {
	path string
	subs map[*Subscription]struct{}
	// resolved is the path with links resolved, which the notifier reports. dir is the directory that is watched for the
	// target. Both are guarded by Watcher.mu.
	resolved string
	dir      *directory
	isDir    bool

	// The polling goroutine owns the fields below. All except seen are guarded by Watcher.mu.
	appointment
	seen     state
	changed  time.Duration // when its last change was detected; all times are since the Watcher's start
	reported time.Duration // when it last fired for a change, or for a directory's settling
	settled  time.Duration // when a directory stops settling
}

// state holds the properties that polling compares.
type state struct {
	id       source.ID
	size     int64
	modified int64
	dir      bool
	failed   bool // stat failed, or the path does not exist
}

// look returns the present state of a path.
func (w *Watcher) look(path string) state {
	stat, err := w.sys.stat(path)
	if err != nil {
		return state{failed: true}
	}
	return state{id: source.Identify(stat), size: stat.Size(), modified: stat.ModTime().UnixNano(), dir: stat.IsDir()}
}

// resolve resolves links, as far as the path exists.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// attach assigns to a target the directory that has to be watched for it. The caller must then call ask, without holding w.mu.
func (w *Watcher) attach(t *target, resolved string, isDir bool) {
	t.resolved, t.isDir = resolved, isDir
	named := w.names[resolved]
	if named == nil {
		named = make(map[*target]struct{})
		w.names[resolved] = named
	}
	named[t] = struct{}{}
	if w.note == nil {
		return
	}
	path := resolved
	if !isDir {
		path = filepath.Dir(resolved)
	}
	d := w.dirs[path]
	if d == nil {
		d = &directory{path: path}
		d.mount = mountOf(source.ID{}, path)
		w.dirs[path] = d
	}
	d.refs++
	t.dir = d
}

// detach undoes attach. It returns the directory, or nil. The caller must then call ask, which stops the watch if no target
// needs it.
func (w *Watcher) detach(t *target) *directory {
	delete(w.names[t.resolved], t)
	if len(w.names[t.resolved]) == 0 {
		delete(w.names, t.resolved)
	}
	d := t.dir
	if d == nil {
		return nil
	}
	t.dir = nil
	d.refs--
	if d.refs == 0 {
		w.agenda.remove(d)
	}
	return d
}

func (t *target) fire() {
	for s := range t.subs {
		s.fire()
	}
}

func (t *target) notified() bool { return t.dir != nil && t.dir.active }

// visit checks a target and fires if it changed.
func (t *target) visit(w *Watcher, now time.Duration) {
	seen := w.look(t.path)
	before := t.seen
	t.seen = seen
	var resolved string
	moved := seen.id != before.id || seen.dir != before.dir
	if moved {
		resolved = resolve(t.path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return
	case seen != before:
		t.changed = now
		if seen.dir {
			t.settled = now + settling
		}
	case now >= t.settled || now < t.reported+w.o.Interval:
		return
	}
	t.reported = now
	if moved && !seen.failed {
		t.mount = mountOf(seen.id, filepath.Dir(t.path))
	}
	if moved && (resolved != t.resolved || seen.dir != t.isDir) && w.targets[t.path] == t {
		// The path now leads elsewhere: a link leads to another file, or a directory replaced a file.
		left := w.detach(t)
		w.attach(t, resolved, seen.dir)
		came := t.dir
		w.mu.Unlock()
		_ = w.ask(left, false, false)
		_ = w.ask(came, true, false) // if it fails, polling continues
		w.mu.Lock()
	}
	t.fire()
}

func (t *target) where() string { return t.path }

func (t *target) period(w *Watcher, now time.Duration) (time.Duration, bool) {
	idle := now - t.changed
	wanted := len(t.subs) > 0
	switch {
	case !t.notified() && idle < hot:
		return w.o.Quick, wanted
	case !t.notified() || idle < hot+warm:
		return w.o.Interval, wanted
	case t.path != t.resolved:
		return max(w.o.Interval, rewatch), wanted
	default:
		return w.seldom(), wanted
	}
}
