package teehistorian

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian/internal/stored"
)

// ErrSnapshot is wrapped by the error of Restore for an invalid snapshot.
var ErrSnapshot = errors.New("teehistorian: unusable snapshot")

// snapshotVersion is the first byte of a snapshot. Any change of the layout changes it.
const snapshotVersion = 4

// The bits of a client in a snapshot.
const (
	snapPresent = 1 << iota
	snapJoined
	snapReady
	snapAlive
	snapHasInput
	snapSix
	snapSeven
	snapFresh
	snapDropped
	snapAuthed
	snapNameEffective
	snapHasInfo
	snapHasSkin
	snapVersioned
	snapIntroduced
	snapHasCode
	snapSettled
	snapAll = 1<<iota - 1
)

// flags returns the boolean fields of a client and their bits.
func (c *Client) flags() [14]struct {
	value *bool
	bit   int64
} {
	return [...]struct {
		value *bool
		bit   int64
	}{
		{&c.Present, snapPresent},
		{&c.Joined, snapJoined},
		{&c.Ready, snapReady},
		{&c.Alive, snapAlive},
		{&c.HasInput, snapHasInput},
		{&c.fresh, snapFresh},
		{&c.dropped, snapDropped},
		{&c.authed, snapAuthed},
		{&c.NameEffective, snapNameEffective},
		{&c.HasInfo, snapHasInfo},
		{&c.HasSkin, snapHasSkin},
		{&c.versioned, snapVersioned},
		{&c.introduced, snapIntroduced},
		{&c.settled, snapSettled},
	}
}

// The decoder's stages between records, as stored in snapshots.
const (
	stageRecord   = iota // a record is next
	stageTicked          // the tick that the next record implies was delivered
	stageFinished        // the file has ended
	stageSearch          // where the next record starts is not known
	stageCount
)

func (d *Decoder) stage() byte {
	switch {
	case d.finished:
		return stageFinished
	case d.searching() && d.seam.again:
		return stageSearch
	case d.index > 0:
		return stageTicked
	default:
		return stageRecord
	}
}

// Snapshot appends the decoder's state at its Position to b. With the snapshot and the header, decoding can start at
// that position instead of at the beginning of the file. A snapshot takes about 60 to 150 bytes for each client that
// was ever named. The decoder must have read the header and must not have failed.
func (d *Decoder) Snapshot(b []byte) []byte {
	s := &d.state
	b = append(b, snapshotVersion)
	b = binary.AppendVarint(b, d.Position().Offset)
	b = append(b, d.stage())
	b = binary.AppendVarint(b, int64(s.tick))
	b = binary.AppendVarint(b, int64(s.prev))
	practising := 0
	for _, on := range s.practice {
		if on {
			practising++
		}
	}
	b = binary.AppendUvarint(b, uint64(practising))
	for team, on := range s.practice {
		if on {
			b = binary.AppendUvarint(b, uint64(team))
		}
	}
	b = append(b, boolByte(s.spamProtection))
	b = binary.AppendUvarint(b, uint64(s.infoDelay))
	b = s.reclaim.append(b)
	b = s.damage.append(b)
	return s.appendClients(b, func(c *Client) bool { return c.seen })
}

// append appends a request in the layout of snapshots.
func (r *reclaim) append(b []byte) []byte {
	b = binary.AppendVarint(b, r.end)
	if r.end == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(r.client))
	return binary.LittleEndian.AppendUint64(b, r.code)
}

// append appends the damage so far in the layout of snapshots.
func (m *damage) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(m.count))
	if m.count == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(m.from))
	b = binary.AppendUvarint(b, uint64(m.to))
	return appendText(b, m.reason)
}

// appendClients appends the clients for which include returns true.
func (s *State) appendClients(b []byte, include func(*Client) bool) []byte {
	count := 0
	for id := range s.clients {
		if include(&s.clients[id]) {
			count++
		}
	}
	b = binary.AppendUvarint(b, uint64(count))
	for id := range s.clients {
		if c := &s.clients[id]; include(c) {
			b = c.append(binary.AppendUvarint(b, uint64(id)))
		}
	}
	return b
}

