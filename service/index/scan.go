package index

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/replayd/replayd/service/catalog"
)

const (
	// maxDepth is how many levels of directories are read below a root by default.
	maxDepth = 32
	// granularity is a generous bound on the resolution of a directory's modification time. A directory that was read
	// within this time after a change may have changed again since, with the same time.
	granularity = 50 * time.Millisecond
)

func dirOf(name string) string { return path.Dir(name) }

// enter adds a root, with all files and directories below it.
func (x *Index) enter(alias string, state *rootState) {
	x.mu.Lock()
	known := x.dirs[alias] != nil
	if !known {
		x.add(alias)
	}
	x.mu.Unlock()
	usable := sync.OnceFunc(func() { close(state.usable) })
	defer usable()
	if !known {
		x.begin(alias, x.Depth)
		return
	}
	defer time.AfterFunc(patience, usable).Stop()
	x.relist(x.ctx, alias)
}

// add adds a directory, without reading it. The index must be locked.
func (x *Index) add(name string) {
	ctx, stop := context.WithCancel(x.ctx)
	x.dirs[name] = &directory{name: name, dirs: map[string]bool{}, ctx: ctx, stop: stop}
}

// begin reads a directory that was just added, and watches it from then on.
func (x *Index) begin(name string, depth int) {
	x.mu.RLock()
	d := x.dirs[name]
	x.mu.RUnlock()
	if d == nil {
		return
	}
	x.read(d.ctx, name, depth)
	x.mu.RLock()
	defer x.mu.RUnlock()
	if d.ctx.Err() == nil && !x.listed(name) {
		x.wg.Go(func() { x.watch(d.ctx, name) })
	}
}

// watch reads a directory again whenever it may have changed, and checks the files that grow in it.
func (x *Index) watch(ctx context.Context, name string) {
	var changed <-chan struct{}
	if where, err := x.Files.Locate(name); err == nil && x.Watcher != nil {
		if sub, err := x.Watcher.Subscribe(where); err == nil {
			defer sub.Close()
			changed = sub.C
		} else {
			x.Log.WarnContext(ctx, "a directory is not watched", "directory", name, "error", err)
		}
	}
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	looked := &looks{at: map[string]time.Time{}}
	for {
		fired := false
		select {
		case <-ctx.Done():
			return
		case <-changed:
			fired = true
			x.freshen(ctx, name)
		case <-timer.C:
		}
		timer.Reset(x.grow(ctx, name, looked, fired))
	}
}

// depthOf returns how many levels of directories may be read from a directory on.
func (x *Index) depthOf(name string) int { return x.Depth - strings.Count(name, "/") }

// stale reports whether a directory may have changed since it was read. It returns false for one that is listed at an interval.
func (x *Index) stale(name string) bool {
	if x.listed(name) {
		return false
	}
	at, _, err := x.Files.Look(name)
	x.mu.RLock()
	defer x.mu.RUnlock()
	d := x.dirs[name]
	switch {
	case d == nil:
		return false
	case errors.Is(err, catalog.ErrNotFound):
		for range x.below(name) {
			return true
		}
		return len(d.dirs) > 0 || strings.Contains(name, "/")
	case err != nil:
		return false // a directory that cannot be checked is not gone
	}
	return at.ID != d.id || !at.Modified.Equal(d.modified) || d.read.Sub(at.Modified) < granularity
}

// refresh reads the directory again, and the directories above and below it, if they have changed. After that the entries are up
// to date. It may miss a file that is moved meanwhile, but not if no directory was read again.
func (x *Index) refresh(ctx context.Context, below string, scope Scope) error {
	if err := x.ready(ctx, below, scope); err != nil {
		return err
	}
	var todo []string
	if below == "" {
		for alias := range x.roots {
			if scope.has(alias) {
				todo = append(todo, alias)
			}
		}
	} else if scope.has(below) {
		x.lead(ctx, below)
		todo = append(todo, below)
	}
	for len(todo) > 0 && ctx.Err() == nil {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x.freshen(ctx, name)
		x.mu.RLock()
		if d := x.dirs[name]; d != nil {
			todo = slices.AppendSeq(todo, maps.Keys(d.dirs))
		}
		x.mu.RUnlock()
	}
	return ctx.Err()
}

// lead reads the changed directories above a directory again. A directory is known only once the one above it was read.
func (x *Index) lead(ctx context.Context, dir string) {
	for at, c := range dir {
		if c == '/' {
			x.freshen(ctx, dir[:at])
		}
	}
}

// knows reports whether a directory is known. It first checks whether the directory has just been created.
func (x *Index) knows(ctx context.Context, dir string) bool {
	known := func() bool {
		x.mu.RLock()
		defer x.mu.RUnlock()
		return x.dirs[dir] != nil
	}
	if known() {
		return true
	}
	x.lead(ctx, dir)
	return known()
}

// freshen reads a directory again if it has changed.
func (x *Index) freshen(ctx context.Context, name string) {
	if x.stale(name) {
		x.read(ctx, name, x.depthOf(name))
	}
}

