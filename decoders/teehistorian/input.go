package teehistorian

import "encoding/binary"

// inputFields is the number of integers of an input.
const inputFields = 10

// input returns an input with the given fields, which are in file order.
func input(v *[inputFields]int32) Input {
	return Input{
		Direction: v[0], TargetX: v[1], TargetY: v[2], Jump: v[3], Fire: v[4], Hook: v[5],
		PlayerFlags: v[6], WantedWeapon: v[7], NextWeapon: v[8], PrevWeapon: v[9],
	}
}

// add adds a change to an input. All fields wrap around.
func (in *Input) add(c *Input) {
	in.Direction += c.Direction
	in.TargetX += c.TargetX
	in.TargetY += c.TargetY
	in.Jump += c.Jump
	in.Fire += c.Fire
	in.Hook += c.Hook
	in.PlayerFlags += c.PlayerFlags
	in.WantedWeapon += c.WantedWeapon
	in.NextWeapon += c.NextWeapon
	in.PrevWeapon += c.PrevWeapon
}

// Inputs decodes the next records into inputs, as far as they are usual changes of inputs and fit, and returns how many it decoded. It is
// faster than Next, which decodes everything else. The events are of the present tick. Each starts at its offset, for which there must be as
// much room, with an Index of 0. None has a warning.
func (d *Decoder) Inputs(inputs []InputDiff, offsets []int64) (n int) {
	if !d.fast {
		return 0
	}
	b, at := d.w.Bytes(), d.w.Offset()
	size := len(b)
	offsets = offsets[:len(inputs)]
	for n < len(inputs) && len(b) >= fastBytes && b[0] == tagInputDiff {
		length := d.state.usualChange(&inputs[n], b)
		if length == 0 {
			break
		}
		offsets[n] = at + int64(size-len(b))
		b = b[length:]
		n++
	}
	if n > 0 {
		d.index = 0
		d.w.Advance(size - len(b))
	}
	return n
}

// usualChange decodes an INPUT_DIFF at the start of b, which is longer than any, and returns its length. It returns 0, having changed
// nothing, for an unusual record.
func (s *State) usualChange(m *InputDiff, b []byte) int {
	in := s.changed(b)
	if in == nil {
		return 0
	}
	c, length := changeOf((*[fastBytes]byte)(b))
	if length > 0 {
		m.ClientId, m.HasInput, m.HasDiff = int32(b[1]), true, true
		c.apply(in, &m.Diff, &m.Input)
	}
	return length
}

// changed returns the input that an INPUT_DIFF at the start of b changes, nil if its client is unusual.
func (s *State) changed(b []byte) *Input {
	if id := int(b[1]); id < 0x40 && id < len(s.clients) && s.clients[id].HasInput {
		return &s.clients[id].Input
	}
	return nil
}

// SkipInputs decodes the next changes of inputs, as long as they are usual ones, without making events, and returns how many
// there were. It is faster than Next, which decodes everything else. None of them has a warning.
func (d *Decoder) SkipInputs() int {
	if !d.fast {
		return 0
	}
	s, b, n := &d.state, d.w.Bytes(), 0
	size := len(b)
	for len(b) >= fastBytes && b[0] == tagInputDiff {
		in := s.changed(b)
		if in == nil {
			break
		}
		c, length := changeOf((*[fastBytes]byte)(b))
		if length == 0 {
			break
		}
		c.add(in)
		b = b[length:]
		n++
	}
	if n > 0 {
		d.index = 0
		d.w.Advance(size - len(b))
	}
	return n
}

// change is what a usual INPUT_DIFF changes, in registers.
type change struct {
	direction, x, y int32
	buttons         uint64 // the fields after the target, a signed byte each
}

func (c change) button(i int) int32 { return int32(int8(c.buttons >> (8 * i))) }

