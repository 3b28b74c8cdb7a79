package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/replay/codec"
)

// spacing is the least distance between two checkpoints, in bytes of the demo. Resuming may have to decode as much without
// delivering it, which takes some milliseconds. A checkpoint takes some 100 KB beside the memory that it shares with others.
const spacing = places * 3 / 4

// places is the distance, in bytes of the demo, between places for checkpoints. A checkpoint lies at the first record after a
// place, so that all decoders make the same checkpoints. places exceeds spacing because records differ in length.
const places = 256 << 10

// scoutFrom is how many bytes without checkpoints justify a scout.
const scoutFrom = 8 * places

// keeper adds checkpoints while a decoder reads a demo.
type keeper struct {
	checkpoints codec.Checkpoints // nil keeps none
	last        int64             // the number of the last place that was passed
}

// keep adds a checkpoint of a decoder that is between two records, if one is wanted here.
func (k *keeper) keep(d *dem.Decoder) {
	at := d.Offset()
	if k.checkpoints == nil || at/places == k.last {
		return
	}
	k.last = at / places
	if !k.checkpoints.Wanted(at) {
		return
	}
	if s := d.Snapshot(); s != nil {
		k.checkpoints.Add(codec.Checkpoint{Position: s.Position(), Tick: s.Tick(), Sum: s.Sum(), Shared: s})
	}
}

// decoder returns a decoder of the demo that starts at a checkpoint or, if c is nil, at the beginning. Unless its options leave
// something out, it adds checkpoints on its way.
func (r *reader) decoder(opts dem.Options, c *codec.Checkpoint) (d *dem.Decoder, err error) {
	var s *dem.Snapshot
	offset := int64(0)
	if c != nil {
		s = c.Shared.(*dem.Snapshot)
		offset = s.Position().Offset
	}
	src, err := r.in.From(offset)
	if err != nil {
		return nil, err
	}
	whole := opts.Kinds == nil
	opts.Record = func() bool {
		if whole {
			r.keeper.keep(d)
		}
		return r.section.enters(d.Offset()) || r.samples.pause(d)
	}
	r.keeper.last = offset / places
	if s != nil {
		d = dem.Resume(src, opts, s)
	} else {
		d = dem.New(src, opts)
	}
	return d, nil
}

// restore moves the decoder to the last checkpoint before the start of delivery. Without one, it stays at the beginning. It
// returns codec.ErrYield while there is more to do.
func (r *reader) restore() error {
	if r.keeper.checkpoints == nil || r.Start == (codec.Start{}) {
		return nil
	}
	if err := r.find(); err != nil || r.proof == nil {
		return err
	}
	if proven, err := r.proof.Look(r.in, r.keeper.checkpoints); !proven || err != nil {
		return err
	}
	c := &r.proof.Checkpoint
	if r.opts.Kinds != nil && !r.scouted && r.far(c) {
		return r.startScout(c)
	}
	d, err := r.decoder(r.opts, c)
	if err != nil {
		return nil //nolint:nilerr // start at the beginning
	}
	r.d = d
	return nil
}

// find finds the last checkpoint before the start of delivery. If none is near, and the decoder itself will not add any on its
// way, it sends a scout first.
func (r *reader) find() error {
	for {
		if r.scout != nil {
			err := r.seek(r.scout)
			if errors.Is(err, codec.ErrYield) {
				return err
			}
			r.scout, r.scouted, r.proof = nil, true, nil // the decoder reports the error that stopped the scout
		}
		if r.proof != nil {
			return nil
		}
		if c, ok := r.keeper.checkpoints.Last(r.before); ok {
			r.proof = codec.NewProof(c)
			return nil
		}
		if r.opts.Kinds == nil || r.scouted || !r.far(nil) {
			return nil
		}
		if err := r.startScout(nil); err != nil && !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// startScout starts a scout at a checkpoint or the beginning. A scout decodes everything without delivering it, and adds
// checkpoints for the decoder, which cannot make any because its options leave something out, and for later ones.
func (r *reader) startScout(c *codec.Checkpoint) error {
	scout, err := r.decoder(dem.Options{Schemas: r.opts.Schemas, Yield: r.opts.Yield}, c)
	if err != nil {
		return err
	}
	r.scout = scout
	return codec.ErrYield
}

// far reports whether much of the demo may lie between a checkpoint (nil is the beginning) and the start of delivery.
func (r *reader) far(c *codec.Checkpoint) bool {
	from := int64(0)
	if c != nil {
		from = c.Position.Offset
	}
	to := r.in.Size
	switch {
	case r.Start.Now:
	case r.Start.Tick == nil:
		to = r.Start.Position.Offset
	default:
		if next, ok := r.keeper.checkpoints.After(from); ok {
			to = next.Position.Offset // delivery starts before the next checkpoint
		}
	}
	return to-from > scoutFrom
}

// before reports whether delivery starts at or after a checkpoint.
func (r *reader) before(c *codec.Checkpoint) bool {
	switch to := r.Start.Position; {
	case r.Start.Now:
		return true
	case r.Start.Tick != nil:
		return c.Tick < *r.Start.Tick
	default:
		return !to.Before(c.Position)
	}
}
