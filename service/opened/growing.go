package opened

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/watch"
)

// growing is the part of a replay that may grow besides its file.
type growing interface {
	stream.Follower
	// reader opens a reader of the replay. read opens a reader of the file.
	reader(read func(codec.Options) (codec.Reader, error), o codec.Options) (codec.Reader, error)
	// sync waits until the present bytes of the file have been looked at.
	sync(ctx context.Context)
	// wake makes Changed receive.
	wake()
	close()
}

// follower watches a growing file, even when it is moved within its root, and looks for its successor.
type follower struct {
	*Config

	file  *source.File
	codec *codec.Codec
	scope index.Scope // the caller's
	own   *watch.Subscription
	// changed is called when the standing has changed. It may be nil.
	changed func()

	over     atomic.Bool // another replay proves that this one is over
	standing atomic.Pointer[stream.Standing]
	moved    chan struct{} // receives when the file has another name

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// follower starts to watch a file that may grow. The caller must call close.
func (c *Config) follower(of index.Scope, file *source.File, format *codec.Codec, changed func()) (*follower, error) {
	own, err := c.Watcher.Subscribe(file.Path())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{
		Config: c, file: file, codec: format, scope: of, own: own, changed: changed, moved: make(chan struct{}, 1), stop: stop,
	}
	f.standing.Store(&stream.Standing{Name: file.Info().Name})
	f.wg.Go(func() { f.watch(ctx) })
	return f, nil
}

// watch looks for the successor whenever there may be one. It runs in a goroutine of its own.
func (f *follower) watch(ctx context.Context) {
	for ctx.Err() == nil && !f.over.Load() {
		if err := f.watchAs(ctx, f.file.Info().Name); err != nil {
			return
		}
	}
}

// watchAs is like watch, while the file has that name.
func (f *follower) watchAs(ctx context.Context, name string) error {
	x := f.Index
	interest := x.Family(name, f.scope).Interest(path.Dir(name), "")
	defer func() { interest.Close() }()
	for known := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.moved:
			return nil
		case <-interest.C:
		}
		e, err := x.Get(ctx, name, f.scope)
		if err != nil || e.Identity == "" || e.ID != f.file.Info().ID {
			continue // not yet, or not any more
		}
		if !known {
			known = true
			interest.Close()
			interest = x.Family(name, f.scope).Interest(path.Dir(name), e.Identity)
			continue
		}
		if !f.codec.Succeeded() {
			continue
		}
		found, err := f.Successions.Find(ctx, e, false, f.scope)
		if err != nil {
			continue
		}
		switch succession.Decide(succession.Situation{Found: found}).Step {
		case succession.End:
			f.over.Store(true)
			f.own.Wake()
			return nil
		default:
			f.setWaiting(found)
		}
	}
}

// setWaiting stores what was found instead of a proven successor.
func (f *follower) setWaiting(found succession.Found) {
	var waiting *replaydv1.Waiting
	if len(found.Likely) > 0 {
		waiting = waitingFor(false, found)
	}
	now := *f.standing.Load()
	if proto.Equal(waiting, now.Waiting) {
		return
	}
	now.Waiting = waiting
	f.setStanding(&now)
}

// setStanding stores a standing and wakes the followers.
func (f *follower) setStanding(now *stream.Standing) {
	f.standing.Store(now)
	if f.changed != nil {
		f.changed()
	} else {
		f.own.Wake()
	}
}

// close stops watching, and waits for the watching goroutine.
func (f *follower) close() {
	f.stop()
	f.wg.Wait()
	f.own.Close()
}

// Changed implements stream.Follower.
func (f *follower) Changed() <-chan struct{} { return f.own.C }

func (f *follower) wake() { f.own.Wake() }

func (f *follower) sync(context.Context) {} // the stream itself reads the file

func (f *follower) reader(read func(codec.Options) (codec.Reader, error), o codec.Options) (codec.Reader, error) {
	return read(o)
}

// Standing implements stream.Follower.
func (f *follower) Standing() stream.Standing { return *f.standing.Load() }

// Look implements stream.Follower.
func (f *follower) Look() (int64, error) {
	over, why := f.over.Load(), f.left() // before Check, so that Check sees all bytes written before
	err := f.file.Check()
	for (errors.Is(err, source.ErrRemoved) || errors.Is(err, source.ErrReplaced)) && f.relocate() { // perhaps more than once
		err = f.file.Check()
	}
	switch {
	case err != nil:
	case over:
		err = stream.ErrSucceeded
	case why != "":
		err = &stream.LeftError{Why: why}
	}
	return f.file.Info().Size, err
}

// left returns why nothing more is written to the file, if whoever writes it says so.
func (f *follower) left() string {
	if !f.codec.Noted {
		return ""
	}
	return f.Catalog.Over(context.Background(), f.file.Info().Name)
}

// relocate looks for the file under another name in its root, and reports whether it found it.
func (f *follower) relocate() bool {
	r, err := describe.Replay(context.Background(), f.file)
	if err != nil {
		return false
	}
	info := f.file.Info()
	e := f.Index.Family(info.Name, f.scope).OfFile(context.Background(), info.ID, r.GetIdentity())
	if e == nil || e.Name == info.Name {
		return false
	}
	to, err := f.Catalog.Origin(e.Name)
	if err != nil || f.own.Move(to.Path) != nil {
		return false
	}
	f.file.Move(to)
	now := *f.standing.Load()
	now.Name = e.Name
	f.setStanding(&now)
	select {
	case f.moved <- struct{}{}:
	default:
	}
	return true
}
