package replayd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Events streams the events of a replay, one by one. The iterator ends after the last event or after the first error. Leaving
// the loop ends the stream. If the connection breaks, the stream is resumed; see [Stream].
func (c *Client) Events(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { c.Stream(ctx, req).events(yield) }
}

// Batches streams the events of a replay, batch by batch, with a cursor for each. Events may be in columns if the request asks
// for them.
func (c *Client) Batches(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { c.Stream(ctx, req).batches(yield) }
}

// Stream is the stream of one replay. It may span several connections.
//
// The first loop over Events, Batches or Responses starts the call; a Stream permits only one loop. Call the other methods on the
// goroutine of that loop, inside or after it.
//
// A stream that has begun is resumed after the last event when the daemon restarts or the connection breaks, as configured by
// [Retry]. No event is missing and none is repeated. An error that is not [Transient] ends the stream at once. So does any error
// before the stream has begun, unless it follows.
type Stream struct {
	ctx   context.Context //nolint:containedctx // an iterator has no other place for a context
	req   *replaydv1.StreamEventsRequest
	open  func(context.Context, context.CancelCauseFunc) (grpc.ClientStream, error)
	heal  func(*Error) // prepares the connection for the next attempt
	done  func()       // waits for the goroutines that open started; may be nil
	retry Retry

	used       bool
	expected   uint64 // sequence number of the next event
	failures   int
	failing    time.Time // when the first of the failures happened
	broken     bool      // OnBreak was called, and OnResume not yet
	cursor     []byte
	start      *replaydv1.StreamStart
	replay     *replaydv1.Replay
	end        *replaydv1.StreamEnd
	state      replaydv1.FollowState
	stateDone  bool // the state at the start position was yielded as a whole
	missed     uint64
	reconnects int
}

// Stream returns a stream of the events of a replay. The request is copied. Without MaxBatchEvents, this client asks for 4096: such
// batches take a fifth less of the daemon's processor time than those of the daemon's own default.
func (c *Client) Stream(ctx context.Context, req *replaydv1.StreamEventsRequest) *Stream {
	s := &Stream{ctx: ctx, req: clone(req), retry: c.retry}
	var conn *grpc.ClientConn
	s.heal = func(e *Error) {
		if e.silent {
			c.conn.replace(conn)
		}
		c.conn.current().ResetConnectBackoff() // the delay of Retry has already passed
	}
	s.open = func(ctx context.Context, _ context.CancelCauseFunc) (grpc.ClientStream, error) {
		conn = c.conn.current()
		call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
			replaydv1.ReplayService_StreamEvents_FullMethodName, grpc.ForceCodecV2(rawcodec.New()))
		if err != nil {
			return nil, err
		}
		if err := call.SendMsg(s.req); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return call, call.CloseSend()
	}
	return s
}

func clone(req *replaydv1.StreamEventsRequest) *replaydv1.StreamEventsRequest {
	if req = proto.CloneOf(req); req == nil {
		req = &replaydv1.StreamEventsRequest{}
	}
	if req.GetMaxBatchEvents() == 0 && req.GetEncoding() != replaydv1.Encoding_ENCODING_ARROW {
		req.MaxBatchEvents = 4096
	}
	return req
}

// Start returns the daemon's first response, with the replay and the start position. It is nil before the first item.
func (s *Stream) Start() *replaydv1.StreamStart { return s.start }

// Replay returns the current replay with its header. With follow_successors it changes. It is nil before the first item.
func (s *Stream) Replay() *replaydv1.Replay { return s.replay }

// State returns the state of a stream that follows: whether it has reached the end of the live replay.
func (s *Stream) State() replaydv1.FollowState { return s.state }

// End returns how the stream ended. It is nil before the end, and if the stream ended with an error.
func (s *Stream) End() *replaydv1.StreamEnd { return s.end }

// Missed returns the number of events that the daemon dropped in gaps. It is always 0 without SLOW_CONSUMER_DROP.
func (s *Stream) Missed() uint64 { return s.missed }

// Reconnects returns how often the stream was resumed. Attempts that failed do not count; see [Retry.OnBreak] for those.
func (s *Stream) Reconnects() int { return s.reconnects }

// Cursor returns the cursor after the last batch that the loop has finished. The loop finishes a batch when it takes the next
// item. Store the cursor together with the results of these events.
func (s *Stream) Cursor() []byte { return s.cursor }

