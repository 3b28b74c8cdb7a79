package streamtest

import (
	"errors"
	"fmt"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// maxResponse is the largest size of a response in bytes, so that clients with default limits can read it.
const maxResponse = 1 << 20

// maxViolations is the largest number of violations that Check reports for one history. The first ones show the cause.
const maxViolations = 20

// Replay holds the events of one replay that a subscription must deliver.
type Replay struct {
	// Identity is the replay's identity.
	Identity string
	// Events are the events that the subscription must deliver, in the form that Offline returns.
	Events []string
	// At holds the events' positions. If they are nil, Check only checks that each event is after the previous one.
	At []decoders.Position
	// End is the reason for which the replay ends. If it is unspecified, it is not checked.
	End replaydv1.EndReason
}

// Options describe a subscription.
type Options struct {
	// From is the index of the first replay's event that is delivered first.
	From int
	// Sequence is the sequence number of the first event. It is not 0 for a history whose first session was itself resumed.
	Sequence uint64
	// State reports whether the subscription requested the state. The state then follows the start of the subscription, the
	// start of each replay, and each gap.
	State bool
	// Gaps reports whether the subscription requested SLOW_CONSUMER_DROP. Otherwise gaps are a violation.
	Gaps bool
	// Incomplete reports whether the history may stop before the end of the last replay.
	Incomplete bool
}

// ViolationError is a broken guarantee.
type ViolationError struct {
	// Session and Response are the indexes in the history at which it was found, or -1 for the whole history.
	Session, Response int
	// Problem describes the violation in a sentence.
	Problem string
}

// Error implements error.
func (v ViolationError) Error() string {
	if v.Session < 0 {
		return v.Problem
	}
	return fmt.Sprintf("session %d, response %d: %s", v.Session, v.Response, v.Problem)
}

// Check returns the guarantees that a history breaks, as joined ViolationErrors, or nil. The replays are those that the
// subscription streams: one, or several with follow_successors.
func Check(h History, replays []Replay, o Options) error {
	c := checker{replays: replays, o: o, event: o.From, sequence: o.Sequence}
	for i := range h {
		c.session(i, &h[i])
	}
	c.at, c.number = -1, -1
	if !o.Incomplete {
		if last := len(replays) - 1; c.replay < last {
			c.failf("the subscription ends in replay %d of %d", c.replay, len(replays))
		} else if n := len(replays[last].Events); c.event != n {
			c.failf("the subscription ends behind event %d of %d", c.event, n)
		}
	}
	return errors.Join(c.violations...)
}

// checker holds the present place of a history in the replays.
type checker struct {
	replays []Replay
	o       Options
	canon   canon

	replay   int                // the index of the present replay
	event    int                // the index of its next event
	sequence uint64             // the next sequence number
	last     *decoders.Position // of the last event

	// The present session:
	at, number int // the indexes of the session and the response
	started    bool
	ended      bool
	sent       uint64
	caughtUp   bool
	untold     bool  // the next response must be the state
	left       bool  // the flag of the last cursor
	read, tick int64 // values of the last heartbeat

	violations []error
}

func (c *checker) failf(format string, args ...any) {
	if len(c.violations) < maxViolations {
		c.violations = append(c.violations, ViolationError{c.at, c.number, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) session(number int, s *Session) {
	c.at, c.started, c.ended, c.sent, c.caughtUp = number, false, false, 0, false
	c.read, c.tick = 0, -1<<63
	c.untold = c.left
	for i, raw := range s.Responses {
		c.number = i
		if len(raw) > maxResponse {
			c.failf("it has %d bytes, more than %d", len(raw), maxResponse)
		}
		r, err := parse(raw)
		if err != nil {
			c.failf("it cannot be read: %v", err)
			continue
		}
		c.response(r)
		if at, err := cursor.Parse(r.cursor); err == nil {
			if c.left = at.State; c.left != c.untold {
				c.failf("its cursor says that the state is still to come: %v", c.left)
			}
		}
	}
	c.number = len(s.Responses)
	switch {
	case s.Cut:
	case s.Err == nil && !c.ended:
		c.failf("the status is OK, but no end came before it")
	case s.Err != nil && c.ended:
		c.failf("an end came, but the status is not OK: %v", s.Err)
	}
}

func (c *checker) response(r *response) {
	if len(r.cursor) == 0 {
		c.failf("it has no cursor")
	}
	if c.ended {
		c.failf("it comes after the end")
	}
	if isStart := r.message.GetStart() != nil; isStart == c.started {
		c.failf("a start must be the first response, and the only one")
	}
	c.started = true
	if state := r.message.GetState(); state != nil {
		c.canon.tables.learn(r.message)
		c.state(state)
		return
	}
	if end := r.message.GetEnd(); c.untold && r.message.GetStart() == nil && r.message.GetHeartbeat() == nil &&
		end.GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
		c.failf("it comes before the state is complete")
		c.untold = false
	}
	if r.batch != nil {
		c.batch(r.batch)
		return
	}
	switch m := r.message.GetResponse().(type) {
	case *replaydv1.StreamEventsResponse_Start:
		c.start(m.Start)
		c.untold = c.o.State || c.untold
	case *replaydv1.StreamEventsResponse_Heartbeat:
		c.heartbeat(m.Heartbeat)
	case *replaydv1.StreamEventsResponse_FollowStatus:
		c.follow(m.FollowStatus)
	case *replaydv1.StreamEventsResponse_Gap:
		c.gap(m.Gap)
		c.untold = c.o.State
	case *replaydv1.StreamEventsResponse_End:
		c.end(m.End)
	default:
		c.failf("it is of no known kind")
	}
}

func (c *checker) start(s *replaydv1.StreamStart) {
	if got := s.GetReplay().GetIdentity(); got != c.replays[c.replay].Identity {
		c.failf("the start is of replay %q, not of %q", got, c.replays[c.replay].Identity)
	}
	if s.GetNextSequence() != c.sequence {
		c.failf("the start announces event %d, but the cursor was before %d", s.GetNextSequence(), c.sequence)
	}
}

func (c *checker) batch(b *batch) {
	events, err := c.canon.events(b)
	if err != nil {
		c.failf("its events cannot be read: %v", err)
		return
	}
	switch {
	case b.first != c.sequence:
		c.failf("the batch begins with event %d instead of %d", b.first, c.sequence)
	case b.next != b.first+uint64(len(events)):
		c.failf("the batch has %d events, and counts from %d to %d", len(events), b.first, b.next)
	case len(events) == 0 && len(b.tables) == 0:
		c.failf("the batch is empty")
	}
	c.sequence = b.next
	c.sent += uint64(len(events))
	c.places(b, len(events))
	c.events(events)
}

// places checks the positions of a batch of n events.
func (c *checker) places(b *batch, n int) {
	if len(b.offsets) != n || len(b.indexes) != n {
		c.failf("%d events have %d offsets and %d indexes", n, len(b.offsets), len(b.indexes))
		return
	}
	want := c.replays[c.replay].At
	for i := range n {
		at := decoders.Position{Offset: b.offsets[i], Index: b.indexes[i]}
		if c.event+i < len(want) && want[c.event+i] != at {
			c.failf("event %d is at %v instead of %v", c.event+i, at, want[c.event+i])
			return
		}
		if c.last != nil && !c.last.Before(at) {
			c.failf("event %d is at %v, and the one before it at %v", c.event+i, at, *c.last)
			return
		}
		c.last = &at
	}
}

// events compares received events with the events of the replay.
func (c *checker) events(events []string) {
	want := c.replays[c.replay].Events
	for i, e := range events {
		if c.event+i >= len(want) {
			c.failf("%d events come after the last one of the replay", len(events)-i)
			break
		}
		if e != want[c.event+i] {
			c.failf("event %d of the replay: got %s, want %s", c.event+i, short(e), short(want[c.event+i]))
			break
		}
	}
	c.event = min(c.event+len(events), len(want))
}

func short(event string) string {
	if len(event) > 80 {
		return fmt.Sprintf("%q...", event[:80])
	}
	return fmt.Sprintf("%q", event)
}

func (c *checker) gap(g *replaydv1.Gap) {
	missing := g.GetNextSequence() - g.GetFirstSequence()
	switch {
	case !c.o.Gaps:
		c.failf("a gap of %d events that nobody asked for", missing)
	case g.GetFirstSequence() != c.sequence:
		c.failf("the gap begins with event %d instead of %d", g.GetFirstSequence(), c.sequence)
	case g.GetNextSequence() <= g.GetFirstSequence():
		c.failf("the gap is empty")
	case g.GetFromTick() > g.GetToTick():
		c.failf("the gap goes from tick %d back to %d", g.GetFromTick(), g.GetToTick())
	}
	c.sequence = g.GetNextSequence()
	if left := len(c.replays[c.replay].Events) - c.event; missing > uint64(left) {
		c.failf("the gap has %d events where the replay has %d left", missing, left)
		missing = uint64(left)
	}
	c.event += int(missing)
}

func (c *checker) heartbeat(h *replaydv1.Heartbeat) {
	read, tick := h.GetBytesRead(), int64(h.GetTick())
	if read < c.read || tick < c.tick {
		c.failf("the heartbeat goes back: from byte %d, tick %d to byte %d, tick %d", c.read, c.tick, read, tick)
	}
	if present := h.GetBytesPresent(); present > 0 && present < read {
		c.failf("the heartbeat has read %d bytes of %d", read, present)
	}
	c.read, c.tick = read, tick
}

// state records a part of the state.
func (c *checker) state(s *replaydv1.StateBatch) {
	if !c.untold {
		c.failf("a state that nobody asked for, or once more")
	}
	c.untold = !s.GetComplete()
}

func (c *checker) follow(s *replaydv1.FollowStatus) {
	switch s.GetState() {
	case replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP:
		if c.caughtUp {
			c.failf("caught up, and never fell behind since the last time")
		}
		c.caughtUp = true
	case replaydv1.FollowState_FOLLOW_STATE_FELL_BEHIND:
		c.caughtUp = false
	case replaydv1.FollowState_FOLLOW_STATE_SUCCESSOR:
		c.successor(s)
	case replaydv1.FollowState_FOLLOW_STATE_WAITING:
		c.waiting(s.GetWaiting())
	case replaydv1.FollowState_FOLLOW_STATE_MOVED:
		if s.GetReplay() == "" {
			c.failf("moved, and nobody says where")
		}
	default:
		c.failf("state %v", s.GetState())
	}
}

func (c *checker) waiting(w *replaydv1.Waiting) {
	switch w.GetWaitingFor() {
	case replaydv1.WaitingFor_WAITING_FOR_MORE:
		if !c.caughtUp {
			c.failf("more is waited for before everything there is was sent")
		}
	case replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR:
		if n := len(c.replays[c.replay].Events); c.event != n {
			c.failf("a successor is waited for after event %d of %d", c.event, n)
		}
	default:
		c.failf("waiting for %v", w.GetWaitingFor())
	}
}

func (c *checker) successor(s *replaydv1.FollowStatus) {
	if c.event != len(c.replays[c.replay].Events) {
		c.failf("the successor comes after event %d of %d", c.event, len(c.replays[c.replay].Events))
	}
	if c.replay+1 == len(c.replays) {
		c.failf("a successor of the last replay: %q", s.GetSuccessor().GetIdentity())
		return
	}
	c.reason(s.GetPredecessorEnd())
	c.replay++
	c.untold = c.o.State
	c.event, c.last, c.caughtUp, c.read, c.tick = 0, nil, false, 0, -1<<63
	if got := s.GetSuccessor().GetIdentity(); got != c.replays[c.replay].Identity {
		c.failf("the successor is %q instead of %q", got, c.replays[c.replay].Identity)
	}
}

// reason checks the reason for which a replay ended.
func (c *checker) reason(got replaydv1.EndReason) {
	want := c.replays[c.replay].End
	if want != replaydv1.EndReason_END_REASON_UNSPECIFIED && got != want {
		c.failf("the replay ends by %v instead of %v", got, want)
	}
}

func (c *checker) end(e *replaydv1.StreamEnd) {
	c.ended = true
	if e.GetEventsSent() != c.sent {
		c.failf("the end counts %d events, %d came", e.GetEventsSent(), c.sent)
	}
	if e.GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
		return
	}
	c.reason(e.GetReason())
	if n := len(c.replays[c.replay].Events); c.event != n {
		c.failf("the end, %v, comes after event %d of %d", e.GetReason(), c.event, n)
	}
}
