package watch

import (
	"container/heap"
	"time"
)

// agenda is what is to be looked at, the soonest first. It is guarded by Watcher.mu.
type agenda []entry

type entry struct {
	at time.Duration // as in the appointment; here it is near when the heap compares
	visited
}

// visited is what a Watcher looks at itself now and then: a target or a directory.
type visited interface {
	// visit looks. It is called by the polling goroutine, without Watcher.mu, and may not return for long.
	visit(w *Watcher, now time.Duration)
	// period returns in how long to look again, and false for never. It is called with Watcher.mu held.
	period(w *Watcher, now time.Duration) (period time.Duration, wanted bool)
	planned() *appointment
	// where is its path.
	where() string
}

// appointment is when something is to be looked at.
type appointment struct {
	at    time.Duration // since the Watcher's start
	place int           // in the agenda, from 1; 0 when it is not there
	mount mount         // what it lies on
}

func (a *appointment) planned() *appointment { return a }

// set has something looked at when the time comes, whether or not it is in the agenda.
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

// remove has something looked at no more.
func (a *agenda) remove(v visited) {
	if p := v.planned(); p.place != 0 {
		heap.Remove(a, p.place-1)
	}
}

// due moves what is to be looked at by now from the agenda to a list.
func (a *agenda) due(list []visited, now time.Duration) []visited {
	for len(*a) > 0 && (*a)[0].at <= now {
		list = append(list, heap.Pop(a).(entry).visited)
	}
	return list
}

// next returns when something is to be looked at, and false when nothing ever is.
func (a *agenda) next() (time.Duration, bool) {
	if len(*a) == 0 {
		return 0, false
	}
	return (*a)[0].at, true
}

// Len, Less, Swap, Push and Pop are heap.Interface.

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
