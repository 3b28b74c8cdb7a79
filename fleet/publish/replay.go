package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Replay publishes the unpublished events of a replay until the replay ends. A replay that may grow is followed. It waits for
// NATS and the daemon. If the replay is damaged or cannot be read, it publishes the error, and returns it as a [*client.Error].
// It returns the error of ctx when that ends.
func (p *Publisher) Replay(ctx context.Context, name string) error {
	return p.replay(ctx, &wish{name: name, begin: func(*replaydv1.Replay) bool { return true }})
}

// wish says which replay to publish.
type wish struct {
	name  string
	known *replaydv1.Replay            // the known description, or nil
	begin func(*replaydv1.Replay) bool // whether to publish a replay of which nothing is published yet
	whole bool                         // only if it does not grow; otherwise the error is errGrowing
}

// errGrowing reports that a replay may grow.
var errGrowing = errors.New("the replay may grow")

// replay publishes one replay.
func (p *Publisher) replay(ctx context.Context, w *wish) error {
	r := &replay{p: p, name: w.name}
	fixed, known := false, w.known
	for attempt := 0; ; attempt++ {
		over, err := r.attempt(ctx, w, known, fixed)
		known = nil
		e, ok := errors.AsType[*client.Error](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && over:
			return nil
		case err == nil: // another publisher has got further
			attempt = 0
			continue
		case ok && !fixed && slices.ContainsFunc(e.Fields, func(f client.Field) bool { return f.Name == "follow" }):
			fixed = true // the replay turned out to be fixed
			continue
		case !ok || !client.Transient(e):
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// growing reports whether a replay may grow.
func growing(d *replaydv1.Replay) bool {
	return d.GetState() == replaydv1.ReplayState_REPLAY_STATE_GROWING || d.GetState() == replaydv1.ReplayState_REPLAY_STATE_SILENT
}

// describe returns the replay's present description, with its identity.
func (r *replay) describe(ctx context.Context) (*replaydv1.Replay, error) {
	d, err := r.p.daemon.Replay(ctx, r.name)
	if err == nil && d.GetIdentity() == "" {
		err = &client.Error{Code: codes.Unavailable, Message: r.name + " has no identity yet"}
	}
	return d, err
}

// attempt publishes the rest of the replay. over is false if another attempt must follow, because the subject or the replay has
// changed.
func (r *replay) attempt(ctx context.Context, w *wish, d *replaydv1.Replay, fixed bool) (over bool, err error) {
	if d == nil {
		if d, err = r.describe(ctx); err != nil {
			return true, r.lost(ctx, err)
		}
	}
	r.name, r.identity = d.GetName(), d.GetIdentity()
	if err := r.locate(ctx); err != nil {
		return true, err
	}
	follow := growing(d) && !fixed
	switch {
	case r.at.sequence == 0 && !w.begin(d) || r.over(d):
		return true, nil
	case follow && w.whole:
		return true, errGrowing
	}
	r.p.Stats.Replays.Add(1)
	defer r.p.Stats.Replays.Add(-1)
	s := &session{replay: r, follow: follow}
	return s.run(ctx)
}

// lost publishes that a replay is gone of which some events were published.
func (r *replay) lost(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok && r.at.sequence > 0 && e.Reason == replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND {
		_, failed := (&session{replay: r}).failed(ctx, e)
		return failed
	}
	return err
}

// over reports whether the subject's last message is an end that cannot change while the file has this size.
func (r *replay) over(d *replaydv1.Replay) bool {
	switch {
	case r.at.kind == TypeEnd && (r.at.reason == "FINISHED" || r.at.reason == "RANGE_DONE"):
		return true
	case r.at.kind == TypeError && r.at.reason != "LIMIT_EXCEEDED" && r.at.reason != "TOO_LARGE" || r.at.kind == TypeEnd && r.at.reason == "TRUNCATED":
		return r.at.size == d.GetSizeBytes() && !growing(d)
	}
	return false
}

// session is one stream of a replay.
type session struct {
	*replay

	follow  bool
	encoder encoder
	before  []byte // the cursor before the next response
}

// errAgain ends a session that another one must follow.
var errAgain = errors.New("again")

// maxHeaders exceeds the size of a message's headers.
const maxHeaders = 16 << 10

func (s *session) run(ctx context.Context) (over bool, err error) {
	s.encoder = encoder{encoding: s.p.o.Encoding, most: max(int(s.p.conn.MaxPayload())-maxHeaders, 1)}
	if most := s.p.stream.Load().CachedInfo().Config.MaxMsgSize; most > 0 {
		s.encoder.most = min(s.encoder.most, max(int(most)-maxHeaders, 1))
	}
	req := s.request()
	stream := s.p.daemon.Stream(ctx, req)
	for resp, err := range stream.Responses() {
		if err == nil {
			err = s.response(ctx, resp)
		}
		e, ok := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			continue
		case errors.Is(err, errAgain):
			return false, nil
		case errors.Is(err, errPayload):
			e = &client.Error{Code: codes.FailedPrecondition, Reason: replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, Message: err.Error()}
		case !ok || !ofReplay(e):
			return true, err
		}
		return s.failed(ctx, e)
	}
	return true, nil
}

func (s *session) request() *replaydv1.StreamEventsRequest {
	req := s.p.o.Request
	req = &replaydv1.StreamEventsRequest{
		Replay: s.name, Follow: s.follow, Include: req.GetInclude(), Exclude: req.GetExclude(), Where: req.GetWhere(),
		ResolvePlayers: req.GetResolvePlayers(),
		MaxBatchEvents: either(req.GetMaxBatchEvents(), 512), MaxBatchDelay: req.GetMaxBatchDelay(),
	}
	if len(s.at.cursor) > 0 {
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: s.at.cursor}}
	}
	return req
}

