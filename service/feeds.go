package service

import (
	"context"
	"fmt"
	"sync"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/stream"
)

// feeds holds the feeds of followed replays. It is safe for concurrent use.
type feeds struct {
	server *Server

	mu    sync.Mutex
	byKey map[feedKey]*sharedFeed
}

// feedKey identifies a feed: a file, what all its subscribers see beside it, and the options that they share.
type feedKey struct {
	fileKey

	scope   string // see access.Grant.RootsKey
	resolve bool
}

// sharedFeed is a feed with the number of its users.
type sharedFeed struct {
	*feed.Feed

	follower *follower
	users    int
}

func newFeeds(s *Server) *feeds {
	return &feeds{server: s, byKey: map[feedKey]*sharedFeed{}}
}

// follow makes r follow its file: through a feed if the format is Shared, otherwise by itself. reopen opens the file again.
func (l *feeds) follow(g *access.Grant, r *stream.Replay, file *source.File, reopen func() (*source.File, error)) error {
	if !r.Codec.Shared || r.Tables != nil { // a feed keeps rows
		f, err := l.server.newFollower(scopeOfGrant(g), file, r.Codec, nil)
		if err != nil {
			return err
		}
		r.Follower = f
		closeWith(&r.Close, f.close)
		return nil
	}
	info := file.Info()
	key := feedKey{fileKey: fileKeyOf(&info), scope: g.RootsKey(), resolve: r.ResolvePlayers}
	shared, release, err := l.share(g, r, key, reopen)
	if err != nil {
		return err
	}
	sub := shared.Subscribe()
	r.Follower = sharing{sub, file, shared.follower}
	open := r.Open
	r.Open = func(o codec.Options) (codec.Reader, error) { return sub.Open(open, o) }
	closeWith(&r.Close, func() { sub.Close(); release() })
	return nil
}

// sharing is a subscriber of a feed. When it reads the file itself, it reads no further than the feed has checked it.
type sharing struct {
	*feed.Subscription

	file     *source.File
	follower *follower
}

// Standing implements stream.Stander.
func (s sharing) Standing() stream.Standing { return s.follower.Standing() }

// Look implements stream.Follower.
func (s sharing) Look() (int64, error) {
	present, err := s.Subscription.Look()
	s.file.Admit(present)
	return present, err
}

// share returns the feed of a file, and a function that releases it.
func (l *feeds) share(
	g *access.Grant, r *stream.Replay, key feedKey, reopen func() (*source.File, error),
) (*sharedFeed, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := l.byKey[key]
	if shared == nil || shared.Stale() {
		var err error
		if shared, err = l.start(g, r, key, reopen); err != nil {
			return nil, nil, err
		}
		l.byKey[key] = shared
	}
	shared.users++
	return shared, func() { l.release(key, shared) }, nil
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
func (l *feeds) start(
	g *access.Grant, r *stream.Replay, key feedKey, reopen func() (*source.File, error),
) (*sharedFeed, error) {
	ticket, err := l.server.Admission.Enter(admission.Who{}, admission.Feeds)
	if err == nil {
		err = ticket.Memory(feedCost + r.Codec.Cost(-1))
	}
	if err != nil {
		ticket.Return()
		return nil, err
	}
	file, err := reopen()
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
	follower, err := l.server.newFollower(scopeOfGrant(g), file, r.Codec, func() {
		<-started
		shared.Wake()
	})
	if err != nil {
		closeFile()
		return nil, err
	}
	shared.follower = follower
	shared.Feed = feed.Start(feed.Config{
		Open: func(o codec.Options) (codec.Reader, error) { return r.Codec.Open(file.Input(), o) },
		Options: codec.Options{
			Secrets: r.Secrets, Checkpoints: r.Checkpoints, ResolvePlayers: r.ResolvePlayers,
			Roster: l.server.roster(context.Background(), r.Codec, l.server.index.Family(key.name, follower.scope)), // it outlives its calls
		},
		Changed: follower.Changed(),
		Look:    follower.Look,
		Close:   func() { follower.close(); closeFile() },
	})
	close(started)
	return shared, nil
}
