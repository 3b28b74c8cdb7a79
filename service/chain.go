package service

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
)

// chain finds the replays that a game server writes one after another. It implements stream.Successors.
type chain struct {
	server *Server
	req    *replaydv1.StreamEventsRequest
	rule   succession.Rule

	file     *source.File // of the replay that is streamed
	identity string       // its identity; empty until the index knows it
	interest *index.Interest
	leaving  *leaving // with NextInDirectory, of a file that may grow
}

var _ stream.Successors = (*chain)(nil)

// ruleOf returns the rule by which a request wants successors to be found.
func ruleOf(req *replaydv1.StreamEventsRequest) (succession.Rule, error) {
	if req.GetSuccessorRule() == replaydv1.SuccessorRule_SUCCESSOR_RULE_UNSPECIFIED {
		return succession.Proven, nil
	}
	rule, known := rules.from[req.GetSuccessorRule()]
	if !known {
		return 0, badRequest("successor_rule", "is unknown")
	}
	return rule, nil
}

// newChain returns the chain that begins with a replay. The caller must call end.
func (s *Server) newChain(
	ctx context.Context, file *source.File, r *stream.Replay, req *replaydv1.StreamEventsRequest,
) (*chain, error) {
	if r.Codec.Lineage == nil {
		return nil, badRequest("follow_successors", "replays of format "+r.Codec.Format.String()+" have none")
	}
	rule, err := ruleOf(req)
	if err != nil {
		return nil, err
	}
	n := &chain{server: s, req: req, rule: rule}
	n.begin(ctx, file, r)
	return n, nil
}

// begin is called with each replay that is streamed.
func (n *chain) begin(ctx context.Context, file *source.File, r *stream.Replay) {
	n.end()
	n.file, n.identity, n.leaving = file, "", nil
	if e := n.server.entryOf(ctx, file, ""); e != nil {
		n.identity = e.Identity
	}
	n.interest = n.server.familyOf(ctx, file.Info().Name).Interest(path.Dir(file.Info().Name), n.identity)
	if n.rule != succession.NextInDirectory || r.Follower == nil {
		return
	}
	n.leaving = n.server.leave(ctx, r.Follower, file)
	r.Follower = n.leaving
	closeWith(&r.Close, n.leaving.close)
}

// end stops watching for the next replay.
func (n *chain) end() {
	if n.interest != nil {
		n.interest.Close()
	}
}

// Changed implements stream.Successors.
func (n *chain) Changed() <-chan struct{} { return n.interest.C }

// entryOf returns the index's entry of an open file, even if the file has been moved: by its identity, or, while that is empty,
// by the name under which it was opened. It returns nil if there is no entry, or if its header was not read.
func (s *Server) entryOf(ctx context.Context, file *source.File, identity string) *index.Entry {
	info := file.Info()
	if identity == "" {
		if e, err := s.index.Get(ctx, info.Name, scopeOf(ctx)); err == nil && e.Identity != "" && e.ID == info.ID {
			return e
		}
		return nil
	}
	copies := s.familyOf(ctx, info.Name).Copies(identity)
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
func (n *chain) Next(ctx context.Context, after stream.Ended) (stream.Next, error) {
	finished, lost := after.Finished, after.Lost
	if errors.Is(lost, stream.ErrSucceeded) || errors.Is(lost, stream.ErrComplete) {
		lost = nil
	}
	e := n.server.entryOf(ctx, n.file, n.identity)
	switch {
	case e == nil && n.identity == "":
		return stream.Next{Over: lost != nil, Waiting: waitingFor(finished, succession.Found{})}, ctx.Err()
	case e == nil: // it is gone, but what names it as the one before is still its successor
		e = &index.Entry{Info: n.file.Info(), Facts: index.Facts{Identity: n.identity}}
	case n.identity == "":
		n.identity = e.Identity
		n.interest.Close()
		n.interest = n.server.familyOf(ctx, e.Name).Interest(path.Dir(e.Name), e.Identity)
	}
	if e.Survey == nil || !e.Survey.Ended {
		if finished { // the index may not know yet
			known := *e
			known.Survey = &codec.Survey{Ended: true, LastTick: after.Tick}
			e = &known
		}
	} else {
		finished = true
	}
	found, err := n.server.successions.Find(ctx, e, finished, scopeOf(ctx))
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
	return stream.Next{Waiting: waitingFor(finished, found)}, nil
}

// waitingFor describes what a stream waits for behind a replay.
func waitingFor(finished bool, found succession.Found) *replaydv1.Waiting {
	w := &replaydv1.Waiting{
		WaitingFor: replaydv1.WaitingFor_WAITING_FOR_MORE, LikelySuccessors: found.Likely, Writer: writers.to[found.Crash.Writer],
	}
	if finished {
		w.WaitingFor = replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR
	}
	return w
}

// open opens a successor.
func (n *chain) open(ctx context.Context, to *index.Entry) (*stream.Replay, error) {
	file, err := n.server.Catalog.OpenContext(ctx, to.Name)
	if err != nil {
		return nil, err
	}
	grows := whole
	if to.Growable() {
		grows = followed
	}
	r, err := n.server.newReplay(ctx, file, n.req, grows)
	if err != nil {
		return nil, err
	}
	n.begin(ctx, file, r)
	return r, nil
}

// leaving is a Follower that ends as soon as another replay begins in the same directory.
type leaving struct {
	stream.Follower

	left    atomic.Bool
	present atomic.Int64 // how many bytes the file had when it was looked at last
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// leave returns f as a Follower that ends as soon as another replay begins. The caller must call close.
func (s *Server) leave(ctx context.Context, f stream.Follower, file *source.File) *leaving {
	ctx, stop := context.WithCancel(ctx)
	l := &leaving{Follower: f, stop: stop}
	l.wg.Go(func() {
		identity := ""
		interest := s.familyOf(ctx, file.Info().Name).Interest(path.Dir(file.Info().Name), "")
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
			found, err := s.successions.Find(ctx, e, false, scopeOf(ctx))
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

// close stops watching, and waits for the goroutine that does it.
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