// ofReplay reports whether an error is the replay's, so that consumers should see it, and not the request's or the daemon's.
func ofReplay(e *client.Error) bool {
	switch e.Reason {
	case replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND, replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT,
		replaydv1.ErrorReason_ERROR_REASON_UNSUPPORTED_VERSION, replaydv1.ErrorReason_ERROR_REASON_CORRUPT,
		replaydv1.ErrorReason_ERROR_REASON_TRUNCATED, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH,
		replaydv1.ErrorReason_ERROR_REASON_CURSOR_BEYOND_END, replaydv1.ErrorReason_ERROR_REASON_FACTS_VERSION,
		replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE:
		return true
	case replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return !client.Transient(e)
	}
	return false
}

// response publishes the contents of a response.
func (s *session) response(ctx context.Context, r client.Response) error {
	defer func() {
		if len(r.Cursor) > 0 {
			s.before = r.Cursor
		}
	}()
	if r.Batch != nil {
		return s.batch(ctx, r)
	}
	switch m := r.Message; {
	case m.GetStart() != nil:
		return s.start(ctx, r)
	case m.GetEnd() != nil:
		return s.end(ctx, r)
	case m.GetFollowStatus().GetReplay() != "": // it was renamed
		s.name = m.GetFollowStatus().GetReplay()
	}
	return nil
}

// start publishes the start, before all events. Then it looks for an older subject of the replay: two publishers may have begun
// under two of its names.
func (s *session) start(ctx context.Context, r client.Response) error {
	if s.identity != r.Message.GetStart().GetReplay().GetIdentity() {
		return errAgain // the file was replaced
	}
	if len(s.at.cursor) > 0 { // the start was published already
		return nil
	}
	m, err := s.encoder.response(r, TypeStart, r.Message.GetStart())
	if err != nil {
		return err
	}
	m.id = "start"
	subject := s.subject
	done, err := s.put(ctx, m)
	if err != nil {
		return err
	}
	if err := s.locate(ctx); err != nil {
		return err
	}
	if !done || s.subject != subject {
		return errAgain
	}
	return nil
}

// batch publishes the unpublished events of a batch.
func (s *session) batch(ctx context.Context, r client.Response) error {
	b := r.Batch
	for b.Next > s.at.next {
		if b.First > s.at.next { // NATS has lost messages
			return errAgain
		}
		again := false
		ok, err := s.encoder.events(r, s.at.next, s.before, func(m *message) error {
			if again {
				return nil
			}
			done, err := s.put(ctx, m)
			again = !done
			return err
		})
		if err != nil {
			return err
		}
		if !ok { // another publisher's batches end elsewhere
			return errAgain
		}
	}
	return nil
}

// end publishes the end.
func (s *session) end(ctx context.Context, r client.Response) error {
	m, err := s.encoder.end(r)
	if err != nil {
		return err
	}
	reason := r.Message.GetEnd().GetReason()
	now := s.now(ctx)
	if reason == replaydv1.EndReason_END_REASON_TRUNCATED && !s.follow && growing(now) {
		return errAgain // the replay turned out to grow
	}
	return s.last(ctx, m, now.GetSizeBytes())
}

// now returns the replay's description, or nil if another file has its name.
func (s *session) now(ctx context.Context) *replaydv1.Replay {
	d, err := s.describe(ctx)
	if err != nil || d.GetIdentity() != s.identity {
		return nil
	}
	return d
}

// last publishes an end or an error after all events, unless it is the last message already.
func (s *session) last(ctx context.Context, m *message, size int64) error {
	m.first, m.next, m.size = s.at.next, s.at.next, size
	if m.cursor == nil {
		m.cursor = s.at.cursor
	}
	m.id = m.kind + ":" + strconv.FormatUint(m.next, 10) + ":" + m.reason
	if s.at.kind == m.kind && s.at.reason == m.reason {
		return nil
	}
	done, err := s.put(ctx, m)
	if err == nil && !done {
		return errAgain
	}
	return err
}

// failed publishes an error of the replay and returns it.
func (s *session) failed(ctx context.Context, e *client.Error) (over bool, err error) {
	now, err := s.describe(ctx)
	if err == nil && now.GetIdentity() != s.identity {
		return false, nil // the error belongs to another file, which took the name
	}
	s.encoder.encoding = s.p.o.Encoding
	m, err := s.encoder.failure(e)
	if err != nil {
		return true, err
	}
	m.cursor = s.at.cursor
	switch err := s.last(ctx, m, now.GetSizeBytes()); {
	case errors.Is(err, errAgain):
		return false, nil
	case err != nil:
		return true, err
	}
	s.p.Stats.Failures.Add(1)
	return true, fmt.Errorf("%s: %w", s.name, e)
}
