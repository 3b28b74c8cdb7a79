package stream

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
)

// idle waits for more of the file while the batch is empty. Meanwhile a reader that is a Pusher sends new events from its own
// goroutine, so that this one need not wake up: with a hundred followers of one replay, waking a hundred goroutines per tick
// would be most of the cost.
//
// A push must not wait for its client, because all other followers would wait with it. It is therefore allowed only if
// everything was sent, and if the transport returns from Send before it writes: then there is room for one more message,
// however much the client leaves unread.
func (s *stream) idle() (outcome, error) {
	s.paced = false
	if p, ok := s.reader.(codec.Pusher); ok && s.ahead {
		s.pusher = p
		defer func() { s.pusher = nil }()
	}
	how, err := s.wait(s.changed(), nil, 0)
	if s.pushed != nil {
		return how, s.pushed
	}
	return how, err
}

// offer allows the reader to push. Until recall, the reader, the batch and the outbox belong to the reader's goroutine.
func (s *stream) offer() {
	if s.pusher != nil {
		s.paced = s.pusher.Push(s.MaxDelay, s.push)
	}
}

// recall ends offer. It waits for a running push.
func (s *stream) recall() {
	if s.pusher != nil {
		s.pusher.Recall()
	}
}

// push sends new events, and reports whether it may be called again. It sends only a batch that can be sent at once. For
// anything else it returns false, and the stream's own goroutine continues.
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
