package watch

import (
	"container/heap"
	"time"
)

// agenda is a heap of the targets and directories to visit, the soonest first. It is guarded by Watcher.mu.
type agenda []entry

type entry struct {
	at time.Duration // a copy of the appointment's time, close in memory for the heap's comparisons
	visited
}

// visited is a target or a directory, which a Watcher checks now and then.
type visited interface {
	// visit checks it. The polling goroutine calls visit without Watcher.mu. It may take long to return.
	visit(w *Watcher, now time.Duration)
	// period returns the delay until the next visit, and false for never. It is called with Watcher.mu held.
	period(w *Watcher, now time.Duration) (period time.Duration, wanted bool)
	planned() *appointment
	// where returns its path.
	where() string
}

// appointment is the time of the next visit, with its place in the agenda.
type appointment struct {
	at    time.Duration // since the Watcher's start
	place int           // in the agenda, from 1; 0 when it is not in the agenda
	mount mount         // the mount that the target or directory lies on
}

func (a *appointment) planned() *appointment { return a }

// set schedules a visit. It replaces the visit already in the agenda, if any.
func (a *agenda) set(v visited, at time.Duration) {
	p := v.planned()
	p.at = at
	if p.place == 0 {
		heap.Push(a, entry{at, v})
		return
	}
	(*a)[p.place-1].at = at
	heap.Fix(a, p.place-1)
}

// remove removes a visit from the agenda.
func (a *agenda) remove(v visited) {
	if p := v.planned(); p.place != 0 {
		heap.Remove(a, p.place-1)
	}
}

// due moves due visits from the agenda to a list, and returns the list.
func (a *agenda) due(list []visited, now time.Duration) []visited {
	for len(*a) > 0 && (*a)[0].at <= now {
		list = append(list, heap.Pop(a).(entry).visited)
	}
	return list
}

// next returns the time of the next visit, and false when the agenda is empty.
func (a *agenda) next() (time.Duration, bool) {
	if len(*a) == 0 {
		return 0, false
	}
	return (*a)[0].at, true
}

// Len, Less, Swap, Push and Pop implement heap.Interface.

func (a *agenda) Len() int           { return len(*a) }
func (a *agenda) Less(i, j int) bool { return (*a)[i].at < (*a)[j].at }
func (a *agenda) Swap(i, j int) {
	s := *a
	s[i], s[j] = s[j], s[i]
	s[i].planned().place, s[j].planned().place = i+1, j+1
}

// Push is called by heap.Push.
func (a *agenda) Push(v any) {
	*a = append(*a, v.(entry))
	v.(entry).planned().place = len(*a)
}

// Pop is called by heap.Pop and heap.Remove.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = entry{}
	*a = (*a)[:last]
	e.planned().place = 0
	return e
}
