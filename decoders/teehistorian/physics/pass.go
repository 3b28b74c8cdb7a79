package physics

import "github.com/replayd/replayd/decoders/teehistorian"

// pass does what the tiles do through which a character came, and reports whether it lives.
func (w *World) pass(t *tee) bool {
	c := &t.core
	m := w.tiles
	w.settleJumps(c)
	at := t.before.pos // where a ninja was, not where it dashes to
	here := m.at(at)
	if w.kills(at) || m.outside(at) {
		if !c.super {
			return false
		}
	}
	w.speedUp(t, here)
	from := c.previous
	length := from.sub(at).length()
	if length == 0 {
		w.touch(t, here, m.odd[here])
		return true
	}
	touched := false
	last := 0
	for i := range cut(min(length, 1<<13) + 1) {
		place := m.at(from.toward(at, float32(i)/length))
		if place != last && m.odd[place] {
			last, touched = place, true
			w.touch(t, place, true)
		}
	}
	if !touched {
		w.touch(t, here, m.odd[here])
	}
	return true
}

// settleJumps marks the jumps that a character has left.
func (w *World) settleJumps(c *core) {
	switch {
	case c.jumps <= 0:
		c.jumped |= jumpUsed
	case c.jumps == 1 && c.jumped > 0:
		c.jumped |= jumpUsed
	case c.done < c.jumps-1 && c.jumped > 1:
		c.jumped = jumpHeld
	}
	if (c.super || c.unlimited) && c.jumped > 1 {
		c.jumped = jumpHeld
	}
	if c.endless {
		c.hook.ticks = 0
	}
}

// kills reports whether a character at a place touches a deadly tile.
func (w *World) kills(p vec) bool {
	const third = float32(size) / 3
	m := w.tiles
	for _, d := range [...]vec{{third, -third}, {third, third}, {-third, -third}, {-third, third}} {
		place := m.near(p.add(d))
		if m.game[place] == tileDeath || m.index(LayerFront, place) == tileDeath {
			return true
		}
	}
	return false
}

// touch does what a tile does to a character. Without odd the tile does nothing.
func (w *World) touch(t *tee, place int, odd bool) {
	c := &t.core
	m := w.tiles
	if m.stops {
		c.held = w.restrictions(t, t.before.pos, place)
	}
	if !odd {
		c.refilled = false
		return
	}
	game, front := m.game[place], m.index(LayerFront, place)
	is := func(tile uint8) bool { return game == tile || front == tile }
	t.starts = t.starts || is(tileStart)
	t.finishes = t.finishes || is(tileFinish)
	switch {
	case is(tileFreeze):
		if !c.super && !c.deep {
			w.freeze(t, w.freezeTicks, teehistorian.FreezeCauseTile)
		}
	case is(tileUnfreeze) && !c.deep:
		t.thaw(teehistorian.ThawCauseTile, -1)
	}
	if !c.super {
		t.keep(&c.deep, is(tileDeep), is(tileUndeep), teehistorian.FreezeCauseDeep)
		t.keep(&c.live, is(tileLive), is(tileUnlive), teehistorian.FreezeCauseLive)
	}
	for _, s := range [...]struct {
		on, off uint8
		what    *bool
		value   bool
	}{
		{tileEndlessOn, tileEndlessOff, &c.endless, true},
		{tileHitOn, tileHitOff, &c.noHit, false},
		{tileSoloOn, tileSoloOff, &c.solo, true},
		{tileCollisionOn, tileCollisionOff, &c.noCollision, false},
		{tileHookOn, tileHookOff, &c.noHook, false},
		{tileUnlimitedOn, tileUnlimitedOff, &c.unlimited, true},
		{tileJetpackOn, tileJetpackOff, &c.jetpack, true},
	} {
		if is(s.on) {
			*s.what = s.value
		} else if is(s.off) {
			*s.what = !s.value
		}
	}
	for layer := range layers {
		if tile := m.tile(layer, place); acts(layer, tile) {
			t.note(Effect{Layer: layer, Tile: tile.Index})
		}
	}
	t.armed = t.armed || c.jetpack || is(tileTeleGun) || is(tileTeleGrenade) || is(tileTeleLaser)
	if is(tileWallJump) && c.vel.y > 0 && c.wall != 0 && c.wallReady {
		c.wallReady = false
		c.done = max(c.jumps-2, 0)
		c.jumped = jumpHeld
	}
	if is(tileRefillJumps) {
		if !c.refilled {
			c.done, c.jumped, c.refilled = 0, 0, true
		}
	} else {
		c.refilled = false
	}
	if c.vel.y > 0 && c.held&noDown != 0 {
		c.jumped, c.done = 0, 0
	}
	c.vel = c.held.clamp(c.vel)
	if m.others[LayerSwitch] != nil {
		w.touchSwitch(t, m.others[LayerSwitch][place])
	}
	if m.others[LayerTele] != nil {
		w.teleport(t, m.others[LayerTele][place])
	}
}

// freeze freezes a character, but not twice in a second.
func (w *World) freeze(t *tee, ticks int32, cause teehistorian.FreezeCause) {
	c := &t.core
	if ticks <= 0 || c.super || c.frozen > ticks || c.frozenAt >= w.tick-ticksPerSecond {
		return
	}
	c.frozen, c.frozenAt = ticks, w.tick
	t.froze = cause
}

