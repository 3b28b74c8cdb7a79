package watch

import (
	"math/rand/v2"
	"time"

	"github.com/replayd/replayd/service/source"
)

// The polling goroutine looks at what is subscribed to, and at the directories that the notifier watches, each in its own
// time. While nothing is subscribed to it sleeps. A look that does not return, because a file system does not answer, keeps
// the goroutine: another one takes its place then, and nothing else on that file system is looked at until the first one is
// back, which ends then.

const (
	// hot is how long after a change a file is looked at often.
	hot = 5 * time.Second
	// warm is how long after that a file is looked at each Interval even when the operating system reports changes.
	warm = time.Minute
	// rewatch is how often a directory that the operating system does not watch is tried again, and how often a link is
	// looked at.
	rewatch = 2 * time.Second
	// safety is how often, at least, everything else is looked at: files that have long been idle, and whether the
	// directories are still what is watched.
	safety = 20 * time.Second
	// patience is how long, at least, a look may take before others do not wait for it any more.
	patience = time.Second
	// maxStuck is how many looks may be waited for at once without that others wait for them.
	maxStuck = 32
)

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

// seldom is the period for what nothing is expected of: not the same for all, so that they are not looked at all at once.
func (w *Watcher) seldom() time.Duration {
	return max(w.o.Interval, safety-rand.N(safety/4)) //nolint:gosec // nobody gains by guessing it
}
