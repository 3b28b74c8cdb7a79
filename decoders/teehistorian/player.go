package teehistorian

import "math"

// advance begins the tick after this one when a PLAYER record of that client implies it: servers write characters in
// ascending order of client ids, so that an id which is not above the last one belongs to the next tick. It then makes
// ev the tick's event, and the record stays for the next call, which finds the tick marked.
func (d *Decoder) advance(ev *Event, id int32) bool {
	s := &d.state
	if id > s.prev {
		return false
	}
	if s.tick == math.MaxInt32 {
		warn(ev, WarningTickOverflow)
	}
	s.tick++
	s.prev = -1
	d.index = 1
	ev.AtTick, ev.Kind, ev.Tick = s.tick, KindTick, Tick{Implicit: true}
	return true
}

func (d *Decoder) tickSkip(c *cursor, ev *Event) (bool, error) {
	skipped := c.int()
	if c.cut {
		return false, nil
	}
	s := &d.state
	tick := int64(s.tick) + int64(skipped) + 1
	if tick > math.MaxInt32 || tick < math.MinInt32 {
		warn(ev, WarningTickOverflow)
	}
	if skipped < 0 {
		warn(ev, WarningTickBackward)
	}
	s.tick = int32(tick)
	s.prev = -1
	d.begin(c, ev, KindTick)
	ev.Tick = Tick{Skipped: skipped}
	return true, nil
}

func (d *Decoder) playerDiff(c *cursor, ev *Event, id int32) (bool, error) {
	dx, dy := c.int(), c.int()
	if c.cut {
		return false, nil
	}
	if err := d.checkClient(id, id); err != nil {
		return false, err
	}
	if d.advance(ev, id) {
		return true, nil
	}
	d.begin(c, ev, KindPlayerDiff)
	client := d.character(ev, id)
	client.X += dx
	client.Y += dy
	ev.PlayerDiff = PlayerDiff{ClientId: id, Dx: dx, Dy: dy, X: client.X, Y: client.Y}
	return true, nil
}

func (d *Decoder) playerNew(c *cursor, ev *Event) (bool, error) {
	id, x, y := c.int(), c.int(), c.int()
	if c.cut {
		return false, nil
	}
	if err := d.checkClient(id, idPlayerNew); err != nil {
		return false, err
	}
	if d.advance(ev, id) {
		return true, nil
	}
	d.begin(c, ev, KindPlayerNew)
	d.state.prev = id
	client := d.known(ev, id)
	if client.Alive {
		warn(ev, WarningPlayerPresent)
	}
	client.appear()
	client.Alive, client.X, client.Y = true, x, y
	ev.PlayerNew = PlayerNew{ClientId: id, X: x, Y: y}
	return true, nil
}

func (d *Decoder) playerOld(c *cursor, ev *Event) (bool, error) {
	id := c.int()
	if c.cut {
		return false, nil
	}
	if err := d.checkClient(id, idPlayerOld); err != nil {
		return false, err
	}
	if d.advance(ev, id) {
		return true, nil
	}
	d.begin(c, ev, KindPlayerOld)
	client := d.character(ev, id)
	client.Alive = false
	ev.PlayerOld = PlayerOld{ClientId: id, X: client.X, Y: client.Y}
	return true, nil
}

// character returns a client whose PLAYER record was read and that should have a character. Where it has none, one is
// made up at 0, 0.
func (d *Decoder) character(ev *Event, id int32) *Client {
	d.state.prev = id
	client := d.known(ev, id)
	if !client.Alive {
		warn(ev, WarningPlayerAbsent)
		client.Alive, client.X, client.Y = true, 0, 0
	}
	return client
}
