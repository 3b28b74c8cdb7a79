package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/frame"
)

// Run streams until the replay or ctx ends, or sending fails. It returns nil after it has sent the end. It returns errors of ctx
// and of send unchanged, and all others as an *Error. Run closes the replays and Successors.
func Run(ctx context.Context, c Config, send Send) error {
	err := Begin(ctx, c, send)
	for i, idle := IsIdle(err); idle; i, idle = IsIdle(err) {
		i.Wait()
		err = i.Resume()
	}
	return err
}

// stream is a running subscription.
type stream struct {
	// The fields that push uses come first, to take up as few cache lines as possible: see feed.Reader.
	reader   codec.Reader
	sender   Send
	sent     uint64 // the number of sent events
	lastSent time.Time
	pushed   error // the error of a push
	// at is the cursor after the last sent event. Its Replay is 0 until the identity is known.
	at     cursor.Cursor
	list   protowire.Number // the replay's field in EventBatch
	ahead  bool             // Send has returned before its bytes were written, at least once
	replay *Replay          // the present one
	events *[]byte          // the pool's memory of batch.Events; nil if the batch has other memory, or none
	batch  codec.Batch
	cursor [cursor.MaxLen]byte // memory for cursorBytes
	outbox frame.Outbox

	Config
	ctx context.Context //nolint:containedctx // a stream lives as long as the call of Run
	// canceled is ctx.Done(), kept because gRPC's nested contexts search for it on every call.
	canceled <-chan struct{}

	pusher   codec.Pusher    // sends for the stream while it waits; see push
	idle     Idle            // what it returns while it waits for more of a live replay
	paced    bool            // the pusher observed MaxDelay while the stream was idle
	filtered uint64          // the number of events of earlier replays that the filter dropped
	clock    *time.Timer     // fires when a heartbeat may be due; sending does not reset it
	started  bool            // the start was sent
	entered  bool            // the client knows the replay: the start, or a successor's status, was sent
	caughtUp bool            // the client was told that it has all events so far
	lagging  bool            // the client was told that it fell behind
	helpers  helpers         // the goroutines that read ahead for reader
	dropping bool            // the stream drops events now, and sends a gap when the client reads again
	lost     error           // the reason why the file will not grow; nil while it may
	gone     bool            // with lost: bytes that could be read before can no longer be read
	held     *admission.Turn // the caller's turn, while a function of the reader runs, or the stream begins
	lease    *time.Timer     // gives the turn back if the stream does not read on soon; nil while it reads
	begins   bool            // the first batch of a replay was not filled yet

	predecessor replaydv1.EndReason // how the previous replay ended
	name        string              // the replay's name, as last sent to the client
	waiting     *replaydv1.Waiting  // as last sent to the client
}

// sendError is an error of Send, which Run returns unchanged. The cursor may be ahead of what was sent.
type sendError struct{ error }

// outcome is the result of a step that did not fail.
type outcome int

const (
	done    outcome = iota // it succeeded
	again                  // call it again
	starved                // the file has no more bytes, but may grow
	dry                    // the file has no more bytes, and will not grow
	over                   // the replay's own end was read
	passed                 // no later event can match the filter
	drained                // the server shuts down
	left                   // it is idle, and needs no goroutine
)

func (s *stream) run() error {
	for start := s.Start; ; start = (Start{}) {
		how, err := s.one(start)
		if errors.Is(err, ErrDraining) && s.started { // between two replays
			how, err = drained, nil
		}
		if err != nil {
			return err
		}
		if how == left {
			return &s.idle
		}
		if how == drained || s.Successors == nil {
			return s.end(how)
		}
		if goesOn, err := s.succeed(how); err != nil || !goesOn {
			return err
		}
	}
}

// one streams one replay, or goes on, and returns its end: over, dry, passed or drained; or left. It does not send the end.
func (s *stream) one(start Start) (outcome, error) {
	if !s.idle.is {
		var err error
		if s.list, err = listField(s.replay.Codec, (*replaydv1.EventBatch)(nil)); err != nil {
			return over, err
		}
		if how, err := s.begin(start); err != nil || how != done {
			return how, err
		}
	}
	how, err := s.deliver()
	if how != over || err != nil || s.replay.Present >= 0 { // for that size, nothing is unpacked
		return how, err
	}
	rest, err := s.advance(s.replay.Rest)
	if err != nil || rest == drained {
		return rest, err
	}
	return over, nil
}

