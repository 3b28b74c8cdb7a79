package stream

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/codec"
)

// idle waits for more of the file while the batch is empty. A reader that can pushes meanwhile: it does what this goroutine
// would be woken for. Where a hundred clients follow one replay, waking a hundred goroutines in each tick is most of what
// they cost.
//
// A stream that was pushed to must not wait for its client, for all others would. So only those are that have sent
// everything, by a transport that takes a message over before it writes it: then there is room for the next one, however
// much the client leaves unread.
func (s *stream) idle() (outcome, error) {
	if p, ok := s.reader.(codec.Pusher); ok && s.ahead && s.MaxDelay == 0 {
		s.pusher = p
		defer func() { s.pusher = nil }()
	}
	how, err := s.wait(s.changed(), nil, 0)
	if s.pushed != nil {
		return how, s.pushed
	}
	return how, err
}

// offer lets the reader push from now on, and recall ends that: in between the reader, the batch and what was sent belong
// to the reader's goroutine.
func (s *stream) offer() {
	if s.pusher != nil {
		s.pusher.Push(s.push)
	}
}

func (s *stream) recall() {
	if s.pusher != nil {
		s.pusher.Recall()
	}
}

// push sends what is new, and returns whether it may be called again. When it returns false, the stream's own goroutine has
// to go on: push leaves to it whatever is not a batch to be sent at once.
func (s *stream) push() (more bool) {
	defer func() { // not to end what others follow, too
		if p := recover(); p != nil {
			// Whether the batch was sent is not known, so no cursor goes with it, nor does anything more.
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
