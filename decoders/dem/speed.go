package dem

import "math"

// TicksPerSecond returns the speed of the demo's clock. Until the server's facts are read, which come before the first tick, it
// is Dota 2's speed.
func (d *Decoder) TicksPerSecond() float64 {
	return d.match.speed
}

// setInterval sets the length of a tick.
func (m *match) setInterval(seconds float32) {
	m.interval, m.speed = seconds, math.Round(1/float64(seconds)) // the speeds of games are whole numbers
}
