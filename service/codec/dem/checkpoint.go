package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/service/codec"
)

// spacing is the least distance between two checkpoints, in bytes of the demo. To decode as much without delivering it takes
// 6 ms, and to resume 8 ms. A checkpoint takes some 100 KB beside what it shares with others.
const spacing = 256 << 10

// checkEvery is the distance, in bytes of the demo, between two checks for whether a checkpoint is wanted.
const checkEvery = spacing / 8

// scoutFrom is how many bytes of a demo without checkpoints are worth a scout.
const scoutFrom = 8 * spacing

// keeper adds checkpoints while a decoder reads a demo.
type keeper struct {
	checkpoints codec.Checkpoints // nil keeps none
	next        int64             // the offset from which on a checkpoint may be wanted
}

// keep adds a checkpoint of a decoder that is between two records, if one is wanted here.
func (k *keeper) keep(d *dem.Decoder) {
	at := d.Offset()
	if k.checkpoints == nil || at < k.next {
		return
	}
	k.next = at + checkEvery
	if !k.checkpoints.Wanted(at) {
		return
	}
	if s := d.Snapshot(); s != nil {
		k.checkpoints.Add(codec.Checkpoint{Position: s.Position(), Tick: s.Tick(), Sum: s.Sum(), Shared: s})
	}
}

// decoder returns a decoder of the demo, from a checkpoint or, if c is nil, from the beginning. Unless its options leave out
// something, it adds checkpoints to those of k.
func (r *reader) decoder(opts dem.Options, c *codec.Checkpoint, k *keeper) (d *dem.Decoder, err error) {
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
	if opts.Kinds == nil && opts.Classes == nil {
		opts.Record = func() { k.keep(d) }
	}
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
	d, err := r.decoder(r.opts, c, &r.keeper)
	if err != nil {
		return nil //nolint:nilerr // the beginning will do
	}
	r.d = d
	return nil
}

// find finds the last checkpoint before the start of delivery. If there is none near, and the decoder itself will leave none on
// its way, it sends a scout first.
func (r *reader) find() error {
	for {
		if r.scout != nil {
			err := r.seek(r.scout)
			if errors.Is(err, codec.ErrYield) {
				return err
			}
			r.scout, r.scouted, r.proof = nil, true, nil // wherever it came, and why it did not come further: the decoder finds out
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

// startScout begins to decode everything, from a checkpoint or the beginning, without delivering it, to leave checkpoints for the
// decoder, which cannot make any because its options leave out something, and for later ones.
func (r *reader) startScout(c *codec.Checkpoint) error {
	scout, err := r.decoder(dem.Options{Schemas: r.opts.Schemas, Yield: r.opts.Yield}, c, &r.keeper)
	if err != nil {
		return err
	}
	r.scout = scout
	return codec.ErrYield
}

// far reports whether much of the demo may lie between a checkpoint, nil for the beginning, and the start of delivery.
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
			to = next.Position.Offset // the start lies before it
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
