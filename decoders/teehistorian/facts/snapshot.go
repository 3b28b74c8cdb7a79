package facts

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/internal/stored"
)

// ErrSnapshot is wrapped by the error of Restore for an invalid snapshot.
var ErrSnapshot = errors.New("teehistorian facts: unusable snapshot")

// Version is the version of the facts and of snapshots. It changes with any change of the conclusions or the layout.
const Version = 1

// The bits of a snapshot.
const (
	snapLost = 1 << iota
	snapInputs
	snapAll = 1<<iota - 1
)

// The bits of a client in a snapshot.
const (
	snapTeam = 1 << iota
	snapOpen
	snapCarried
	snapLeft
	snapKeys
	snapAlive
	snapSeven
	snapClientAll = 1<<iota - 1
)

// Snapshot appends the state behind the last event to b. The facts that the event has completed are not part of it.
func (f *Fold) Snapshot(b []byte) []byte {
	b = append(b, Version, bit(f.lost, snapLost)|bit(f.inputs != nil, snapInputs))
	if s := f.inputs; s != nil {
		b = binary.AppendVarint(b, int64(s.window))
		b = binary.AppendUvarint(b, uint64(s.untold))
	}
	b = binary.AppendUvarint(b, uint64(len(f.places)))
	for _, p := range f.places {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(p.x)), int64(p.y))
	}
	count := 0
	for id := range f.slots() {
		if f.known(id) {
			count++
		}
	}
	b = binary.AppendUvarint(b, uint64(count))
	for id := range f.slots() {
		if f.known(id) {
			b = f.appendClient(binary.AppendUvarint(b, uint64(id)), id)
		}
	}
	return b
}

// slots returns the number of slots up to the last one of which anything is known.
func (f *Fold) slots() int32 {
	n := len(f.clients)
	if f.inputs != nil {
		n = max(n, len(f.inputs.clients))
	}
	return int32(n)
}

// known reports whether anything is known of a client.
func (f *Fold) known(id int32) bool {
	c := f.client(id)
	for _, v := range c.numbers() {
		if *v != 0 {
			return true
		}
	}
	return c.hasTeam || c.open || c.carried || c.left || c.alive || c.seven || c.level != 0 || len(c.name)+len(c.asked)+len(c.role) > 0 || f.keysOf(id) != keys{}
}

// keysOf returns the known facts of a client's keys.
func (f *Fold) keysOf(id int32) keys {
	if f.inputs == nil || int(id) >= len(f.inputs.clients) {
		return keys{}
	}
	return f.inputs.clients[id]
}

func (f *Fold) appendClient(b []byte, id int32) []byte {
	c, k := f.client(id), f.keysOf(id)
	b = append(b, bit(c.hasTeam, snapTeam)|bit(c.open, snapOpen)|bit(c.carried, snapCarried)|bit(c.left, snapLeft)|
		bit(c.alive, snapAlive)|bit(c.seven, snapSeven)|bit(k != keys{}, snapKeys))
	for _, v := range c.numbers() {
		b = binary.AppendVarint(b, int64(*v))
	}
	b = binary.AppendVarint(b, int64(c.level))
	for _, text := range c.texts() {
		b = binary.AppendUvarint(b, uint64(len(*text)))
		b = append(b, *text...)
	}
	if k == (keys{}) {
		return b
	}
	b = append(b, bit(k.known, 1))
	for _, v := range k.numbers() {
		b = binary.AppendVarint(b, int64(*v))
	}
	return b
}

// numbers returns the numbers of a client, in the order of snapshots.
func (c *client) numbers() [10]*int32 {
	return [...]*int32{
		&c.team, (*int32)(&c.joined), (*int32)(&c.first), (*int32)(&c.ready), &c.version, &c.finishes,
		(*int32)(&c.began), (*int32)(&c.kill), (*int32)(&c.watch), (*int32)(&c.died),
	}
}