// succeed switches to the next replay and returns true, or ends the stream and returns false.
func (s *stream) succeed(how outcome) (bool, error) {
	reason, _, err := s.reason(how)
	if err != nil {
		return false, err
	}
	began := time.Now()
	for {
		next, err := s.Successors.Next(s.ctx, Ended{
			Finished: reason == replaydv1.EndReason_END_REASON_FINISHED, Tick: s.reader.Tick(), Lost: s.lost,
		})
		switch {
		case err != nil:
			return false, err
		case next.Replay != nil:
			s.filtered += s.reader.Filtered()
			s.close()
			s.replay, s.entered, s.caughtUp, s.lagging, s.lost, s.gone = next.Replay, false, false, false, nil, false
			s.replay.Await(s.await)
			s.predecessor = reason
			return true, nil
		case next.Over:
			return false, s.end(how)
		}
		// A server takes a moment to load the next map. That is not worth a response.
		limit := waitingAfter - time.Since(began)
		if limit <= 0 {
			if err := s.sendWaiting(next.Waiting); err != nil {
				return false, err
			}
			limit = 0
		}
		if how, err := s.wait(s.changed(), s.Successors.Changed(), limit); err != nil || how == drained {
			if err == nil {
				err = s.end(drained)
			}
			return false, err
		}
	}
}

// waitingAfter is how long a stream waits for a successor before it reports that it waits.
const waitingAfter = time.Second

// sendWaiting sends what the stream waits for, if that has changed.
func (s *stream) sendWaiting(w *replaydv1.Waiting) error {
	if proto.Equal(w, s.waiting) {
		return nil
	}
	s.waiting = w
	if w == nil { // it waits for more of the file
		return nil
	}
	return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
		FollowStatus: &replaydv1.FollowStatus{State: replaydv1.FollowState_FOLLOW_STATE_WAITING, Waiting: w},
	}})
}

// sendStanding sends the file's new name and what the stream waits for, if either has changed.
func (s *stream) sendStanding() error {
	if s.replay.Follower == nil || !s.caughtUp {
		return nil
	}
	now := s.replay.Follower.Standing()
	if now.Name != "" && now.Name != s.name {
		s.name = now.Name
		if err := s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
			FollowStatus: &replaydv1.FollowStatus{State: replaydv1.FollowState_FOLLOW_STATE_MOVED, Replay: now.Name},
		}}); err != nil {
			return err
		}
	}
	return s.sendWaiting(now.Waiting)
}

// close frees the present replay.
func (s *stream) close() {
	s.helpers.end()
	if l, ok := s.reader.(codec.Leaver); ok {
		l.Leave()
	}
	if s.batch.Tables != nil {
		s.batch.Tables.Leave()
		s.batch.Tables = nil
	}
	if s.replay != nil {
		s.replay.Close()
	}
	s.replay = nil
}

// begin reads the header, moves to where delivery starts, and sends the start.
func (s *stream) begin(start Start) (outcome, error) {
	if err := s.open(start); err != nil {
		return over, err
	}
	how, err := s.advance(s.reader.Seek)
	if start.Cursor != nil {
		err = s.checkCursor(start.Cursor, how, err)
	}
	if err != nil {
		return how, err
	}
	if how == drained {
		return how, ErrDraining
	}
	if err := s.replay.Complete(s.ctx, s.replay.Info); err != nil {
		return how, err
	}
	// Only now, and as a whole: until the client knows this replay, cursors belong to the previous one.
	s.at.Format, s.at.Replay = s.replay.Codec.Format, cursor.HashOf(s.replay.Info.GetIdentity())
	s.reach()
	s.at.State = s.sendsState(start)
	s.at.Facts = s.factsOf(start.Cursor)
	if err := s.announce(); err != nil {
		return how, err
	}
	s.name, s.waiting = s.replay.Info.GetName(), nil
	s.replay.Info = nil // headers are large, the stream may live long, and nobody asks again
	if s.at.State {
		return s.sendWholeState()
	}
	return how, nil
}

