package physics_test

import (
	"os"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// BenchmarkWorld plays games. Its metric is the number of characters' ticks in a second: 64 players have 3,200 in real time.
func BenchmarkWorld(b *testing.B) {
	run := func(b *testing.B, g *game) {
		b.ReportAllocs()
		var ticks int
		for b.Loop() {
			marks, _ := count(g.play())
			ticks += marks[0] + marks[1] + marks[2]
		}
		b.ReportMetric(float64(ticks)/b.Elapsed().Seconds(), "ticks/s")
	}
	b.Run("race", func(b *testing.B) { run(b, race(b)) })
	b.Run("crowd", func(b *testing.B) {
		const recording, tiles = corpus + "teehistorian/ddnet-16.4/96998060-9642-4769-81f2-fa69be468972.teehistorian", served + "/Sunny Side Up.map"
		if _, err := os.Stat(tiles); err != nil {
			b.Skip("the server's maps are absent")
		}
		run(b, open(b, recording, tiles))
	})
}

// TestAllocations plays a game again and again: a world allocates when it is made and when clients come, and nothing in each tick.
func TestAllocations(t *testing.T) {
	g := room(t, "arms")
	ticks := 0
	allocations := testing.AllocsPerRun(2, func() {
		ticks = 0
		world := physics.New(g.header, g.tiles, func(*physics.Result) { ticks++ })
		for _, ev := range g.events {
			world.Apply(ev)
		}
		world.Close()
	})
	if ticks < 8000 || allocations > 300 {
		t.Errorf("%v allocations in %d ticks", allocations, ticks)
	}
}
