package watch

import (
	"math/rand/v2"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// The polling goroutine visits the targets and the directories that the notifier watches, each at its own interval. It sleeps
// while there is no target. A visit blocks the goroutine when a file system does not answer. Another goroutine then takes its
// place, and skips everything on that file system until the visit of the first one returns. The first goroutine then ends.

const (
	// hot is how long after a change a file is polled often.
	hot = 5 * time.Second
	// warm is how long after that a file is polled at each Interval, even if the operating system reports changes.
	warm = time.Minute
	// rewatch is how often the Watcher retries a directory that the operating system does not watch, and how often it checks
	// a link.
	rewatch = 2 * time.Second
	// safety is the longest interval of all other checks: of files that have long been idle, and of whether the watched
	// directories are still at their paths.
	safety = 20 * time.Second
	// patience is the least time for which a visit may block the others.
	patience = time.Second
	// maxStuck is the largest number of mounts that may be stuck without blocking other visits.
	maxStuck = 32
)

// poller is a polling goroutine.
type poller struct {
	relieved bool // another goroutine has taken its place
	mount    mount
}

// mount is a unit that may stop answering as a whole: a device, or a directory where the device is not known.
type mount struct {
	device uint64
	dir    string
}

// mountOf returns the mount of a file or directory.
func mountOf(id source.ID, dir string) mount {
	if id.Device != 0 {
		return mount{device: id.Device}
	}
	return mount{dir: dir}
}

// poll makes the visits of the agenda when they are due.
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

// round makes all visits that are due, and returns the time of the next one. If it was relieved meanwhile, another goroutine
// makes the rest of the visits.
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

// relieve starts another polling goroutine when the present one waits for a file system that does not answer.
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

// since returns the time since the start. The agenda uses this clock because a wall clock may be set.
func (w *Watcher) since() time.Duration { return time.Since(w.start) }

// schedule adds the next visit to the agenda, or removes it if none is needed.
func (w *Watcher) schedule(v visited, now time.Duration) {
	if at, wanted := w.turn(v, now); wanted {
		w.agenda.set(v, at)
	} else {
		w.agenda.remove(v)
	}
}

// soon moves a visit forward if its present period requires that. It never delays a visit.
func (w *Watcher) soon(v visited) {
	at, wanted := w.turn(v, w.since())
	if p := v.planned(); !wanted || p.place != 0 && p.at <= at {
		return
	}
	w.agenda.set(v, at)
	w.wake()
}

// wake makes the polling goroutine read the agenda again, which may have changed.
func (w *Watcher) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// turn returns the time of the next visit. Visits at each Interval or less often are aligned to multiples of Interval. The
// process then wakes twice a second, and not once for each file.
func (w *Watcher) turn(v visited, now time.Duration) (at time.Duration, wanted bool) {
	period, wanted := v.period(w, now)
	at = now + period
	if period >= w.o.Interval {
		at = at.Truncate(w.o.Interval)
	}
	return at, wanted && !w.closed
}

// seldom returns the period for files that are not expected to change. It is random, so that they are not all visited at once.
func (w *Watcher) seldom() time.Duration {
	return max(w.o.Interval, safety-rand.N(safety/4)) //nolint:gosec // guessing it gains nothing
}
