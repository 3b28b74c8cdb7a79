package teehistorian

import "encoding/binary"

// inputFields is how many integers an input has.
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

// fastInputDiff decodes an INPUT_DIFF that b holds completely. It returns false, having changed nothing, for an unusual
// record.
func (d *Decoder) fastInputDiff(ev *Event, b []byte) bool {
	b = b[:fastBytes]
	id := int(b[1])
	if id >= 0x40 || id >= len(d.state.clients) {
		return false
	}
	client := &d.state.clients[id]
	if !client.HasInput {
		return false
	}
	var v [inputFields]int32
	p := 2
	for i := range v {
		if b[p] < 0x80 {
			v[i] = short(b[p])
			p++
			continue
		}
		value, n, odd := varint(binary.LittleEndian.Uint64(b[p : p+8]))
		if odd {
			return false
		}
		v[i] = value
		p += n
	}
	m := &ev.InputDiff
	m.ClientId, m.HasInput, m.HasDiff = int32(id), true, true
	client.Input.add(&v, &m.Diff, &m.Input)
	ev.AtTick, ev.Kind = d.state.tick, KindInputDiff
	d.index = 0
	d.w.Advance(p)
	return true
}

func (d *Decoder) inputDiff(c *cursor, ev *Event) (bool, error) {
	id, v, whole, err := d.readInput(c, idInputDiff)
	if !whole {
		return false, err
	}
	d.begin(c, ev, KindInputDiff)
	client := d.namedClient(ev, id)
	if !client.HasInput {
		warn(ev, WarningInputAbsent)
		client.HasInput, client.Input = true, Input{}
	}
	ev.InputDiff = InputDiff{ClientId: id, HasInput: true, HasDiff: true}
	client.Input.add(&v, &ev.InputDiff.Diff, &ev.InputDiff.Input)
	return true, nil
}

func (d *Decoder) inputNew(c *cursor, ev *Event) (bool, error) {
	id, v, whole, err := d.readInput(c, idInputNew)
	if !whole {
		return false, err
	}
	d.begin(c, ev, KindInputNew)
	client := d.namedClient(ev, id)
	client.markPresent()
	client.HasInput, client.Input = true, input(&v)
	ev.InputNew = InputNew{ClientId: id, Input: client.Input, HasInput: true}
	return true, nil
}

func (d *Decoder) readInput(c *cursor, record int32) (id int32, v [inputFields]int32, whole bool, err error) {
	id = c.int()
	for i := range v {
		v[i] = c.int()
	}
	if c.cut {
		return 0, v, false, nil
	}
	if err := d.checkClient(id, record); err != nil {
		return 0, v, false, err
	}
	return id, v, true, nil
}
