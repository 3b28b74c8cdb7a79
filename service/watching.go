package service

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// watchEvery is how often the directories are looked at, and how often a replay that grows is mentioned.
const watchEvery = time.Second

// maxChanges is how many changes a response has at most.
const maxChanges = 1000

// WatchReplays implements the API.
func (s *Server) WatchReplays(
	req *replaydv1.WatchReplaysRequest, out grpc.ServerStreamingServer[replaydv1.WatchReplaysResponse],
) error {
	ctx := out.Context()
	release, err := s.enter()
	if err != nil {
		return s.fail(ctx, err, req.GetDirectory())
	}
	defer release()
	heartbeat, err := heartbeatOf(req.GetHeartbeatInterval())
	if err != nil {
		return err
	}
	formats, err := formatsOf(req.GetFormats())
	if err != nil {
		return err
	}
	w := watching{server: s, dir: req.GetDirectory(), formats: formats, heartbeat: heartbeat, send: out.Send}
	return s.fail(ctx, w.run(ctx), req.GetDirectory())
}

// watching is one call of WatchReplays.
type watching struct {
	server    *Server
	dir       string
	formats   []decoders.Format
	heartbeat time.Duration
	send      func(*replaydv1.WatchReplaysResponse) error

	known    map[string]*watched
	round    int // of looking
	changes  []*replaydv1.ReplayChange
	lastSent time.Time
}

// watched is what the client knows of a replay.
type watched struct {
	id    source.ID
	size  int64
	grows bool
	round int // in which it was seen last
}

func (w *watching) run(ctx context.Context) error {
	w.known = map[string]*watched{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := w.look(ctx); err != nil {
			return err
		}
		if first || len(w.changes) > 0 || time.Since(w.lastSent) >= w.heartbeat {
			if err := w.flush(first); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.server.drain:
			return stream.ErrDraining
		case <-tick.C:
		}
	}
}

// look compares what is there with what the client knows.
func (w *watching) look(ctx context.Context) error {
	w.round++
	for token := ""; ; {
		page, err := w.server.Catalog.List(ctx, w.dir, w.formats, token, maxPage)
		if err != nil {
			return directoryError{err}
		}
		for i := range page.Replays {
			w.compare(&page.Replays[i])
			if len(w.changes) >= maxChanges {
				if err := w.flush(false); err != nil {
					return err
				}
			}
		}
		if token = page.Next; token == "" {
			break
		}
	}
	for name, known := range w.known {
		if known.round != w.round {
			delete(w.known, name)
			w.change(replaydv1.ChangeKind_CHANGE_KIND_REMOVED, &replaydv1.Replay{Name: name})
		}
	}
	return nil
}

// compare notes what became of one replay.
func (w *watching) compare(info *source.Info) {
	known := w.known[info.Name]
	replay := describeInfo(info)
	switch {
	case known == nil || known.id != info.ID || info.Size < known.size:
		known = &watched{id: info.ID, grows: replay.GetLive()}
		w.known[info.Name] = known
		w.change(replaydv1.ChangeKind_CHANGE_KIND_ADDED, replay)
	case info.Size > known.size:
		known.grows = true
		w.change(replaydv1.ChangeKind_CHANGE_KIND_GROWING, replay)
	case known.grows && time.Since(info.Modified) >= liveFor:
		known.grows = false
		w.change(replaydv1.ChangeKind_CHANGE_KIND_FINISHED, replay)
	}
	known.size, known.round = info.Size, w.round
}

func (w *watching) change(kind replaydv1.ChangeKind, r *replaydv1.Replay) {
	w.changes = append(w.changes, &replaydv1.ReplayChange{Kind: kind, Replay: r})
}

// flush sends what was noted, as several responses where it is much. done says that it completes the first picture.
func (w *watching) flush(done bool) error {
	for {
		n := min(len(w.changes), maxChanges)
		last := n == len(w.changes)
		resp := &replaydv1.WatchReplaysResponse{Changes: w.changes[:n:n], InitialDone: done && last}
		if err := w.send(resp); err != nil {
			return err
		}
		w.lastSent = time.Now()
		if w.changes = w.changes[n:]; last {
			w.changes = nil
			return nil
		}
	}
}
