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

// add adds a change to an input. All fields wrap around. It stores the sum in out and the change in diff, field by
// field, because copying a whole input that was just written in pieces stalls.
func (in *Input) add(v *[inputFields]int32, diff, out *Input) {
	diff.Direction, diff.TargetX, diff.TargetY, diff.Jump, diff.Fire = v[0], v[1], v[2], v[3], v[4]
	diff.Hook, diff.PlayerFlags, diff.WantedWeapon, diff.NextWeapon, diff.PrevWeapon = v[5], v[6], v[7], v[8], v[9]
	sum := in.Direction + v[0]
	in.Direction, out.Direction = sum, sum
	sum = in.TargetX + v[1]
	in.TargetX, out.TargetX = sum, sum
	sum = in.TargetY + v[2]
	in.TargetY, out.TargetY = sum, sum
	sum = in.Jump + v[3]
	in.Jump, out.Jump = sum, sum
	sum = in.Fire + v[4]
	in.Fire, out.Fire = sum, sum
	sum = in.Hook + v[5]
	in.Hook, out.Hook = sum, sum
	sum = in.PlayerFlags + v[6]
	in.PlayerFlags, out.PlayerFlags = sum, sum
	sum = in.WantedWeapon + v[7]
	in.WantedWeapon, out.WantedWeapon = sum, sum
	sum = in.NextWeapon + v[8]
	in.NextWeapon, out.NextWeapon = sum, sum
	sum = in.PrevWeapon + v[9]
	in.PrevWeapon, out.PrevWeapon = sum, sum
}

// Input decodes the next record into ev, as Next does, if it is a usual change of an input, and reports whether it did. If not, it has
// changed nothing. It has no warning.
func (d *Decoder) Input(ev *Event) bool {
	b := d.w.Bytes()
	if !d.fast || len(b) < fastBytes || b[0] != tagInputDiff {
		return false
	}
	ev.Warnings = ev.Warnings[:0]
	return d.fastInputDiff(ev, b)
}

// fastInputDiff decodes an INPUT_DIFF at the start of b, which is longer than any. It returns false, having changed nothing, for an
// unusual record.
func (d *Decoder) fastInputDiff(ev *Event, b []byte) bool {
	id := int(b[1])
	if id >= 0x40 || id >= len(d.state.clients) {
		return false
	}
	client := &d.state.clients[id]
	var v [inputFields]int32
	length := change((*[fastBytes]byte)(b), &v)
	if !client.HasInput || length == 0 {
		return false
	}
	m := &ev.InputDiff
	m.ClientId, m.HasInput, m.HasDiff = int32(id), true, true
	client.Input.add(&v, &m.Diff, &m.Input)
	ev.AtTick, ev.Kind = d.state.tick, KindInputDiff
	d.index = 0
	d.w.Advance(length)
	return true
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
		id := int(b[1])
		if id >= 0x40 || id >= len(s.clients) || !s.clients[id].HasInput {
			break
		}
		var v [inputFields]int32
		length := change((*[fastBytes]byte)(b), &v)
		if length == 0 {
			break
		}
		s.clients[id].Input.sum(&v)
		b = b[length:]
		n++
	}
	if n > 0 {
		d.index = 0
		d.w.Advance(size - len(b))
	}
	return n
}

// sum is add without the event.
func (in *Input) sum(v *[inputFields]int32) {
	in.Direction += v[0]
	in.TargetX += v[1]
	in.TargetY += v[2]
	in.Jump += v[3]
	in.Fire += v[4]
	in.Hook += v[5]
	in.PlayerFlags += v[6]
	in.WantedWeapon += v[7]
	in.NextWeapon += v[8]
	in.PrevWeapon += v[9]
}

// change sets v to the change of an INPUT_DIFF, and returns the length of the record. It returns 0 unless the target's integers
// have one or two bytes and all others one. It does not branch on their lengths or on zeros, which no processor can predict.
func change(b *[fastBytes]byte, v *[inputFields]int32) int {
	const buttons = 7 // the fields after the target
	w := binary.LittleEndian.Uint64(b[2:])
	x, nx, unusualX := short2(w >> 8)
	y, ny, unusualY := short2(w >> (8 + 8*nx))
	p := 3 + nx + ny
	rest := binary.LittleEndian.Uint64(b[p&15:]) & (1<<(8*buttons) - 1)
	if w&0x80|unusualX|unusualY|rest&0x80808080808080 != 0 || w&0xffffff|rest == 0 {
		return 0
	}
	v[0], v[1], v[2] = short(byte(w)), x, y
	v[3], v[4], v[5] = short(byte(rest)), short(byte(rest>>8)), short(byte(rest>>16))
	v[6], v[7], v[8], v[9] = short(byte(rest>>24)), short(byte(rest>>32)), short(byte(rest>>40)), short(byte(rest>>48))
	return int(p + buttons)
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
	ev.InputDiff = InputDiff{ClientId: r.client, HasInput: client.HasInput, HasDiff: true}
	if !client.HasInput { // the client sent its first input before damage
		ev.InputDiff.Diff = input(&r.v)
		return
	}
	client.Input.add(&r.v, &ev.InputDiff.Diff, &ev.InputDiff.Input)
}

func (d *Decoder) inputNew(c *cursor, ev *Event, r *record) {
	d.begin(c, ev, KindInputNew)
	client := d.namedClient(ev, r.client)
	client.markPresent()
	client.HasInput, client.Input = true, input(&r.v)
	ev.InputNew = InputNew{ClientId: r.client, Input: client.Input, HasInput: true}
}
