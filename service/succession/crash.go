package succession

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
)

// A game without an end is over when no process has its file open for writing any more: its server has crashed, or was killed.
// Which game its server began next follows from the games of that name and port in the directory, grouped by server process. A
// process is over with its last game. Servers are started again one by one, so a process takes the place of one that is over.
// Where two or more are over, it is not known whose place it takes.
//
// When a game began, its header says, and when another one was over, the time of its last write. A silent server does not write, so
// this time is only the earliest at which it can have been over. Therefore the Finder remembers which games had a writer when it saw
// another one begin: the process of that one took the place of none of them.

// maxGroups limits the names and ports in directories of which a Finder remembers games. With more, it forgets all others.
const maxGroups = 1024

// startResolution is the resolution of the times in headers. Times of writes are compared with them directly, because the writer and its
// file are on one machine.
const startResolution = time.Second

// group holds the remembered games of one name and port in one directory.
type group struct {
	mu    sync.Mutex
	seen  map[string]int   // of each first game of a process, by identity: its number in the order in which they were seen, from 1
	lives map[string]*life // of the processes' last games without an end, by identity
}

// life describes a game without an end.
type life struct {
	writer   source.Writer
	size     int64     // at the time of the question
	modified time.Time // likewise
	// beside is the number of first games that had been seen when it last had a writer. It is 0 if it never had one.
	beside int
	// gone is when it was first found to have no writer.
	gone time.Time
}

// process is a server process: a chain of games that name one another.
type process struct {
	first *index.Entry // its first game; nil if that is missing
	last  *index.Entry
	life  *life // of last; nil if last has an end
}

// over returns the earliest time at which the process may have ended. It reports false if the process has not ended, or if that
// is not known.
func (p *process) over() (time.Time, bool) {
	if p.life == nil {
		return until(p.last), true
	}
	return p.life.modified, p.life.writer == source.Absent
}

// Crash describes the end of a game without its own end.
type Crash struct {
	// Next is the game that its server began after its restart. It is nil if the game may not be over, or if the next one is not
	// known.
	Next *index.Entry
	// Writer says whether the game has a writer. It is source.NotAsked while no other process has that name and port.
	Writer source.Writer
}

// crash returns what followed a game without an end. all are the games in its directory.
func (f *Finder) crash(ctx context.Context, of *index.Entry, all []*index.Entry, family index.Family) Crash {
	games := copies(of, all)
	firsts := slices.SortedFunc(maps.Values(games), func(a, b *index.Entry) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Identity, b.Identity))
	})
	firsts = slices.DeleteFunc(firsts, func(e *index.Entry) bool { return e.Previous != "" })
	began := firstOf(of, games)
	if f.Writer == nil || !slices.ContainsFunc(firsts, func(e *index.Entry) bool { return began == nil || e.Identity != began.Identity }) {
		return Crash{} // nothing depends on it
	}
	g := f.group(of)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(games)
	for _, e := range firsts {
		if g.seen[e.Identity] == 0 {
			g.seen[e.Identity] = len(g.seen) + 1
		}
	}
	processes := f.processes(ctx, g, games, all, family)
	own := slices.IndexFunc(processes, func(p *process) bool { return p.last.Identity == of.Identity })
	if own < 0 || processes[own].life == nil {
		return Crash{} // it has an end, or a successor
	}
	crash := Crash{Writer: processes[own].life.writer}
	if crash.Writer != source.Absent {
		return crash
	}
	kept := false // whether a writer here keeps its file open; a writer that opens it for each write is not recognized
	for _, p := range processes {
		switch {
		case p.life == nil || p.life.writer == source.Absent:
		case p.life.writer == source.Present:
			kept = true
		default:
			return Crash{Writer: p.life.writer}
		}
	}
	if next := g.places(processes, of.Started.Add(-recent))[of.Identity]; kept && next != nil && later(next, of) {
		crash.Next = next
	}
	return crash
}

// copies returns the games of a game's server, one for each identity. Of several copies it takes one that may grow.
func copies(of *index.Entry, all []*index.Entry) map[string]*index.Entry {
	games := map[string]*index.Entry{}
	for _, e := range all {
		if e.Server != of.Server || e.Format != of.Format || e.Identity == "" || e.Started.IsZero() {
			continue
		}
		if known := games[e.Identity]; known == nil || before(e, known) {
			games[e.Identity] = e
		}
	}
	return games
}

