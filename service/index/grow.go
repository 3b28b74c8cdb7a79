package index

import (
	"context"
	"time"

	"github.com/replayd/replayd/service/catalog"
)

const (
	// lookEvery is how often a file is looked at that was written to in the last minute.
	lookEvery = time.Second
	// lookSeldom is how often, at least, a file is looked at that may still grow. In between it is the more seldom the longer
	// ago it was written to.
	lookSeldom = time.Minute
	// lookLeast is how often a file is looked at that is not expected to change.
	lookLeast = 10 * time.Minute
)

// grow looks at those files of a directory whose turn it is, and returns in how long to do so again. Those of which nobody
// knows yet what they are have their turn also when the directory fired.
func (x *Index) grow(ctx context.Context, dir string, looked map[string]time.Time, fired bool) time.Duration {
	now := time.Now()
	due, next := x.due(dir, looked, fired, now)
	for _, e := range due {
		if ctx.Err() != nil {
			break
		}
		_, _, _ = x.look(e.Name)
		if before := looked[e.Name].Sub(e.Modified); before < quiet && now.Sub(e.Modified) >= quiet && x.mayGrow(e) {
			if same := x.get(e.Name); same != nil && same.Modified.Equal(e.Modified) {
				x.mu.Lock()
				x.changes.add(Change{Kind: Quiet, Entry: same})
				x.mu.Unlock()
			}
		}
		looked[e.Name] = now
	}
	return next
}

// due returns the files of a directory whose turn it is, and in how long another's is.
func (x *Index) due(dir string, looked map[string]time.Time, fired bool, now time.Time) (due []*Entry, next time.Duration) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	next = lookSeldom
	d := x.dirs[dir]
	if d == nil {
		return nil, next
	}
	for name := range looked {
		if d.files[name] == nil {
			delete(looked, name)
		}
	}
	for _, e := range d.files {
		if !e.Identified && !e.tried {
			continue // it is about to be read
		}
		every := min(max(now.Sub(e.Modified)/60, lookEvery), lookSeldom)
		if !x.mayGrow(e) {
			every = lookLeast
		}
		next = min(next, every)
		last, ok := looked[e.Name]
		if !ok {
			last = d.read
			looked[e.Name] = last
		}
		if now.Sub(last) >= every || fired && !e.Identified {
			due = append(due, e)
		}
	}
	return due, next
}

// look looks at one file, and notes what is found where its directory is known.
func (x *Index) look(name string) (f catalog.File, dir bool, err error) {
	if state := x.roots[root(name)]; state != nil {
		state.reading.Lock()
		defer state.reading.Unlock()
	}
	f, dir, err = x.Files.Look(name)
	if err == nil && !dir { // its directory changes when it is gone
		x.mu.Lock()
		defer x.mu.Unlock()
		x.note(&f)
	}
	return f, dir, err
}
