package latest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// Defaults and bounds of what a request may ask for.
const (
	DefaultInterval = time.Second
	MinInterval     = 50 * time.Millisecond
	MaxInterval     = time.Minute
	// IntervalStep is what intervals are multiples of, so that calls have them in common.
	IntervalStep = 10 * time.Millisecond
	// MaxWatched limits the games that a call watches.
	MaxWatched = 256
)

// The fields of a WatchStateResponse.
const (
	responseReplays protowire.Number = 1
	responseLeftOut protowire.Number = 2
)

// fullBytes is the size at which a response is sent and another one begun. One more game fits into what a response may have.
const fullBytes = 256 << 10

// atOnce limits the changes of the index that are taken at once.
const atOnce = 1000

// Watch configures a call. All fields but Formats are required.
type Watch struct {
	Boards *Boards
	Index  *index.Index
	// Query and Selection say which games are watched.
	Query     index.Query
	Selection index.Selection
	// Grant is the caller's. Sees reports whether the caller may see a file.
	Grant *access.Grant
	Sees  func(e *index.Entry) bool
	// Wish is what is wanted of each game.
	Wish *Wish
	// Whole sends all players of a game each time.
	Whole bool
	// Interval is the time between responses, Heartbeat that after which one is sent though there is nothing new.
	Interval, Heartbeat time.Duration
	// Drain is closed when the server shuts down.
	Drain <-chan struct{}
}

// Run sends the state of games until ctx ends, the server shuts down, or sending fails.
func (w Watch) Run(ctx context.Context, send stream.Send) error {
	c := &call{Watch: w, send: send, games: map[gameKey]*game{}, waiting: map[gameKey]*index.Entry{}, listed: make(chan listed)}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, g := range c.games {
			if g.board != nil {
				c.Boards.leave(g.board)
			}
		}
	}()
	c.list(ctx)
	return c.run(ctx)
}

// call is a client that watches.
type call struct {
	Watch
	send    stream.Send
	games   map[gameKey]*game
	order   []*game                  // that are watched, in the order in which they came
	waiting map[gameKey]*index.Entry // live games for which there is no room
	told    int                      // the number of waiting ones that the client knows
	from    uint64                   // the index's next change
	changed <-chan struct{}
	last    uint32 // the last number that was given to a game
	listed  chan listed
	listing int    // roots whose files are being listed
	out     []byte // the next response
}

// listed are files of a root. last says that it has no more.
type listed struct {
	files []*index.Entry
	last  bool
}

// gameKey identifies a game within a root: its files may be renamed.
type gameKey struct{ root, identity string }

// game is a game of a call.
type game struct {
	key   gameKey
	board *board // nil when it is over
	short uint32 // its number for the client
	know  seen
	// How its file was when the board began, and last.
	joined, entry *index.Entry
	again         bool // it is over, and more of it may follow
}

// phases is the number of groups of calls that send at different times of an interval: what all send at once waits for itself. Those of a
// group ask boards for the same versions.
const phases = 8

// run sends a response whenever the time has come.
func (c *call) run(ctx context.Context) error {
	began, heard, phase := time.Now(), time.Time{}, c.Boards.calls.Add(1)%phases
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.Drain:
			return stream.ErrDraining
		case l := <-c.listed:
			for _, e := range l.files {
				c.consider(e)
			}
			if l.last {
				c.listing--
			}
			continue
		case <-timer.C:
		}
		if err := c.news(ctx); err != nil {
			return err
		}
		sent, err := c.respond(time.Since(heard) >= c.Heartbeat)
		if err != nil {
			return err
		}
		now := time.Now()
		if sent {
			heard = now
		}
		interval := c.Interval
		if now.Sub(began) < hasty && (c.listing > 0 || slices.ContainsFunc(c.order, func(g *game) bool { return g.short == 0 })) {
			interval = min(interval, MinInterval) // games are just being found and opened
		}
		shifted := now.Add(interval - interval/phases*time.Duration(phase))
		timer.Reset(shifted.Truncate(interval).Add(interval).Sub(shifted))
	}
}

// hasty is how long a call that has begun does not wait for its interval while games are opened.
const hasty = time.Second

// respond sends what is new, in one response or several. beat asks for a response though there is nothing new.
func (c *call) respond(beat bool) (sent bool, err error) {
	for _, g := range c.order {
		if g.short == 0 {
			g.short = c.last + 1
		}
		var news bool
		if c.out, news = g.board.append(c.out, g.short, &g.know, c.Whole, time.Now()); news {
			c.last = max(c.last, g.short)
		} else if g.short > c.last {
			g.short = 0
		}
		if len(c.out) >= fullBytes {
			if err := c.flush(); err != nil {
				return true, err
			}
			sent = true
		}
	}
	c.retire()
	if left := len(c.waiting); left != c.told || beat && left > 0 {
		c.out = protowire.AppendVarint(protowire.AppendTag(c.out, responseLeftOut, protowire.VarintType), uint64(left))
		c.told, beat = left, true
	}
	if len(c.out) > 0 || beat && !sent {
		sent = true
		err = c.flush()
	}
	return sent, err
}