// checkCursor returns an error unless the reader, which was opened at a cursor, has reached its position after the same bytes
// that the cursor was made from. err is the error of seeking.
func (s *stream) checkCursor(c *cursor.Cursor, how outcome, err error) error {
	at := s.reader.Position()
	damaged, isDamaged := errors.AsType[*decoders.Error](err)
	switch {
	case isDamaged: // there was no damage when the cursor was made
		return fmt.Errorf("%w: %w", ErrCursorChanged, damaged)
	case err != nil || how == drained:
		return err
	case at.Before(c.Position):
		return ErrCursorRange
	case at != c.Position || s.reader.Sum() != c.Sum:
		return ErrCursorChanged
	}
	return nil
}

// reach moves the cursor to the reader's position: every earlier event was sent or dropped by the filter.
func (s *stream) reach() {
	s.at.Position, s.at.Sum, s.at.Tick = s.reader.Position(), s.reader.Sum(), s.reader.Tick()
}

// arrival is how long a stream waits for the bytes before its cursor: another daemon, at which it was made, may have had more of a live file
// than has come here. Without a bound, a stream would wait for a file that was cut to grow to its earlier length.
const arrival = 2 * time.Second

// arrive waits until a followed file has so many bytes. It returns ErrCursorRange if they do not come.
func (s *stream) arrive(size int64) error {
	for end := time.Now().Add(arrival); ; {
		present, lost := s.replay.Follower.Look()
		left := time.Until(end)
		switch {
		case present >= size:
			return nil
		case lost != nil || left <= 0:
			return ErrCursorRange
		}
		if how, err := s.wait(s.changed(), nil, left); err != nil {
			return err
		} else if how == drained {
			return ErrDraining
		}
	}
}

// open opens the replay and reads its header.
func (s *stream) open(start Start) error {
	options := s.replay.Options
	if s.replay.Ahead {
		options.Ahead = s.readAhead
	}
	switch {
	case start.Cursor != nil && s.replay.Follower != nil &&
		s.replay.Present >= 0 && start.Cursor.Position.Offset > s.replay.Present:
		if err := s.arrive(start.Cursor.Position.Offset); err != nil {
			return err
		}
		fallthrough
	case start.Cursor != nil:
		options.Start.Position = start.Cursor.Position
		s.at.Sequence = start.Cursor.Sequence
	case start.Last > 0:
		at, err := s.findLast(options, start.Last)
		if err != nil {
			return err
		}
		options.Start.Position = at
	default:
		options.Start.Tick, options.Start.Now = start.Tick, start.Now
	}
	options.State = s.sendsState(start)
	options.StateAgain = s.State && s.Slow == replaydv1.SlowConsumer_SLOW_CONSUMER_DROP
	s.batch.Tables, s.batch.MaxBytes = nil, batchBytes
	if t := s.replay.Tables; t != nil {
		options.Tables = table.NewSet(t.Layout)
		s.batch.Tables, s.batch.MaxBytes = options.Tables, t.Bytes
		if options.State { // its filter selects events of other kinds
			s.batch.MaxBytes = DefaultTableBytes
		}
	}
	s.begins = !options.State // which may take long
	var failed error
	how, err := s.advance(func() error {
		s.reader, failed = s.replay.Open(options)
		return nil
	})
	switch {
	case err != nil:
		return err
	case how == drained:
		return ErrDraining
	case failed != nil:
		return failed
	}
	if err := s.header(s.reader); err != nil {
		return err
	}
	if err := s.checkFilter(); err != nil {
		return err
	}
	if c := start.Cursor; c != nil &&
		(c.Format != s.replay.Codec.Format || c.Replay != cursor.HashOf(s.replay.Info.GetIdentity())) {
		return ErrCursorReplay
	}
	return s.checkFacts(start.Cursor)
}

