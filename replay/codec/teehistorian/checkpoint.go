package teehistorian

import (
	"encoding/binary"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/codec"
)

// checkEvery is the distance, in bytes of the replay, between two checks for whether a checkpoint is wanted.
const checkEvery = 128 << 10

// checkPlayed is that distance in games that are played, which takes far longer than to read them.
const checkPlayed = 16 << 10

// maxPlayed bounds what a checkpoint keeps of a world, which is some 300 bytes for each character.
const maxPlayed = 64 << 10

// checkpoint adds a checkpoint for other readers if one is wanted here.
func (r *reader) checkpoint() {
	at := r.d.Position()
	if r.checkpoints == nil || at.Offset < r.nextCheck || r.Waiting() || r.world != nil && !r.world.Settled() {
		return
	}
	if r.nextCheck = at.Offset + checkEvery; r.world != nil {
		r.nextCheck = at.Offset + checkPlayed
	}
	if !r.checkpoints.Wanted(at.Offset) {
		return
	}
	state := r.d.Snapshot(nil)
	if r.facts != nil {
		state = appendState(state, r.facts.fold.Snapshot)
	}
	if rest := len(state); r.world != nil {
		if state = appendState(state, r.world.Snapshot); len(state)-rest > maxPlayed {
			return
		}
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
	state, world, facts := c.State, r.world, r.facts
	if world != nil {
		var played []byte
		state, played = split(state)
		world, err = world.Restored(played)
	}
	if facts != nil {
		var concluded []byte
		state, concluded = split(state)
		if err == nil {
			facts, err = facts.restored(concluded)
		}
	}
	var d *teehistorian.Decoder
	if err == nil {
		d, err = teehistorian.Restore(w, r.header, state)
	}
	if err != nil {
		return nil //nolint:nilerr // start at the beginning
	}
	if r.world, r.facts = world, facts; facts != nil {
		r.Fold = r.conclusions()
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

// appendState appends a snapshot to a state.
func appendState(state []byte, snapshot func([]byte) []byte) []byte {
	return binary.LittleEndian.AppendUint32(snapshot(state), uint32(len(state)))
}

// split undoes appendState.
func split(state []byte) (rest, snapshot []byte) {
	const size = 4
	both := state[:len(state)-size]
	n := binary.LittleEndian.Uint32(state[len(both):])
	return both[:n], both[n:]
}
