package opened

import (
	"context"
	"fmt"
	"sync"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// feedCost is the memory that a feed keeps of a live replay, in bytes. Its decoder's cost is separate.
const feedCost = 5 << 20

// feeds holds the feeds of followed replays. It is safe for concurrent use.
type feeds struct {
	config *Config

	mu    sync.Mutex
	byKey map[feedKey]*sharedFeed
}

// feedKey identifies a feed: a file, the other things that all its subscribers see, and the options that they share.
type feedKey struct {
	fileKey

	scope   string // see access.Grant.RootsKey
	resolve bool
	facts   bool // with facts
}

// sharedFeed is a feed with the number of its users.
type sharedFeed struct {
	*feed.Feed

	follower *follower
	users    int
}

// shares reports whether a feed has the events that are wanted. It keeps rows, not those of each tick, and nothing that needs a map.
func shares(w *wanted) bool {
	f := w.options.Filter
	return w.codec.Shared && w.tables == nil && !f.Samples() && !f.Map() && (w.codec.Selector == nil || w.codec.Selector(f) != nil)
}

// follow follows the file of a replay: through a feed if that has what is wanted, otherwise by itself.
func (l *feeds) follow(g *access.Grant, w *wanted, file *source.File) (growing, error) {
	if !shares(w) {
		f, err := l.config.follower(scope.OfGrant(g), file, w.codec, nil)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	key := feedKey{fileKey: fileKeyOf(&w.info), scope: g.RootsKey(), resolve: w.options.ResolvePlayers, facts: w.options.Filter.Facts()}
	shared, err := l.share(g, w, key)
	if err != nil {
		return nil, err
	}
	return &sharing{shared.Subscribe(), file, shared.follower, func() { l.release(key, shared) }}, nil
}

// sharing is a subscriber of a feed. When it reads the file itself, it reads no further than the feed has checked it.
type sharing struct {
	*feed.Subscription

	file     *source.File
	follower *follower
	release  func()
}

func (s *sharing) reader(read func(codec.Options) (codec.Reader, error), o codec.Options) (codec.Reader, error) {
	return s.Open(read, o)
}

func (s *sharing) sync(ctx context.Context) { s.Sync(ctx) }

func (s *sharing) wake() { s.Wake() }

func (s *sharing) close() {
	s.Close()
	s.release()
}

// Standing implements stream.Follower.
func (s *sharing) Standing() stream.Standing { return s.follower.Standing() }

// Look implements stream.Follower.
func (s *sharing) Look() (int64, error) {
	present, err := s.Subscription.Look()
	s.file.Admit(present)
	return present, err
}

// share returns the feed of a file, and counts another user. The caller must release it.
func (l *feeds) share(g *access.Grant, w *wanted, key feedKey) (*sharedFeed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := l.byKey[key]
	if shared == nil || shared.Stale() {
		var err error
		if shared, err = l.start(g, w, key); err != nil {
			return nil, err
		}
		l.byKey[key] = shared
	}
	shared.users++
	return shared, nil
}

// count returns how many feeds there are.
func (l *feeds) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey)
}

// behind returns the lag of the slowest feed, in bytes.
func (l *feeds) behind() (most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, shared := range l.byKey {
		most = max(most, int(shared.Behind()))
	}
	return most
}

// release stops the feed if this was its last user.
func (l *feeds) release(key feedKey, shared *sharedFeed) {
	l.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last && l.byKey[key] == shared {
		delete(l.byKey, key)
	}
	l.mu.Unlock()
	if last {
		shared.Stop()
	}
}

// start starts the feed of a file. The feed opens the file itself, because it outlives its first subscriber.
func (l *feeds) start(g *access.Grant, w *wanted, key feedKey) (*sharedFeed, error) {
	var all *filter.Filter
	if key.facts {
		var err error
		if all, err = filter.WithFacts(&w.codec.Filters); err != nil {
			return nil, err
		}
	}
	ticket, err := l.config.Admission.Enter(admission.Who{}, admission.Feeds)
	memory := &reservation{ticket: ticket}
	if err == nil {
		err = ticket.Memory(feedCost)
	}
	if err == nil {
		err = memory.take(w.codec.Cost(-1))
	}
	if err != nil {
		ticket.Return()
		return nil, err
	}
	file, err := l.config.Catalog.Open(key.name)
	if err != nil {
		ticket.Return()
		return nil, err
	}
	closeFile := func() { _ = file.Close(); ticket.Return() }
	if file.Info().ID != key.id {
		closeFile()
		return nil, fmt.Errorf("%w while it was opened", source.ErrReplaced)
	}
	shared := &sharedFeed{}
	started := make(chan struct{})
	follower, err := l.config.follower(scope.OfGrant(g), file, w.codec, func() {
		<-started
		shared.Wake()
	})
	if err != nil {
		closeFile()
		return nil, err
	}
	shared.follower = follower
	shared.Feed = feed.Start(feed.Config{
		Open: func(o codec.Options) (codec.Reader, error) {
			r, err := w.codec.Open(file.Input(), o)
			if err != nil {
				return nil, err
			}
			return memory.weigh(r), nil
		},
		Selector: w.codec.Selector,
		Options: codec.Options{
			Filter: all, Secrets: w.options.Secrets, Checkpoints: w.options.Checkpoints, ResolvePlayers: key.resolve,
			Roster: roster(context.Background(), w.codec, l.config.Index.Family(key.name, follower.scope)), // it outlives its calls
		},
		Changed: follower.Changed(),
		Look:    follower.Look,
		Close:   func() { follower.close(); closeFile() },
	})
	close(started)
	return shared, nil
}
