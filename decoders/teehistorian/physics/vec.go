package physics

import "math"

// vec is a place, a direction or a velocity. Products are converted before they are added, so that no processor's fused
// instructions keep digits that the server's do not.
type vec struct{ x, y float32 }

func (a vec) add(b vec) vec { return vec{a.x + b.x, a.y + b.y} }

func (a vec) sub(b vec) vec { return vec{a.x - b.x, a.y - b.y} }

func (a vec) mul(f float32) vec { return vec{float32(a.x * f), float32(a.y * f)} }

func (a vec) dot(b vec) float32 { return float32(a.x*b.x) + float32(a.y*b.y) }

func (a vec) length() float32 { return float32(math.Sqrt(float64(a.dot(a)))) }

// toward returns the place at the share f of the way from a to b.
func (a vec) toward(b vec, f float32) vec { return a.add(b.sub(a).mul(f)) }

// unit returns the direction of a, or zero if it has none.
func (a vec) unit() vec {
	length := a.length()
	if length == 0 {
		return vec{}
	}
	return a.mul(1 / length)
}

// nearest returns the place between from and to that is nearest to a. It reports false when from and to are one place.
func (a vec) nearest(from, to vec) (vec, bool) {
	way := to.sub(from)
	square := way.dot(way)
	if square <= 0 {
		return vec{}, false
	}
	share := a.sub(from).dot(way) / square
	return from.add(way.mul(min(max(share, 0), 1))), true
}

// whole rounds half away from zero. What no int32 holds becomes the lowest one, as on the server's processor.
func whole(f float32) int32 {
	if f > 0 {
		f += 0.5
	} else {
		f -= 0.5
	}
	return cut(f)
}

// cut drops the digits behind the point.
func cut(f float32) int32 {
	if !(f > -1<<31 && f < 1<<31) {
		return -1 << 31
	}
	return int32(f)
}

func (a vec) whole() vec { return vec{float32(whole(a.x)), float32(whole(a.y))} }

// fine rounds to 1/256.
func (a vec) fine() vec { return vec{fine(a.x), fine(a.y)} }

func fine(f float32) float32 { return float32(whole(float32(f*256))) / 256 }

// accelerate adds by to speed, but not beyond the limits. Speeds that are beyond them already stay.
func accelerate(limit, speed, by float32) float32 {
	if by < 0 {
		if speed < -limit {
			return speed
		}
		return max(speed+by, -limit)
	}
	if speed > limit {
		return speed
	}
	return min(speed+by, limit)
}
