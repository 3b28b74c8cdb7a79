package index

import (
	"context"
	"time"

	"github.com/replayd/replayd/service/catalog"
)

const (
	// lookEvery is the interval at which a file is checked that was written to in the last minute.
	lookEvery = time.Second
	// lookSeldom is the longest interval at which a file is checked that may still grow. The interval rises from lookEvery
	// to lookSeldom with the time since the last write.
	lookSeldom = time.Minute
	// lookLeast is the interval at which a file is checked that is not expected to change.
	lookLeast = 10 * time.Minute
)

// looks holds when the files of a directory were checked: each that may grow, and the others, of which there may be many, together.
type looks struct {
	at      map[string]time.Time
	settled time.Time
}

// grow checks the files of a directory that are due, and returns the delay until the next check. Files that are not identified
// yet are also due when the directory fired.
func (x *Index) grow(ctx context.Context, dir string, looked *looks, fired bool) time.Duration {
	now := time.Now()
	due, next := x.due(dir, looked, fired, now)
	for _, e := range due {
		if ctx.Err() != nil {
			break
		}
		_, _, _ = x.look(e.Name)
		if !x.mayGrow(e) {
			looked.settled = now
			continue
		}
		if before := looked.at[e.Name].Sub(e.Modified); before < quiet && now.Sub(e.Modified) >= quiet {
			if same := x.get(e.Name); same != nil && same.Modified.Equal(e.Modified) {
				x.mu.Lock()
				x.changes.add(Change{Kind: Quiet, Entry: same})
				x.mu.Unlock()
			}
		}
		looked.at[e.Name] = now
	}
	return next
}

// due returns the files of a directory that are due, and the delay until the next file may be.
func (x *Index) due(dir string, looked *looks, fired bool, now time.Time) (due []*Entry, next time.Duration) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	next = lookSeldom
	d := x.dirs[dir]
	if d == nil {
		return nil, next
	}
	for name := range looked.at {
		if e, _ := x.files.Get(name); e == nil || !x.mayGrow(e) {
			delete(looked.at, name)
		}
	}
	if len(looked.at) == 0 {
		looked.at = map[string]time.Time{} // one that was emptied keeps its size: that of all files, before they were decoded
	}
	for e := range x.in(dir) {
		if !e.Identified && !e.tried {
			continue // its beginning is about to be read
		}
		every, last := min(max(now.Sub(e.Modified)/60, lookEvery), lookSeldom), d.read
		if !x.mayGrow(e) {
			if every = lookLeast; last.Before(looked.settled) {
				last = looked.settled
			}
		} else if at, ok := looked.at[e.Name]; ok {
			last = at
		} else {
			looked.at[e.Name] = last
		}
		next = min(next, every)
		if now.Sub(last) >= every || fired && !e.Identified {
			due = append(due, e)
		}
	}
	return due, next
}

// look checks one file, and updates its entry if its directory is known.
func (x *Index) look(name string) (f catalog.File, dir bool, err error) {
	if state := x.of(name); state != nil && state.every == 0 {
		state.reading.Lock()
		defer state.reading.Unlock()
	}
	began := time.Now()
	f, dir, err = x.Files.Look(name)
	if err == nil && !dir { // a removed file is noticed by the change of its directory
		x.mu.Lock()
		defer x.mu.Unlock()
		x.note(&f, began)
	}
	return f, dir, err
}
