package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// maxChanges limits the changes in a response.
const maxChanges = 1000

// WatchReplays implements the API.
func (s *Server) WatchReplays(
	req *replaydv1.WatchReplaysRequest, out grpc.ServerStreamingServer[replaydv1.WatchReplaysResponse],
) (err error) {
	ctx := out.Context()
	defer func() { err = s.fail(ctx, err, req.GetDirectory()) }()
	if err := s.enter(ctx, watchCost); err != nil {
		return err
	}
	heartbeat, err := opened.Heartbeat(req.GetHeartbeatInterval())
	if err != nil {
		return err
	}
	formats, err := formatsOf(req.GetFormats())
	if err != nil {
		return err
	}
	w := watching{
		index: s.index, drain: s.drain, dir: req.GetDirectory(), formats: formats, heartbeat: heartbeat,
		changesOnly: req.GetChangesOnly(), send: timed(ctx, out.Send),
	}
	return w.run(ctx)
}

// watching is one call of WatchReplays. The index finds the changes for all calls at once.
type watching struct {
	index     *index.Index
	drain     <-chan struct{}
	dir       string
	formats   []decoders.Format
	heartbeat time.Duration
	// changesOnly leaves the replays out that exist at the start.
	changesOnly bool
	send        func(*replaydv1.WatchReplaysResponse) error
}

func (w *watching) run(ctx context.Context) error {
	x := w.index
	from := x.Now() // before the first list, so that changes during it are sent after it
	shown, err := w.first(ctx)
	if err != nil {
		return err
	}
	until := x.Now()
	heartbeat := time.NewTicker(w.heartbeat)
	defer heartbeat.Stop()
	for {
		list, next, more, err := x.Since(from, maxChanges)
		if err != nil {
			return err
		}
		resp := &replaydv1.WatchReplaysResponse{}
		for _, c := range list {
			if isShown(shown[c.Entry.Name], c) {
				continue
			}
			if change := w.change(c); change != nil && scope.Seen(ctx, c.Entry.Name, c.Entry.Format) == nil {
				resp.Changes = append(resp.Changes, change)
			}
		}
		if from = next; from >= until {
			shown = nil
		}
		if len(resp.GetChanges()) > 0 {
			if err := w.send(resp); err != nil {
				return err
			}
			heartbeat.Reset(w.heartbeat)
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.drain:
			return stream.ErrDraining
		case <-more:
		case <-heartbeat.C:
			if err := w.send(resp); err != nil {
				return err
			}
		}
	}
}

// isShown reports whether the first list was made after a change: then its entry of the replay has the change, or a later one.
func isShown(shown *index.Entry, c index.Change) bool {
	if shown == nil || shown.Before(c.Entry) {
		return false
	}
	return c.Entry.Before(shown) || c.Kind == index.Added || c.Kind == index.Grown
}

// first sends the replays that exist, and returns them by name.
func (w *watching) first(ctx context.Context) (shown map[string]*index.Entry, err error) {
	q := index.Query{Scope: scope.Of(ctx), Dir: w.dir, Formats: scope.Formats(ctx, w.formats)}
	shown = map[string]*index.Entry{}
	if w.changesOnly {
		if err := w.index.CheckDirectory(ctx, w.dir, q.Scope); err != nil {
			return nil, directoryError{err}
		}
		return shown, w.send(&replaydv1.WatchReplaysResponse{InitialDone: true})
	}
	for token := ""; ; {
		page, err := w.index.List(ctx, q, token, maxChanges)
		if err != nil {
			return nil, directoryError{err}
		}
		resp := &replaydv1.WatchReplaysResponse{InitialDone: page.Next == ""}
		for _, e := range page.Replays {
			shown[e.Name] = e
			resp.Changes = append(resp.Changes, &replaydv1.ReplayChange{
				Kind: replaydv1.ChangeKind_CHANGE_KIND_ADDED, Replay: describe.Entry(w.index, e),
			})
		}
		if err := w.send(resp); err != nil {
			return nil, err
		}
		if token = page.Next; token == "" {
			return shown, nil
		}
	}
}

// change returns the change to send, or nil if the request does not want its replay.
func (w *watching) change(c index.Change) *replaydv1.ReplayChange {
	e := c.Entry
	if !e.Identified || e.Format == decoders.Unknown || len(w.formats) > 0 && !slices.Contains(w.formats, e.Format) ||
		w.dir != "" && !strings.HasPrefix(e.Name, w.dir+"/") {
		return nil
	}
	change := &replaydv1.ReplayChange{Kind: describe.ChangeKinds.To[c.Kind], Replay: describe.Entry(w.index, e)}
	if c.Kind == index.Removed {
		change.Replay = &replaydv1.Replay{Name: e.Name}
	}
	return change
}
