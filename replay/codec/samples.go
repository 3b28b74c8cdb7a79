package codec

import (
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/filter"
)

// Samples says which samples of a replay a reader has to deliver, and where they stand. A sample says how something stands at the end
// of a tick. Its place is before the event that ends the tick: at the offset of that event, with a negative index. So a place follows
// from the replay alone, however many ticks a request leaves out, and nothing needs to be remembered from one tick to the next.
//
// A reader calls End when it has decoded an event that ends a tick, and delivers what Next returns before that event. The zero Samples
// has none.
type Samples struct {
	filter *filter.Filter
	kinds  []uint8
	floor  decoders.Position // nothing before it is delivered

	at    decoders.Position // the position of the event that ends the ticks
	ends  int32             // the tick of that event
	to    int32             // the last tick before ends with samples
	tick  int32             // the tick of the next sample
	place int               // the place of the next sample
	more  bool              // there is a next sample
	any   bool              // to is known
}

// SampleGap is the largest number of ticks after the replay's previous tick that have samples, because a few bytes can skip all
// ticks.
const SampleGap = 3000

// samplePlaces is the number of places of a tick. It bounds the clients, players and entities that a replay may have.
const samplePlaces = 1 << 15

// firstSample is an index before the indexes of all samples at an offset.
const firstSample = math.MinInt32 * samplePlaces

// NewSamples returns the samples of the kinds for a reader with the options.
func NewSamples(o *Options, kinds ...uint8) Samples {
	s := Samples{floor: o.Start.Position}
	if o.Filter.Samples() {
		s.filter, s.kinds = o.Filter, kinds
	}
	return s
}

// Wanted reports whether there may be samples.
func (s *Samples) Wanted() bool { return s.filter != nil }

// Before returns the Position of a reader whose next event is at a position, if it is not yet known whether that event ends a
// tick. Samples that may come before the event are after the returned Position.
func (s *Samples) Before(at decoders.Position) decoders.Position {
	switch {
	case at.Index != 0:
	case at.Offset == s.floor.Offset && s.floor.Index <= 0: // also without samples: delivery started between samples
		return s.floor
	case s.Wanted():
		at.Index = firstSample
	}
	return at
}

// Arrived reports whether delivery starts at or before a position, that of a reader's next event.
func (s *Samples) Arrived(at decoders.Position) bool {
	to := s.floor
	if to.Index < 0 {
		to.Index = 0
	}
	return !at.Before(to)
}

// End says that an event at a position ends a range of ticks: from is its first, and ends is the replay's next tick, which it does
// not include. Ticks before since get no samples.
func (s *Samples) End(at decoders.Position, from, ends, since int32) {
	s.more = false
	if s.filter == nil || from >= ends || at.Index != 0 {
		return
	}
	s.at, s.ends, s.to, s.any = at, ends, int32(min(int64(ends)-1, int64(from)+SampleGap)), true
	if s.begin(max(from, since)); at.Offset != s.floor.Offset || !s.more {
		return
	}
	if s.floor.Index >= 0 {
		s.more = false
		return
	}
	// The places of ticks are counted back from ends.
	if tick := int64(ends) + s.floor.Index>>15; tick > int64(s.tick) {
		if s.begin(int32(min(tick, math.MaxInt32))); !s.more || int64(s.tick) != tick {
			return
		}
	}
	if s.index() < s.floor.Index {
		s.place = int(s.floor.Index & (samplePlaces - 1))
	}
}

// begin goes to the first place of the first tick at or after from that has samples.
func (s *Samples) begin(from int32) {
	s.more, s.place = false, 0
	for _, k := range s.kinds {
		if tick, ok := s.filter.Next(k, from, s.to); ok && (!s.more || tick < s.tick) {
			s.tick, s.more = tick, true
		}
	}
}

// Sampled returns the last tick of the last call of End, and false if there was none. Its samples were delivered when none is pending.
func (s *Samples) Sampled() (tick int32, ok bool) { return s.to, s.any }

// Pending reports whether there may be another sample before the event of the last call of End.
func (s *Samples) Pending() bool { return s.more }

// Pass goes to the place that next returns for the present one, and does nothing if that is the same. A reader calls it before Next if it
// knows that the places before have no samples.
func (s *Samples) Pass(next func(place int) int) { s.place = next(s.place) }

// Next goes to the next place. A reader looks at places 0 to places-1 of each tick, and delivers a sample where it has one.
// After Pass, the place may be one behind all of the tick.
func (s *Samples) Next(places int) (tick int32, place int, at decoders.Position) {
	tick, place, at = s.tick, s.place, s.Position()
	if s.place++; s.place >= places {
		if s.more = s.tick < s.to; s.more {
			s.begin(s.tick + 1)
		}
	}
	return tick, place, at
}

// Position returns the position of the next place.
func (s *Samples) Position() decoders.Position {
	return decoders.Position{Offset: s.at.Offset, Index: s.index()}
}

func (s *Samples) index() int64 {
	return (int64(s.tick)-int64(s.ends))*samplePlaces + int64(s.place)
}
