package service

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/watch"
)

// follower watches a file that grows, wherever in its root it is moved, and what comes after it.
type follower struct {
	server *Server
	file   *source.File
	codec  *encode.Codec
	grant  *access.Grant // of who follows; nil when those are several
	own    *watch.Subscription
	// changed is called when the standing has changed. It may be nil.
	changed func()

	over     atomic.Bool // another replay proves that it is
	standing atomic.Pointer[stream.Standing]
	moved    chan struct{} // the file has another name

	stop context.CancelFunc
	wg   sync.WaitGroup
}

var (
	_ stream.Follower = (*follower)(nil)
	_ stream.Stander  = (*follower)(nil)
)

func (s *Server) newFollower(g *access.Grant, file *source.File, codec *encode.Codec, changed func()) (*follower, error) {
	info := file.Info()
	if !info.Growable() {
		return nil, badRequest("follow", "only a file that is not compressed can be followed")
	}
	own, err := s.Watcher.Subscribe(file.Path())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{
		server: s, file: file, codec: codec, grant: g, own: own, changed: changed, moved: make(chan struct{}, 1), stop: stop,
	}
	f.standing.Store(&stream.Standing{Name: info.Name})
	f.wg.Go(func() { f.attend(ctx) })
	return f, nil
}

// attend looks what comes after the file whenever that may have changed: beside those who read the file.
func (f *follower) attend(ctx context.Context) {
	for ctx.Err() == nil && !f.over.Load() {
		if err := f.attendAs(ctx, f.file.Info().Name); err != nil {
			return
		}
	}
}

// attendAs does so until the file is moved.
func (f *follower) attendAs(ctx context.Context, name string) error {
	x := f.server.index
	interest := x.Interest(path.Dir(name), "", nil)
	defer func() { interest.Close() }()
	for known := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.moved:
			return nil
		case <-interest.C:
		}
		e, err := x.Get(ctx, name, nil)
		if err != nil || e.Identity == "" || e.ID != f.file.Info().ID {
			continue // not yet, or not any more
		}
		if !known {
			known = true
			interest.Close()
			interest = x.Interest(path.Dir(name), e.Identity, nil)
			continue
		}
		if f.codec.Lineage == nil {
			continue
		}
		found, err := succession.Find(ctx, x, e, false, nil)
		if err != nil {
			continue
		}
		switch succession.Decide(succession.Situation{Found: found}).Step {
		case succession.End:
			f.over.Store(true)
			f.own.Wake()
			return nil
		default:
			f.wait(found.Likely)
		}
	}
}

// wait notes what may have come instead of more of the file.
func (f *follower) wait(likely []string) {
	var waiting *replaydv1.Waiting
	if len(likely) > 0 {
		waiting = &replaydv1.Waiting{WaitingFor: replaydv1.WaitingFor_WAITING_FOR_MORE, LikelySuccessors: likely}
	}
	now := *f.standing.Load()
	if proto.Equal(waiting, now.Waiting) {
		return
	}
	now.Waiting = waiting
	f.stand(&now)
}

func (f *follower) stand(now *stream.Standing) {
	f.standing.Store(now)
	if f.changed != nil {
		f.changed()
	} else {
		f.own.Wake()
	}
}

func (f *follower) close() {
	f.stop()
	f.wg.Wait()
	f.own.Close()
}

// Changed implements stream.Follower.
func (f *follower) Changed() <-chan struct{} { return f.own.C }

// Wake has whoever waits for Changed look again.
func (f *follower) Wake() { f.own.Wake() }

// Standing implements stream.Stander.
func (f *follower) Standing() stream.Standing { return standingSeen(f.grant, *f.standing.Load()) }

// Look implements stream.Follower.
func (f *follower) Look() (int64, error) {
	over := f.over.Load() // before: what was written until another came after is there now
	err := f.file.Check()
	if (errors.Is(err, source.ErrRemoved) || errors.Is(err, source.ErrReplaced)) && f.relocate() {
		err = f.file.Check()
	}
	if err == nil && over {
		err = stream.ErrSucceeded
	}
	return f.file.Info().Size, err
}

