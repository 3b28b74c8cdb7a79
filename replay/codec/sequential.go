package codec

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// Events is what a Sequential has to know of a format's events. E is the struct that the decoder fills.
type Events[E any] struct {
	// Key returns an event's kind, by its number in the format, and its tick.
	Key func(ev *E) (kind uint8, tick int32)
	// Properties sets e to what filters ask of an event: it is the Set of the format's filter.Table. Types, classes and fields are not
	// in it, so a format that has these needs a Fill of its own.
	Properties func(e *filter.Event, kind uint8, tick int32, ev *E)
	// Append and AddRow are the generated functions of these names. Secrets must be removed from an event before.
	Append func(b []byte, ev *E) []byte
	AddRow func(t *table.Set, at decoders.Position, ev *E)
	// Sampled are the kinds of samples.
	Sampled []uint8
	// Finish is the kind of the event behind which no tick goes on: it is the end of a replay.
	Finish uint8
	// Work is how many events one call of Seek or Fill decodes at most. That should take a millisecond or less: others may wait for
	// their turn.
	Work int
	// Unordered is true of formats in whose replays an event may have an earlier tick than the event before it. Events are then looked
	// for up to the end of a replay, and otherwise up to the last tick of the filter.
	Unordered bool
}

// Summed is a decoder that knows the sums of what it has read.
type Summed interface {
	// Sum returns the sum of the bytes before Position's Offset.
	Sum() decoders.Sum
	// SumTo returns the sum of the bytes before the last event, which starts at at.
	SumTo(at decoders.Position) decoders.Sum
}

// Fold concludes facts from the events of a replay. It is what the packages named facts below the decoders have.
type Fold[E any] interface {
	// Apply takes the next event of the replay.
	Apply(ev *E)
	// Pending reports whether the last event has completed a fact that Next has not filled in yet.
	Pending() bool
	// Next sets ev to the next fact that the last event has completed. It returns false when there is none.
	Next(ev *E) bool
}

// Sequential is most of a Reader for decoders that deliver one event after the other. The Reader of a format embeds it and adds
// Header, which sets Tables.TicksPerSecond where the replay has a clock. Use must be called before Seek.
//
// A start at a tick is found by the event that has it. Seek holds that event for Fill, and Position, Sum and Tick are meanwhile those
// before it.
type Sequential[E any] struct {
	Options
	Events[E]

	// Fold concludes facts from each event that is decoded. Nil when none are needed.
	Fold Fold[E]
	// Passed is called with each event of the replay before the start of delivery, and where samples are wanted or Concludes is set with each
	// one behind it, when the samples before it were taken. Nil when nothing is to be learned from these.
	Passed func(ev *E)
	// Concludes says that the Fold may have facts since Passed was called.
	Concludes bool
	// Sample sets an event to the sample of a place, of which there are Places, as things stand before Event. It returns false if there is
	// none. They must not be nil if the format has samples.
	Sample func(tick int32, place int, ev *E) bool
	Places func() int
	// Write appends an event to a batch. Nil stands for Put.
	Write func(b *Batch, at decoders.Position, ev *E)
	// Event is the event that was decoded last, and Before the clock before it.
	Event  E
	Before int32

	// Sieve applies Where. Header sets its TicksPerSecond where the replay has a clock.
	Sieve Sieve

	decoder decoders.Decoder[E]
	summed  Summed       // the decoder, unless the format's identity covers the whole replay
	last    int32        // the last tick that is delivered
	skipped uint64       // events that the filter did not match
	asked   filter.Event // the properties of the event that was taken last

	// Whether Event is decoded but not delivered yet, where it starts, and the clock there.
	held     bool
	heldAt   decoders.Position
	heldSum  decoders.Sum
	heldTick int32
	left     bool // it did not fit into a batch, as it is in the table

	// The facts of the last event that has completed some: the next one, where the event starts, and how many were taken.
	fact  E
	own   decoders.Position
	sum   decoders.Sum
	taken int64

	samples Samples
	sample  E
}

// NewSequential returns a Sequential without a decoder.
func NewSequential[E any](o Options, events Events[E]) Sequential[E] {
	s := Sequential[E]{Options: o, Events: events, last: math.MaxInt32, samples: NewSamples(&o, events.Sampled...), Sieve: NewSieve(o.Where)}
	if !events.Unordered {
		s.last = o.Filter.MaxTick()
	}
	return s
}

