package service

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// live is what the daemon knows of the replays that are being followed. It is safe for concurrent use.
type live struct {
	watcher *source.Watcher

	mu    sync.Mutex
	feeds map[source.ID]*sharedFeed
}

// sharedFeed is a feed with the number of its users.
type sharedFeed struct {
	*feed.Feed
	users int
}

func newLive(w *source.Watcher) *live {
	return &live{watcher: w, feeds: map[source.ID]*sharedFeed{}}
}

// follow makes a replay follow its file. reopen opens the file again; succeeded tells whether another replay has come
// after it.
func (l *live) follow(r *stream.Replay, file *source.File, reopen func() (*source.File, error), succeeded func() bool) error {
	if !r.Codec.Shared || r.Columns { // a feed keeps rows
		f, err := newFollower(l.watcher, file, succeeded)
		if err != nil {
			return err
		}
		r.Follower = f
		after(&r.Close, f.close)
		return nil
	}
	shared, release, err := l.share(r, file.Info().ID, reopen, succeeded)
	if err != nil {
		return err
	}
	sub := shared.Subscribe()
	r.Follower = sub
	open := r.Open
	r.Open = func(o encode.Options) (encode.Reader, error) { return sub.Open(open, o) }
	after(&r.Close, func() { sub.Close(); release() })
	return nil
}

// share returns the feed of a file, and what to call when it is no longer used.
func (l *live) share(
	r *stream.Replay, id source.ID, reopen func() (*source.File, error), succeeded func() bool,
) (*feed.Feed, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := l.feeds[id]
	if shared == nil || shared.Spoilt() {
		f, err := l.start(r, id, reopen, succeeded)
		if err != nil {
			return nil, nil, err
		}
		shared = &sharedFeed{Feed: f}
		l.feeds[id] = shared
	}
	shared.users++
	return shared.Feed, func() { l.release(id, shared) }, nil
}

// count is how many feeds there are.
func (l *live) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.feeds)
}

// release stops a feed that nobody uses any more.
func (l *live) release(id source.ID, shared *sharedFeed) {
	l.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last && l.feeds[id] == shared {
		delete(l.feeds, id)
	}
	l.mu.Unlock()
	if last {
		shared.Stop()
	}
}

// start starts the feed of a file, with a handle of its own: it outlives the subscriber that came first.
func (l *live) start(
	r *stream.Replay, id source.ID, reopen func() (*source.File, error), succeeded func() bool,
) (*feed.Feed, error) {
	file, err := reopen()
	if err != nil {
		return nil, err
	}
	closeFile := func() { _ = file.Close() }
	if file.Info().ID != id {
		closeFile()
		return nil, fmt.Errorf("%w while it was opened", source.ErrReplaced)
	}
	follower, err := newFollower(l.watcher, file, succeeded)
	if err != nil {
		closeFile()
		return nil, err
	}
	return feed.Start(feed.Config{
		Open:    func(o encode.Options) (encode.Reader, error) { return r.Codec.Open(file.Input(), o) },
		Options: encode.Options{RevealSecrets: r.RevealSecrets, Checkpoints: r.Checkpoints},
		Changed: follower.Changed(),
		Look:    follower.Look,
		Close:   func() { follower.close(); closeFile() },
	}), nil
}

// after makes a function that is called after the one that is there.
func after(f *func(), then func()) {
	before := *f
	*f = func() {
		then()
		if before != nil {
			before()
		}
	}
}

// follower watches a file and the directory around it.
type follower struct {
	file      *source.File
	changed   chan struct{}
	around    atomic.Bool // something changed in the directory since it was looked at
	succeeded func() bool
	gone      bool // succeeded was true once
	stop      context.CancelFunc
	wg        sync.WaitGroup
}

var _ stream.Follower = (*follower)(nil)

func newFollower(w *source.Watcher, file *source.File, succeeded func() bool) (*follower, error) {
	if info := file.Info(); !info.Growable() {
		return nil, badRequest("follow", "only a file that is not compressed can be followed")
	}
	own, err := w.Subscribe(file.Path())
	if err != nil {
		return nil, err
	}
	dir, err := w.Subscribe(filepath.Dir(file.Path()))
	if err != nil {
		own.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{file: file, changed: make(chan struct{}, 1), succeeded: succeeded, stop: stop}
	f.wg.Go(func() {
		defer own.Close()
		defer dir.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-own.C:
			case <-dir.C:
				f.around.Store(true)
			}
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
	})
	return f, nil
}

func (f *follower) close() { f.stop(); f.wg.Wait() }

// Changed implements stream.Follower.
func (f *follower) Changed() <-chan struct{} { return f.changed }

// Look implements stream.Follower.
func (f *follower) Look() (int64, error) {
	err := f.file.Check()
	if err == nil && f.around.Swap(false) && f.succeeded != nil && f.succeeded() {
		f.gone = true
	}
	if err == nil && f.gone {
		err = stream.ErrSucceeded
	}
	return f.file.Info().Size, err
}
