package teehistorian

import (
	"math"

	"github.com/replayd/replayd/decoders"
)

// advance begins the next tick when a PLAYER record of client id implies it. Servers write characters in ascending
// order of client ids, so an id that is not above the last one belongs to the next tick. In that case advance makes ev
// the tick's event and does not consume the record. The next call decodes the record in the new tick.
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
	d.index = decoders.Room
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
	client := d.namedClient(ev, id)
	if client.Alive {
		warn(ev, WarningPlayerPresent)
	}
	client.markPresent()
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

// character returns the client that a PLAYER record names and sets prev. If the client has no character, it warns and
// creates one at 0, 0.
func (d *Decoder) character(ev *Event, id int32) *Client {
	d.state.prev = id
	client := d.namedClient(ev, id)
	if !client.Alive {
		warn(ev, WarningPlayerAbsent)
		client.Alive, client.X, client.Y = true, 0, 0
	}
	return client
}