// relocate looks for the file under another name in its root, and reports whether it lies there.
func (f *follower) relocate() bool {
	r, err := Describe(context.Background(), f.file)
	if err != nil {
		return false
	}
	info := f.file.Info()
	alias, _, _ := strings.Cut(info.Name, "/")
	e := f.server.index.OfFile(context.Background(), info.ID, r.GetIdentity(), alias)
	if e == nil || e.Name == info.Name {
		return false
	}
	to, err := f.server.Catalog.Origin(e.Name)
	if err != nil || f.own.Move(to.Path) != nil {
		return false
	}
	f.file.Move(to)
	now := *f.standing.Load()
	now.Name = e.Name
	f.stand(&now)
	select {
	case f.moved <- struct{}{}:
	default:
	}
	return true
}

// successors finds one replay after another.
type successors struct {
	server *Server
	req    *replaydv1.StreamEventsRequest
	rule   succession.Rule

	file     *source.File // of the replay that is streamed
	identity string       // its identity; empty until the index knows it
	interest *index.Interest
	leaving  *leaving // with NextInDirectory, of a file that may grow
}

var _ stream.Successors = (*successors)(nil)

// ruleOf is a request's rule.
func ruleOf(req *replaydv1.StreamEventsRequest) (succession.Rule, error) {
	switch req.GetSuccessorRule() {
	case replaydv1.SuccessorRule_SUCCESSOR_RULE_UNSPECIFIED, replaydv1.SuccessorRule_SUCCESSOR_RULE_PROVEN:
		return succession.Proven, nil
	case replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY:
		return succession.NextInDirectory, nil
	}
	return 0, badRequest("successor_rule", "is unknown")
}

func (s *Server) successors(
	ctx context.Context, file *source.File, r *stream.Replay, req *replaydv1.StreamEventsRequest,
) (*successors, error) {
	if r.Codec.Lineage == nil {
		return nil, badRequest("follow_successors", "replays of format "+r.Codec.Format.String()+" have none")
	}
	rule, err := ruleOf(req)
	if err != nil {
		return nil, err
	}
	n := &successors{server: s, req: req, rule: rule}
	n.begin(ctx, file, r)
	return n, nil
}

// begin is called with each replay that is streamed.
func (n *successors) begin(ctx context.Context, file *source.File, r *stream.Replay) {
	n.end()
	n.file, n.identity, n.leaving = file, "", nil
	if e := n.server.entryOf(ctx, file, ""); e != nil {
		n.identity = e.Identity
	}
	n.interest = n.server.index.Interest(path.Dir(file.Info().Name), n.identity, scopeOf(ctx))
	if n.rule != succession.NextInDirectory || r.Follower == nil {
		return
	}
	n.leaving = n.server.leave(ctx, r.Follower, file)
	r.Follower = n.leaving
	closeWith(&r.Close, n.leaving.close)
}

func (n *successors) end() {
	if n.interest != nil {
		n.interest.Close()
	}
}

// Changed implements stream.Successors.
func (n *successors) Changed() <-chan struct{} { return n.interest.C }

// entryOf is what the index knows of an open file, wherever it lies now: of a file with that identity, or, while that is not
// known, under the name by which it was opened. It returns nil for one that is not there, or whose header is not.
func (s *Server) entryOf(ctx context.Context, file *source.File, identity string) *index.Entry {
	info := file.Info()
	if identity == "" {
		if e, err := s.index.Get(ctx, info.Name, scopeOf(ctx)); err == nil && e.Identity != "" && e.ID == info.ID {
			return e
		}
		return nil
	}
	copies := s.index.Copies(identity, scopeOf(ctx))
	for _, e := range copies {
		if e.ID == info.ID {
			return e
		}
	}
	if len(copies) > 0 {
		return copies[0]
	}
	return nil
}

