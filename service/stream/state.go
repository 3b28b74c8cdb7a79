package stream

import (
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// sendWholeState sends the state at the stream's position. Until all of it is sent, cursors resume with the whole state again.
func (s *stream) sendWholeState() (outcome, error) {
	p, more := s.reader.(codec.Presenter)
	for more {
		s.borrowBuffer()
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
	if s.passesColumns() {
		s.batch.Reset()
		return nil
	}
	if s.batch.Tables != nil {
		encoded, err := s.encodeTables(protoscan.StateTables)
		if err != nil {
			return err
		}
		s.batch.Reset()
		return s.transmit(s.outbox.StateTables(encoded, complete, s.cursorBytes()))
	}
	field, err := listField(s.replay.Codec, (*replaydv1.StateBatch)(nil))
	if err != nil && s.batch.Count > 0 {
		return err
	}
	list := append(append([]byte(nil), s.batch.Events...), s.batch.Tail...)
	s.batch.Reset()
	return s.transmit(s.outbox.State(field, list, complete, s.cursorBytes()))
}
