package watch

import (
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/replayd/replayd/service/source"
)

// The polling goroutine looks at what is subscribed to, and at the directories that the notifier watches, each in its own
// time. While nothing is subscribed to it sleeps. A look that does not return, because a file system does not answer, keeps
// the goroutine: another one takes its place then, and nothing else on that file system is looked at until the first one is
// back, which ends then.

// poller is a polling goroutine.
type poller struct {
	relieved bool // another one has taken its place
	mount    mount
}

// mount is what does not answer all together: a device, or, where that is not known, a directory.
type mount struct {
	device uint64
	dir    string
}

// mountOf is the mount on which something lies.
func mountOf(id source.ID, dir string) mount {
	if id.Device != 0 {
		return mount{device: id.Device}
	}
	return mount{dir: dir}
}

// poll looks at what the agenda says, when it says so.
func (w *Watcher) poll(me *poller) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.done:
			w.wg.Done()
			return
		case <-w.kick:
		case <-timer.C:
		}
		next, some := w.round(me, w.since())
		if me.relieved {
			return
		}
		if some {
			timer.Reset(next - w.since())
		} else {
			timer.Stop()
		}
	}
}

// round looks at everything that is due, and returns when something is so again. When it was relieved meanwhile, another
// goroutine goes on with what is left.
func (w *Watcher) round(me *poller, now time.Duration) (next time.Duration, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = w.agenda.due(w.due, now)
	w.checked = w.looks
	w.guard.Reset(patience)
	for w.next < len(w.due) && !w.closed {
		v := w.due[w.next]
		w.next++
		if w.stuck[v.planned().mount] {
			w.schedule(v, now)
			continue
		}
		w.looking = v
		w.mu.Unlock()
		v.visit(w, now)
		w.mu.Lock()
		if me.relieved {
			delete(w.stuck, me.mount)
			w.schedule(v, w.since())
			w.wake()
			return 0, false
		}
		w.looks++
		w.schedule(v, now)
	}
	w.looking = nil
	w.guard.Stop()
	clear(w.due)
	w.due, w.next = w.due[:0], 0
	return w.agenda.next()
}

// relieve lets another goroutine poll when the one that does waits for a file system that does not answer.
func (w *Watcher) relieve() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.looking == nil: // the round is over
		return
	case w.looks != w.checked, len(w.stuck) >= maxStuck && !w.closed:
		w.checked = w.looks
		w.guard.Reset(patience)
		return
	}
	w.o.Log.Warn("a file system does not answer; nothing on it is looked at until it does", "path", w.looking.where())
	me := w.poller
	me.relieved, me.mount = true, w.looking.planned().mount
	w.stuck[me.mount] = true
	w.looking = nil
	w.poller = new(poller)
	go w.poll(w.poller)
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
	w.wake()
}

// wake has the agenda looked at, for there may be something new on it.
func (w *Watcher) wake() {
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
		// It lies elsewhere now: a link that leads to another file, or a directory where a file was.
		left := w.detach(t)
		w.attach(t, resolved, seen.dir)
		came := t.dir
		w.mu.Unlock()
		_ = w.ask(left, false, false)
		_ = w.ask(came, true, false) // where it fails, polling goes on
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

// seldom is the period for what nothing is expected of: not the same for all, so that they are not looked at all at once.
func (w *Watcher) seldom() time.Duration {
	return max(w.o.Interval, safety-rand.N(safety/4)) //nolint:gosec // nobody gains by guessing it
}