// keptBytes limits the memory that a call has for its next response while it waits: less than what a call is charged for.
const keptBytes = 64 << 10

// flush sends the response. The next one gets as much memory, because most are about as long as the one before.
func (c *call) flush() error {
	full := c.out
	c.out = make([]byte, 0, min(len(full)+len(full)/8, keptBytes))
	return c.send(frame.Of(full))
}

// retire leaves the games that are over, and begins others that waited.
func (c *call) retire() {
	kept := c.order[:0]
	var changed []*game // that are gone, but their files are others, or have other names
	for _, g := range c.order {
		if !g.know.over {
			kept = append(kept, g)
			continue
		}
		reason, failed, _ := g.board.over()
		c.Boards.leave(g.board)
		g.board, g.short, g.know = nil, 0, seen{}
		g.again = !failed && (reason == replaydv1.EndReason_END_REASON_SILENT || isGone(reason))
		if isGone(reason) && !isSame(g.joined, g.entry) {
			changed = append(changed, g)
		}
	}
	clear(c.order[len(kept):])
	if c.order = kept; len(c.games) > 2*len(c.order)+MaxWatched {
		maps.DeleteFunc(c.games, func(_ gameKey, g *game) bool { return g.board == nil && time.Since(g.entry.Modified) >= Quiet })
	}
	for _, g := range changed {
		now := g.entry
		g.entry = g.joined
		c.consider(now)
	}
	for k, e := range c.waiting {
		if len(c.order) >= MaxWatched {
			return
		}
		delete(c.waiting, k)
		c.consider(e)
	}
}

// isGone reports whether an end means that the file is gone, and not that the game is over.
func isGone(reason replaydv1.EndReason) bool {
	return reason == replaydv1.EndReason_END_REASON_REMOVED || reason == replaydv1.EndReason_END_REASON_REPLACED ||
		reason == replaydv1.EndReason_END_REASON_SHRUNK
}

// list lists all files there are, each root by itself: one that does not answer delays no other. What a list has not, because it failed, comes
// as a change.
func (c *call) list(ctx context.Context) {
	c.from = c.Index.Now() // before the first page, so that changes during it are seen after it
	for _, alias := range c.Selection.Roots() {
		query := c.Query
		query.Dir = cmp.Or(query.Dir, alias)
		c.listing++
		c.Boards.done.Go(func() { // which may outlive the call: it may wait for a disk
			for token, more := "", true; more; {
				page, err := c.Index.List(ctx, query, token, atOnce)
				token, more = page.Next, err == nil && page.Next != ""
				select {
				case c.listed <- listed{page.Replays, !more}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// news considers the files that have changed.
func (c *call) news(ctx context.Context) error {
	if c.changed != nil {
		select {
		case <-c.changed:
		default:
			return nil
		}
	}
	for {
		list, next, more, err := c.Index.Since(c.from, atOnce)
		if errors.Is(err, index.ErrBehind) { // the client did not read for long
			c.changed = nil
			c.list(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		c.from, c.changed = next, more
		for _, change := range list {
			if change.Kind == index.Removed {
				delete(c.waiting, keyOf(change.Entry))
			} else {
				c.consider(change.Entry)
			}
		}
		if len(list) < atOnce {
			return nil
		}
	}
}

// consider begins to watch the game in a file if it is one that is wanted.
func (c *call) consider(e *index.Entry) {
	k := keyOf(e)
	if e.Identity == "" || !c.Selection.MayGrow(e) || time.Since(e.Modified) >= Quiet || !c.Selection.Has(e) || !c.Sees(e) {
		delete(c.waiting, k)
		return
	}
	g := c.games[k]
	switch {
	case g != nil && g.board != nil:
		g.entry = e
		return
	case g != nil && (!g.again || isSame(g.entry, e)):
		return
	case len(c.order) >= MaxWatched:
		c.waiting[k] = e
		return
	case g == nil:
		g = &game{key: k}
		c.games[k] = g
	}
	delete(c.waiting, k)
	g.joined, g.entry, g.board = e, e, c.Boards.join(c.Grant, e, c.Wish)
	c.order = append(c.order, g)
}

func keyOf(e *index.Entry) gameKey {
	root, _, _ := strings.Cut(e.Name, "/")
	return gameKey{root, e.Identity}
}

// isSame reports whether a file has not changed.
func isSame(a, b *index.Entry) bool {
	return a.Name == b.Name && a.ID == b.ID && a.Size == b.Size && a.Modified.Equal(b.Modified)
}
