package stream

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/replayd/replayd/decoders"
)

// push sends new events, and reports whether it may be called again. It sends only a batch that can be sent at once. For
// anything else it returns false, and the stream is resumed.
func (s *stream) push() (more bool) {
	defer func() { // a panic must not end the other streams of this replay
		if p := recover(); p != nil {
			// It is not known whether the batch was sent, so the error has no cursor, and nothing more is sent.
			s.pushed, more = &sendError{fmt.Errorf("panic while events were pushed: %v\n%s", p, debug.Stack())}, false
		}
	}()
	if !s.outbox.Empty() {
		return false
	}
	if err := s.reader.Fill(&s.batch); !errors.Is(err, decoders.ErrMore) {
		return false // a full batch, or an end, which Fill returns again
	}
	s.pushed = s.flush()
	return s.pushed == nil
}