// Next implements stream.Successors.
func (n *successors) Next(ctx context.Context, after stream.Ended) (stream.Next, error) {
	finished, lost := after.Finished, after.Lost
	if errors.Is(lost, stream.ErrSucceeded) || errors.Is(lost, stream.ErrComplete) {
		lost = nil
	}
	e := n.server.entryOf(ctx, n.file, n.identity)
	switch {
	case e == nil && n.identity == "":
		return stream.Next{Over: lost != nil, Waiting: waitingFor(finished, nil)}, ctx.Err()
	case e == nil: // it is gone, but what names it as the one before is still its successor
		e = &index.Entry{Info: n.file.Info(), Facts: index.Facts{Identity: n.identity}}
	case n.identity == "":
		n.identity = e.Identity
		n.interest.Close()
		n.interest = n.server.index.Interest(path.Dir(e.Name), e.Identity, scopeOf(ctx))
	}
	if e.Survey == nil || !e.Survey.Ended {
		if finished { // the index may not know yet
			known := *e
			known.Survey = &encode.Survey{Ended: true, LastTick: after.Tick}
			e = &known
		}
	} else {
		finished = true
	}
	found, err := succession.Find(ctx, n.server.index, e, finished, scopeOf(ctx))
	if err != nil && ctx.Err() != nil {
		return stream.Next{}, err
	}
	verdict := succession.Decide(succession.Situation{
		Finished: finished, Lost: lost, Found: found, GoOn: true, Rule: n.rule,
	})
	switch verdict.Step {
	case succession.GoOn:
		read := e.Size
		if n.leaving != nil {
			read = n.leaving.present.Load()
		}
		next, err := n.open(ctx, verdict.To)
		if err != nil {
			return stream.Next{}, err
		}
		if verdict.Left {
			n.server.left.leave(e, read)
		}
		return stream.Next{Replay: next}, nil
	case succession.End:
		return stream.Next{Over: true}, nil
	}
	return stream.Next{Waiting: waitingFor(finished, found.Likely)}, nil
}

func waitingFor(finished bool, likely []string) *replaydv1.Waiting {
	w := &replaydv1.Waiting{WaitingFor: replaydv1.WaitingFor_WAITING_FOR_MORE, LikelySuccessors: likely}
	if finished {
		w.WaitingFor = replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR
	}
	return w
}

// open opens a successor.
func (n *successors) open(ctx context.Context, to *index.Entry) (*stream.Replay, error) {
	file, err := n.server.Catalog.Open(to.Name)
	if err != nil {
		return nil, err
	}
	spend(ctx, file)
	r, err := replayOf(ctx, file, n.req)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	if err := n.server.attend(ctx, r, file, to.Growable()); err != nil {
		r.Close()
		return nil, err
	}
	n.begin(ctx, file, r)
	return r, nil
}

// leaving is a Follower of a replay that is left as soon as another begins in its directory.
type leaving struct {
	stream.Follower

	left    atomic.Bool
	present atomic.Int64 // how many bytes the file had when it was looked at last
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

func (s *Server) leave(ctx context.Context, f stream.Follower, file *source.File) *leaving {
	ctx, stop := context.WithCancel(ctx)
	l := &leaving{Follower: f, stop: stop}
	l.wg.Go(func() {
		identity := ""
		interest := s.index.Interest(path.Dir(file.Info().Name), "", scopeOf(ctx))
		defer interest.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-interest.C:
			}
			e := s.entryOf(ctx, file, identity)
			if e == nil {
				continue
			}
			identity = e.Identity
			found, err := succession.Find(ctx, s.index, e, false, scopeOf(ctx))
			if err != nil {
				continue
			}
			v := succession.Decide(succession.Situation{Found: found, GoOn: true, Rule: succession.NextInDirectory})
			if v.Step == succession.GoOn {
				if shared, ok := f.(interface{ Sync(ctx context.Context) }); ok {
					shared.Sync(ctx) // what was written before the other one began
				}
				l.left.Store(true)
				if w, ok := f.(interface{ Wake() }); ok {
					w.Wake()
				}
				return
			}
		}
	})
	return l
}

func (l *leaving) close() {
	l.stop()
	l.wg.Wait()
}

// Look implements stream.Follower.
func (l *leaving) Look() (int64, error) {
	left := l.left.Load()
	present, err := l.Follower.Look()
	l.present.Store(present)
	if err == nil && left {
		err = stream.ErrSucceeded
	}
	return present, err
}

// Standing implements stream.Stander.
func (l *leaving) Standing() stream.Standing {
	if s, ok := l.Follower.(stream.Stander); ok {
		return stream.Standing{Name: s.Standing().Name} // nothing else is waited for than what is gone to
	}
	return stream.Standing{}
}