// Response is one response of a stream.
type Response struct {
	// Cursor resumes the stream after this response.
	Cursor []byte
	// Batch holds events or a part of a state. It is nil for all other responses.
	Batch *Batch
	// Message holds all other responses: a start, a heartbeat, a follow status, a gap, an end. It is nil if Batch is not; its Get
	// methods may be called even then.
	Message *replaydv1.StreamEventsResponse
	// Wire holds the bytes of the replaydv1.StreamEventsResponse as received. It must not be modified.
	Wire []byte
}

// ParseResponse parses a stored replaydv1.StreamEventsResponse, for example from `replayd cat --format proto`. The result refers
// to wire, so wire must not be modified while the response or one of its events is in use.
func ParseResponse(wire []byte) (Response, error) {
	r := Response{Wire: wire}
	var err error
	if r.Batch, err = parseBatch(wire); err != nil {
		return Response{}, err
	}
	if r.Batch != nil {
		r.Cursor = r.Batch.Cursor
		return r, nil
	}
	r.Message = new(replaydv1.StreamEventsResponse)
	if err := proto.Unmarshal(wire, r.Message); err != nil {
		return Response{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	r.Cursor = r.Message.GetCursor()
	return r, nil
}

// Events is like [Client.Events], for this stream.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { s.events(yield) }
}

// Batches is like [Client.Batches], for this stream.
func (s *Stream) Batches() iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { s.batches(yield) }
}

// Responses streams all responses of the daemon: first a start, then batches, heartbeats, follow statuses and gaps, and last an
// end. It omits responses that concern only one connection, such as the start of each connection after the first.
func (s *Stream) Responses() iter.Seq2[Response, error] {
	return func(yield func(Response, error) bool) {
		if err := s.run(func(r Response) bool { return yield(r, nil) }); err != nil {
			yield(Response{}, err)
		}
	}
}

func (s *Stream) events(yield func(Event, error) bool) {
	var bad error
	each := func(e Event, err error) bool {
		if err != nil {
			bad = err
			return false
		}
		return yield(e, nil)
	}
	err := s.run(func(r Response) bool { return r.Batch == nil || r.Batch.each(each) })
	if bad != nil {
		err = bad
	}
	if err != nil {
		yield(Event{}, err)
	}
}

func (s *Stream) batches(yield func(*Batch, error) bool) {
	if err := s.run(func(r Response) bool { return r.Batch == nil || yield(r.Batch, nil) }); err != nil {
		yield(nil, err)
	}
}

// lasting is how long a session must last to reset the count of failures, even if no response arrived. The daemon may have had
// nothing to send, because no replay to follow existed yet.
const lasting = time.Minute

// errLeft reports that the caller left the loop.
var errLeft = errors.New("left")

// run passes responses to take until the stream ends or take returns false. It returns nil in both cases.
func (s *Stream) run(take func(Response) bool) error {
	if s.used {
		return errUsed
	}
	s.used = true
	if s.done != nil {
		defer s.done()
	}
	for {
		called := time.Now()
		err := s.session(take)
		if time.Since(called) > lasting {
			s.failures, s.failing = 0, time.Time{}
		}
		switch {
		case errors.Is(err, errLeft), err == nil:
			return nil
		case s.ctx.Err() != nil:
			return broken(s.ctx, err)
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || !s.again(e) {
			return err
		}
		select {
		case <-s.ctx.Done():
			return broken(s.ctx, err)
		case <-time.After(s.retry.delay(s.failures, e.after)):
		}
		s.failures++
		s.heal(e)
	}
}

// again reports whether to try another session after an error.
func (s *Stream) again(e *Error) bool {
	begun := s.start != nil || s.req.GetFollow()
	if s.retry.Never || !begun || !e.transient() {
		return false
	}
	if s.failing.IsZero() {
		s.failing = time.Now()
	}
	if s.retry.GiveUpAfter > 0 && time.Since(s.failing) > s.retry.GiveUpAfter {
		return false
	}
	if s.retry.OnBreak != nil && !s.retry.OnBreak(s, e) {
		return false
	}
	s.broken = true
	return true
}

// session makes one call. It returns nil if the stream ended with an end.
func (s *Stream) session(take func(Response) bool) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	call, err := s.open(ctx, cancel)
	if err != nil {
		return broken(ctx, err)
	}
	dog := newWatchdog(silence(s.req.GetHeartbeatInterval()), cancel)
	defer dog.stop()
	for begun := false; ; begun = true {
		if begun { // before the start, the daemon may be seeking or waiting for a replay, and sends no heartbeats
			dog.start()
		}
		var raw rawcodec.Message
		err := call.RecvMsg(&raw)
		dog.stop()
		switch {
		case errors.Is(err, io.EOF):
			if s.end != nil {
				return nil
			}
			return &Error{Code: codes.Unavailable, Message: "the stream stopped without an end"}
		case err != nil:
			return broken(ctx, err)
		}
		if err := s.response(raw.Bytes, take); err != nil {
			return err
		}
	}
}

