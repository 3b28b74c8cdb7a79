package physics_test

import "testing"

// BenchmarkRace plays the race. Its metric is the number of characters' ticks in a second: 64 players have 3,200 in real time.
func BenchmarkRace(b *testing.B) {
	g := race(b)
	var ticks int
	for b.Loop() {
		marks, _ := count(g.play())
		ticks += marks[0]
	}
	b.ReportMetric(float64(ticks)/b.Elapsed().Seconds(), "ticks/s")
}
