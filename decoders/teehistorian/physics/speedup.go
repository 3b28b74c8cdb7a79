package physics

import "math"

// firstBoost is the first release that is known to have the second kind of speedups.
const firstBoost = 20

// speedUp does what a speedup does.
func (w *World) speedUp(t *tee, place int) {
	tiles := w.tiles.others[LayerSpeedup]
	if len(tiles) == 0 || tiles[place].Force == 0 {
		return
	}
	c := &t.core
	tile := tiles[place]
	sin, cos := math.Sincos(float64(float32(float32(tile.Angle) * (math.Pi / 180))))
	dir := vec{float32(cos), float32(sin)}
	force, limit := float32(tile.Force), float32(max(tile.MaxSpeed, 5))
	vel := c.vel
	switch {
	case tile.Index == tileBoost:
		if w.release < firstBoost {
			w.doubt(t, CauseTile, tile.Index, false)
			return
		}
		limit = float32(tile.MaxSpeed) / 5
		if limit == 0 {
			limit = max(t.tune[rampRange]/float32(ticksPerSecond*math.Log(float64(max(t.tune[rampCurvature], 1.01)))), t.tune[rampStart]/ticksPerSecond)
		}
		vel = vel.add(dir.mul(min(force, limit-dir.dot(vel))))
	case tile.MaxSpeed == 0:
		vel = vel.add(dir.mul(force))
	case tile.Force == 255:
		vel = dir.mul(float32(tile.MaxSpeed / 5))
	default:
		// What is missing to the limit in the speedup's direction, but at most its force.
		left := limit/5 - measured(vel).dot(measured(dir))
		switch {
		case !(math.Abs(math.Trunc(float64(left))) > float64(force)): // nor with no number
			vel = vel.add(dir.mul(left))
		case left > 0:
			vel = vel.add(dir.mul(force))
		default:
			vel = vel.add(dir.mul(-force))
		}
	}
	c.vel = c.held.clamp(vel)
}

// measured returns a vector as the server measures its angle when it compares two of them: those to the right are upside down, so
// that the angle between a speedup and a character is wrong where one goes to the right and the other to the left. Who does not move
// has an angle that is no number, and so gets a velocity that is none.
func measured(v vec) vec {
	const least = 1e-7
	switch {
	case v == vec{}:
		nan := float32(math.NaN())
		v = vec{nan, nan}
	case v.x > least:
		v.y = -v.y
	case v.x >= 0:
		v = vec{-v.x, -v.y}
	}
	return v
}
