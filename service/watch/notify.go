package watch

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// listen handles the events of the notifier.
func (w *Watcher) listen() {
	events, errs := w.note.channels()
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.handle(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.lost(err)
		}
	}
}

// handle handles an event.
func (w *Watcher) handle(e fsnotify.Event) {
	if e.Name == "" {
		return // the event belongs to a removed watch
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.names[e.Name] {
		t.fire()
	}
	if d := w.dirs[e.Name]; d != nil && e.Has(fsnotify.Remove|fsnotify.Rename) {
		// The directory itself is gone, and its watch too. Polling finds it when it exists again.
		d.active, d.stale = false, true
		w.soon(d)
		w.fireBelow(d)
		return
	}
	d := w.dirs[filepath.Dir(e.Name)]
	if d == nil {
		return
	}
	switch _, young := d.young[e.Name]; {
	case e.Has(fsnotify.Create):
		if d.young == nil {
			d.young = make(map[string]time.Time)
		}
		if len(d.young) < maxYoung {
			d.young[e.Name] = time.Now().Add(settling)
		}
	case e.Has(fsnotify.Remove | fsnotify.Rename):
		delete(d.young, e.Name)
	case e.Has(fsnotify.Write) && young:
		delete(d.young, e.Name)
	default:
		return
	}
	for t := range w.names[d.path] {
		t.fire()
	}
}

// fireBelow fires the targets for which a directory is watched. It also adapts their polling to whether the notifier reports
// their changes.
func (w *Watcher) fireBelow(d *directory) {
	for _, t := range w.targets {
		if t.dir == d {
			w.soon(t)
			t.fire()
		}
	}
}

// lost handles a failure of the notifier. Any target may have changed, so all of them fire.
func (w *Watcher) lost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.overflows++
	}
	w.o.Log.Warn("changes of files may have been missed; all are looked at", "error", err)
	for _, t := range w.targets {
		t.fire()
	}
}
