package teehistorian_test

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// fact is an event of the model: what a server did, in absolute numbers.
type fact struct {
	tick int32
	kind teehistorian.Kind
	id   int32
	x, y int32
	in   [10]int32
}

// TestModel plays games on a model of the server that has ticks, positions and inputs. The decoder must find all of
// them in the file that the model writes.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWriter(simpleHeader)
		var facts []fact
		ids := rapid.SampledFrom([]int32{0, 1, 2, 3, 62, 63, 64, 127, 128, 1023})
		value := rapid.OneOf(rapid.Int32Range(-70, 70), rapid.Int32(), rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32}))
		place := rapid.OneOf(rapid.Int32Range(-70, 70), rapid.Int32Range(-1<<16, 1<<22-1<<16-1))
		alive := map[int32][2]int32{}
		inputs := map[int32][10]int32{}
		joined := map[int32]bool{}

		join := func(tick int32) {
			id := ids.Draw(t, "id")
			joined[id] = true
			w.join(id)
			facts = append(facts, fact{tick: tick, kind: teehistorian.KindJoin, id: id})
		}
		// A file may begin with joins in tick 0, or with none.
		for range rapid.IntRange(0, 3).Draw(t, "early") {
			join(0)
		}
		tick := int32(0)
		for range rapid.IntRange(0, 30).Draw(t, "ticks") {
			tick += rapid.SampledFrom([]int32{1, 1, 1, 1, 2, 5, 1000}).Draw(t, "step")
			w.begin(tick)
			if rapid.IntRange(0, 9).Draw(t, "command") == 0 { // the simulation may cause records before the positions
				w.command(-1, 4, "say", "hello")
				facts = append(facts, fact{tick: tick, kind: teehistorian.KindConsoleCommand, id: -1})
			}
			for _, id := range []int32{0, 1, 2, 3, 62, 63, 64, 127, 128, 1023} {
				f := fact{tick: tick, id: id}
				at, here := alive[id]
				switch rapid.IntRange(0, 5).Draw(t, "do") {
				case 0, 1, 2:
					if !here {
						continue
					}
					f.kind, f.x, f.y = teehistorian.KindPlayerDiff, place.Draw(t, "x"), place.Draw(t, "y")
					if [2]int32{f.x, f.y} == at { // servers write no move by nothing
						continue
					}
					w.playerDiff(id, f.x-at[0], f.y-at[1])
					alive[id] = [2]int32{f.x, f.y}
				case 3:
					if here || !joined[id] {
						continue
					}
					f.kind, f.x, f.y = teehistorian.KindPlayerNew, place.Draw(t, "x"), place.Draw(t, "y")
					w.playerNew(id, f.x, f.y)
					alive[id] = [2]int32{f.x, f.y}
				case 4:
					if !here || rapid.Bool().Draw(t, "stay") {
						continue
					}
					f.kind, f.x, f.y = teehistorian.KindPlayerOld, at[0], at[1]
					w.playerOld(id)
					delete(alive, id)
				default:
					continue
				}
				facts = append(facts, f)
			}
			if rapid.IntRange(0, 3).Draw(t, "join") == 0 {
				join(tick)
			}
			for _, id := range slices.Sorted(maps.Keys(joined)) {
				if rapid.Bool().Draw(t, "idle") {
					continue
				}
				f := fact{tick: tick, kind: teehistorian.KindInputNew, id: id}
				for i := range f.in {
					f.in[i] = value.Draw(t, "input")
				}
				if old, had := inputs[id]; had && old == f.in {
					continue
				} else if had {
					f.kind = teehistorian.KindInputDiff
					var diff [10]int32
					for i := range diff {
						diff[i] = f.in[i] - old[i]
					}
					w.input(-5, id, diff)
				} else {
					w.input(-6, id, f.in)
				}
				inputs[id] = f.in
				facts = append(facts, f)
			}
		}
		w.finish()

		d := decode(w.b, nil)
		var ev teehistorian.Event
		last := int32(0)
		for i := 0; ; {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				if i != len(facts) {
					t.Fatalf("%d events of %d", i, len(facts))
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(ev.Warnings) > 0 {
				t.Fatalf("warnings %v", ev.Warnings)
			}
			switch ev.Kind {
			case teehistorian.KindTick:
				if ev.AtTick != last+1+ev.Tick.Skipped {
					t.Fatalf("tick %d after %d with %d between", ev.AtTick, last, ev.Tick.Skipped)
				}
				last = ev.AtTick
				continue
			case teehistorian.KindFinish:
				continue
			}
			if i == len(facts) {
				t.Fatalf("more events than %d: %v", i, ev.Kind)
			}
			if got := factOf(&ev); got != facts[i] {
				t.Fatalf("event %d: got %+v, want %+v", i, got, facts[i])
			}
			i++
		}
		for id, at := range alive {
			if c := d.State().Client(id); !c.Alive || c.X != at[0] || c.Y != at[1] {
				t.Fatalf("client %d stands at %+v, not %v", id, c, at)
			}
		}
	})
}

// factOf converts an event to a fact of the model.
func factOf(ev *teehistorian.Event) fact {
	f := fact{tick: ev.AtTick, kind: ev.Kind}
	in := teehistorian.Input{}
	switch ev.Kind {
	case teehistorian.KindJoin:
		f.id = ev.Join.ClientId
	case teehistorian.KindConsoleCommand:
		f.id = ev.ConsoleCommand.ClientId
	case teehistorian.KindPlayerNew:
		f.id, f.x, f.y = ev.PlayerNew.ClientId, ev.PlayerNew.X, ev.PlayerNew.Y
	case teehistorian.KindPlayerDiff:
		f.id, f.x, f.y = ev.PlayerDiff.ClientId, ev.PlayerDiff.X, ev.PlayerDiff.Y
	case teehistorian.KindPlayerOld:
		f.id, f.x, f.y = ev.PlayerOld.ClientId, ev.PlayerOld.X, ev.PlayerOld.Y
	case teehistorian.KindInputNew:
		f.id, in = ev.InputNew.ClientId, ev.InputNew.Input
	case teehistorian.KindInputDiff:
		f.id, in = ev.InputDiff.ClientId, ev.InputDiff.Input
	}
	f.in = [10]int32{
		in.Direction, in.TargetX, in.TargetY, in.Jump, in.Fire, in.Hook,
		in.PlayerFlags, in.WantedWeapon, in.NextWeapon, in.PrevWeapon,
	}
	return f
}
