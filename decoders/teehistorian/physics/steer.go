package physics

import "github.com/replayd/replayd/decoders/teehistorian"

// grounded reports whether a character stands.
func (w *World) grounded(c *core) bool {
	return w.tiles.solid(c.pos.x+half, c.pos.y+half+5) || w.tiles.solid(c.pos.x-half, c.pos.y+half+5)
}

// steer does what a character's keys and its hook do to its velocity.
func (w *World) steer(t *tee, in *teehistorian.Input) {
	c := &t.core
	tune := t.tune
	c.noMove = w.restrictions(t, c.pos, -1)
	grounded := w.grounded(c)
	aim := vec{float32(in.TargetX), float32(in.TargetY)}
	if in.TargetX == 0 && in.TargetY == 0 {
		aim.y = -1
	}
	aim = aim.unit()
	c.vel.y += tune[gravity]
	limit, accel, friction := tune[airSpeed], tune[airAccel], tune[airFriction]
	if grounded {
		limit, accel, friction = tune[groundSpeed], tune[groundAccel], tune[groundFriction]
	}

	c.direction = min(max(in.Direction, -1), 1)
	w.jump(c, tune, in.Jump != 0, grounded)
	if in.Hook == 0 {
		c.release(hookIdle)
	} else if c.hook.state == hookIdle {
		c.hook = hook{
			state: hookFlying, at: c.pos.add(aim.mul(size).mul(1.5)), dir: aim, player: -1,
			ticks: cut(ticksPerSecond * (1.25 - tune[hookDuration])),
		}
	}
	if grounded {
		c.jumped &^= jumpUsed
		c.done = 0
	}
	switch {
	case c.direction < 0:
		c.vel.x = accelerate(limit, c.vel.x, -accel)
	case c.direction > 0:
		c.vel.x = accelerate(limit, c.vel.x, accel)
	default:
		c.vel.x = float32(c.vel.x * friction)
	}
	w.throw(t, aim)
	w.drag(t)
	w.nudge(t)
	if c.vel.length() > maxSpeed {
		c.vel = c.vel.unit().mul(maxSpeed)
	}
}

func (w *World) jump(c *core, tune *tuning, held, grounded bool) {
	switch {
	case !held:
		c.jumped &^= jumpHeld
	case c.jumped&jumpHeld != 0:
	case grounded && (c.jumped&jumpUsed == 0 || c.jumps != 0):
		c.vel.y = -tune[groundJump]
		c.jumped |= jumpHeld
		if c.jumps <= 1 {
			c.jumped |= jumpUsed
		}
		c.done = 1
	case c.jumped&jumpUsed == 0:
		c.vel.y = -tune[airJump]
		c.jumped |= jumpHeld | jumpUsed
		c.done++
	}
}

// throw moves a hook that does not hold anything.
func (w *World) throw(t *tee, aim vec) {
	c := &t.core
	tune := t.tune
	h := &c.hook
	switch {
	case h.state == hookIdle:
		h.player, h.at = -1, c.pos
	case h.state >= hookRetracting && h.state < hookRetractEnd:
		h.state++
	case h.state == hookRetractEnd:
		h.state = hookRetracted
	case h.state == hookFlying:
		next := h.at.add(h.dir.mul(tune[hookFireSpeed]))
		from := c.pos
		if h.tele {
			from = h.base
		}
		if from.sub(next).length() > tune[hookLength] {
			h.state = hookRetracting
			next = c.pos.add(next.sub(c.pos).unit().mul(tune[hookLength]))
		}
		hit, next, number := w.hookWay(h.at, next)
		if !c.noHook && tune[playerHooking] != 0 && (h.state == hookFlying || !h.tele) {
			w.catch(t, next)
		}
		if h.state != hookFlying {
			return
		}
		switch hit {
		case hookGround:
			h.state = hookHolding
		case hookSlips:
			h.state = hookRetracting
		case hookTele:
			if outs := w.tiles.outs[out{tileTeleOut, number}]; len(outs) > 0 {
				h.player, h.tele, h.dir = -1, true, aim
				h.at = outs[0].add(aim.mul(size).mul(1.5))
				h.base = h.at
				if len(outs) > 1 {
					w.doubt(t, CauseTile, tileTeleInHook, false)
				}
				return
			}
		}
		h.at = next
	}
}