// texts returns the texts of a client, in the order of snapshots.
func (c *client) texts() [3]*[]byte { return [...]*[]byte{&c.name, &c.asked, &c.role} }

// numbers returns the numbers of a client's keys, in the order of snapshots.
func (k *keys) numbers() [41]*int32 {
	a, b := &k.now, &k.last
	return [...]*int32{
		&k.first, &k.latest, &k.from, &k.input.fire, &k.input.hook, &k.input.jump, &k.input.direction, &k.input.aimX, &k.input.aimY,
		&a.inputs, &a.fire, &a.hook, &a.jump, &a.turns, &a.aims, &a.odd, &a.tenths,
		(*int32)(&a.fires.latest), &a.fires.count, &a.fires.sum, &a.fires.squares,
		(*int32)(&a.hooks.latest), &a.hooks.count, &a.hooks.sum, &a.hooks.squares,
		&b.inputs, &b.fire, &b.hook, &b.jump, &b.turns, &b.aims, &b.odd, &b.tenths,
		(*int32)(&b.fires.latest), &b.fires.count, &b.fires.sum, &b.fires.squares,
		(*int32)(&b.hooks.latest), &b.hooks.count, &b.hooks.sum, &b.hooks.squares,
	}
}

func bit(set bool, mask byte) byte {
	if set {
		return mask
	}
	return 0
}

// Restore returns a Fold that continues where the snapshot was taken, of a file with that header. The options must be the same as
// those of the snapshot's Fold. A damaged or forged snapshot gives an error that wraps ErrSnapshot, or a Fold that is as safe as
// any other.
func Restore(h *teehistorian.Header, o Options, snapshot []byte) (*Fold, error) {
	f, r := New(h, o), reader{stored.Reader{Rest: snapshot}}
	if version := r.Byte(); version != Version {
		return nil, fmt.Errorf("%w: version %d", ErrSnapshot, version)
	}
	bits := r.Byte()
	f.lost = bits&snapLost != 0
	r.Bad = r.Bad || bits > snapAll || (bits&snapInputs != 0) != o.Inputs
	if o.Inputs {
		f.inputs.window, f.inputs.untold = r.Int32(), int(r.Uvarint(teehistorian.MaxClients))
	}
	for count := r.Uvarint(maxPlaces); count > 0 && !r.Bad; count-- {
		f.places = append(f.places, place{r.Int32(), r.Int32()})
	}
	last := int64(-1)
	for count := r.Uvarint(teehistorian.MaxClients); count > 0 && !r.Bad; count-- {
		id := r.Uvarint(teehistorian.MaxClients - 1)
		r.Bad = r.Bad || id <= last
		last = id
		r.client(f, int32(id))
	}
	if r.Bad || len(r.Rest) > 0 {
		return nil, fmt.Errorf("%w: damaged", ErrSnapshot)
	}
	return f, nil
}

// reader reads the parts of a snapshot.
type reader struct{ stored.Reader }

// client is the inverse of appendClient.
func (r *reader) client(f *Fold, id int32) {
	c, bits := f.client(id), r.Byte()
	c.hasTeam, c.open, c.carried, c.left = bits&snapTeam != 0, bits&snapOpen != 0, bits&snapCarried != 0, bits&snapLeft != 0
	c.alive, c.seven = bits&snapAlive != 0, bits&snapSeven != 0
	for _, v := range c.numbers() {
		*v = r.Int32()
	}
	f.kill = max(f.kill, c.kill)
	c.level = teehistorian.AuthLevel(r.Int32())
	for _, text := range c.texts() {
		set(text, r.Bytes(int(r.Uvarint(maxText))))
	}
	r.Bad = r.Bad || bits > snapClientAll || bits&snapKeys != 0 && f.inputs == nil
	if r.Bad || bits&snapKeys == 0 {
		return
	}
	k := f.inputs.at(id)
	k.known = r.Byte() != 0
	for _, v := range k.numbers() {
		*v = r.Int32()
	}
}
