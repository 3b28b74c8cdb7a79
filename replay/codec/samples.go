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
	floor  decoders.Position // what is before it is not delivered

	at    decoders.Position // of the event that ends the ticks
	ends  int32             // its tick
	to    int32             // the last tick before it of which there are samples
	tick  int32             // of the next sample
	place int               // of the next sample
	more  bool              // there is one
}

// SampleGap is the largest number of ticks behind the last one that a replay has of which there are samples. A few bytes can skip all
// ticks that there are.
const SampleGap = 3000

// samplePlaces is how many places a tick has. It bounds the clients, players and entities that a replay may have.
const samplePlaces = 1 << 15

// firstSample is an index before those of all samples of an offset.
const firstSample = math.MinInt32 * samplePlaces

// NewSamples returns the samples of those kinds that a reader with the options delivers.
func NewSamples(o *Options, kinds ...uint8) Samples {
	s := Samples{floor: o.Start.Position}
	if o.Filter.Samples() {
		s.filter, s.kinds = o.Filter, kinds
	}
	return s
}

// Wanted reports whether there may be samples.
func (s *Samples) Wanted() bool { return s.filter != nil }

// Before returns the Position of a reader whose next event is at a position of which it is not known yet whether it ends a tick: the
// samples that may come first are behind it.
func (s *Samples) Before(at decoders.Position) decoders.Position {
	switch {
	case at.Index != 0:
	case at.Offset == s.floor.Offset && s.floor.Index <= 0: // also without samples: delivery started between some
		return s.floor
	case s.Wanted():
		at.Index = firstSample
	}
	return at
}

// Arrived reports whether a reader whose next event is at a position is where delivery starts.
func (s *Samples) Arrived(at decoders.Position) bool {
	to := s.floor
	if to.Index < 0 {
		to.Index = 0
	}
	return !at.Before(to)
}

// End says that an event at a position ends the ticks from one on: the next that the replay has is tick ends. Samples of ticks before
// since are left out.
func (s *Samples) End(at decoders.Position, from, ends, since int32) {
	s.more = false
	if s.filter == nil || from >= ends || at.Index != 0 {
		return
	}
	s.at, s.ends, s.to = at, ends, int32(min(int64(ends)-1, int64(from)+SampleGap))
	if s.begin(max(from, since)); at.Offset != s.floor.Offset || !s.more {
		return
	}
	if s.floor.Index >= 0 {
		s.more = false
		return
	}
	// Places are counted from ends back.
	if tick := int64(ends) + s.floor.Index>>15; tick > int64(s.tick) {
		if s.begin(int32(min(tick, math.MaxInt32))); !s.more || int64(s.tick) != tick {
			return
		}
	}
	if s.index() < s.floor.Index {
		s.place = int(s.floor.Index & (samplePlaces - 1))
	}
}

// begin goes to the first place of the first tick, from one on, of which there are samples.
func (s *Samples) begin(from int32) {
	s.more, s.place = false, 0
	for _, k := range s.kinds {
		if tick, ok := s.filter.Next(k, from, s.to); ok && (!s.more || tick < s.tick) {
			s.tick, s.more = tick, true
		}
	}
}

// Pending reports whether there may be another sample before the event that End was told of.
func (s *Samples) Pending() bool { return s.more }

// Next goes to the next place. A reader looks at places 0 to places-1 of each tick, and delivers a sample where it has something.
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
