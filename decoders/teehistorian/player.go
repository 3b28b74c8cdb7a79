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
	s.tick++
	s.prev = -1
	d.index = decoders.Room
	d.stamp(ev, KindTick)
	ev.Tick = Tick{Implicit: true}
	return true
}

func (d *Decoder) tickSkip(c *cursor, ev *Event, r *record) {
	s := &d.state
	if r.v[0] < 0 {
		warn(ev, WarningTickBackward)
	}
	s.tick += r.v[0] + 1
	s.prev = -1
	d.begin(c, ev, KindTick)
	ev.Tick = Tick{Skipped: r.v[0]}
}

// noPlace is the X and Y of a character whose place is not known.
const noPlace = math.MinInt32

func (d *Decoder) playerDiff(c *cursor, ev *Event, r *record) {
	if d.advance(ev, r.client) {
		return
	}
	d.begin(c, ev, KindPlayerDiff)
	client := d.character(ev, r.client)
	if !client.Alive { // it appeared before damage
		ev.PlayerDiff = PlayerDiff{ClientId: r.client, Dx: r.v[0], Dy: r.v[1], X: noPlace, Y: noPlace}
		return
	}
	client.move(&ev.PlayerDiff, r.client, r.v[0], r.v[1])
}

func (d *Decoder) playerNew(c *cursor, ev *Event, r *record) {
	if d.advance(ev, r.client) {
		return
	}
	d.begin(c, ev, KindPlayerNew)
	client := d.character(ev, r.client)
	client.markPresent()
	client.settled, client.Alive, client.X, client.Y = true, true, r.v[0], r.v[1]
	ev.PlayerNew = PlayerNew{ClientId: r.client, X: client.X, Y: client.Y}
}

func (d *Decoder) playerOld(c *cursor, ev *Event, r *record) {
	if d.advance(ev, r.client) {
		return
	}
	d.begin(c, ev, KindPlayerOld)
	client := d.character(ev, r.client)
	ev.PlayerOld = PlayerOld{ClientId: r.client, X: client.X, Y: client.Y}
	if !client.Alive { // it appeared before damage
		ev.PlayerOld.X, ev.PlayerOld.Y = noPlace, noPlace
	}
	client.settled, client.Alive = true, false
}

// character returns the client that a PLAYER record names and sets prev.
func (d *Decoder) character(ev *Event, id int32) *Client {
	d.state.prev = id
	return d.namedClient(ev, id)
}
