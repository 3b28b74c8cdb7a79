package main

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// How a daemon's stream can stop before it is over, other than by an error.
var (
	errDraining = status.Error(codes.Unavailable, "the daemon shuts down")
	errCut      = status.Error(codes.Unavailable, "the stream stopped without an end")
)

// resumer hands out the responses of a stream and keeps what it takes to go on behind the last of them. A daemon's
// stream that follows it takes up again by itself, for as long as that takes.
type resumer struct {
	target *target
	in     io.Reader                      // the standard input
	req    *replaydv1.StreamEventsRequest // the session's, and then the next one's
	reveal bool                           // without a daemon
	each   func(raw []byte) error
	note   func(text string)

	cursor   []byte // behind the last response that was handed out; empty before there is one
	begun    bool   // some session had a start
	some     bool   // some session had events
	ended    bool   // the session had an end
	drained  bool   // which says that the daemon shuts down
	failures int    // since the last response
}

// run streams until the stream is over.
func (r *resumer) run(ctx context.Context) error {
	if r.target.Addr == "" {
		return localResponses(ctx, r.in, r.req, r.reveal, r.response)
	}
	for {
		err := r.session(ctx)
		// A stream that cannot even begin fails at once: more likely than not, the address is wrong.
		if err == nil || ctx.Err() != nil || !r.begun || !r.req.GetFollow() || !client.Transient(err) {
			return err
		}
		if r.failures == 0 {
			r.note(message(err) + "; waiting to go on")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryDelay(r.failures)):
		}
		r.failures++
	}
}

// session is one call, behind what was handed out before.
func (r *resumer) session(ctx context.Context) error {
	r.ended, r.drained = false, false
	if len(r.cursor) > 0 {
		r.req.Start = &replaydv1.Start{
			At: &replaydv1.Start_Cursor{Cursor: r.cursor}, WithState: r.req.GetStart().GetWithState(),
		}
	}
	err := r.target.responses(ctx, r.req, r.response)
	switch {
	case err == nil && r.drained:
		return errDraining
	case err == nil && !r.ended:
		return errCut
	}
	return err
}

// response hands out a response, unless it concerns only a connection of a stream that is over several.
func (r *resumer) response(raw []byte) error {
	again := r.failures > 0
	r.failures = 0
	hidden := false
	if _, isBatch := field(raw, fieldBatch); isBatch {
		r.some = true
	} else if _, isState := field(raw, fieldState); !isState {
		var m replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &m); err != nil {
			return err
		}
		hidden = r.observe(&m)
	}
	if again {
		r.note("going on")
	}
	if !hidden {
		if err := r.each(raw); err != nil {
			return err
		}
	}
	if cursor, ok := field(raw, fieldCursor); ok {
		r.cursor = append(r.cursor[:0], cursor...)
	}
	return nil
}

// observe takes note of a response without events. Hidden: it is not to be handed out.
func (r *resumer) observe(m *replaydv1.StreamEventsResponse) (hidden bool) {
	switch {
	case m.GetStart() != nil:
		hidden, r.begun = r.begun, true
		r.req.Replay = m.GetStart().GetReplay().GetName() // a directory may have a newer one in the next session
	case m.GetFollowStatus().GetSuccessor() != nil:
		r.req.Replay = m.GetFollowStatus().GetSuccessor().GetName()
	case m.GetEnd() != nil:
		r.ended = true
		r.drained = m.GetEnd().GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING
		hidden = r.drained && r.req.GetFollow()
	}
	return hidden
}

// resumableError is why a stream stopped early, with the cursor to go on with.
type resumableError struct {
	error
	cursor []byte
}

func (e resumableError) Unwrap() error { return e.error }

// resumable adds the cursor to the error of a stream that was interrupted, by the daemon or by the user.
func (r *resumer) resumable(ctx context.Context, err error) error {
	if len(r.cursor) > 0 && (client.Transient(err) || ctx.Err() != nil && r.req.GetFollow()) {
		return resumableError{err, r.cursor}
	}
	return err
}

// The first wait before a daemon is asked again, and the longest.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// retryDelay is how long to wait after so many failures.
func retryDelay(failures int) time.Duration {
	return min(lastRetry, firstRetry<<min(failures, 10))
}