// catch has a hook that flies to a place take hold of the nearest character on the way.
func (w *World) catch(t *tee, to vec) {
	h := &t.core.hook
	var least float32
	for _, other := range w.present {
		if other == t || !w.together(t, other) {
			continue
		}
		at := other.core.pos
		near, ok := at.nearest(h.at, to)
		if !ok || at.sub(near).length() >= size+2 {
			continue
		}
		if away := h.at.sub(at).length(); h.player < 0 || away < least {
			h.state, h.player, least = hookHolding, other.id, away
		}
	}
}

// drag pulls a character to where its hook holds.
func (w *World) drag(t *tee) {
	c := &t.core
	tune := t.tune
	h := &c.hook
	if h.state != hookHolding {
		return
	}
	if h.player >= 0 {
		other := w.tee(h.player)
		if other == nil || !w.together(t, other) {
			c.release(hookRetracted)
			return
		}
		h.at = other.core.pos
	} else if c.pos.sub(h.at).length() > 46 {
		pull := h.at.sub(c.pos).unit().mul(tune[hookDragAccel])
		if pull.y > 0 {
			pull.y = float32(pull.y * 0.3)
		}
		if pull.x < 0 && c.direction < 0 || pull.x > 0 && c.direction > 0 {
			pull.x = float32(pull.x * 0.95)
		} else {
			pull.x = float32(pull.x * 0.75)
		}
		vel := c.vel.add(pull)
		if speed := vel.length(); speed < tune[hookDragSpeed] || speed < c.vel.length() {
			c.vel = vel
		}
	}
	h.ticks++
	if h.player >= 0 && h.ticks > ticksPerSecond+ticksPerSecond/5 {
		c.release(hookRetracted)
	}
}

// nudgeReach is 28 * 1.45 in float32, which is not the float32 that is nearest to 40.6.
const nudgeReach float32 = 40.600002

// nudge has characters push one another away, and pull whom they hold.
func (w *World) nudge(t *tee) {
	c := &t.core
	tune := t.tune
	for _, other := range w.present {
		if other == t || !w.together(t, other) {
			continue
		}
		o := &other.core
		way := c.pos.sub(o.pos)
		away := way.length()
		if !(away > 0) {
			continue
		}
		dir := way.unit()
		collide := c.super || o.super || !c.noCollision && !o.noCollision && tune[playerCollision] != 0
		if collide && away < size*1.25 {
			w.met(t, other)
			share := float32(0.5)
			if c.vel.length() > 0.0001 {
				share = 1 - (c.vel.unit().dot(dir)+1)/2
			}
			c.vel = c.vel.add(dir.mul(nudgeReach - away).mul(float32(share * 0.75)))
			c.vel = c.vel.mul(0.85)
		}
		if c.noHook || c.hook.player != other.id || tune[playerHooking] == 0 || away <= size*1.5 {
			continue
		}
		w.met(t, other)
		accel := float32(tune[hookDragAccel] * (away / tune[hookLength]))
		limit := tune[hookDragSpeed]
		o.vel = o.noMove.clamp(vec{
			accelerate(limit, o.vel.x, float32(float32(accel*dir.x)*1.5)),
			accelerate(limit, o.vel.y, float32(float32(accel*dir.y)*1.5)),
		})
		c.vel = c.noMove.clamp(vec{
			accelerate(limit, c.vel.x, float32(float32(-accel*dir.x)*0.25)),
			accelerate(limit, c.vel.y, float32(float32(-accel*dir.y)*0.25)),
		})
	}
}