// group returns the remembered games of a game's name and port.
func (f *Finder) group(of *index.Entry) *group {
	key := path.Dir(of.Name) + "\x00" + of.Server
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[key]
	if g == nil {
		if f.groups == nil || len(f.groups) >= maxGroups {
			f.groups = map[string]*group{}
		}
		g = &group{seen: map[string]int{}, lives: map[string]*life{}}
		f.groups[key] = g
	}
	return g
}

// forget forgets missing games. Seen games keep their order.
func (g *group) forget(games map[string]*index.Entry) {
	gone := func(identity string) bool { return games[identity] == nil }
	maps.DeleteFunc(g.lives, func(identity string, _ *life) bool { return gone(identity) })
	if len(g.seen) > 2*len(games)+maxGroups {
		g.seen, g.lives = map[string]int{}, map[string]*life{}
	}
}

// processes returns the processes that wrote the games, and asks which of them have a writer.
func (f *Finder) processes(
	ctx context.Context, g *group, games map[string]*index.Entry, all []*index.Entry, family index.Family,
) []*process {
	var list []*process
	for _, identity := range slices.Sorted(maps.Keys(games)) {
		e := games[identity]
		if len(family.After(identity)) > 0 {
			continue // its process wrote another game after it
		}
		p := &process{first: firstOf(e, games), last: e}
		if e.Growable() && (e.Survey == nil || !e.Survey.Ended) {
			p.life = f.ask(ctx, g, e, all)
		}
		list = append(list, p)
	}
	return list
}

// firstOf returns the first game of a game's process, nil if it is missing.
func firstOf(e *index.Entry, games map[string]*index.Entry) *index.Entry {
	for range games {
		if e == nil || e.Previous == "" {
			return e
		}
		e = games[e.Previous]
	}
	return nil // they name one another in a circle
}

// ask finds out whether a game has a writer. A game that had none, and was not written to since then, has none.
func (f *Finder) ask(ctx context.Context, g *group, e *index.Entry, all []*index.Entry) *life {
	l := g.lives[e.Identity]
	if l == nil {
		l = &life{}
		g.lives[e.Identity] = l
	} else if l.writer == source.Absent && l.size == e.Size && l.modified.Equal(e.Modified) {
		return l
	}
	l.size = e.Size
	l.writer, l.modified = f.Writer(ctx, e)
	for _, other := range all { // a copy of a file has no writer, but the game may have one
		if other.Identity != e.Identity || other.ID == e.ID || !other.Growable() || l.writer == source.Present {
			continue
		}
		if w, _ := f.Writer(ctx, other); w != source.Absent {
			l.writer = w
		}
	}
	switch l.writer {
	case source.Present:
		l.beside, l.gone = len(g.seen), time.Time{}
	case source.Absent:
		if l.gone.IsZero() {
			l.gone = time.Now()
		}
	}
	return l
}

// places maps the last games of processes that are over to the first game of the process that took the place of each, as far as
// it is known. It leaves out processes that were over before a time.
func (g *group) places(processes []*process, since time.Time) map[string]*index.Entry {
	var over []*process
	var began []*process
	for _, p := range processes {
		end, is := p.over()
		if is && p.life != nil && p.life.beside > 0 {
			end = p.life.gone
		}
		if is && end.Before(since) {
			continue
		}
		if is {
			over = append(over, p)
		}
		if p.first != nil {
			began = append(began, p)
		}
	}
	slices.SortStableFunc(began, func(a, b *process) int {
		return cmp.Or(a.first.Started.Compare(b.first.Started), cmp.Compare(g.seen[a.first.Identity], g.seen[b.first.Identity]))
	})
	next := map[string]*index.Entry{}
	var free []*process // processes whose places may be free
	taken := 0          // how many of these places are taken, if it is not known which
	for i, p := range began {
		over = slices.DeleteFunc(over, func(old *process) bool {
			is := !slices.Contains(began[i:], old) && g.overBefore(old, p)
			if is {
				free = append(free, old)
			}
			return is
		})
		switch {
		case len(free) == 0: // another server
			continue
		case len(free) == 1:
			next[free[0].last.Identity] = p.first
		}
		if taken++; taken == len(free) {
			free, taken = nil, 0
		}
	}
	return next
}

// overBefore reports whether a process may have been over before another one began.
func (g *group) overBefore(old, p *process) bool {
	switch {
	case old.life != nil && old.life.beside > 0: // it had a writer when the first games were there that had been seen
		if g.seen[p.first.Identity] <= old.life.beside {
			return false
		}
	case old.first != nil && p.first.Started.Sub(old.first.Started) < slack: // they began at once
		return false
	}
	end, _ := old.over()
	return end.Before(p.first.Started.Add(startResolution))
}
