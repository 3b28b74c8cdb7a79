package physics_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// moving is how a character moves, as a server's snapshot tells it: velocities in 1/256.
type moving struct {
	x, y, velX, velY int32
	hook             physics.HookState
	hookX, hookY     int32
	hooked           int32
}

// TestTold: where a character is proven it moves as the server itself told, in the demo that it recorded of the same game
// (bench/teehistorian writes the files), not only is where the recording has it.
func TestTold(t *testing.T) {
	for _, test := range []struct {
		name   string
		proven int // at least, of a thousand
	}{
		{"brawl", 1000}, // many who hook, hammer and shoot one another, on 20.1.1
		{"ninja", 850},  // of 16.4, whose recordings leave open when inputs came into effect
		{"speed", 850},  // of 16.4, with speedups that are not calculated there
	} {
		t.Run(test.name, func(t *testing.T) {
			path := "testdata/told/" + test.name
			g := open(t, path+".teehistorian.gz", path+".map")
			want := told(t, path+".told.gz")
			all, proven := 0, 0
			world := physics.New(g.header, g.tiles, func(*physics.Result) {})
			for _, ev := range g.events {
				if ev.Kind == teehistorian.KindTick {
					tick := ev.AtTick - 1
					world.Settle(tick)
					for id := range int32(teehistorian.MaxClients) {
						c, ok := world.Character(id)
						was, known := want[[2]int32{tick, id}]
						if !ok || !known {
							continue
						}
						if all++; c.Mark != physics.Proven && c.Mark != physics.Appeared {
							continue
						}
						proven++
						is := moving{c.X, c.Y, int32(c.VelX * 256), int32(c.VelY * 256), c.Hook, c.HookX, c.HookY, c.Hooked}
						if c.Hook == physics.HookIdle {
							is.hookX, is.hookY = 0, 0
						}
						if is != was {
							t.Fatalf("tick %d, client %d: %+v, but the server told %+v", tick, id, is, was)
						}
					}
				}
				world.Apply(ev)
			}
			if all < len(want)*99/100 || proven*1000 < all*test.proven {
				t.Errorf("%d of %d told are there, %d proven", all, len(want), proven)
			}
		})
	}
}

func told(t *testing.T, path string) map[[2]int32]moving {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[[2]int32]moving{}
	for s := bufio.NewScanner(lines); s.Scan(); {
		var at [2]int32
		var m moving
		if _, err := fmt.Sscan(s.Text(), &at[0], &at[1], &m.x, &m.y, &m.velX, &m.velY, &m.hook, &m.hookX, &m.hookY, &m.hooked); err != nil {
			t.Fatal(err)
		}
		all[at] = m
	}
	return all
}
