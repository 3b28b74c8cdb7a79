package teehistorian

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// checkEvery is the distance, in bytes of the replay, between two checks for whether a checkpoint is wanted.
const checkEvery = 128 << 10

// checkpoint adds a checkpoint for other readers if one is wanted here.
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

// restore moves to the last checkpoint before the start of delivery. Without one, or if the input cannot be read from there,
// it stays at the beginning. It returns codec.ErrYield while it checks that the file is still the one that the checkpoint was
// made from.
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
	r.carry() // the reader that added the checkpoint may not have had the roster
	return nil
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

// proof checks whether the bytes before a checkpoint are still those that it was made from. Reading them is many times as fast
// as decoding them.
type proof struct {
	checkpoint codec.Checkpoint
	sum        decoders.Sum
	offset     int64
	buf        []byte
}

// proofStep is the number of bytes that one call of look reads. That takes about a millisecond.
const proofStep = 4 << 20

// look reads further. It returns codec.ErrYield while there is more to read. At the end it reports whether the bytes are the
// same.
func (p *proof) look(in source.Input) (same bool, err error) {
	if p.buf == nil {
		p.buf = make([]byte, 256<<10)
	}
	for end := min(p.offset+proofStep, p.checkpoint.Position.Offset); p.offset < end; {
		n, err := in.At.ReadAt(p.buf[:min(int64(len(p.buf)), end-p.offset)], p.offset)
		if n == 0 && err != nil {
			return false, nil //nolint:nilerr // it is shorter or unreadable; reading it from the beginning returns the error
		}
		p.sum = p.sum.Add(p.buf[:n])
		p.offset += int64(n)
	}
	if p.offset < p.checkpoint.Position.Offset {
		return false, codec.ErrYield
	}
	return p.sum == p.checkpoint.Sum, nil
}
