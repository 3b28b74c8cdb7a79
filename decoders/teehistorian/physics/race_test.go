package physics_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// TestRace plays a game of a real server: each tick of six players who run, jump, hook, fall, freeze, collide and hit one another
// is proven.
func TestRace(t *testing.T) {
	g := race(t)
	results := g.play()
	marks, _ := count(results)
	if marks[0] < 20_000 || marks[1]+marks[2] != 0 {
		t.Errorf("proven, corrected and unknown are %v", marks)
	}
	again := g.play()
	if !reflect.DeepEqual(results, again) {
		t.Error("playing it again gives something else")
	}
}

// TestTampered moves a character in a single tick, or from a tick on for a while, and expects that it is found in that tick, or in the next one:
// in an old recording it may be where it would be if an input had come into effect a tick later, which does not last.
func TestTampered(t *testing.T) {
	for name, g := range map[string]*game{"race": race(t), "arms": room(t, "arms"), "ninja": room(t, "ninja")} {
		t.Run(name, func(t *testing.T) { tamper(t, g) })
	}
}

func tamper(t *testing.T, g *game) {
	honest := g.play()
	runs := 16
	if n, err := strconv.Atoi(os.Getenv("TAMPER")); err == nil {
		runs = n
	}
	moves := []int{}
	for i := range g.events {
		if g.events[i].Kind == teehistorian.KindPlayerDiff {
			moves = append(moves, i)
		}
	}
	proven := map[[2]int32]bool{}
	for _, r := range honest {
		proven[[2]int32{r.Tick, r.ClientID}] = r.Mark == physics.Proven
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range runs {
		at := moves[random.IntN(len(moves))]
		ev := g.events[at]
		id, tick := ev.PlayerDiff.ClientId, ev.AtTick
		if !proven[[2]int32{tick, id}] {
			continue
		}
		dx, dy := int32(random.IntN(9)-4), int32(random.IntN(9)-4)
		if dx == 0 && dy == 0 {
			dx = 1
		}
		length := int32(1)
		if random.IntN(2) == 0 {
			length = int32(random.IntN(100))
		}
		tampered := *g
		tampered.events = slices.Clone(g.events)
		for i, e := range tampered.events[at:] {
			if e.AtTick > tick+length {
				break
			}
			if e.Kind == teehistorian.KindPlayerDiff && e.PlayerDiff.ClientId == id {
				moved := *e
				moved.PlayerDiff.X += dx
				moved.PlayerDiff.Y += dy
				tampered.events[at+i] = &moved
			}
		}
		found := slices.ContainsFunc(tampered.play(), func(r physics.Result) bool {
			return (r.Tick == tick || r.Tick == tick+1) && r.ClientID == id && r.Mark == physics.Corrected
		})
		if !found {
			t.Errorf("client %d is moved by %d, %d from tick %d on for %d: not found", id, dx, dy, tick, length)
		}
	}
}