// keep has a tile begin or end a freeze that stays.
func (t *tee) keep(frozen *bool, begin, end bool, cause teehistorian.FreezeCause) {
	switch {
	case begin:
		*frozen, t.froze = true, cause
	case end && *frozen:
		*frozen, t.thawed, t.thawedBy = false, teehistorian.ThawCauseTile, -1
	}
}

// thaw ends a freeze that passes.
func (t *tee) thaw(cause teehistorian.ThawCause, by int32) {
	if t.core.frozen > 0 {
		t.thawed, t.thawedBy = cause, by
	}
	t.core.unfreeze()
}

func (c *core) unfreeze() {
	if c.frozen > 0 {
		c.frozen = 0
		c.frozenAt = 0
		c.arms.thawed = true
		if !c.arms.has(c.arms.active) {
			c.arms.active = gun
		}
	}
}

// teleport does what a tile of the layer of teleporters does.
func (w *World) teleport(t *tee, tile Tile) {
	c := &t.core
	exit, still := out{tileTeleOut, tile.Number}, false
	switch tile.Index {
	case tileTeleCheck:
		c.checkpoint = tile.Number
		return
	case tileTeleIn:
	case tileTeleInEvil:
		still = true
	case tileTeleCheckIn, tileTeleCheckInEvil:
		still = tile.Index == tileTeleCheckInEvil
		exit = out{tileTeleCheckOut, c.checkpoint}
		for exit.number > 0 && len(w.tiles.outs[exit]) == 0 {
			exit.number--
		}
	default:
		return
	}
	outs := w.tiles.outs[exit]
	if exit.number == 0 && exit.tile == tileTeleCheckOut {
		outs = w.tiles.starts
	}
	if len(outs) == 0 || c.super {
		return
	}
	t.exits = outs
	c.pos = outs[min(t.exit, len(outs)-1)]
	if still {
		c.vel = vec{}
	}
	if !w.keepHook {
		c.release(hookRetracted)
		if still {
			w.releaseHooked(t)
		}
	}
}

// releaseHooked has everybody let go of a character.
func (w *World) releaseHooked(t *tee) {
	for _, other := range w.present {
		if other.core.hook.player == t.id {
			other.core.release(hookRetracted)
		}
	}
}

// touchSwitch does what a tile of the layer of switches does.
func (w *World) touchSwitch(t *tee, tile Tile) {
	c := &t.core
	switch tile.Index {
	case 0:
	case tileSwitchJump:
		jumps := int32(tile.Delay)
		if jumps == 255 {
			jumps = -1
		}
		if jumps != c.jumps {
			c.jumps = jumps
		}
	case tileFreeze:
		if tile.Number == 0 || w.isOn(t, tile.Index, tile.Number) {
			w.freeze(t, int32(tile.Delay)*ticksPerSecond, teehistorian.FreezeCauseSwitch)
		}
	case tileSwitchTimedOpen, tileSwitchTimedClose:
		end := w.tick + 1 + int32(tile.Delay)*ticksPerSecond
		w.turn(t, tile.Number, position{on: tile.Index == tileSwitchTimedOpen, timed: true, end: end})
	case tileSwitchOpen, tileSwitchClose:
		w.turn(t, tile.Number, position{on: tile.Index == tileSwitchOpen})
	case tileSwitchAddTime, tileSwitchSubtractTime:
	default:
		if tile.Index < tileEntities {
			w.doubt(t, CauseTile, tile.Index, false)
		}
	}
}

// restrictions returns the ways in which a character at a place cannot move. here is the tile in which it is, or -1.
func (w *World) restrictions(t *tee, p vec, here int) movement {
	m := w.tiles
	if !m.stops {
		return 0
	}
	const far = 18
	if here < 0 {
		here = m.near(p)
	}
	r := m.stop(here, true, noRight|noDown|noLeft|noUp)
	for _, side := range [...]struct {
		at  vec
		way movement
	}{{vec{far, 0}, noRight}, {vec{0, far}, noDown}, {vec{-far, 0}, noLeft}, {vec{0, -far}, noUp}} {
		place := m.near(p.add(side.at))
		r |= m.stop(place, false, side.way)
		if len(m.doors) > 0 && m.doors[place] != 0 && w.isOn(t, tileDoor, m.doors[place]) {
			t.note(Effect{Layer: LayerSwitch, Tile: tileDoor})
			r |= side.way
		}
	}
	return r
}

// stop returns what the stoppers at a place forbid, of the ways in mask. Who is in a stopper's own tile is held by those of one way only.
func (m *Map) stop(place int, within bool, mask movement) (r movement) {
	for _, layer := range [...]Layer{LayerGame, LayerFront} {
		tile := m.tile(layer, place)
		switch turn := tile.Flags & turns; tile.Index {
		case tileStop:
			switch turn {
			case 0, mirrored ^ turnBack:
				r |= noDown
			case turnRight, mirrored ^ turnLeft:
				r |= noLeft
			case turnBack, mirrored:
				r |= noUp
			case turnLeft, mirrored ^ turnRight:
				r |= noRight
			}
		case tileStopBoth:
			if within {
				continue
			}
			if turn&turnRight == 0 {
				r |= noDown | noUp
			} else {
				r |= noLeft | noRight
			}
		case tileStopAll:
			if !within {
				r |= noRight | noDown | noLeft | noUp
			}
		}
	}
	return r & mask
}
