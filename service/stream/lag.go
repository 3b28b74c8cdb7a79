package stream

import (
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// lagger is a reader that can fall behind the part of a live replay that is kept in memory.
type lagger interface {
	// Lagging reports whether the reader fell behind and has not caught up yet.
	Lagging() bool
}

// lag checks whether the client fell behind, and then reacts as the request asks.
func (s *stream) lag() error {
	l, ok := s.reader.(lagger)
	if !ok || l.Lagging() == s.lagging {
		return nil
	}
	if s.lagging { // the reader caught up; catchUp reports it once everything is sent
		s.lagging, s.caughtUp = false, false
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.borrowBuffer()
	switch s.Slow {
	case replaydv1.SlowConsumer_SLOW_CONSUMER_DISCONNECT:
		return ErrTooSlow
	case replaydv1.SlowConsumer_SLOW_CONSUMER_DROP:
		return s.drop(l)
	default:
		s.lagging = true
		s.reach()
		return s.respond(followStatus(replaydv1.FollowState_FOLLOW_STATE_FELL_BEHIND))
	}
}

// drop decodes and counts events without sending them until the reader has caught up, and then sends a gap. Decoding is much
// faster than sending, which it leaves out.
func (s *stream) drop(l lagger) error {
	gap := &replaydv1.Gap{FirstSequence: s.at.Sequence, FromTick: s.at.Tick}
	missing := uint64(0)
	s.dropping = true
	err := s.skip(l, &missing)
	s.dropping = false
	if missing == 0 || s.ctx.Err() != nil {
		return err
	}
	s.at.Sequence += missing
	s.reach()
	s.at.State = s.State
	gap.NextSequence, gap.ToTick = s.at.Sequence, s.at.Tick
	response := &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Gap{Gap: gap}}
	if sent := s.respond(response); sent != nil {
		return sent
	}
	if err == nil && s.State {
		_, err = s.sendWholeState() // the next step also finds a server that drains
		s.borrowBuffer()
	}
	return err
}

// skip reads until the reader has caught up, the replay ends or the server drains. It counts the events in missing.
func (s *stream) skip(l lagger, missing *uint64) error {
	for l.Lagging() {
		how, err := s.step(func() error { return s.reader.Fill(&s.batch) })
		*missing += uint64(s.batch.Count)
		s.batch.Reset()
		if err == nil && how == starved {
			how, err = s.wait(s.changed(), nil, 0)
		}
		if err != nil || how != again && how != done {
			return err // the next step reaches the same end
		}
	}
	return nil
}