// Use sets the decoder. It is at the beginning of the replay, or at a place from which the start of delivery can be reached. It is Summed
// unless the identity of the format's replays covers all of their bytes.
func (s *Sequential[E]) Use(d decoders.Decoder[E]) {
	s.decoder = d
	s.summed, _ = d.(Summed)
}

// Seek decodes up to the start of delivery.
func (s *Sequential[E]) Seek() error {
	for range s.Work {
		if s.arrived() {
			return nil
		}
		if s.concluded() {
			s.next()
			continue
		}
		at, tick := s.decoder.Position(), s.decoder.Tick()
		if err := s.decode(at); err != nil {
			if s.Start.Now && (errors.Is(err, decoders.ErrMore) || errors.Is(err, io.EOF)) {
				return nil
			}
			return err
		}
		if s.reached() {
			s.hold(at, tick)
			s.complete(at, tick, *s.Start.Tick)
		} else if s.Passed != nil {
			s.pass(at)
		}
	}
	return ErrYield
}

// arrived reports whether delivery starts here.
func (s *Sequential[E]) arrived() bool {
	switch {
	case s.Start.Now:
		return false // "now" is reached only at the end of the present bytes
	case s.Start.Tick != nil:
		return s.held || *s.Start.Tick <= s.decoder.Tick()
	}
	if s.Start.Position.Index <= 0 && !s.concluded() {
		return s.samples.Arrived(s.decoder.Position())
	}
	return !s.Position().Before(s.Start.Position)
}

// hold keeps the event that was decoded last, which starts at at, for later. tick is the clock there.
func (s *Sequential[E]) hold(at decoders.Position, tick int32) {
	s.held, s.heldAt, s.heldTick, s.heldSum = true, at, tick, s.sumTo(at)
}

// complete finds the samples before the event that was decoded last, which starts at at, where the clock is tick. Those of ticks before
// since are left out.
func (s *Sequential[E]) complete(at decoders.Position, tick, since int32) {
	if !s.samples.Wanted() {
		return
	}
	kind, ends := s.Key(&s.Event)
	if kind == s.Finish {
		ends = tick + 1
	}
	s.samples.End(at, tick, ends, since)
}

// reached reports whether the event that was decoded last is the first one at the tick where delivery starts.
func (s *Sequential[E]) reached() bool {
	if s.Start.Tick == nil {
		return false
	}
	_, tick := s.Key(&s.Event)
	return tick >= *s.Start.Tick
}

// Fill is that of Reader.
func (s *Sequential[E]) Fill(b *Batch) error {
	if s.Filter.Nothing() {
		return ErrDone
	}
	s.AddLeft(b)
	plain := s.Filter == nil && s.Fold == nil && !b.KeepMarks // events need not be examined
	for range s.Work {
		if b.Full() {
			return nil
		}
		if err := s.Sieve.Stop(); err != nil {
			return err
		}
		if plain && !s.held {
			at := s.decoder.Position()
			s.Before = s.decoder.Tick()
			if err := s.decoder.Next(&s.Event); err != nil {
				return err
			}
			s.write(b, at, &s.Event)
			continue
		}
		at, ev, err := s.Take()
		if err != nil {
			return err
		}
		s.Give(b, at, ev)
	}
	return ErrYield
}

// Waiting reports whether Take would return an event without decoding.
func (s *Sequential[E]) Waiting() bool { return s.held || s.concluded() }

// Sampling reports whether samples are wanted. Events must then come from Take.
func (s *Sequential[E]) Sampling() bool { return s.samples.Wanted() }

