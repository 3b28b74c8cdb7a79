package stream

import (
	"errors"
	"io"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// advance calls f until it succeeds or the replay ends. It waits for a file that may grow.
func (s *stream) advance(f func() error) (outcome, error) {
	for {
		how, err := s.step(f)
		if err == nil && how == starved {
			how, err = s.wait(s.changed(), nil, 0)
		}
		if err != nil || how != again {
			return how, err
		}
	}
}

// step calls a function of the reader once and maps its error to an outcome.
func (s *stream) step(f func() error) (outcome, error) {
	select {
	case <-s.canceled:
		return over, s.ctx.Err()
	case <-s.Drain:
		return drained, nil
	default:
	}
	switch err := s.turn(f); {
	case err == nil:
		return done, nil
	case errors.Is(err, io.EOF):
		return over, nil
	case errors.Is(err, codec.ErrDone):
		return passed, nil
	case errors.Is(err, codec.ErrYield):
		return again, s.heartbeat()
	case errors.Is(err, decoders.ErrMore):
		return s.atEndOfData(), nil
	case errors.Is(err, ErrDraining):
		return drained, nil
	case s.entered && (errors.Is(err, source.ErrReplaced) || errors.Is(err, source.ErrRemoved)):
		s.lost, s.gone = err, true // an object whose other bytes can no longer be read
		return dry, nil
	default:
		return over, err
	}
}

// turn calls a function of the reader when it is the caller's turn. A stream that has caught up with a live replay takes no
// turns: it has little to read. One that begins keeps its turn until it has filled its first batch: of a thousand that begin at once, few
// then have the memory of a decoder at a time.
func (s *stream) turn(f func() error) error {
	if s.Turns == nil || s.caughtUp {
		return f()
	}
	if s.regain(); s.held == nil {
		s.held = s.Turns.Take(s.canceled, s.Drain, s.Caller)
	}
	if s.held == nil {
		return codec.ErrYield // canceled or draining: the next step finds out
	}
	err := f()
	if err != nil || !s.begins {
		s.giveTurn()
	} else if turn := s.held; turn != nil {
		s.lease = time.AfterFunc(leaseTime, func() { s.Turns.Give(turn) })
	}
	return err
}

// leaseTime is how long a stream keeps its turn while it does not read: what it waits for then, such as a client that takes nothing, must not
// keep others waiting.
const leaseTime = time.Millisecond

// regain ends the lease of a turn that the stream has kept, and forgets the turn if it took too long.
func (s *stream) regain() {
	if s.lease != nil && !s.lease.Stop() {
		s.held = nil
	}
	s.lease = nil
}

// giveTurn returns the caller's turn, if it has one.
func (s *stream) giveTurn() {
	if s.regain(); s.held != nil {
		s.Turns.Give(s.held)
		s.held = nil
	}
}

// await waits for ready in the middle of a read. Meanwhile it gives the caller's turn to others, and sends heartbeats.
func (s *stream) await(ready <-chan struct{}) error {
	took := s.held != nil
	s.giveTurn()
	for {
		select {
		case <-ready:
			if took {
				s.held = s.Turns.Take(s.canceled, s.Drain, s.Caller) // nil if the stream is about to end
			}
			return nil
		case <-s.canceled:
			return s.ctx.Err()
		case <-s.Drain:
			return ErrDraining
		case <-s.clock.C:
			if err := s.heartbeatWithin(); err != nil {
				return err
			}
			s.clock.Reset(s.untilHeartbeat())
		}
	}
}

// atEndOfData returns starved if a file without more bytes may still grow, and otherwise dry. When it finds that the file is
// gone, it returns again, because its writer may have appended to it before.
func (s *stream) atEndOfData() outcome {
	if s.replay.Follower == nil || s.lost != nil {
		return dry
	}
	if how := s.look(); s.lost != nil {
		return how
	}
	return starved
}

// look checks the file before more of it is read: it may hold another replay by now, which must not be read. Then look returns
// dry, and otherwise again.
func (s *stream) look() outcome {
	if s.lost == nil && s.replay.Follower != nil {
		_, s.lost = s.replay.Follower.Look()
	}
	if errors.Is(s.lost, source.ErrShrunk) {
		return dry
	}
	return again
}

// changed returns a channel that receives when the file may have grown, nil if it does not grow.
func (s *stream) changed() <-chan struct{} {
	if s.replay.Follower == nil {
		return nil
	}
	return s.replay.Follower.Changed()
}

// wait waits until one of two channels receives, at most for limit unless that is 0. Meanwhile it sends heartbeats. It returns
// again or drained, or dry if the file no longer holds the replay.
func (s *stream) wait(changed, extra <-chan struct{}, limit time.Duration) (outcome, error) {
	var after <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		after = timer.C
	}
	for {
		select {
		case <-s.canceled:
			return again, s.ctx.Err()
		case <-s.Drain:
			return drained, nil
		case <-changed:
			return s.look(), nil
		case <-extra:
			return again, nil
		case <-after:
			return s.look(), nil
		case <-s.clock.C:
			if err := s.heartbeat(); err != nil {
				return again, err
			}
			s.clock.Reset(s.untilHeartbeat())
		}
	}
}
