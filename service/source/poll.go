package source

import (
	"math/rand/v2"
	"time"
)

// The polling goroutine looks at what is subscribed to, and at the directories that the notifier watches, each in its own
// time. While nothing is subscribed to it sleeps.

// poll looks at what the agenda says, when it says so.
func (w *Watcher) poll() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var due []visited
	for {
		select {
		case <-w.done:
			return
		case <-w.kick:
		case <-timer.C:
		}
		now := w.since()
		w.mu.Lock()
		due = w.agenda.due(due[:0], now)
		w.mu.Unlock()
		for _, v := range due {
			v.visit(w, now)
		}
		w.mu.Lock()
		for _, v := range due {
			w.schedule(v, now)
		}
		next, some := w.agenda.next()
		w.mu.Unlock()
		clear(due)
		if some {
			timer.Reset(next - w.since())
		} else {
			timer.Stop()
		}
	}
}

// since is the time since the start, by which the agenda goes: other clocks may be set.
func (w *Watcher) since() time.Duration { return time.Since(w.start) }

// schedule puts something on the agenda for the next time, or takes it off.
func (w *Watcher) schedule(v visited, now time.Duration) {
	if at, wanted := w.turn(v, now); wanted {
		w.agenda.set(v, at)
	} else {
		w.agenda.remove(v)
	}
}

// soon has something looked at as soon as its present state asks for, if that is sooner than the agenda says.
func (w *Watcher) soon(v visited) {
	at, wanted := w.turn(v, w.since())
	if p := v.planned(); !wanted || p.place != 0 && p.at <= at {
		return
	}
	w.agenda.set(v, at)
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// turn is when to look at something the next time. What is looked at each Interval or less often is so at multiples of it,
// all at once: that wakes the process twice a second and not for each file.
func (w *Watcher) turn(v visited, now time.Duration) (at time.Duration, wanted bool) {
	period, wanted := v.period(w, now)
	at = now + period
	if period >= w.o.Interval {
		at = at.Truncate(w.o.Interval)
	}
	return at, wanted && !w.closed
}

// visit looks at a target and fires when it changed.
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
	case seen != before:
		t.changed = now
		if seen.dir {
			t.settled = now + settling
		}
	case now >= t.settled || now < t.reported+w.o.Interval:
		return
	}
	t.reported = now
	if moved && (resolved != t.resolved || seen.dir != t.isDir) && w.targets[t.path] == t && !w.closed {
		// It lies elsewhere now: a link that leads to another file, or a directory where a file was.
		w.detach(t)
		_ = w.attach(t, resolved, seen.dir) // where it fails, polling goes on
	}
	t.fire()
}

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

// visit looks whether the notifier still watches what lies at the directory's path, and tries again where it does not.
func (d *directory) visit(w *Watcher, _ time.Duration) {
	there := w.look(d.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.refs == 0 || w.closed {
		return
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
	w.unwatch(d)
	if !there.failed {
		_ = w.watch(d) // where it fails, polling goes on
	}
	if was || d.active {
		w.fireBelow(d)
	}
}

func (d *directory) period(w *Watcher, _ time.Duration) (time.Duration, bool) {
	if !d.active {
		return max(w.o.Interval, rewatch), d.refs > 0
	}
	return w.seldom(), d.refs > 0
}

// seldom is the period for what nothing is expected of: not the same for all, so that they are not looked at all at once.
func (w *Watcher) seldom() time.Duration {
	return max(w.o.Interval, safety-rand.N(safety/4)) //nolint:gosec // nobody gains by guessing it
}
