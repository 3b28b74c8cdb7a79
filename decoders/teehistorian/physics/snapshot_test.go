package physics_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// lying returns a game in which some moves of each second are not what they were.
func lying(g *game) *game {
	liar := *g
	liar.events = slices.Clone(g.events)
	for i, ev := range liar.events {
		if ev.Kind == teehistorian.KindPlayerDiff && ev.AtTick%50 < 2 && ev.AtTick%200 < 100 {
			moved := *ev
			moved.PlayerDiff.X += 3
			liar.events[i] = &moved
		}
	}
	return &liar
}

// standing is all that a world tells of a tick.
type standing struct {
	tick       int32
	characters [teehistorian.MaxClients / 8]physics.Character
	shots      []physics.Shot
}

// TestSnapshot: a world goes on from its snapshot in any tick as from the front, with the same results, states and facts, and the snapshot is small.
func TestSnapshot(t *testing.T) {
	const most = 1 << 10 // bytes for each character: those of 64 take less than 64 KiB
	games := map[string]*game{"race": race(t)}
	for _, name := range []string{"arms", "ninja", "tele", "freeze", "tune", "crowd"} {
		games[name] = room(t, name)
	}
	for _, name := range []string{"doors", "paused", "mix"} {
		games[name] = open(t, "testdata/melee/"+name+".teehistorian.gz", "testdata/melee/"+name+".map")
	}
	for _, name := range []string{"race", "arms"} { // so that much is not known
		games[name+" with lies"] = lying(games[name])
	}
	for name, g := range games {
		t.Run(name, func(t *testing.T) {
			var all, rest []physics.Result
			var states, later []standing
			var facts, laterFacts []string
			random := rand.New(rand.NewPCG(1, 2))
			taking := func(to *[]physics.Result) func(*physics.Result) {
				return func(r *physics.Result) {
					kept := *r
					kept.Effects = nil
					*to = append(*to, kept)
				}
			}
			world := physics.New(g.header, g.tiles, taking(&all))
			restored := physics.New(g.header, g.tiles, taking(&rest))
			world.Tell()
			restored.Tell()
			restores := 0
			for _, ev := range g.events {
				if ev.Kind == teehistorian.KindTick {
					states = append(states, stand(world, ev.AtTick-1))
					later = append(later, stand(restored, ev.AtTick-1))
				}
				world.Apply(ev)
				restored.Apply(ev)
				facts, laterFacts = tellings(world, facts), tellings(restored, laterFacts)
				if restored.Settled() != (ev.Kind == teehistorian.KindTick) {
					t.Fatalf("settled behind %v in tick %d", ev.Kind, ev.AtTick)
				}
				if ev.Kind != teehistorian.KindTick || len(states) != 5 && random.IntN(10) > 0 {
					continue
				}
				snapshot := restored.Snapshot(nil)
				if n := len(states[len(states)-1].present()); len(snapshot) > 2<<10+n*most {
					t.Fatalf("%d bytes for %d characters", len(snapshot), n)
				}
				var err error
				if restored, err = restored.Restored(snapshot); err != nil {
					t.Fatal(err)
				}
				restores++
			}
			world.Close()
			restored.Close()
			if restores == 0 || !reflect.DeepEqual(all, rest) || !reflect.DeepEqual(all, g.play()) {
				t.Errorf("after %d restorations the results are others", restores)
			}
			if !slices.Equal(facts, laterFacts) || len(facts) == 0 {
				t.Errorf("%d facts, and after restorations %d", len(facts), len(laterFacts))
			}
			for i := range states {
				if !reflect.DeepEqual(states[i], later[i]) {
					t.Fatalf("in tick %d things stand otherwise: %+v, %+v", states[i].tick, states[i].present(), later[i].present())
				}
			}
		})
	}
}

func stand(w *physics.World, tick int32) (s standing) {
	w.Settle(tick)
	s.tick = tick
	for id := range s.characters {
		s.characters[id], _ = w.Character(int32(id))
	}
	for n := 0; ; n++ {
		shot, ok := w.Shot(n)
		if !ok {
			return s
		}
		s.shots = append(s.shots, shot)
	}
}

func (s *standing) present() (list []physics.Character) {
	for _, c := range s.characters {
		if c != (physics.Character{}) {
			list = append(list, c)
		}
	}
	return list
}

// TestSnapshotBad: bytes that are no snapshot are refused, or give a world that can be played.
func TestSnapshotBad(t *testing.T) {
	g := room(t, "arms")
	world := physics.New(g.header, g.tiles, func(*physics.Result) {})
	begin := 0
	for ; begin < len(g.events)/2 || !world.Settled(); begin++ {
		world.Apply(g.events[begin])
	}
	good := world.Snapshot(nil)
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		bad := append([]byte(nil), good...)
		for range random.IntN(3) + 1 {
			bad[random.IntN(len(bad))] = byte(random.Uint32())
		}
		bad = bad[:len(bad)-random.IntN(2)*random.IntN(len(bad))]
		restored, err := world.Restored(bad)
		if err != nil {
			if !errors.Is(err, physics.ErrSnapshot) {
				t.Fatal(err)
			}
			continue
		}
		for _, ev := range g.events[begin:min(begin+20, len(g.events))] {
			restored.Apply(ev)
		}
	}
}
