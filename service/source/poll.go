package source

import "time"

// poll looks at what is subscribed to: at everything each Interval; at what changed lately and is not notified of each
// Quick; at what is notified of and has not changed for a while only each rewatch. While nothing is subscribed to it
// sleeps.
func (w *Watcher) poll() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var batch []*target
	var lastFull, lastAll time.Time
	for {
		select {
		case <-w.done:
			return
		case <-w.kick:
		case <-timer.C:
		}
		now := time.Now()
		full := now.Sub(lastFull) >= w.o.Interval
		all := full && now.Sub(lastAll) >= rewatch
		if full {
			lastFull = now
		}
		if all {
			lastAll = now
		}
		var quick, some bool
		batch, quick, some = w.due(batch[:0], now, full, all)
		for i, t := range batch {
			w.visit(t, now, full)
			batch[i] = nil
		}
		if all {
			w.visitDirs(now)
		}
		switch {
		case quick:
			timer.Reset(w.o.Quick)
		case some:
			timer.Reset(lastFull.Add(w.o.Interval).Sub(now))
		}
	}
}

// due collects the targets to look at now. It tells whether some are to be looked at quickly, and whether there are any.
func (w *Watcher) due(batch []*target, now time.Time, full, all bool) (due []*target, quick, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.targets {
		often := !t.notified() && now.Before(t.hotUntil)
		quick = quick || often
		if often || all || full && (!t.notified() || now.Before(t.hotUntil.Add(cold))) {
			batch = append(batch, t)
		}
	}
	return batch, quick, len(w.targets) > 0
}

// visit looks at a target and fires when it changed.
func (w *Watcher) visit(t *target, now time.Time, full bool) {
	seen := w.look(t.path)
	if seen == t.seen {
		if full && now.Before(t.settled) {
			w.mu.Lock()
			t.fire()
			w.mu.Unlock()
		}
		return
	}
	before := t.seen
	t.seen = seen
	t.hotUntil = now.Add(hot)
	if seen.dir {
		t.settled = now.Add(settling)
	}
	var resolved string
	moved := seen.id != before.id || seen.dir != before.dir
	if moved {
		resolved = resolve(t.path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if moved && (resolved != t.resolved || seen.dir != t.isDir) && w.targets[t.path] == t && !w.closed {
		// It lies elsewhere now: a link that leads to another file, or a directory where a file was.
		w.detach(t)
		_ = w.attach(t, resolved, seen.dir) // where it fails, polling goes on
	}
	t.fire()
}

// visitDirs looks whether the notifier still watches what lies at the paths of its directories, and tries again where it
// does not.
func (w *Watcher) visitDirs(now time.Time) {
	w.mu.Lock()
	dirs := make([]*directory, 0, len(w.dirs))
	for _, d := range w.dirs {
		dirs = append(dirs, d)
	}
	w.mu.Unlock()
	for _, d := range dirs {
		there := w.look(d.path)
		w.mu.Lock()
		if d.refs > 0 && !w.closed {
			w.visitDir(d, there, now)
		}
		w.mu.Unlock()
	}
}

func (w *Watcher) visitDir(d *directory, there state, now time.Time) {
	for name, until := range d.young {
		if now.After(until) {
			delete(d.young, name)
		}
	}
	if d.active && there.id == d.id {
		return
	}
	w.unwatch(d)
	if there.failed {
		return
	}
	_ = w.watch(d) // where it fails, polling goes on
	if d.active {
		w.fireBelow(d)
	}
}
