package dem

import "math"

// TicksPerSecond returns the speed of the demo's clock. Before the server's facts were read, which is before the first tick, it
// is that of Dota 2.
func (d *Decoder) TicksPerSecond() float64 {
	return math.Round(1 / float64(d.match.interval)) // the speeds of games are whole numbers
}
