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

// Events streams the events of a replay, one by one. The iterator ends behind the last event, or with the first error;
// leaving the loop ends the stream. A stream whose connection breaks is resumed: see [Stream].
func (c *Client) Events(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { c.Stream(ctx, req).events(yield) }
}

// Batches streams the events of a replay, batch by batch: with their cursors, and as columns if the request says so.
func (c *Client) Batches(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { c.Stream(ctx, req).batches(yield) }
}

// Stream is the stream of one replay, over as many connections as it takes.
//
// It is for one loop, over Events, Batches or Responses, which starts the call. Its other methods are for the goroutine of
// that loop, inside and after it.
//
// A stream that has begun is resumed behind the last event when the daemon restarts or the connection breaks, as [Retry]
// says: no event is missing, and none comes twice. A stream that cannot begin ends with the error at once, unless it
// follows; so does a stream with an error that is not [Transient].
type Stream struct {
	ctx   context.Context //nolint:containedctx // an iterator has no other place for it
	req   *replaydv1.StreamEventsRequest
	open  func(context.Context, context.CancelCauseFunc) (grpc.ClientStream, error)
	heal  func(*Error) // prepares the connection for the next try
	done  func()       // releases what open started; may be nil
	retry Retry

	used       bool
	expected   uint64 // sequence number of the next event
	failures   int
	failing    time.Time // since when
	broken     bool      // OnBreak was called, and OnResume was not yet
	cursor     []byte
	start      *replaydv1.StreamStart
	replay     *replaydv1.Replay
	end        *replaydv1.StreamEnd
	state      replaydv1.FollowState
	stateDone  bool // the state at the place where the stream is was handed out
	missed     uint64
	reconnects int
}

// Stream returns a stream of the events of a replay. The request is copied.
func (c *Client) Stream(ctx context.Context, req *replaydv1.StreamEventsRequest) *Stream {
	s := &Stream{ctx: ctx, req: clone(req), retry: c.retry}
	var conn *grpc.ClientConn
	s.heal = func(e *Error) {
		if e.silent {
			c.conn.leave(conn)
		}
		c.conn.current().ResetConnectBackoff() // Retry decides how long to wait
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
	if req == nil {
		return &replaydv1.StreamEventsRequest{}
	}
	return proto.CloneOf(req)
}

// Start returns what is streamed, and from where. It is nil before the first item.
func (s *Stream) Start() *replaydv1.StreamStart { return s.start }

// Replay returns the replay that is streamed now, with its header; with follow_successors it changes. It is nil before the
// first item.
func (s *Stream) Replay() *replaydv1.Replay { return s.replay }

// State returns the state of a stream that follows: whether it has reached the end of the live replay.
func (s *Stream) State() replaydv1.FollowState { return s.state }

// End returns how the stream ended. It is nil before that, and when the stream ended with an error.
func (s *Stream) End() *replaydv1.StreamEnd { return s.end }

// Missed returns how many events gaps have left out. It is always 0 without SLOW_CONSUMER_DROP.
func (s *Stream) Missed() uint64 { return s.missed }

// Reconnects returns how often the stream was resumed.
func (s *Stream) Reconnects() int { return s.reconnects }

// Cursor returns the cursor behind the last batch of which the loop has taken all events and asked for more. Store it with
// what became of these events.
func (s *Stream) Cursor() []byte { return s.cursor }

// Response is one response of a stream.
type Response struct {
	// Cursor resumes the stream behind this response.
	Cursor []byte
	// Batch holds events, or events that describe a state. It is nil when the response is anything else.
	Batch *Batch
	// Message is anything else: a start, a heartbeat, a follow status, a gap, an end. Its Get methods may be called when it
	// is nil.
	Message *replaydv1.StreamEventsResponse
	// Wire is the replaydv1.StreamEventsResponse as it came. It must not be changed.
	Wire []byte
}

// ParseResponse parses a replaydv1.StreamEventsResponse that was stored, such as by `replayd cat --format proto`. The
// response refers to wire, which must not change while the response, or an event of it, is in use.
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

// Events is [Client.Events].
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { s.events(yield) }
}

// Batches is [Client.Batches].
func (s *Stream) Batches() iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { s.batches(yield) }
}

// Responses streams all responses of the daemon: a start first, then batches, heartbeats, follow statuses, gaps, an end
// last. It leaves out those that concern a single connection only, such as the starts of connections after the first.
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

// A session that lasts this long was a success, also when nothing came: there may have been nothing to follow yet.
const lasting = time.Minute

// errLeft says that the loop was left.
var errLeft = errors.New("left")

// run hands out responses until the stream is over. It returns nil then, and when take returned false.
func (s *Stream) run(take func(Response) bool) error {
	if s.used {
		return errClosed
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
		case <-time.After(max(s.retry.delay(s.failures), min(e.after, s.retry.Max))):
		}
		s.failures++
		s.reconnects++
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

// session is one call. It returns nil when the stream is over.
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
		if begun { // until the start the daemon may be seeking, or there may be nothing to follow yet
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

// response updates the stream by a response and hands it out, unless it concerns the connection only.
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
		case s.stateDone: // by an earlier session: a resumed stream begins with a state again, as the request says
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

// observe updates the stream by a response without events. It returns hidden for one that is not to be handed out.
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
			if len(m.GetCursor()) > 0 { // all responses before were taken
				s.cursor = m.GetCursor()
			}
			return true, &Error{
				Code: codes.Unavailable, Reason: replaydv1.ErrorReason_ERROR_REASON_DRAINING, Message: "the daemon shuts down",
			}
		}
		s.end = r.End
	}
	return false, nil
}

// resumeAt makes the next session begin at a cursor.
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
		return true, fmt.Errorf("%w: resumed at %d instead of %d", ErrSequence, start.GetNextSequence(), s.expected)
	}
	s.expected, s.start, s.replay = start.GetNextSequence(), start, start.GetReplay()
	if name := s.replay.GetName(); name != "" {
		s.req.Replay = name // a directory may have a newer one when the stream is resumed
	}
	if s.broken && s.retry.OnResume != nil {
		s.retry.OnResume(s)
	}
	s.broken = false
	return again, nil
}

func (s *Stream) advance(first, next uint64) error {
	if first != s.expected || next < first {
		return fmt.Errorf("%w: %d came where %d was due", ErrSequence, first, s.expected)
	}
	s.expected = next
	return nil
}