// Take returns the next event of the replay, the next fact or the next sample, and its position. It is valid until the next call. Take
// returns ErrDone when no later event can match the filter, and ErrYield when it has looked for samples for long.
func (s *Sequential[E]) Take() (at decoders.Position, ev *E, err error) {
	for n := s.Work; s.samples.Pending(); n-- {
		if n == 0 {
			return at, nil, ErrYield
		}
		tick, place, at := s.samples.Next(s.Places())
		if s.Sample(tick, place, &s.sample) {
			return at, &s.sample, nil
		}
	}
	switch {
	case s.held:
		if s.held = false; s.follows() {
			s.pass(s.heldAt)
		}
		return s.heldAt, &s.Event, nil
	case s.concluded():
		at = s.Position()
		return at, s.next(), nil
	case s.Over():
		return at, nil, ErrDone
	}
	at = s.decoder.Position()
	tick := s.decoder.Tick()
	if err := s.decode(at); err != nil {
		return at, nil, err
	}
	if s.complete(at, tick, math.MinInt32); s.samples.Pending() {
		s.hold(at, tick)
		return s.Take()
	}
	if s.follows() {
		s.pass(at)
	}
	return at, &s.Event, nil
}

// Sampled implements Standing.
func (s *Sequential[E]) Sampled() (tick int32, ok bool) { return s.samples.Sampled() }

// Stand implements Standing. After Seek has held an event, that event is not part of what stands.
func (s *Sequential[E]) Stand(b *Batch) {
	if s.decoder == nil || s.Sample == nil || !s.samples.Wanted() {
		return
	}
	for place := range s.Places() {
		if s.Sample(s.Tick(), place, &s.sample) {
			s.Give(b, s.Position(), &s.sample)
		}
	}
}

// pass tells of an event that is taken, which starts at at, behind the samples before it.
func (s *Sequential[E]) pass(at decoders.Position) {
	if s.Passed(&s.Event); s.Concludes && s.own != at && s.concluded() {
		s.Completed(at)
	}
}

// follows reports whether events behind the start of delivery are passed, too.
func (s *Sequential[E]) follows() bool {
	return s.Passed != nil && (s.Concludes || s.samples.Wanted())
}

// Over reports whether the clock is behind the last tick that the filter can match.
func (s *Sequential[E]) Over() bool { return s.decoder.Tick() > s.last }

// Give appends an event that was taken to a batch if the filter matches it, and counts it otherwise.
func (s *Sequential[E]) Give(b *Batch, at decoders.Position, ev *E) {
	if ev == &s.fact && !s.Filter.Facts() {
		return
	}
	kind, tick := s.Key(ev)
	switch {
	case !s.Filter.Kind(kind):
		s.skipped++
	case s.Filter.Whole(kind) && !b.KeepMarks:
		s.write(b, at, ev)
	default:
		s.Properties(&s.asked, kind, tick, ev)
		s.Pick(b, at, ev, &s.asked)
	}
}

// Pick is the part of Give that looks at the properties of an event.
func (s *Sequential[E]) Pick(b *Batch, at decoders.Position, ev *E, e *filter.Event) {
	if !s.Filter.Match(e) {
		s.skipped++
		return
	}
	if s.write(b, at, ev) {
		b.Mark(e, at, s)
	}
}

// Skip counts events that were left out because the filter cannot match them.
func (s *Sequential[E]) Skip(n int) { s.skipped += uint64(n) }

// write appends an event, and reports whether it passed the sieve.
func (s *Sequential[E]) write(b *Batch, at decoders.Position, ev *E) bool {
	before := b.Count
	if s.Write != nil {
		s.Write(b, at, ev)
	} else {
		s.Put(b, at, ev)
	}
	if b.Count == before {
		return false
	}
	b.Place(at)
	return true
}

// Put appends an event to a batch if it passes the sieve, and counts it otherwise. at is needed only for a table and for the sieve, which
// an event of a state, without a position, always passes.
func (s *Sequential[E]) Put(b *Batch, at decoders.Position, ev *E) {
	sifted := s.Sieve.Sifts() && at.Offset >= 0
	if s.Tables != nil {
		if sifted {
			kind, tick := s.Key(ev)
			message := s.Append(s.Sieve.Memory(), ev)
			s.Sieve.Keep(message)
			if !s.Sieve.PassesMessage(kind, tick, at, message) {
				s.skipped++
				return
			}
		}
		b.Count++
		s.AddRow(s.Tables, at, ev)
		if ev == &s.Event && b.Count > 1 && s.Tables.Size() > b.MaxBytes+UsualRowBytes {
			s.Tables.Undo()
			b.Count--
			b.ended, s.left = true, true
			s.hold(at, s.Before)
		}
		return
	}
	entry := len(b.Events)
	b.Events = append(b.Events, EventListField, 0)
	start := len(b.Events)
	b.Events = protoappend.Close(s.Append(b.Events, ev), start)
	b.Count++
	if sifted {
		kind, tick := s.Key(ev)
		s.Sift(b, entry, kind, tick, at)
	}
}

