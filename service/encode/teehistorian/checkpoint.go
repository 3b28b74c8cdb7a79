package teehistorian

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/encode"
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
		r.checkpoints.Add(encode.Checkpoint{Position: at, Tick: r.d.Tick(), State: r.d.Snapshot(nil)})
	}
}

// restore goes to the last checkpoint before where delivery starts. Without one, or where the input cannot be read from
// there, it stays at the beginning.
func (r *reader) restore() {
	if r.checkpoints == nil || r.in.At == nil {
		return
	}
	c, ok := r.checkpoints.Last(r.before)
	if !ok {
		return
	}
	src, err := r.in.From(c.Position.Offset)
	if err != nil {
		return
	}
	d, err := teehistorian.Restore(decoders.NewWindow(src, c.Position.Offset, teehistorian.MaxWindow), r.header, c.State)
	if err != nil {
		return
	}
	r.d, r.nextCheck = d, c.Position.Offset+checkEvery
}

// before tells whether delivery starts at or behind a checkpoint.
func (r *reader) before(c *encode.Checkpoint) bool {
	switch to := r.Start.Position; {
	case r.Start.Now:
		return true
	case r.Start.Tick != nil:
		return c.Tick < *r.Start.Tick
	default:
		return !to.Before(c.Position)
	}
}
