package h2guard

import "sync"

// MaxRequest is the maximum number of bytes of a gRPC call's first message, if requests are limited. It is the largest length
// whose second-highest byte is less than longByte.
const (
	MaxRequest = longByte<<16 - 1

	longByte = 2
)

// A gRPC server has one limit for the messages of all methods, and it keeps a message of up to that length in memory before a
// handler sees any of it. Only the parts of an upload are long, and they follow a short message with options. So the guard looks
// at the first message of each call. A message begins with a flag and its length in four bytes, the highest first. If it is too
// long, the guard changes the length to one beyond any limit: the server then refuses the call with RESOURCE_EXHAUSTED, and reads
// nothing of the message.
//
// A padded DATA frame begins with the length of the padding at its end (RFC 9113, section 6.1).

// starts holds how much was seen of the beginnings of a connection's calls.
type starts struct {
	mu   sync.Mutex
	seen map[uint32]int // bytes of the first message, by stream; without streams of which enough was seen

	// Of the current DATA frame, used by one goroutine.
	looks  bool
	padded bool  // the length of its padding is still to be seen
	data   int64 // bytes of its data that are still to be seen
	last   uint32
}

// longAt is the index of the byte that shows that a message is too long; the guard sets that byte beyond the value that makes the
// length 15 MiB or more. enough is the number of bytes that are looked at.
const (
	longAt = 2
	enough = longAt + 1
	beyond = 0xff
)

func newStarts() *starts { return &starts{seen: map[uint32]int{}} }

// look looks at bytes that a client sent and f has just passed: the end of a frame's header, if whole, or else bytes of a header
// or a payload. It may change them.
func (s *starts) look(f *frames, whole bool, b []byte) {
	if whole {
		s.looks = false
	}
	switch {
	case !whole:
		if s.looks && f.have == 0 {
			s.pass(f.stream(), b)
		}
	case f.kind() == typeHeaders && f.stream() > s.last:
		s.last = f.stream()
		s.begin(s.last)
	case f.kind() == typeReset:
		s.forget(f.stream())
	case f.kind() == typeData:
		s.looks = s.knows(f.stream())
		s.padded, s.data = f.has(flagPadded), f.length()
	}
	if f.between() && f.ends() {
		s.forget(f.stream())
	}
}

// pass looks at bytes of the payload of a DATA frame.
func (s *starts) pass(stream uint32, b []byte) {
	if s.padded {
		s.padded = false
		s.data -= 1 + int64(b[0])
		b = b[1:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.seen[stream]
	if !ok {
		return
	}
	for i := 0; i < len(b) && s.data > 0 && seen < enough; i++ {
		if seen == longAt && b[i] >= longByte {
			b[i] = beyond
		}
		seen++
		s.data--
	}
	if s.seen[stream] = seen; seen == enough {
		delete(s.seen, stream)
	}
}

func (s *starts) begin(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[stream] = 0
}

func (s *starts) knows(stream uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.seen[stream]
	return ok
}

// forget forgets a call that has ended, or that one side has ended.
func (s *starts) forget(stream uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, stream)
}
