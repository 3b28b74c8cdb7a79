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

	players, places int // of a tick that may have samples: the places of players, and all
}

// samplePlaces is the number of places of a tick: first those of players, then the slots of entities.
const samplePlaces = dem.MaxPlayers + dem.MaxEntities

func newSamples(o *codec.Options) samples {
	s := samples{Samples: codec.NewSamples(o, uint8(dem.KindSamplePlayer), uint8(dem.KindSampleEntity)), done: -1}
	if s.places = samplePlaces; !o.Filter.Kind(uint8(dem.KindSampleEntity)) {
		s.places = dem.MaxPlayers
	}
	if o.Filter.Kind(uint8(dem.KindSamplePlayer)) {
		s.players = dem.MaxPlayers
	}
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

// Stand implements codec.Standing.
func (r *reader) Stand(b *codec.Batch) {
	if !r.samples.Wanted() {
		return
	}
	tick := max(r.d.Tick(), 0)
	for place := r.next(0); place < r.samples.places; place = r.next(place + 1) {
		r.take(b, tick, place, r.Position())
	}
}

// Sampled implements codec.Standing.
func (r *reader) Sampled() (tick int32, ok bool) { return r.samples.Sampled() }

// next returns the first place at or after another that may have a sample.
func (r *reader) next(place int) int {
	switch {
	case place < r.samples.players:
		return place
	case r.samples.places > dem.MaxPlayers:
		return dem.MaxPlayers + r.d.NextPresent(max(place-dem.MaxPlayers, 0))
	}
	return r.samples.places
}

// take appends the sample of a place to the batch if there is one and the filter matches it, and reports whether it did.
func (r *reader) take(b *codec.Batch, tick int32, place int, at decoders.Position) bool {
	if place < dem.MaxPlayers {
		return r.d.SamplePlayer(tick, place, &r.ev) && r.pick(b, at)
	}
	return r.d.Sample(tick, place-dem.MaxPlayers, &r.ev) && r.pick(b, at)
}

// sample appends the next sample to the batch. It looks at some places without one.
func (r *reader) sample(b *codec.Batch) {
	const most = 1 << 8
	for range most {
		if !r.samples.Pending() {
			return
		}
		r.samples.Pass(r.next)
		tick, place, at := r.samples.Next(r.samples.places)
		if place < r.samples.places && r.take(b, tick, place, at) {
			return
		}
	}
}
