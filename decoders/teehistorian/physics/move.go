package physics

import "math"

// ramp returns the share of a speed sideways that a fast character has.
func (t *tuning) ramp(speed float32) float32 {
	if speed < t[rampStart] {
		return 1
	}
	return 1 / float32(math.Pow(float64(t[rampCurvature]), float64((speed-t[rampStart])/t[rampRange])))
}

// move moves a character by its velocity, as far as walls and others let it.
func (w *World) move(t *tee) {
	c := &t.core
	tune := t.tune
	ramp := tune.ramp(float32(c.vel.length() * ticksPerSecond))
	c.vel.x = float32(c.vel.x * ramp)
	before := c.vel
	next := w.slide(c, tune)
	c.wall = 0
	switch {
	case !(c.vel.x < 0.001 && c.vel.x > -0.001):
		c.wallReady = true
	case before.x > 0:
		c.wall = 1
	case before.x < 0:
		c.wall = 2
	}
	c.vel.x = float32(c.vel.x * (1 / ramp))
	if c.super || tune[playerCollision] != 0 && !c.noCollision && !c.solo {
		next = w.bump(t, next)
	}
	c.pos = next
}

// slide returns where a character's velocity leads, and takes from the velocity what walls stop.
func (w *World) slide(c *core, tune *tuning) vec {
	pos, vel := c.pos, c.vel
	length := vel.length()
	if !(length > 0.00001) {
		return pos
	}
	steps := cut(min(length, maxSpeed*2))
	share := 1 / float32(steps+1)
	var bounce vec // the share of a velocity that walls turn round
	if w.release >= firstElastic {
		bounce = vec{min(max(tune[elasticityX], -1), 1), min(max(tune[elasticityY], -1), 1)}
	}
	for range steps + 1 {
		if vel == (vec{}) {
			break
		}
		next := pos.add(vel.mul(share))
		if next == pos {
			break
		}
		if w.stuck(next.x, next.y) {
			down, side := w.stuck(pos.x, next.y), w.stuck(next.x, pos.y)
			if !down && !side {
				down, side = true, true
			}
			if down {
				if vel.y > 0 && bounce.y > 0 {
					c.jumped &^= jumpUsed
					c.done = 0
				}
				next.y = pos.y
				vel.y = float32(vel.y * -bounce.y)
			}
			if side {
				next.x = pos.x
				vel.x = float32(vel.x * -bounce.x)
			}
		}
		pos = next
	}
	c.vel = vel
	return pos
}

// stuck reports whether a corner of a character at a place is in a wall.
func (w *World) stuck(x, y float32) bool {
	m := w.tiles
	return m.solid(x-half, y-half) || m.solid(x+half, y-half) || m.solid(x-half, y+half) || m.solid(x+half, y+half)
}

// bump returns where a character on its way to a place comes to before it is inside of another one.
func (w *World) bump(t *tee, next vec) vec {
	c := &t.core
	way := c.pos.sub(next).length()
	if !(way > 0) || len(w.present) < 2 {
		return next
	}
	reach := way + size + 1
	around := w.close[:0]
	for _, other := range w.present {
		if other != t && !other.core.noCollision && w.together(t, other) && other.core.pos.sub(c.pos).length() < reach {
			around = append(around, other)
		}
	}
	w.close = around
	if len(around) == 0 {
		return next
	}
	last := c.pos
	for i := range cut(way + 1) {
		share := float32(i) / way
		pos := c.pos.toward(next, share)
		for _, other := range around {
			away := pos.sub(other.core.pos).length()
			if !(away < size) {
				continue
			}
			w.met(t, other)
			switch {
			case share > 0:
				return last
			case next.sub(other.core.pos).length() > away:
				return next
			}
			return c.pos
		}
		last = pos
	}
	return next
}

// round leaves of a state what the server's messages to clients hold, from which the server goes on.
func (c *core) round() {
	c.pos, c.vel = c.pos.whole(), c.vel.fine()
	c.hook.at, c.hook.dir = c.hook.at.whole(), c.hook.dir.fine()
}
