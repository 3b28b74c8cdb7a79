package dem

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/replay/codec"
)

// samples makes the samples of a reader. Those of a tick are delivered before the first record of a later tick, where the decoder pauses.
type samples struct {
	codec.Samples

	ready bool  // delivery has begun
	since int32 // samples of ticks before are not delivered
	done  int64 // the offset of the last record before which there were samples
}

func newSamples(o *codec.Options) samples {
	s := samples{Samples: codec.NewSamples(o, uint8(dem.KindSampleEntity)), done: -1}
	if o.Start.Tick != nil {
		s.since = *o.Start.Tick
	}
	return s
}

// pause reports whether there may be samples before the next record, so that the decoder must pause before it.
func (s *samples) pause(d *dem.Decoder) bool {
	if !s.ready || !s.Wanted() {
		return false
	}
	tick, ok := d.NextTick()
	if !ok || tick <= d.Tick() || d.Offset() == s.done {
		return false
	}
	s.done = d.Offset()
	s.End(decoders.Position{Offset: s.done}, max(d.Tick(), 0), tick, s.since)
	return s.Pending()
}

// position returns the position of a reader whose decoder is at a position.
func (s *samples) position(at decoders.Position) decoders.Position {
	switch {
	case s.Pending():
		return s.Position()
	case at == decoders.Position{Offset: s.done}: // the samples before it were delivered
		return at
	}
	return s.Before(at)
}

// sample appends the next sample to the batch. Empty slots cost little, so it looks at many.
func (r *reader) sample(b *codec.Batch) {
	const slots = 1 << 10
	for range slots {
		if !r.samples.Pending() {
			return
		}
		tick, slot, at := r.samples.Next(dem.MaxEntities)
		if r.d.Sample(tick, slot, &r.ev) && r.pick(b, at) {
			return
		}
	}
}
