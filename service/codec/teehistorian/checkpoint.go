package teehistorian

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// checkEvery is how far apart it is asked whether a checkpoint is wanted, in bytes of the replay.
const checkEvery = 128 << 10

// checkpoint leaves a checkpoint for others where one is wanted.
func (r *reader) checkpoint() {
	at := r.d.Position()
	if r.checkpoints == nil || at.Offset < r.nextCheck || r.held {
		return
	}
	r.nextCheck = at.Offset + checkEvery
	if r.checkpoints.Wanted(at.Offset) {
		r.checkpoints.Add(codec.Checkpoint{Position: at, Tick: r.d.Tick(), State: r.d.Snapshot(nil), Sum: r.d.Sum()})
	}
}

// restore goes to the last checkpoint before where delivery starts. Without one, or where the input cannot be read from
// there, it stays at the beginning. It returns codec.ErrYield while it looks whether the file is still the one that the
// checkpoint was made from.
func (r *reader) restore() error {
	if r.checkpoints == nil || r.in.At == nil {
		return nil
	}
	if r.proof == nil {
		c, ok := r.checkpoints.Last(r.before)
		if !ok {
			return nil
		}
		r.proof = &proof{checkpoint: c}
	}
	c := &r.proof.checkpoint
	if !r.checkpoints.Proven(c) {
		proven, err := r.proof.look(r.in)
		if err != nil {
			return err
		}
		if !proven {
			r.checkpoints.Drop()
			return nil
		}
		r.checkpoints.Prove(c)
	}
	src, err := r.in.From(c.Position.Offset)
	if err != nil {
		return nil //nolint:nilerr // the beginning will do
	}
	w := decoders.NewWindow(src, c.Position.Offset, teehistorian.MaxWindow)
	w.Resume(c.Sum)
	d, err := teehistorian.Restore(w, r.header, c.State)
	if err != nil {
		return nil //nolint:nilerr // the beginning will do
	}
	r.d, r.nextCheck = d, c.Position.Offset+checkEvery
	r.carry() // whoever left the checkpoint may not have known the roster
	return nil
}

// before reports whether delivery starts at or behind a checkpoint.
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

// proof is the search for whether the bytes before a checkpoint are still those that it was made from. Reading them is
// many times as fast as decoding them.
type proof struct {
	checkpoint codec.Checkpoint
	sum        decoders.Sum
	offset     int64
	buf        []byte
}

// proofStep is how many bytes one call of look reads: a millisecond's work.
const proofStep = 4 << 20

// look reads on. It returns codec.ErrYield while there is more to read, and whether the bytes are the same at the end.
func (p *proof) look(in source.Input) (same bool, err error) {
	if p.buf == nil {
		p.buf = make([]byte, 256<<10)
	}
	for end := min(p.offset+proofStep, p.checkpoint.Position.Offset); p.offset < end; {
		n, err := in.At.ReadAt(p.buf[:min(int64(len(p.buf)), end-p.offset)], p.offset)
		if n == 0 && err != nil {
			return false, nil //nolint:nilerr // it is shorter, or cannot be read: whoever reads it from the beginning will say
		}
		p.sum = p.sum.Add(p.buf[:n])
		p.offset += int64(n)
	}
	if p.offset < p.checkpoint.Position.Offset {
		return false, codec.ErrYield
	}
	return p.sum == p.checkpoint.Sum, nil
}
