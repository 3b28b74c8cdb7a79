package codec_test

import (
	"errors"
	"math"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
)

// asked is a Where, and its Matcher: it keeps what it was asked.
type asked struct {
	ok, tired bool
	err       error
	last      codec.Candidate
	times     int
}

func (a *asked) Matcher() codec.Matcher { return a }

func (a *asked) Match(c *codec.Candidate) (bool, error) {
	a.last, a.times = *c, a.times+1
	return a.ok, a.err
}

func (a *asked) Tired() bool { return a.tired }

// TestSieve: a matcher is asked about the message of an event, with its time if there is a clock. An error is final.
func TestSieve(t *testing.T) {
	if none := codec.NewSieve(nil); none.Sifts() || none.Stop() != nil {
		t.Error("a sieve sifts without a Where")
	}
	a := &asked{ok: true}
	s := codec.NewSieve(a)
	at := decoders.Position{Offset: 7, Index: 1}
	long := append([]byte{0x0a, 0x81, 0x01}, make([]byte, 129)...) // its length takes two bytes
	switch {
	case !s.Sifts() || !s.Passes(3, 100, at, []byte{0x0a, 0x02, 1, 2}) || string(a.last.Event) != "\x01\x02":
		t.Errorf("asked about % x", a.last.Event)
	case a.last.Kind != 3 || a.last.At != at || !math.IsNaN(a.last.Seconds):
		t.Errorf("asked about kind %d at %v, second %v", a.last.Kind, a.last.At, a.last.Seconds)
	case !s.Passes(3, 100, at, long) || len(a.last.Event) != 129:
		t.Errorf("asked about %d bytes of 129", len(a.last.Event))
	case s.Passes(3, 100, at, []byte{0x0a, 0x81}) || a.times != 2:
		t.Error("an entry without a message passes")
	}
	s.TicksPerSecond = 50
	for tick, want := range map[int32]float64{100: 2, 0: 0, -1: math.NaN()} {
		if s.PassesMessage(3, tick, at, nil); a.last.Seconds != want && !(math.IsNaN(want) && math.IsNaN(a.last.Seconds)) {
			t.Errorf("tick %d is second %v", tick, a.last.Seconds)
		}
	}
	if a.ok = false; s.PassesMessage(3, 0, at, nil) || s.Stop() != nil {
		t.Error("an event passes although it does not match")
	}
	if a.tired = true; !errors.Is(s.Stop(), codec.ErrYield) {
		t.Errorf("a tired matcher: %v", s.Stop())
	}
	a.ok, a.err = true, errors.New("too much")
	if s.PassesMessage(3, 0, at, nil) || !errors.Is(s.Stop(), a.err) {
		t.Errorf("an error: %v", s.Stop())
	}
	a.err = nil
	if times := a.times; s.PassesMessage(3, 0, at, nil) || a.times != times || s.Stop() == nil {
		t.Error("it goes on after an error")
	}
}
