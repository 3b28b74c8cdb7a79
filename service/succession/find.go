package succession

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/replayd/replayd/service/index"
)

// Found are the replays around one. Each may be nil.
type Found struct {
	// Linked names it as the one before.
	Linked *index.Entry
	// Restarted is the only one with which its server can have started again, provided that it is finished.
	Restarted *index.Entry
	// Next is the one that began next in its directory.
	Next *index.Entry
	// Likely may be the successor, but nothing proves it: those of the same server first.
	Likely []string
}

// maxLikely is how many likely successors are named.
const maxLikely = 8

// slack is how much the clocks of servers are trusted: headers have seconds.
const slack = 2 * time.Second

// Find looks at the replays around one. It needs to know whether that is finished, for then others of its directory are
// likely successors, too.
func Find(ctx context.Context, x *index.Index, of *index.Entry, finished bool, scope index.Scope) (Found, error) {
	found := Found{Linked: linked(x, of, scope)}
	if found.Linked != nil {
		return found, nil
	}
	all, err := x.InDirectory(ctx, path.Dir(of.Name), scope)
	if err != nil {
		return found, err
	}
	chain := map[string]bool{of.Identity: true}
	for at := of.Previous; at != "" && !chain[at]; {
		chain[at] = true
		copies := x.Copies(at, scope)
		if at = ""; len(copies) > 0 {
			at = copies[0].Previous
		}
	}
	var heads []*index.Entry // those after it with which a server process began
	for _, e := range all {
		if e.Format != of.Format || e.Identity == "" || chain[e.Identity] || !later(e, of) {
			continue
		}
		if found.Next == nil || before(e, found.Next) {
			found.Next = e
		}
		if e.Previous == "" || finished && len(x.Copies(e.Previous, scope)) == 0 {
			heads = append(heads, e)
		}
	}
	found.Restarted = restarted(ctx, x, of, all, heads, chain)
	found.Likely = likely(of, heads, finished)
	return found, nil
}

// linked returns the replay that names one as the one before; of copies of it, one that may grow.
func linked(x *index.Index, of *index.Entry, scope index.Scope) *index.Entry {
	after := x.After(of.Identity, scope)
	if len(after) == 0 || of.Identity == "" {
		return nil
	}
	slices.SortStableFunc(after, func(a, b *index.Entry) int {
		switch {
		case a.Growable() != b.Growable() && a.Growable():
			return -1
		case a.Growable() != b.Growable():
			return 1
		}
		return a.Started.Compare(b.Started)
	})
	return after[0]
}

// later reports whether a replay began after another, by their headers.
func later(e, of *index.Entry) bool {
	if e.Started.IsZero() || of.Started.IsZero() {
		return false
	}
	return e.Started.After(of.Started) || e.Started.Equal(of.Started) && e.Modified.After(of.Modified)
}

// before orders replays by when they began; of copies one that may grow comes first.
func before(a, b *index.Entry) bool {
	if a.Identity == b.Identity && a.Growable() != b.Growable() {
		return a.Growable()
	}
	if !a.Started.Equal(b.Started) {
		return a.Started.Before(b.Started)
	}
	return a.Modified.Before(b.Modified)
}

// until is when a replay was last known to be played.
func until(e *index.Entry) time.Time {
	if s := e.Survey; s != nil && (s.Ended || !e.Growable()) && e.TicksPerSecond > 0 {
		return e.Started.Add(time.Duration(float64(s.LastTick) / e.TicksPerSecond * float64(time.Second)))
	}
	return e.Modified
}

// restarted returns the first game of the server process that came after a finished one, when that can be no other's: a
// server of the same name and port, that began when this one was over, and of which no game overlaps with this one. Where one
// does there are two servers, and it is not known which of them has started again.
func restarted(ctx context.Context, x *index.Index, of *index.Entry, all, heads []*index.Entry, chain map[string]bool) *index.Entry {
	var next *index.Entry
	for _, e := range heads {
		if e.Server == of.Server && e.Previous == "" && !e.Started.Before(until(of).Add(-slack)) && (next == nil || before(e, next)) {
			next = e
		}
	}
	if next == nil {
		return nil
	}
	for _, e := range all {
		if e.Server != of.Server || e.Identity == "" || chain[e.Identity] || e.Identity == next.Identity {
			continue
		}
		if !e.Started.After(until(of)) && until(e).After(of.Started.Add(slack)) {
			if e.Survey == nil { // the time of a file that was copied says nothing
				e = x.Refresh(ctx, e)
			}
			if until(e).After(of.Started.Add(slack)) {
				return nil // another game was played meanwhile
			}
		}
		if e.Previous == "" && e.Started.Sub(next.Started).Abs() < slack {
			return nil // two began at once
		}
	}
	return next
}

// likely returns the names of those that may be the successor.
func likely(of *index.Entry, heads []*index.Entry, finished bool) []string {
	slices.SortFunc(heads, func(a, b *index.Entry) int {
		switch same := a.Server == of.Server; {
		case same != (b.Server == of.Server) && same:
			return -1
		case same != (b.Server == of.Server):
			return 1
		}
		return a.Started.Compare(b.Started)
	})
	var names []string
	seen := map[string]bool{}
	for _, e := range heads {
		if seen[e.Identity] || len(names) == maxLikely || e.Server != of.Server && !finished {
			continue
		}
		seen[e.Identity] = true
		names = append(names, e.Name)
	}
	return names
}
