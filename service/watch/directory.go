package watch

import (
	"errors"
	"syscall"
	"time"

	"github.com/replayd/replayd/service/source"
)

const (
	// settling is how long after a change of its entries, and after it was first subscribed to, a directory is reported at
	// each Interval: an entry that is new may be empty and so not a replay yet.
	settling = 5 * time.Second
	// maxYoung is how many new files of a directory are waited for to get their first bytes.
	maxYoung = 1024
)

// directory is one that the notifier watches, or ought to.
type directory struct {
	appointment
	path   string
	refs   int
	active bool          // the notifier watches it
	stale  bool          // the notifier may watch what lay there before
	asking chan struct{} // closed when the notifier has been asked to watch it, or not to; nil while nobody asks
	id     source.ID
	young  map[string]time.Time // new entries that got no bytes yet, by when to forget them
}

// ask asks the notifier to watch a directory that is wanted, when add is set, and not to watch one that is not wanted any
// more or lies elsewhere now. The operating system may not answer for long, so w.mu must not be held; of several callers
// one asks, and does what the others want too, and only who says so waits for it. The error is nil but in mode Inotify.
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
			_ = w.note.Remove(d.path) // it may be gone already, and the watch with it
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

// watch has the notifier watch what lies at a path, where that is of use, and returns what that was.
func (w *Watcher) watch(path string) (id source.ID, active bool, err error) {
	if w.o.Mode == Auto && w.sys.remote(path) {
		return source.ID{}, false, nil
	}
	id = w.look(path).id
	err = w.note.Add(path)
	return id, err == nil, err
}

// visit looks whether the notifier still watches what lies at the directory's path, and tries again where it does not.
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
	_ = w.ask(d, !there.failed, false) // where it fails, polling goes on
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
