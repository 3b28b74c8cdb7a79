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
// leaving the loop ends the stream. A connection that breaks is no error: see [Stream].
func (c *Client) Events(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { c.Stream(ctx, req).events(yield) }
}

// Batches streams the events of a replay, batch by batch: with their cursors, and as columns where the request asks for
// them.
func (c *Client) Batches(ctx context.Context, req *replaydv1.StreamEventsRequest) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { c.Stream(ctx, req).batches(yield) }
}

// Stream is the events of one replay, over as many connections as it takes, with what is known of them.
//
// It is for one loop, over Events, Batches or Responses. Nothing is sent before. Its other methods are for the goroutine
// of that loop, inside it and behind it.
//
// A stream that has begun goes on by itself behind the last event when the daemon restarts or the connection breaks, as
// [Retry] says: nothing is lost, nothing comes twice. A stream that cannot even begin ends with the error at once,
// unless it is to follow, and so does one with an error that trying again would not cure.
type Stream struct {
	ctx   context.Context //nolint:containedctx // an iterator has no other place for it
	req   *replaydv1.StreamEventsRequest
	open  func(context.Context, context.CancelCauseFunc) (grpc.ClientStream, error)
	heal  func(*Error) // does to the connection what the next try needs
	done  func()       // releases what open started; may be nil
	retry Retry

	used       bool
	expected   uint64 // sequence number of the next event
	failures   int
	failing    time.Time // since when
	cursor     []byte
	start      *replaydv1.StreamStart
	replay     *replaydv1.Replay
	end        *replaydv1.StreamEnd
	state      replaydv1.FollowState
	told       bool // the state at the place where the stream is has been handed out
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
		c.conn.current().ResetConnectBackoff() // how long to wait is for Retry to say
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

// Start returns what is streamed, from where; nil before the first item came.
func (s *Stream) Start() *replaydv1.StreamStart { return s.start }

// Replay returns the replay that is streamed at present, with its header: with follow_successors, one after the other.
func (s *Stream) Replay() *replaydv1.Replay { return s.replay }

// State returns how a stream that follows stands to the live replay.
func (s *Stream) State() replaydv1.FollowState { return s.state }

// End returns how the stream ended: nil before it has, and when it ended with an error.
func (s *Stream) End() *replaydv1.StreamEnd { return s.end }

// Missed returns how many events gaps have left out: always 0 but with SLOW_CONSUMER_DROP.
func (s *Stream) Missed() uint64 { return s.missed }

// Reconnects returns how often the stream was taken up again.
func (s *Stream) Reconnects() int { return s.reconnects }

// Cursor returns where to go on behind what was taken completely: the last batch of which the loop took all events and
// came back for more. Store it with what became of these events.
func (s *Stream) Cursor() []byte { return s.cursor }

// Response is one thing that the daemon says on a stream.
type Response struct {
	// Cursor is where to go on behind it.
	Cursor []byte
	// Batch holds events. It is nil when the response is anything else.
	Batch *Batch
	// Message is anything else: a start, a heartbeat, a state, a gap, an end. Its Get methods may be called without
	// looking whether it is nil.
	Message *replaydv1.StreamEventsResponse
}

// Events is [Client.Events].
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { s.events(yield) }
}

// Batches is [Client.Batches].
func (s *Stream) Batches() iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) { s.batches(yield) }
}

// Responses streams everything that the daemon says: a start first, then batches, heartbeats, states, gaps, an end last.
// What concerns a single connection only, the further starts after it broke, is left out.
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

// A session that lasts so long was a success, also when nothing came: there may have been nothing to follow yet.
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

// again tells whether there is a point in another session.
func (s *Stream) again(e *Error) bool {
	begun := s.start != nil || s.req.GetFollow()
	if s.retry.Never || !begun || !e.transient() {
		return false
	}
	if s.failing.IsZero() {
		s.failing = time.Now()
	}
	return time.Since(s.failing) <= s.retry.GiveUpAfter
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

// response takes note of a response and hands it out, unless it concerns the connection only.
func (s *Stream) response(raw []byte, take func(Response) bool) error {
	r := Response{}
	var err error
	if r.Batch, err = response(raw); err != nil {
		return err
	}
	if r.Batch != nil {
		r.Cursor = r.Batch.Cursor
		switch {
		case !r.Batch.State:
			if err := s.advance(r.Batch.First, r.Batch.Next); err != nil {
				return err
			}
		case s.told: // by the session before: a stream that is taken up again begins with a state, as the request says
			s.goOn(r.Cursor)
			return nil
		default:
			s.told = r.Batch.Complete
		}
	} else {
		r.Message = new(replaydv1.StreamEventsResponse)
		if err := proto.Unmarshal(raw, r.Message); err != nil {
			return fmt.Errorf("%w: %w", errMalformed, err)
		}
		r.Cursor = r.Message.GetCursor()
		if hidden, err := s.observe(r.Message); hidden || err != nil {
			return err
		}
	}
	s.failures, s.failing = 0, time.Time{}
	s.goOn(r.Cursor)
	if !take(r) {
		return errLeft
	}
	if len(r.Cursor) > 0 {
		s.cursor = r.Cursor
	}
	return nil
}

// observe takes note of a response without events. Hidden: it is not to be handed out.
func (s *Stream) observe(m *replaydv1.StreamEventsResponse) (hidden bool, err error) {
	switch r := m.GetResponse().(type) {
	case *replaydv1.StreamEventsResponse_Start:
		return s.started(r.Start)
	case *replaydv1.StreamEventsResponse_FollowStatus:
		s.state = r.FollowStatus.GetState()
		if successor := r.FollowStatus.GetSuccessor(); successor != nil {
			s.replay, s.req.Replay, s.told = successor, successor.GetName(), false
		}
	case *replaydv1.StreamEventsResponse_Gap:
		s.missed, s.told = s.missed+r.Gap.GetNextSequence()-r.Gap.GetFirstSequence(), false
		return false, s.advance(r.Gap.GetFirstSequence(), r.Gap.GetNextSequence())
	case *replaydv1.StreamEventsResponse_End:
		if r.End.GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			s.goOn(m.GetCursor())
			return true, &Error{
				Code: codes.Unavailable, Reason: replaydv1.ErrorReason_ERROR_REASON_DRAINING, Message: "the daemon shuts down",
			}
		}
		s.end = r.End
	}
	return false, nil
}

// goOn has the next session begin at a cursor.
func (s *Stream) goOn(cursor []byte) {
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
	return again, nil
}

func (s *Stream) advance(first, next uint64) error {
	if first != s.expected || next < first {
		return fmt.Errorf("%w: %d came where %d was due", ErrSequence, first, s.expected)
	}
	s.expected = next
	return nil
}
