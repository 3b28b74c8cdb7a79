package index

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A root that is listed has files that never change, and no notifications. Its directories are read again at an interval.
// Requests do not read them: a listing takes long, and a store may not answer. A request only checks the entry of the file that
// it names.

// list reads all directories of a root again at its interval, until the index is closed.
func (x *Index) list(alias string, state *rootState) {
	tick := time.NewTicker(state.every)
	defer tick.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-tick.C:
			x.relist(x.ctx, alias)
		}
	}
}

// relist reads a directory again, and all known directories below it.
func (x *Index) relist(ctx context.Context, name string) {
	for todo := []string{name}; len(todo) > 0 && ctx.Err() == nil; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x.mu.RLock()
		var below []string
		if d := x.dirs[dir]; d != nil {
			below = slices.Collect(maps.Keys(d.dirs)) // the directories known before; new ones are read when they appear
		}
		x.mu.RUnlock()
		if !x.read(ctx, dir, x.depthOf(dir)) && dir == name {
			return // the store does not answer, so other directories would fail, too
		}
		todo = append(todo, below...)
	}
}

// patience is how long requests wait for the first listing of a root that is known from an earlier run.
const patience = 500 * time.Millisecond

// recall makes the stored entries of objects, which are in the order of their names, the present ones until their root is listed, so that
// requests after a start need not wait for that, which may take minutes. Nobody else may have the index yet. It does what put does, but
// on two processors, and what load has done: there may be a million.
func (x *Index) recall(stored []*Entry) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, e := range stored {
			x.number(e)
		}
	})
	for _, e := range stored {
		x.reach(dirOf(e.Name))
		x.puts++
		e.number = x.puts
		x.files.Load(e.Name, e)
		x.byID[hashOf(root(e.Name), e.ID)] = e
		if x.wanted(e) {
			x.queueOf(e.Name).push(e)
		}
	}
	wg.Wait()
}

// recalls reports whether a stored entry is one for recall. If an alias stands for another place than before, what was stored is of files
// that nobody may see by it.
func (x *Index) recalls(e *Entry) bool {
	state := x.of(e.Name)
	return e.Fixed && state != nil && state.known && x.depthOf(dirOf(e.Name)) > 0
}

// reach returns a directory, which it adds with those above it if they are not known.
func (x *Index) reach(dir string) *directory {
	if x.dirs[dir] == nil {
		x.add(dir)
		if above := dirOf(dir); above != "." {
			x.reach(above).dirs[dir] = true
		}
	}
	return x.dirs[dir]
}

// listing returns a function that waits until a root was listed once.
func (x *Index) listing(state *rootState) func() {
	return func() {
		select {
		case <-state.settled:
		case <-x.ctx.Done():
		}
	}
}

// queueOf returns the queue, of files to identify, for the worker of a name's root.
func (x *Index) queueOf(name string) *queue {
	if state := x.of(name); state != nil && state.every > 0 {
		return &state.waiting
	}
	return &x.local
}
