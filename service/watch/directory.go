package watch

import (
	"errors"
	"syscall"
	"time"

	"github.com/replayd/replayd/replay/source"
)

const (
	// settling is how long a directory fires at each Interval, after a change of its entries and after its first
	// subscription. A new entry may be empty at first, and so not a replay yet.
	settling = 5 * time.Second
	// maxYoung is the largest number of new files of a directory that are watched for their first bytes.
	maxYoung = 1024
)

// directory is a directory that the notifier watches, or should watch.
type directory struct {
	appointment
	path   string
	refs   int
	active bool          // the notifier watches it
	stale  bool          // the notifier may still watch an earlier directory at this path
	asking chan struct{} // closed when the call of the notifier to add or remove it has returned; nil without a call
	id     source.ID
	young  map[string]time.Time // new entries that have no bytes yet, with the times at which to drop them
}

// ask updates the notifier's watch of a directory. With add it starts to watch a directory that has targets. It stops watching a
// directory that has none any more, or that was replaced at its path. The operating system may take long to answer, so w.mu must
// not be held. Of several callers only one calls the notifier, on behalf of the others, too. The others wait for it only if wait
// is set. The error is always nil except in mode Inotify.
func (w *Watcher) ask(d *directory, add, wait bool) error {
	if d == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for d.asking != nil {
		if !wait {
			return nil
		}
		asked := d.asking
		w.mu.Unlock()
		<-asked
		w.mu.Lock()
	}
	var err error
	for tried := false; ; tried = true {
		begin := add && !tried && !d.active && d.refs > 0 && !w.closed
		end := d.stale || d.active && d.refs == 0
		if !begin && !end {
			break
		}
		d.asking, d.active, d.stale = make(chan struct{}), false, false
		w.mu.Unlock()
		var id source.ID
		var active bool
		if end {
			_ = w.note.Remove(d.path) // the directory may be gone already, and its watch too
		}
		if begin {
			id, active, err = w.watch(d.path)
		}
		w.mu.Lock()
		d.id, d.active = id, active
		close(d.asking)
		d.asking = nil
	}
	switch {
	case d.refs > 0:
		w.soon(d)
	case w.dirs[d.path] == d:
		delete(w.dirs, d.path)
	}
	if w.o.Mode == Inotify {
		return err
	}
	if !w.warned && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOMEM)) {
		w.warned = true
		w.o.Log.Warn("some files are polled: the limit on watches is reached (see fs.inotify.max_user_watches)", "error", err)
	}
	return nil
}

// watch makes the notifier watch the directory at a path, unless notifications do not work there. It returns the ID of the
// directory.
func (w *Watcher) watch(path string) (id source.ID, active bool, err error) {
	if w.o.Mode == Auto && w.sys.remote(path) {
		return source.ID{}, false, nil
	}
	id = w.look(path).id
	err = w.note.Add(path)
	return id, err == nil, err
}

// visit checks whether the notifier still watches the directory at its path, and otherwise tries again.
func (d *directory) visit(w *Watcher, _ time.Duration) {
	there := w.look(d.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.refs == 0 || w.closed {
		return
	}
	if !there.failed {
		d.mount = mountOf(there.id, d.path)
	}
	for name, until := range d.young {
		if time.Now().After(until) {
			delete(d.young, name)
		}
	}
	if d.active && there.id == d.id {
		return
	}
	was := d.active
	d.active, d.stale = false, d.stale || was
	w.mu.Unlock()
	_ = w.ask(d, !there.failed, false) // if it fails, polling continues
	w.mu.Lock()
	if (was || d.active) && !w.closed {
		w.fireBelow(d)
	}
}

func (d *directory) where() string { return d.path }

func (d *directory) period(w *Watcher, _ time.Duration) (time.Duration, bool) {
	if !d.active {
		return max(w.o.Interval, rewatch), d.refs > 0
	}
	return w.seldom(), d.refs > 0
}
