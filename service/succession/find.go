package succession

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
)

// Finder finds the replays around a replay. It is safe for concurrent use. Its fields must not be changed.
type Finder struct {
	// Index has the replays. Required.
	Index *index.Index
	// Writer returns who writes to the file of a replay, and when the file was last written to: catalog.Catalog.Writer. If it is
	// nil, no crash is recognized.
	Writer func(context.Context, *index.Entry) (source.Writer, time.Time)

	mu     sync.Mutex
	groups map[string]*group
}

// Found holds the replays around a replay. Each may be nil.
type Found struct {
	// Linked is the replay that names the given one as its predecessor.
	Linked *index.Entry
	// Restarted is the only replay with which the server of a finished replay can have started again.
	Restarted *index.Entry
	// Crash describes the replay's end, if it is not finished and no other replay names it.
	Crash Crash
	// Next is the replay that began next in its directory.
	Next *index.Entry
	// Likely holds the names of possible successors without proof. Replays of the same server come first.
	Likely []string
}

// maxLikely is the largest number of likely successors.
const maxLikely = 8

// slack is the tolerance for the times in headers, which have a resolution of seconds.
const slack = 2 * time.Second

// Find returns the replays around a replay, within its family. finished reports whether the replay is finished. If so, replays of
// other servers in its directory are likely successors, too.
func (f *Finder) Find(ctx context.Context, of *index.Entry, finished bool, scope index.Scope) (Found, error) {
	x := f.Index
	family := x.Family(of.Name, scope)
	found := Found{Linked: linked(family, of)}
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
		copies := family.Copies(at)
		if at = ""; len(copies) > 0 {
			at = copies[0].Previous
		}
	}
	var heads []*index.Entry // the later replays with which a server process began
	for _, e := range all {
		if e.Format != of.Format || e.Identity == "" || chain[e.Identity] || !later(e, of) {
			continue
		}
		if found.Next == nil || before(e, found.Next) {
			found.Next = e
		}
		if e.Previous == "" || finished && len(family.Copies(e.Previous)) == 0 {
			heads = append(heads, e)
		}
	}
	found.Restarted = restarted(ctx, x, of, all, heads)
	if !finished {
		found.Crash = f.crash(ctx, of, all, family)
	}
	found.Likely = likely(of, heads, finished)
	return found, nil
}

// linked returns the replay that names the given one as its predecessor. Of several copies it prefers one that may grow.
func linked(family index.Family, of *index.Entry) *index.Entry {
	after := family.After(of.Identity)
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

// later reports whether a replay began after another, according to their headers. Modification times break ties.
func later(e, of *index.Entry) bool {
	if e.Started.IsZero() || of.Started.IsZero() {
		return false
	}
	return e.Started.After(of.Started) || e.Started.Equal(of.Started) && e.Modified.After(of.Modified)
}

// before orders replays by their start times. Of several copies, one that may grow comes first.
func before(a, b *index.Entry) bool {
	if a.Identity == b.Identity && a.Growable() != b.Growable() {
		return a.Growable()
	}
	if !a.Started.Equal(b.Started) {
		return a.Started.Before(b.Started)
	}
	return a.Modified.Before(b.Modified)
}

// until returns the last time at which a replay is known to have been played.
func until(e *index.Entry) time.Time {
	if s := e.Survey; s != nil && (s.Ended || !e.Growable()) && e.TicksPerSecond > 0 {
		return e.Started.Add(time.Duration(float64(s.LastTick) / e.TicksPerSecond * float64(time.Second)))
	}
	return e.Modified
}

// recent is the time before a game in which other games show how many servers there are.
const recent = time.Hour

// restarted returns the first game of the server process that followed a finished game, or nil if that is ambiguous. Its server
// must have the same name and port, and it must have begun after the finished game was over. If two games of that name and port
// were played at the same time, there are two servers, and either may have started again.
func restarted(ctx context.Context, x *index.Index, of *index.Entry, all, heads []*index.Entry) *index.Entry {
	var next *index.Entry
	for _, e := range heads {
		if e.Server == of.Server && e.Previous == "" && !e.Started.Before(until(of).Add(-slack)) && (next == nil || before(e, next)) {
			next = e
		}
	}
	if next == nil {
		return nil
	}
	var games []*index.Entry
	for _, e := range all {
		if e.Server != of.Server || e.Identity == "" || until(e).Before(of.Started.Add(-recent)) {
			continue
		}
		if e.Previous == "" && e.Identity != next.Identity && e.Started.Sub(next.Started).Abs() < slack {
			return nil // two servers began at once
		}
		if !e.Started.After(next.Started) {
			games = append(games, e)
		}
	}
	if atOnce(ctx, x, games) {
		return nil
	}
	return next
}

// atOnce reports whether two of some games were played at the same time: one went on after another had begun.
func atOnce(ctx context.Context, x *index.Index, games []*index.Entry) bool {
	slices.SortStableFunc(games, func(a, b *index.Entry) int { return a.Started.Compare(b.Started) })
	var last *index.Entry // of the games so far, the last to be over
	for i, e := range games {
		if last != nil && last.Identity != e.Identity && until(last).After(e.Started.Add(slack)) {
			return true
		}
		if e.Survey == nil && i+1 < len(games) && until(e).After(games[i+1].Started.Add(slack)) {
			e = x.Refresh(ctx, e) // the modification time of a copied file is meaningless
		}
		if last == nil || until(e).After(until(last)) {
			last = e
		}
	}
	return false
}

// likely returns the names of the replays that may be the successor.
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
