package stream

import (
	"sync"
	"sync/atomic"
)

// helpers are the goroutines that read ahead for a stream's reader. The stream waits for them before it frees the replay.
type helpers struct {
	running sync.WaitGroup
	ending  atomic.Bool
}

// end ends the helpers, each after its present step, and waits for them.
func (h *helpers) end() {
	h.ending.Store(true)
	h.running.Wait()
	h.ending.Store(false)
}

// readAhead is codec.Options.Ahead.
func (s *stream) readAhead(step func() (more bool), done func()) {
	s.helpers.running.Go(func() {
		defer done()
		for !s.helpers.ending.Load() {
			give := s.spare()
			if give == nil {
				return
			}
			more := step()
			give()
			if !more {
				return
			}
		}
	})
}

// spare asks for an idle processor, for some milliseconds. It returns the function that gives it back, or nil.
func (s *stream) spare() (give func()) {
	if s.Turns == nil {
		return func() {}
	}
	return s.Turns.Spare()
}
