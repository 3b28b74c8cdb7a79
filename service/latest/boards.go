package latest

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// Wish is what a call wants of each game. It is immutable.
type Wish struct {
	// Include are filters with conditions on players and teams.
	Include []*replaydv1.EventFilter
	// Columns are the fields of players, all if there are none.
	Columns []string
	// Resolve adds names to the players of formats whose samples have none.
	Resolve bool

	key string
}

// NewWish returns a wish.
func NewWish(include []*replaydv1.EventFilter, columns []string, resolve bool) (*Wish, error) {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(&replaydv1.WatchStateRequest{
		Include: include, Columns: columns, ResolvePlayers: resolve,
	})
	return &Wish{Include: include, Columns: columns, Resolve: resolve, key: string(key)}, err
}

// Options returns the request for the samples of one game.
func (w *Wish) Options() *replaydv1.StreamEventsRequest {
	include := []*replaydv1.EventFilter{{}}
	if len(w.Include) > 0 {
		include = nil
		for _, f := range w.Include {
			include = append(include, proto.CloneOf(f))
		}
	}
	for _, f := range include {
		f.Kinds, f.Ticks = []string{Kind}, &replaydv1.TickRange{Every: new(int32(1))}
	}
	return &replaydv1.StreamEventsRequest{Include: include, ResolvePlayers: w.Resolve}
}

// Config is what Boards need. All fields are required.
type Config struct {
	// Open opens what a request asks for of a game, for a caller. done frees what it takes.
	Open func(ctx context.Context, g *access.Grant, req *replaydv1.StreamEventsRequest) (replay *stream.Replay, done func(), err error)
	// Resolves reports whether the players of a format's samples can be given names.
	Resolves func(decoders.Format) bool
	// Turn calls a function when it is the boards' turn to use a processor.
	Turn func(ctx context.Context, f func() error) error
	// Explain describes an error to clients.
	Explain func(ctx context.Context, err error, replay string) *replaydv1.SubscriptionFailure
	// Panicked returns the error for a panic.
	Panicked func(ctx context.Context, p any, replay string) error
}

// Boards are the boards of all games that are watched. They are safe for concurrent use.
type Boards struct {
	Config
	ctx    context.Context //nolint:containedctx // boards outlive the calls that begin them
	cancel func()
	done   sync.WaitGroup
	calls  atomic.Uint32 // counts the calls

	mu    sync.Mutex
	byKey map[key]*board
}

// key identifies a board: a game, and what else those who watch it have in common.
type key struct {
	name     string
	identity string
	scope    string // see access.Grant.RootsKey
	wish     string
}

// NewBoards returns Boards. The caller must Close them.
func NewBoards(c Config) *Boards {
	b := &Boards{Config: c, byKey: map[key]*board{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Close ends the background work, and waits for it. No call may be running.
func (b *Boards) Close() {
	b.cancel()
	b.done.Wait()
}

// Count returns how many games are watched.
func (b *Boards) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.byKey)
}

// join returns the board of a game, and counts a user, who must leave it.
func (b *Boards) join(g *access.Grant, e *index.Entry, w *Wish) *board {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key{e.Name, e.Identity, g.RootsKey(), w.key}
	of := b.byKey[k]
	if of != nil {
		if _, _, over := of.over(); over {
			of = nil
		}
	}
	if of == nil {
		ctx, stop := context.WithCancel(b.ctx)
		of = &board{key: k, format: e.Format, wish: w, grant: g, stop: stop}
		b.byKey[k] = of
		b.done.Go(func() { b.keep(ctx, of) })
	}
	of.users++
	return of
}

// leave gives a board back. It does not wait for its goroutine, which may wait for a disk.
func (b *Boards) leave(of *board) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of.users--; of.users > 0 {
		return
	}
	of.stop()
	if b.byKey[of.key] == of {
		delete(b.byKey, of.key)
	}
}