// append appends a client in the layout of snapshots.
func (c *Client) append(b []byte) []byte {
	bits := int64(0)
	for _, f := range c.flags() {
		if *f.value {
			bits |= f.bit
		}
	}
	switch c.Protocol {
	case ProtocolSix:
		bits |= snapSix
	case ProtocolSeven:
		bits |= snapSeven
	}
	if c.code != 0 {
		bits |= snapHasCode
	}
	b = binary.AppendUvarint(b, uint64(bits))
	b = binary.AppendVarint(b, int64(c.X))
	b = binary.AppendVarint(b, int64(c.Y))
	b = binary.AppendVarint(b, int64(c.Team))
	if c.HasInput {
		for _, v := range c.Input.values() {
			b = binary.AppendVarint(b, int64(v))
		}
	}
	b = appendText(b, c.Name)
	b = binary.AppendVarint(b, int64(c.Version))
	b = appendText(b, c.VersionText)
	b = binary.AppendVarint(b, int64(c.AuthLevel))
	b = appendText(b, c.Role)
	if c.introduced {
		b = binary.AppendVarint(b, int64(c.infoAt))
	}
	if c.code != 0 {
		b = binary.LittleEndian.AppendUint64(b, c.code)
	}
	if !c.HasInfo {
		return b
	}
	b = appendText(b, c.Clan)
	b = binary.AppendVarint(b, int64(c.Country))
	if c.HasSkin {
		b = appendText(b, c.Skin.Name)
		b = append(b, boolByte(c.Skin.UseCustomColor))
		b = binary.AppendVarint(b, int64(c.Skin.ColorBody))
		b = binary.AppendVarint(b, int64(c.Skin.ColorFeet))
	}
	b = append(b, byte(len(c.SkinParts)))
	for i := range c.SkinParts {
		p := &c.SkinParts[i]
		b = appendText(b, p.Name)
		b = append(b, boolByte(p.UseCustomColor))
		b = binary.AppendVarint(b, int64(p.Color))
	}
	return b
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Restore returns a decoder that continues where the snapshot was taken. w must start at that Position's Offset, and h
// is the file's header. A damaged or forged snapshot gives an error that wraps ErrSnapshot, or a decoder that is as
// safe as any other.
func Restore(w *decoders.Window, h *Header, snapshot []byte) (*Decoder, error) {
	d := &Decoder{w: w, header: h, state: newState()}
	d.state.rules = rulesOf(h)
	r := snapshotReader{stored.Reader{Rest: snapshot}}
	if version := r.Byte(); version != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d", ErrSnapshot, version)
	}
	offset := r.Varint(0, math.MaxInt64)
	stage := r.Byte()
	d.state.tick = r.Int32()
	d.state.prev = int32(r.Varint(-1, math.MaxInt32))
	for count := r.Uvarint(MaxClients); count > 0 && !r.Bad; count-- {
		d.state.setPractice(int32(r.Uvarint(MaxClients-1)), true)
	}
	d.state.spamProtection = r.Byte() != 0
	d.state.infoDelay = int32(r.Uvarint(maxInfoDelay))
	if d.state.reclaim.end = r.Varint(0, math.MaxInt64); d.state.reclaim.end != 0 {
		d.state.reclaim.client, d.state.reclaim.code = int32(r.Uvarint(MaxClients-1)), r.Uint64()
	}
	r.damage(&d.state.damage)
	r.clients(&d.state)
	d.fast = !d.state.damaged()
	switch stage {
	case stageTicked:
		d.index = decoders.Room
		r.Bad = r.Bad || d.state.prev != -1
	case stageFinished:
		d.end()
	case stageSearch:
		if r.Bad = r.Bad || !d.state.damaged(); !r.Bad {
			d.tear(goesOn)
		}
	}
	switch {
	case r.Bad || len(r.Rest) > 0 || stage >= stageCount:
		return nil, fmt.Errorf("%w: damaged", ErrSnapshot)
	case offset != w.Offset():
		return nil, fmt.Errorf("%w: of offset %d, not %d", ErrSnapshot, offset, w.Offset())
	}
	return d, nil
}

// values returns the fields of an input in file order. It is the inverse of input.
func (in *Input) values() [inputFields]int32 {
	return [inputFields]int32{
		in.Direction, in.TargetX, in.TargetY, in.Jump, in.Fire, in.Hook,
		in.PlayerFlags, in.WantedWeapon, in.NextWeapon, in.PrevWeapon,
	}
}

// snapshotReader reads the parts of a snapshot.
type snapshotReader struct{ stored.Reader }

func (r *snapshotReader) text(text *[]byte) { set(text, r.Bytes(int(r.Uvarint(maxText)))) }

// damage is the inverse of damage.append.
func (r *snapshotReader) damage(m *damage) {
	if m.count = int32(r.Uvarint(math.MaxInt32)); m.count == 0 {
		return
	}
	m.from, m.to = r.Uvarint(math.MaxInt64), r.Uvarint(math.MaxInt64)
	r.text(&m.reason)
	r.Bad = r.Bad || m.to <= m.from
}

// clients reads the output of appendClients.
func (r *snapshotReader) clients(s *State) {
	last := int64(-1)
	for count := r.Uvarint(MaxClients); count > 0 && !r.Bad; count-- {
		id := r.Uvarint(MaxClients - 1)
		if id <= last {
			r.Bad = true
			return
		}
		last = id
		c := s.client(int32(id))
		c.seen = true
		r.client(c)
	}
}

// client is the inverse of Client.append.
func (r *snapshotReader) client(c *Client) {
	bits := r.Uvarint(snapAll)
	if bits&(snapSix|snapSeven) == snapSix|snapSeven {
		r.Bad = true
	}
	for _, f := range c.flags() {
		*f.value = bits&f.bit != 0
	}
	switch {
	case bits&snapSix != 0:
		c.Protocol = ProtocolSix
	case bits&snapSeven != 0:
		c.Protocol = ProtocolSeven
	}
	c.X, c.Y, c.Team = r.Int32(), r.Int32(), r.Int32()
	if c.HasInput {
		var v [inputFields]int32
		for i := range v {
			v[i] = r.Int32()
		}
		c.Input = input(&v)
	}
	r.text(&c.Name)
	c.Version = r.Int32()
	r.text(&c.VersionText)
	c.AuthLevel = AuthLevel(r.Int32())
	r.text(&c.Role)
	if c.introduced {
		c.infoAt = r.Int32()
	}
	if bits&snapHasCode != 0 {
		c.code = r.Uint64()
	}
	if !c.HasInfo {
		return
	}
	r.text(&c.Clan)
	c.Country = r.Int32()
	if c.HasSkin {
		r.text(&c.Skin.Name)
		c.Skin.UseCustomColor = r.Byte() != 0
		c.Skin.ColorBody, c.Skin.ColorFeet = r.Int32(), r.Int32()
	}
	parts := r.Byte()
	if parts > skinPartCount {
		r.Bad = true
		return
	}
	c.SkinParts = make([]SkinPart, parts)
	for i := range c.SkinParts {
		p := &c.SkinParts[i]
		r.text(&p.Name)
		p.UseCustomColor = r.Byte() != 0
		p.Color = r.Int32()
	}
}
