package physics

import "math"

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
	case tile.MaxSpeed == 0:
		vel = vel.add(dir.mul(force))
	case tile.Force == 255:
		vel = dir.mul(float32(tile.MaxSpeed / 5))
	default:
		// What is missing to the limit in the speedup's direction, but at most its force.
		left := limit/5 - vel.dot(dir)
		switch {
		case math.Abs(math.Trunc(float64(left))) <= float64(force):
			vel = vel.add(dir.mul(left))
		case left > 0:
			vel = vel.add(dir.mul(force))
		default:
			vel = vel.add(dir.mul(-force))
		}
	}
	c.vel = c.noMove.clamp(vel)
}