// AddLeft begins a batch with what was left for it. Fill calls it first.
func (s *Sequential[E]) AddLeft(b *Batch) {
	if s.left {
		s.left, s.held = false, false
		b.Count++
		s.AddRow(s.Tables, s.heldAt, &s.Event)
	}
}

// Sift takes the last event of a batch of rows off again, and counts it, unless it passes the sieve. Its entry begins at a place in
// Events, and it has no position there yet.
func (s *Sequential[E]) Sift(b *Batch, entry int, kind uint8, tick int32, at decoders.Position) {
	if !s.Sieve.Passes(kind, tick, at, b.Events[entry:]) {
		b.Events = b.Events[:entry]
		b.Count--
		s.skipped++
	}
}

// decode decodes the next event, which starts at at.
func (s *Sequential[E]) decode(at decoders.Position) error {
	s.Before = s.decoder.Tick()
	if err := s.decoder.Next(&s.Event); err != nil {
		return err
	}
	if s.Fold == nil {
		return nil
	}
	if s.Fold.Apply(&s.Event); s.Fold.Pending() {
		s.Completed(at)
	}
	return nil
}

// Completed notes that Event, which starts at at, has completed facts. It is for a Fill that decodes and calls Apply by itself, which it may
// while neither samples are wanted nor Waiting.
func (s *Sequential[E]) Completed(at decoders.Position) { s.own, s.sum, s.taken = at, s.sumTo(at), 0 }

// concluded reports whether the event that was decoded last has completed a fact that was not taken yet.
func (s *Sequential[E]) concluded() bool { return s.Fold != nil && s.Fold.Pending() }

// next returns the next fact.
func (s *Sequential[E]) next() *E {
	s.Fold.Next(&s.fact)
	s.taken++
	return &s.fact
}

func (s *Sequential[E]) sumTo(at decoders.Position) decoders.Sum {
	if s.summed == nil {
		return 0
	}
	return s.summed.SumTo(at)
}

// Position is that of Reader.
func (s *Sequential[E]) Position() decoders.Position {
	switch {
	case s.decoder == nil:
		return s.Start.Position
	case s.samples.Pending():
		return s.samples.Position()
	case s.held:
		return s.heldAt
	case s.concluded():
		at := s.own
		at.Index += 1 + s.taken
		return at
	}
	return s.samples.Before(s.decoder.Position())
}

// Sum is that of Reader.
func (s *Sequential[E]) Sum() decoders.Sum {
	switch {
	case s.summed == nil:
		return 0
	case s.held:
		return s.heldSum
	case s.concluded():
		return s.sum
	}
	return s.summed.Sum()
}

// Tick is that of Reader.
func (s *Sequential[E]) Tick() int32 {
	switch {
	case s.decoder == nil:
		return 0
	case s.held:
		return s.heldTick
	}
	return s.decoder.Tick()
}

// Filtered is that of Reader.
func (s *Sequential[E]) Filtered() uint64 { return s.skipped }

// Close is that of Reader. It returns nil if there is no decoder yet.
func (s *Sequential[E]) Close() error {
	if s.decoder == nil {
		return nil
	}
	return s.decoder.Close()
}

// DescribeBy returns a Codec.Describe for formats whose Header finds all that Describe should: it reads the header with a Reader.
func DescribeBy(open func(in source.Input, o Options) (Reader, error)) func(context.Context, source.Input, *replaydv1.Replay) error {
	return func(ctx context.Context, in source.Input, replay *replaydv1.Replay) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := open(in, Options{})
		if err != nil {
			return err
		}
		if err = r.Header(replay); errors.Is(err, decoders.ErrMore) {
			err = r.Close()
		}
		return err
	}
}

// Summarize adds nothing, as is right for formats that have no summary.
func (s *Sequential[E]) Summarize(*replaydv1.StreamEnd) {}
