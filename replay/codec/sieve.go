package codec

import (
	"math"

	"github.com/replayd/replayd/decoders"
)

// Where decides by what is in an event whether it is delivered. It is immutable and safe for concurrent use.
type Where interface {
	// Matcher returns what one reader asks.
	Matcher() Matcher
}

// Matcher decides about the events of one reader.
type Matcher interface {
	// Match reports whether an event is delivered. An error is final.
	Match(c *Candidate) (bool, error)
	// Tired reports whether Match has taken so long that others should get their turn. It then begins to count again.
	Tired() bool
}

// Candidate is an event as a client would get it.
type Candidate struct {
	Kind uint8
	At   decoders.Position
	// Seconds is the event's time, NaN if it has none.
	Seconds float64
	// Event holds the bytes of the event's message. Its references are names of Names.
	Event []byte
	Names func(uint32) string
}

// Sieve applies Options.Where to the events of a reader. Without a Where, everything passes.
type Sieve struct {
	// TicksPerSecond is the speed of the replay's clock, 0 if there is none.
	TicksPerSecond float64
	// Names returns what the references in events stand for. Nil if there are none.
	Names func(uint32) string

	matcher Matcher
	now     Candidate
	memory  []byte
	err     error
}

// NewSieve returns the sieve of a reader.
func NewSieve(w Where) Sieve {
	if w == nil {
		return Sieve{}
	}
	return Sieve{matcher: w.Matcher()}
}

// Sifts reports whether there is a Where.
func (s *Sieve) Sifts() bool { return s.matcher != nil }

// Passes reports whether an event passes: event is its entry in a list of events.
func (s *Sieve) Passes(kind uint8, tick int32, at decoders.Position, entry []byte) bool {
	for n := 1; n < len(entry); n++ { // behind its tag and its length
		if entry[n] < 0x80 {
			return s.PassesMessage(kind, tick, at, entry[n+1:])
		}
	}
	return false
}

// PassesMessage is Passes for the bytes of an event's message.
func (s *Sieve) PassesMessage(kind uint8, tick int32, at decoders.Position, event []byte) bool {
	if s.err != nil {
		return false
	}
	s.now = Candidate{Kind: kind, At: at, Seconds: math.NaN(), Event: event, Names: s.Names}
	if s.TicksPerSecond > 0 && tick >= 0 {
		s.now.Seconds = float64(tick) / s.TicksPerSecond
	}
	ok, err := s.matcher.Match(&s.now)
	s.err = err
	return ok && err == nil
}

// Memory returns empty memory for the bytes of an event. Keep keeps it for the next one.
func (s *Sieve) Memory() []byte { return s.memory[:0] }

// Keep is for Memory.
func (s *Sieve) Keep(b []byte) { s.memory = b }

// Stop returns the final error of a Matcher, or ErrYield if it was busy for long. A Fill asks for it before each event.
func (s *Sieve) Stop() error {
	if s.matcher == nil { // small enough to be inlined
		return nil
	}
	return s.stop()
}

func (s *Sieve) stop() error {
	switch {
	case s.err != nil:
		return s.err
	case s.matcher.Tired():
		return ErrYield
	}
	return nil
}
