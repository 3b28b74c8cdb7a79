package teehistorian

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/replayd/replayd/decoders"
)

// ErrSnapshot is wrapped by the error of Restore for a snapshot that cannot be used.
var ErrSnapshot = errors.New("teehistorian: unusable snapshot")

// snapshotVersion is the first byte of a snapshot. It changes with what follows.
const snapshotVersion = 1

// The bits of a client in a snapshot.
const (
	snapPresent = 1 << iota
	snapJoined
	snapNamed
	snapAlive
	snapHasInput
	snapSix
	snapSeven
	snapAll = 1<<iota - 1
)

// The stages between records, as snapshots name them.
const (
	stageRecord   = iota // a record comes next
	stageTicked          // the tick that the next record implies was delivered
	stageFinished        // nothing comes
	stageCount
)

func (d *Decoder) stage() byte {
	switch {
	case errors.Is(d.err, io.EOF):
		return stageFinished
	case d.index > 0:
		return stageTicked
	default:
		return stageRecord
	}
}

// Snapshot appends all that the decoder knows at its Position to b: with it and the header, decoding can start there
// instead of at the beginning of the file. It takes some 20 to 40 bytes for each client that was ever named. The
// decoder must have read the header and not have failed.
func (d *Decoder) Snapshot(b []byte) []byte {
	s := &d.state
	b = append(b, snapshotVersion)
	b = binary.AppendVarint(b, d.w.Offset())
	b = append(b, d.stage())
	b = binary.AppendVarint(b, int64(s.tick))
	b = binary.AppendVarint(b, int64(s.prev))
	count := 0
	for range s.Clients() {
		count++
	}
	b = binary.AppendUvarint(b, uint64(count))
	for id, c := range s.Clients() {
		bits := byte(0)
		for _, f := range []struct {
			set bool
			bit byte
		}{
			{c.Present, snapPresent},
			{c.Joined, snapJoined},
			{c.named, snapNamed},
			{c.Alive, snapAlive},
			{c.HasInput, snapHasInput},
			{c.Protocol == ProtocolSix, snapSix},
			{c.Protocol == ProtocolSeven, snapSeven},
		} {
			if f.set {
				bits |= f.bit
			}
		}
		b = binary.AppendUvarint(b, uint64(id))
		b = append(b, bits)
		b = binary.AppendVarint(b, int64(c.X))
		b = binary.AppendVarint(b, int64(c.Y))
		b = binary.AppendVarint(b, int64(c.Team))
		b = binary.AppendUvarint(b, uint64(len(c.Name)))
		b = append(b, c.Name...)
		if c.HasInput {
			for _, v := range c.Input.values() {
				b = binary.AppendVarint(b, int64(v))
			}
		}
	}
	return b
}

// Restore returns a decoder that goes on where a snapshot was taken. w shows the file from that Position's Offset on;
// h is the file's header. Of a snapshot that was damaged or made up it makes an error that wraps ErrSnapshot, or a
// decoder as harmless as any.
func Restore(w *decoders.Window, h *Header, snapshot []byte) (*Decoder, error) {
	d := &Decoder{w: w, header: h, state: newState()}
	r := snapshotReader{b: snapshot}
	if version := r.byte(); version != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d", ErrSnapshot, version)
	}
	offset := r.varint(0, math.MaxInt64)
	stage := r.byte()
	d.state.tick = int32(r.varint(math.MinInt32, math.MaxInt32))
	d.state.prev = int32(r.varint(-1, math.MaxInt32))
	last := int64(-1)
	for count := r.uvarint(MaxClients); count > 0 && !r.bad; count-- {
		id := r.uvarint(MaxClients - 1)
		bits := r.byte()
		if id <= last || bits&^snapAll != 0 || bits&(snapSix|snapSeven) == snapSix|snapSeven {
			r.bad = true
		}
		if r.bad {
			break
		}
		last = id
		c := d.state.client(int32(id))
		c.seen = true
		c.Present, c.Joined, c.named = bits&snapPresent != 0, bits&snapJoined != 0, bits&snapNamed != 0
		c.Alive, c.HasInput = bits&snapAlive != 0, bits&snapHasInput != 0
		switch {
		case bits&snapSix != 0:
			c.Protocol = ProtocolSix
		case bits&snapSeven != 0:
			c.Protocol = ProtocolSeven
		}
		c.X = int32(r.varint(math.MinInt32, math.MaxInt32))
		c.Y = int32(r.varint(math.MinInt32, math.MaxInt32))
		c.Team = int32(r.varint(math.MinInt32, math.MaxInt32))
		c.setName(r.bytes(int(r.uvarint(maxName))))
		if c.HasInput {
			var v [inputFields]int32
			for i := range v {
				v[i] = int32(r.varint(math.MinInt32, math.MaxInt32))
			}
			c.Input = input(&v)
		}
	}
	switch stage {
	case stageTicked:
		d.index = 1
		r.bad = r.bad || d.state.prev != -1
	case stageFinished:
		d.err = io.EOF
	}
	switch {
	case r.bad || len(r.b) > 0 || stage >= stageCount:
		return nil, fmt.Errorf("%w: damaged", ErrSnapshot)
	case offset != w.Offset():
		return nil, fmt.Errorf("%w: of offset %d, not %d", ErrSnapshot, offset, w.Offset())
	}
	return d, nil
}

// values is the reverse of input.
func (in *Input) values() [inputFields]int32 {
	return [inputFields]int32{
		in.Direction, in.TargetX, in.TargetY, in.Jump, in.Fire, in.Hook,
		in.PlayerFlags, in.WantedWeapon, in.NextWeapon, in.PrevWeapon,
	}
}

// snapshotReader reads the parts of a snapshot. Its first failure is kept, and what is read after it means nothing.
type snapshotReader struct {
	b   []byte
	bad bool
}

func (r *snapshotReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *snapshotReader) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *snapshotReader) varint(low, high int64) int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 || v < low || v > high {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *snapshotReader) uvarint(high uint64) int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > high {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}