// response updates the stream with a response and passes it to take, unless it concerns only the connection.
func (s *Stream) response(wire []byte, take func(Response) bool) error {
	r, err := ParseResponse(wire)
	if err != nil {
		return err
	}
	if r.Batch != nil {
		switch {
		case !r.Batch.State:
			if err := s.advance(r.Batch.First, r.Batch.Next); err != nil {
				return err
			}
		case s.stateDone: // in an earlier session; a resumed stream with state begins with a state again
			s.resumeAt(r.Cursor)
			return nil
		default:
			s.stateDone = r.Batch.Complete
		}
	} else {
		if hidden, err := s.observe(r.Message); hidden || err != nil {
			return err
		}
	}
	s.failures, s.failing = 0, time.Time{}
	s.resumeAt(r.Cursor)
	if !take(r) {
		return errLeft
	}
	if len(r.Cursor) > 0 {
		s.cursor = r.Cursor
	}
	return nil
}

// observe updates the stream with a response without events. hidden reports that the response must not be yielded.
func (s *Stream) observe(m *replaydv1.StreamEventsResponse) (hidden bool, err error) {
	switch r := m.GetResponse().(type) {
	case *replaydv1.StreamEventsResponse_Start:
		return s.started(r.Start)
	case *replaydv1.StreamEventsResponse_FollowStatus:
		s.state = r.FollowStatus.GetState()
		if successor := r.FollowStatus.GetSuccessor(); successor != nil {
			s.replay, s.req.Replay, s.stateDone = successor, successor.GetName(), false
		}
	case *replaydv1.StreamEventsResponse_Gap:
		s.missed, s.stateDone = s.missed+r.Gap.GetNextSequence()-r.Gap.GetFirstSequence(), false
		return false, s.advance(r.Gap.GetFirstSequence(), r.Gap.GetNextSequence())
	case *replaydv1.StreamEventsResponse_End:
		if r.End.GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			s.resumeAt(m.GetCursor())
			if len(m.GetCursor()) > 0 { // the loop has finished all responses before this one
				s.cursor = m.GetCursor()
			}
			return true, &Error{
				Code: codes.Unavailable, Reason: replaydv1.ErrorReason_ERROR_REASON_DRAINING, Message: "the daemon is shutting down",
			}
		}
		s.end = r.End
	}
	return false, nil
}

// resumeAt makes the next session start at a cursor.
func (s *Stream) resumeAt(cursor []byte) {
	if len(cursor) > 0 {
		s.req.Start = &replaydv1.Start{
			At: &replaydv1.Start_Cursor{Cursor: cursor}, WithState: s.req.GetStart().GetWithState(),
		}
	}
}

func (s *Stream) started(start *replaydv1.StreamStart) (again bool, err error) {
	again = s.start != nil
	if again && s.req.GetStart().GetCursor() != nil && start.GetNextSequence() != s.expected {
		return true, fmt.Errorf("%w: resumed at %d, want %d", ErrSequence, start.GetNextSequence(), s.expected)
	}
	if again {
		s.reconnects++
	}
	s.expected, s.start, s.replay = start.GetNextSequence(), start, start.GetReplay()
	if name := s.replay.GetName(); name != "" {
		s.req.Replay = name // if a directory was requested, its newest replay may differ when the stream is resumed
	}
	if s.broken && s.retry.OnResume != nil {
		s.retry.OnResume(s)
	}
	s.broken = false
	return again, nil
}

func (s *Stream) advance(first, next uint64) error {
	if first != s.expected || next < first {
		return fmt.Errorf("%w: got %d, want %d", ErrSequence, first, s.expected)
	}
	s.expected = next
	return nil
}
