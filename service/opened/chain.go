package opened

import (
	"context"
	"errors"
	"path"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
)

// chain finds the replays that a game server writes one after another. It implements stream.Successors.
type chain struct {
	*Opener

	request *request
	now     *replay // the replay that is streamed
	known   string  // its identity; empty until the index knows it
	news    *index.Interest
}

// chain returns the chain that begins with the replay of a request. It takes ownership of the replay.
func (o *Opener) chain(ctx context.Context, q *request) (*chain, error) {
	if c := q.Replay.Codec; !c.Succeeded() {
		q.Replay.Close()
		return nil, fault.BadRequest("follow_successors", "replays of format "+c.Format.String()+" have none")
	}
	n := &chain{Opener: o, request: q}
	n.begin(ctx, q.Replay)
	return n, nil
}

// begin is called at the beginning of each replay.
func (n *chain) begin(ctx context.Context, r *stream.Replay) {
	n.now, n.known = r.Opened.(*replay), ""
	if e := n.entryOf(ctx, n.now.file, ""); e != nil {
		n.known = e.Identity
	}
	n.listen(ctx, n.now.file.Info().Name)
}

// listen waits for possible successors of the replay, which has that name now.
func (n *chain) listen(ctx context.Context, name string) {
	n.Close()
	n.news = n.Index.Family(name, scope.Of(ctx)).Interest(path.Dir(name), n.known)
}

// Close implements stream.Successors.
func (n *chain) Close() {
	if n.news != nil {
		n.news.Close()
	}
}

// Changed implements stream.Successors.
func (n *chain) Changed() <-chan struct{} { return n.news.C }

// entryOf returns the index's entry of an open file, even if the file has been moved: by its identity, or, while that is empty,
// by the name under which it was opened. It returns nil if there is no entry, or if its header was not read.
func (c *Config) entryOf(ctx context.Context, file *source.File, identity string) *index.Entry {
	info := file.Info()
	if identity == "" {
		if e, err := c.Index.Get(ctx, info.Name, scope.Of(ctx)); err == nil && e.Identity != "" && e.ID == info.ID {
			return e
		}
		return nil
	}
	copies := c.Index.Family(info.Name, scope.Of(ctx)).Copies(identity)
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
	e := n.entryOf(ctx, n.now.file, n.known)
	switch {
	case e == nil && n.known == "":
		return stream.Next{Over: lost != nil, Waiting: waitingFor(finished, succession.Found{})}, ctx.Err()
	case e == nil: // it is gone, but a replay that names it is still its successor
		e = &index.Entry{Info: n.now.file.Info(), Facts: index.Facts{Identity: n.known}}
	case n.known == "":
		n.known = e.Identity
		n.listen(ctx, e.Name)
	}
	if e.Survey == nil || !e.Survey.Ended {
		if finished { // the index may not know yet
			ended := *e
			ended.Survey = &index.Survey{Ended: true, LastTick: after.Tick}
			e = &ended
		}
	} else {
		finished = true
	}
	found, err := n.Successions.Find(ctx, e, finished, scope.Of(ctx))
	if err != nil && ctx.Err() != nil {
		return stream.Next{}, err
	}
	verdict := succession.Decide(succession.Situation{
		Finished: finished, Lost: lost, Found: found, GoOn: true, Rule: n.request.rule,
	})
	switch verdict.Step {
	case succession.GoOn:
		read := e.Size
		if l, ok := n.now.grows.(*leaving); ok {
			read = l.present.Load()
		}
		next, err := n.open(ctx, verdict.To)
		if err != nil {
			return stream.Next{}, err
		}
		if verdict.Left {
			n.left.leave(e, read)
		}
		return stream.Next{Replay: next}, nil
	case succession.End:
		return stream.Next{Over: true}, nil
	}
	_, left := errors.AsType[*stream.LeftError](after.Lost)
	return stream.Next{Waiting: waitingFor(finished || left, found)}, nil
}

// waitingFor describes what a stream waits for after a replay.
func waitingFor(finished bool, found succession.Found) *replaydv1.Waiting {
	w := &replaydv1.Waiting{
		WaitingFor: replaydv1.WaitingFor_WAITING_FOR_MORE, LikelySuccessors: found.Likely, Writer: describe.Writers.To[found.Crash.Writer],
	}
	if finished {
		w.WaitingFor = replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR
	}
	return w
}

// open opens a successor.
func (n *chain) open(ctx context.Context, to *index.Entry) (r *stream.Replay, err error) {
	file, err := n.Catalog.OpenContext(ctx, to.Name)
	if err != nil {
		return nil, err
	}
	if r, err = n.replay(ctx, file, n.request, true); err != nil {
		return nil, err
	}
	n.begin(ctx, r)
	return r, nil
}