// sendsState reports whether the stream sends the state at start: because of the request or of the cursor.
func (s *stream) sendsState(start Start) bool {
	return s.State || start.Cursor != nil && start.Cursor.State
}

// checkFilter refuses a filter if the header shows that no event of this replay can match it.
func (s *stream) checkFilter() error {
	lacks := s.replay.Codec.Lacks
	if lacks == nil {
		return nil
	}
	return s.replay.Options.Filter.Check(&s.replay.Codec.Filters, func(kind uint8) bool { return lacks(s.replay.Info, kind) })
}

// header reads the header. A file that ends inside it is an error: without a header there is no start to send.
func (s *stream) header(r codec.Reader) error {
	how, err := s.advance(func() error { return r.Header(s.replay.Info) })
	switch {
	case err != nil || how == done:
		return err
	case how == drained:
		return ErrDraining
	}
	if err := r.Close(); err != nil {
		return err
	}
	return decoders.Errorf(s.replay.Codec.Format, 0, decoders.NoTick, "header", decoders.ErrTruncated, "it is not there")
}

// announce sends the start, or, for a successor, a status that describes it.
func (s *stream) announce() error {
	s.entered = true
	if s.started {
		return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
			FollowStatus: &replaydv1.FollowStatus{
				State: replaydv1.FollowState_FOLLOW_STATE_SUCCESSOR, Successor: s.replay.Info, PredecessorEnd: s.predecessor,
			},
		}})
	}
	s.started = true
	return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{
		Start: &replaydv1.StreamStart{
			Replay: s.replay.Info, NextSequence: s.at.Sequence, Tick: s.at.Tick, Offset: s.at.Position.Offset,
			ServerVersion: s.Version, FactsVersion: s.replay.Codec.FactsVersion,
		},
	}})
}

// deliver fills and sends batches until the replay ends.
func (s *stream) deliver() (outcome, error) {
	how := done
	if s.idle.is {
		how = starved
	}
	for {
		var err error
		if how, err = s.fill(how == starved); how == left && err == nil {
			return how, nil
		}
		if err != nil {
			if _, unsent := errors.AsType[*sendError](err); unsent || s.ctx.Err() != nil {
				return how, err
			}
		}
		if flushed := s.flush(); err == nil {
			err = flushed
		}
		if err != nil || how != done && how != starved {
			return how, err
		}
	}
}

// fill fills one batch until it is full, or until the file has no more bytes and the batch has waited for MaxDelay: then it
// returns starved. With starving it first waits for the file; a stream that follows a live replay spends most of its time there.
func (s *stream) fill(starving bool) (outcome, error) {
	if !starving {
		s.borrowBuffer()
	}
	s.begins = false
	waited := s.MaxDelay == 0
	for {
		if starving {
			if how, err := s.linger(); err != nil || how != again {
				return how, err
			}
			waited = true
		}
		how, err := s.step(func() error { return s.reader.Fill(&s.batch) })
		if err == nil {
			err = s.lag()
		}
		if err != nil || how != again && how != starved {
			return how, err
		}
		starving = how == starved
		if starving && waited && s.batch.Count > 0 {
			return starved, nil
		}
	}
}

// linger waits for more events: without limit while the batch is empty, and otherwise for MaxDelay.
func (s *stream) linger() (outcome, error) {
	if s.idle.is || s.batch.Count == 0 {
		if how, err := s.rest(); err != nil || how != again || s.MaxDelay == 0 || s.paced {
			return how, err // with paced, the batch may have events
		}
		s.borrowBuffer()
	}
	// All streams' batches end at the same moments, and no stream wakes for every event: that is cheapest for the daemon.
	return s.wait(nil, nil, untilNext(time.Now(), s.MaxDelay))
}

// listField returns the number of the field of a message that holds the format's events.
func listField(c *codec.Codec, of proto.Message) (protowire.Number, error) {
	want := c.NewEventList().ProtoReflect().Descriptor().FullName()
	fields := of.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() != nil && f.Message().FullName() == want {
			return f.Number(), nil
		}
	}
	return 0, fmt.Errorf("%s has no field for %s", of.ProtoReflect().Descriptor().Name(), want)
}
