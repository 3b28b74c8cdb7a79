package teehistorian

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/replay/codec"
)

// checkEvery is the distance, in bytes of the replay, between two checks for whether a checkpoint is wanted.
const checkEvery = 128 << 10

// checkpoint adds a checkpoint for other readers if one is wanted here.
func (r *reader) checkpoint() {
	at := r.d.Position()
	if r.checkpoints == nil || at.Offset < r.nextCheck || r.Waiting() {
		return
	}
	r.nextCheck = at.Offset + checkEvery
	if !r.checkpoints.Wanted(at.Offset) {
		return
	}
	state := r.d.Snapshot(nil)
	if r.facts != nil {
		state = r.facts.appendState(state)
	}
	r.checkpoints.Add(codec.Checkpoint{Position: at, Tick: r.d.Tick(), State: state, Sum: r.d.Sum()})
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
		r.proof = codec.NewProof(c)
	}
	c := &r.proof.Checkpoint
	if proven, err := r.proof.Look(r.in, r.checkpoints); !proven || err != nil {
		return err
	}
	src, err := r.in.From(c.Position.Offset)
	if err != nil {
		return nil //nolint:nilerr // start at the beginning
	}
	w := decoders.NewWindow(src, c.Position.Offset, teehistorian.MaxWindow)
	w.Resume(c.Sum)
	state, fold := c.State, (*conclude.Fold)(nil)
	if r.facts != nil {
		if state, fold, err = r.facts.split(state); err != nil {
			return nil //nolint:nilerr // start at the beginning
		}
	}
	d, err := teehistorian.Restore(w, r.header, state)
	if err != nil {
		return nil //nolint:nilerr // start at the beginning
	}
	if r.facts != nil {
		r.facts.fold, r.Fold = fold, fold
	}
	r.use(d)
	r.nextCheck = c.Position.Offset + checkEvery
	r.carry() // the reader that added the checkpoint may have lacked the roster
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
