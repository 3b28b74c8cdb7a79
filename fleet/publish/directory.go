package publish

import (
	"context"
	"errors"
	"sync"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

const (
	// MaxGrowing is how many growing replays of a directory are followed at the same time. More wait until others end.
	MaxGrowing = 1000
	// maxWaiting is how many replays may wait for their turn. If more appear, the directory is listed again later.
	maxWaiting = 10_000
)

// Directory publishes the replays below a directory ("" for all roots) until ctx ends: replays that may grow, that appear, that
// were written to since the stream was made, that are published in part, and with [Options.All] all others. It waits for NATS and
// the daemon. A replay that cannot be published does not stop the others.
func (p *Publisher) Directory(ctx context.Context, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &directory{
		p: p, dir: dir, end: cancel, again: make(chan struct{}, 1),
		growing: make(chan struct{}, MaxGrowing), whole: make(chan struct{}, p.o.Workers),
		active: map[string]*entry{}, dead: map[string]bool{}, refused: map[replaydv1.Format]bool{},
	}
	defer d.wg.Wait()
	defer cancel(nil)
	d.wg.Go(func() { d.sweep(ctx) })
	gone := false
	defer func() {
		if gone {
			p.Stats.Away.Add(-1)
		}
	}()
	for attempt := 0; ; attempt++ {
		d.list() // replays that have appeared meanwhile
		for change, err := range p.daemon.Watch(ctx, &replaydv1.WatchReplaysRequest{Directory: dir}) {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil && !client.Transient(err):
				return err
			case err != nil && !gone:
				gone = true
				p.Stats.Away.Add(1)
				p.o.Log.WarnContext(ctx, "the daemon is gone; waiting for it", "error", err.Error())
			case err == nil:
				if gone {
					p.Stats.Away.Add(-1)
					p.o.Log.InfoContext(ctx, "the daemon is back")
				}
				gone, attempt = false, 0
				d.change(ctx, change)
			}
		}
		if pause(ctx, attempt) != nil {
			return context.Cause(ctx)
		}
	}
}

// directory is a call of Directory.
type directory struct {
	p   *Publisher
	dir string
	end context.CancelCauseFunc
	wg  sync.WaitGroup

	growing, whole chan struct{} // have an element for each replay that is being published
	again          chan struct{} // has an element if the directory is to be listed

	mu      sync.Mutex
	active  map[string]*entry         // the replays that are being published or wait for that, by name
	dead    map[string]bool           // replays that cannot be published, by name
	refused map[replaydv1.Format]bool // formats whose refusal was logged
}

// entry is a replay that is being published.
type entry struct {
	format  replaydv1.Format
	changed bool // changed since the publisher looked at it
	more    bool // since then, the replay has changed otherwise than by growing
	grows   bool // according to the last change
}

// list requests a listing of the directory.
func (d *directory) list() {
	select {
	case d.again <- struct{}{}:
	default:
	}
}

// change begins to publish a replay that has changed. At the start of a watch all replays are reported; those that do not grow are
// left to sweep.
func (d *directory) change(ctx context.Context, c client.Change) {
	name, grows := c.Replay.GetName(), growing(c.Replay)
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Kind != replaydv1.ChangeKind_CHANGE_KIND_GROWING {
		delete(d.dead, name) // it may be another file now
	}
	if c.Kind == replaydv1.ChangeKind_CHANGE_KIND_REMOVED || c.Initial && !grows || d.dead[name] {
		return
	}
	if e := d.active[name]; e != nil {
		e.changed, e.grows = true, grows
		e.more = e.more || c.Kind != replaydv1.ChangeKind_CHANGE_KIND_GROWING
		return
	}
	if len(d.active) >= maxWaiting {
		d.p.o.Log.WarnContext(ctx, "too many replays have appeared; some have to wait")
		d.list()
		return
	}
	e := &entry{format: c.Replay.GetFormat(), grows: grows}
	d.active[name] = e
	d.wg.Go(func() { d.publish(ctx, name, e) })
}

func always(*replaydv1.Replay) bool { return true }

// publish publishes a replay, and again if it has changed meanwhile.
func (d *directory) publish(ctx context.Context, name string, e *entry) {
	for {
		d.mu.Lock()
		grows := e.grows
		e.changed, e.more = false, false
		d.mu.Unlock()
		err := errGrowing
		if !grows {
			err = d.within(ctx, d.whole, &wish{name: name, begin: always, whole: true})
		}
		if errors.Is(err, errGrowing) {
			err = d.within(ctx, d.growing, &wish{name: name, begin: always})
		}
		if d.done(ctx, name, e, err) {
			return
		}
	}
}

// within publishes a replay when a slot is free.
func (d *directory) within(ctx context.Context, places chan struct{}, w *wish) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case places <- struct{}{}:
	}
	defer func() { <-places }()
	return d.p.replay(ctx, w)
}

// done reports whether the work on a replay has ended. It notes the error, if there is one.
func (d *directory) done(ctx context.Context, name string, e *entry, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return true
	}
	if err == nil && e.changed || e.more { // an error is final if the replay has only grown
		return false
	}
	delete(d.active, name)
	if err == nil {
		return true
	}
	if errors.Is(err, ErrSelection) || errors.Is(err, ErrStream) {
		d.end(err)
		return true
	}
	if len(d.dead) >= maxWaiting {
		clear(d.dead)
	}
	d.dead[name] = true
	switch client.ReasonOf(err) {
	case replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND: // it was removed before it was begun
		return true
	case replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST: // the filters are not for its format
		if d.refused[e.format] {
			return true
		}
		d.refused[e.format] = true
	}
	d.p.o.Log.WarnContext(ctx, "a replay is not published, or not whole", "replay", name, "error", err.Error())
	return true
}

// sweep lists the directory on request, and publishes the replays that do not grow.
func (d *directory) sweep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.again:
		}
		for r, err := range d.p.daemon.Replays(ctx, &replaydv1.ListReplaysRequest{Directory: d.dir, PageSize: 1000}) {
			if err != nil {
				if ctx.Err() == nil && !client.Transient(err) {
					d.end(err)
				}
				_ = pause(ctx, 5)
				d.list()
				break
			}
			if !growing(r) && r.GetIdentity() != "" {
				d.old(ctx, r)
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// old publishes a listed replay if it is wanted. It waits for a free worker.
func (d *directory) old(ctx context.Context, r *replaydv1.Replay) {
	select {
	case <-ctx.Done():
		return
	case d.whole <- struct{}{}:
	}
	name, e := r.GetName(), &entry{format: r.GetFormat()}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active[name] != nil || d.dead[name] {
		<-d.whole
		return
	}
	d.active[name] = e
	d.wg.Go(func() {
		err := d.p.replay(ctx, &wish{name: name, known: r, begin: d.wanted, whole: true})
		<-d.whole
		grows := errors.Is(err, errGrowing)
		if grows {
			err = d.within(ctx, d.growing, &wish{name: name, begin: always})
		}
		if !d.done(ctx, name, e, err) {
			d.publish(ctx, name, e)
		}
	})
}

// wanted reports whether to publish a replay that does not grow.
func (d *directory) wanted(r *replaydv1.Replay) bool {
	return d.p.o.All || r.GetModifyTime().AsTime().After(d.p.stream.Load().made)
}