// apply adds a change to an input. It stores the sum in out and the change in diff, too, field by field, because copying a whole
// input that was just written in pieces stalls.
func (c change) apply(in, diff, out *Input) {
	put := func(change int32, in, diff, out *int32) {
		sum := *in + change
		*in, *diff, *out = sum, change, sum
	}
	put(c.direction, &in.Direction, &diff.Direction, &out.Direction)
	put(c.x, &in.TargetX, &diff.TargetX, &out.TargetX)
	put(c.y, &in.TargetY, &diff.TargetY, &out.TargetY)
	put(c.button(0), &in.Jump, &diff.Jump, &out.Jump)
	put(c.button(1), &in.Fire, &diff.Fire, &out.Fire)
	put(c.button(2), &in.Hook, &diff.Hook, &out.Hook)
	put(c.button(3), &in.PlayerFlags, &diff.PlayerFlags, &out.PlayerFlags)
	put(c.button(4), &in.WantedWeapon, &diff.WantedWeapon, &out.WantedWeapon)
	put(c.button(5), &in.NextWeapon, &diff.NextWeapon, &out.NextWeapon)
	put(c.button(6), &in.PrevWeapon, &diff.PrevWeapon, &out.PrevWeapon)
}

// add adds a change to an input.
func (c change) add(in *Input) {
	in.Direction += c.direction
	in.TargetX += c.x
	in.TargetY += c.y
	in.Jump += c.button(0)
	in.Fire += c.button(1)
	in.Hook += c.button(2)
	in.PlayerFlags += c.button(3)
	in.WantedWeapon += c.button(4)
	in.NextWeapon += c.button(5)
	in.PrevWeapon += c.button(6)
}

// changeOf returns the change of an INPUT_DIFF, and the length of the record. It returns 0 unless the target's integers
// have one or two bytes and all others one. It does not branch on their lengths or on zeros, which no processor can predict.
func changeOf(b *[fastBytes]byte) (change, int) {
	const buttons = 7 // the fields after the target
	w := binary.LittleEndian.Uint64(b[2:])
	x, nx, unusualX := short2(w >> 8)
	y, ny, unusualY := short2(w >> (8 + 8*nx))
	p := 3 + nx + ny
	rest := binary.LittleEndian.Uint64(b[p&15:]) & (1<<(8*buttons) - 1)
	if w&0x80|unusualX|unusualY|rest&0x80808080808080 != 0 || w&0xffffff|rest == 0 {
		return change{}, 0
	}
	const each = 0x01010101010101
	rest = rest&(each*0x3f) ^ rest>>6&each*0xff // as short, each
	return change{direction: short(byte(w)), x: x, y: y, buttons: rest}, int(p + buttons)
}

// short2 decodes the integer of one or two bytes in the lowest bytes of w, and returns the number of its bytes. unusual is not 0
// if it has more bytes, or two where one is enough.
func short2(w uint64) (v int32, n uint64, unusual uint64) {
	two := w >> 7 & 1
	second := w >> 8 & 0xff
	v = int32(w&0x3f|(second<<6)&-two) ^ -int32(w>>6&1)
	return v, 1 + two, two & (second>>7 | (second-1)>>63)
}

func (d *Decoder) inputDiff(c *cursor, ev *Event, r *record) {
	d.begin(c, ev, KindInputDiff)
	client := d.namedClient(ev, r.client)
	ev.InputDiff = InputDiff{ClientId: r.client, HasInput: client.HasInput, Diff: input(&r.v), HasDiff: true}
	if client.HasInput { // the client did not send its first input before damage
		client.Input.add(&ev.InputDiff.Diff)
		ev.InputDiff.Input = client.Input
	}
}

func (d *Decoder) inputNew(c *cursor, ev *Event, r *record) {
	d.begin(c, ev, KindInputNew)
	client := d.namedClient(ev, r.client)
	client.markPresent()
	client.HasInput, client.Input = true, input(&r.v)
	ev.InputNew = InputNew{ClientId: r.client, Input: client.Input, HasInput: true}
}