// read reads a directory and records the changes in it. It returns false if the directory cannot be read.
func (x *Index) read(ctx context.Context, name string, depth int) bool {
	state := x.of(name)
	reading := &state.reading
	if state.every > 0 {
		reading = new(sync.Mutex) // requests must not wait for a listing: see Entry.checked
	}
	reading.Lock()
	began := time.Now()
	found, err := x.Files.ReadDir(ctx, name)
	switch {
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrNotDirectory):
		x.forget(name)
		reading.Unlock()
		return true
	case err != nil:
		reading.Unlock()
		if ctx.Err() == nil {
			x.Log.WarnContext(ctx, "a directory cannot be read", "directory", name, "error", err)
			x.setFailed(name, err)
		}
		return false
	}
	x.setFailed(name, nil)
	fresh, gone := x.compare(name, &found, began, depth)
	for _, dir := range gone { // before another goroutine finds one of them again
		x.forget(dir)
	}
	reading.Unlock()
	for _, dir := range fresh {
		x.begin(dir, depth-1)
	}
	return true
}

// setFailed records why a root cannot be listed. Other directories do not matter.
func (x *Index) setFailed(name string, err error) {
	if state := x.roots[name]; state != nil && state.every > 0 {
		x.mu.Lock()
		defer x.mu.Unlock()
		state.failed = err
	}
}

// compare records the present contents of a directory. It returns the directories in it that are new, and those that are gone.
func (x *Index) compare(name string, found *catalog.Dir, began time.Time, depth int) (fresh, gone []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.dirs[name]
	if d == nil {
		return nil, nil
	}
	x.roots[root(name)].reads.Add(1)
	d.id, d.modified, d.read = found.ID, found.Modified, began
	dirs := map[string]bool{}
	for _, dir := range found.Dirs {
		if dirs[dir] = true; x.dirs[dir] == nil && depth > 1 && x.ctx.Err() == nil {
			x.add(dir) // at once, so that a query that walks through the entries does not miss it
			fresh = append(fresh, dir)
		}
	}
	for dir := range d.dirs {
		if !dirs[dir] {
			gone = append(gone, dir)
		}
	}
	d.dirs = dirs
	there := make(map[string]bool, len(found.Files))
	for i := range found.Files {
		there[found.Files[i].Name] = true
		x.note(&found.Files[i], began)
	}
	var removed []*Entry
	for e := range x.in(name) {
		if !there[e.Name] && e.checked <= began.UnixNano() {
			removed = append(removed, e)
		}
	}
	for _, e := range removed {
		x.remove(e)
	}
	return fresh, gone
}

// note updates a file's entry from a check of the file or its directory, which began at a time. The index must be locked. The
// reading mutex of the file's rootState must have been held since then, unless the root is listed: there an older check has no
// effect.
func (x *Index) note(f *catalog.File, began time.Time) {
	if x.dirs[dirOf(f.Name)] == nil {
		return
	}
	old, _ := x.files.Get(f.Name)
	listed := x.listed(f.Name)
	if old != nil && (old.is(f) || listed && old.checked > began.UnixNano()) {
		return
	}
	e := newEntry(f)
	if old != nil && old.ID == f.ID && f.Size >= old.Size && x.mayGrow(old) && old.Identity != "" { // it only grew
		grown := *old
		grown.Size, grown.Modified = f.Size, f.Modified
		e = &grown
	} else if known := x.known(f); known != nil {
		moved := *known
		moved.Name = f.Name
		e = &moved
	}
	if listed {
		e.checked = began.UnixNano()
	}
	kind := Added
	if old != nil && e.Identity != "" && old.Identity == e.Identity {
		kind = Grown
	}
	if !x.put(old, e) {
		return
	}
	x.queueOf(e.Name).push(e)
	x.changes.add(Change{Kind: kind, Entry: e})
}

// known returns the entry of the same contents under another name of the same origin, or from an earlier run, or nil.
func (x *Index) known(f *catalog.File) *Entry {
	for _, e := range []*Entry{x.at(root(f.Name), f.ID), x.facts[f.Name]} {
		if e != nil && e.Identified && e.is(f) && x.lineage(e.Name) == x.lineage(f.Name) {
			return e
		}
	}
	return nil
}

// remove removes a file's entry. The index must be locked.
func (x *Index) remove(e *Entry) {
	if now, ok := x.files.Delete(e.Name); !ok || now == nil {
		return
	}
	x.relate(e, nil)
	x.changed(e.Name)
	x.changes.add(Change{Kind: Removed, Entry: e})
}

// forget removes a directory that is gone, with everything below it. A root itself is kept, because it may come back.
func (x *Index) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.roots[root(name)].reads.Add(1)
	for _, e := range slices.Collect(x.below(name)) {
		x.remove(e)
	}
	for dir, d := range x.dirs {
		if dir != name && !strings.HasPrefix(dir, name+"/") {
			continue
		}
		d.dirs, d.modified = map[string]bool{}, time.Time{}
		if strings.Contains(dir, "/") {
			d.stop()
			delete(x.dirs, dir)
		}
	}
	if d := x.dirs[dirOf(name)]; d != nil {
		delete(d.dirs, name)
	}
}
