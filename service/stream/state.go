package stream

import (
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
)

// tellState sends the state at the place where the stream is. Until that is done cursors lead to the same place, and to the
// state.
func (s *stream) tellState() (outcome, error) {
	p, more := s.reader.(codec.Presenter)
	for more {
		s.lend()
		how, err := s.advance(func() error { return p.Present(&s.batch) })
		if err != nil || how == drained {
			return how, err
		}
		if more = how == done; more {
			if err := s.sendState(false); err != nil {
				return how, err
			}
		}
	}
	s.at.State = false
	err := s.sendState(true)
	return done, err
}

// sendState sends the batch as a part of the state.
func (s *stream) sendState(complete bool) error {
	field, err := listField(s.replay.Codec, (*replaydv1.StateBatch)(nil))
	if err != nil && s.batch.Count > 0 {
		return err
	}
	list := append(append([]byte(nil), s.batch.Events...), s.batch.Tail...)
	s.batch.Reset()
	return s.transmit(s.outbox.State(field, list, complete, s.cursorBytes()))
}
