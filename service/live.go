package service

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// live is what the daemon knows of the replays that are being followed. It is safe for concurrent use.
type live struct {
	watcher *watch.Watcher

	mu    sync.Mutex
	feeds map[fileKey]*sharedFeed
}

// sharedFeed is a feed with the number of its users.
type sharedFeed struct {
	*feed.Feed
	users int
}

func newLive(w *watch.Watcher) *live {
	return &live{watcher: w, feeds: map[fileKey]*sharedFeed{}}
}

// follow makes a replay follow its file. reopen opens the file again; the chain finds what comes after it.
func (l *live) follow(r *stream.Replay, file *source.File, reopen func() (*source.File, error), after *chain) error {
	if !r.Codec.Shared || r.Columns { // a feed keeps rows
		f, err := newFollower(l.watcher, file, after)
		if err != nil {
			return err
		}
		r.Follower = f
		closeWith(&r.Close, f.close)
		return nil
	}
	info := file.Info()
	shared, release, err := l.share(r, fileKeyOf(&info), reopen, after)
	if err != nil {
		return err
	}
	sub := shared.Subscribe()
	r.Follower = sharing{sub, file}
	open := r.Open
	r.Open = func(o encode.Options) (encode.Reader, error) { return sub.Open(open, o) }
	closeWith(&r.Close, func() { sub.Close(); release() })
	return nil
}

// sharing is a subscriber of a feed. What it reads of the file by itself, it reads as far as the feed has looked.
type sharing struct {
	*feed.Subscription

	file *source.File
}

// Look implements stream.Follower.
func (s sharing) Look() (int64, error) {
	present, err := s.Subscription.Look()
	s.file.Admit(present)
	return present, err
}

// share returns the feed of a file, and what to call when it is no longer used.
func (l *live) share(
	r *stream.Replay, key fileKey, reopen func() (*source.File, error), after *chain,
) (*feed.Feed, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := l.feeds[key]
	if shared == nil || shared.Spoilt() {
		f, err := l.start(r, key, reopen, after)
		if err != nil {
			return nil, nil, err
		}
		shared = &sharedFeed{Feed: f}
		l.feeds[key] = shared
	}
	shared.users++
	return shared.Feed, func() { l.release(key, shared) }, nil
}

// count is how many feeds there are.
func (l *live) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.feeds)
}

// release stops a feed that nobody uses any more.
func (l *live) release(key fileKey, shared *sharedFeed) {
	l.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last && l.feeds[key] == shared {
		delete(l.feeds, key)
	}
	l.mu.Unlock()
	if last {
		shared.Stop()
	}
}

// start starts the feed of a file, with a handle of its own: it outlives the subscriber that came first.
func (l *live) start(
	r *stream.Replay, key fileKey, reopen func() (*source.File, error), after *chain,
) (*feed.Feed, error) {
	file, err := reopen()
	if err != nil {
		return nil, err
	}
	closeFile := func() { _ = file.Close() }
	if file.Info().ID != key.id {
		closeFile()
		return nil, fmt.Errorf("%w while it was opened", source.ErrReplaced)
	}
	follower, err := newFollower(l.watcher, file, after)
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

// closeWith adds to a function what is called before it.
func closeWith(f *func(), first func()) {
	then := *f
	*f = func() {
		first()
		if then != nil {
			then()
		}
	}
}

// follower watches a file, and the directory around it for what comes after.
type follower struct {
	file *source.File
	own  *watch.Subscription
	gone atomic.Bool // another replay has come after it
	stop context.CancelFunc
	wg   sync.WaitGroup
}

var _ stream.Follower = (*follower)(nil)

func newFollower(w *watch.Watcher, file *source.File, after *chain) (*follower, error) {
	if info := file.Info(); !info.Growable() {
		return nil, badRequest("follow", "only a file that is not compressed can be followed")
	}
	own, err := w.Subscribe(file.Path())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{file: file, own: own, stop: stop}
	if after == nil || after.codec.Succeeds == nil {
		return f, nil
	}
	dir, err := w.Subscribe(filepath.Dir(file.Path()))
	if err != nil {
		f.close()
		return nil, err
	}
	f.wg.Go(func() {
		defer dir.Close()
		f.await(ctx, dir.C, after)
	})
	return f, nil
}

// await looks for a successor whenever the directory changes: beside those who read the file, for in a directory of many
// files it takes a while.
func (f *follower) await(ctx context.Context, changed <-chan struct{}, after *chain) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
		next, err := after.next(ctx, f.file, false)
		switch {
		case err == nil && next.replay != nil:
			f.gone.Store(true)
			f.own.Wake()
			return
		case err != nil:
			again = time.After(maxRetry)
		case next.retry > 0:
			again = time.After(next.retry)
		default:
			again = nil
		}
	}
}

func (f *follower) close() {
	f.stop()
	f.wg.Wait()
	f.own.Close()
}

// Changed implements stream.Follower.
func (f *follower) Changed() <-chan struct{} { return f.own.C }

// Look implements stream.Follower.
func (f *follower) Look() (int64, error) {
	gone := f.gone.Load() // before: what was written until another came after is there now
	err := f.file.Check()
	if err == nil && gone {
		err = stream.ErrSucceeded
	}
	return f.file.Info().Size, err
}
