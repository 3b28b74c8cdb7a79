package physics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// FuzzWorld plays games of any events on any small map. A proven tick has no distance.
func FuzzWorld(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06"), []byte("\x01\x01\x00\x00\x02\x10\x20\x30\x03\x00\x00\x00"))
	f.Add([]byte{1, 27, 2, 60, 0, 198, 9}, []byte{1, 3, 0, 0, 0, 0, 0, 0, 2, 1, 250, 1, 0, 90, 0, 0, 0, 255, 255, 255})
	f.Add([]byte{1, 200, 2, 202, 0, 199, 201, 106, 197}, []byte(strings.Repeat("\x00\x02\x08\x08\x00\x06\x01\x01\x09\x00\x00\x03\x04\x00\x00\x00\x00\x04", 40)))
	f.Fuzz(func(t *testing.T, tiles, events []byte) {
		const side = 16
		m, err := physics.NewMap(side, side)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range tiles {
			layer := physics.Layer(i % 7) // of which the last does not exist
			m.Set(layer, i*5%(side+1), i*7%(side+1), physics.Tile{
				Index: b, Flags: b >> 4, Number: b % 4, Delay: b, Force: b, MaxSpeed: b * 3, Angle: int16(b) * 7,
			})
		}
		tick := int32(0)
		w := physics.New(&teehistorian.Header{VersionMinor: 23}, m, func(r *physics.Result) {
			if r.Mark == physics.Proven && (r.DX != 0 || r.DY != 0 || r.Cause != physics.CauseNone) {
				t.Errorf("proven, but %+v", *r)
			}
			if r.Tick > tick {
				t.Errorf("tick %d comes with tick %d", r.Tick, tick)
			}
		})
		next := func() (b int32) {
			if len(events) > 0 {
				b, events = int32(int8(events[0])), events[1:]
			}
			return b
		}
		for len(events) > 0 && tick < 3000 {
			ev := teehistorian.Event{}
			id := next() & 3
			switch next() & 7 {
			case 0, 1:
				tick += max(next(), 0)*max(next(), 0)/16 + 1
				ev.Kind = teehistorian.KindTick
			case 2:
				ev.Kind = teehistorian.KindPlayerNew
				ev.PlayerNew = teehistorian.PlayerNew{ClientId: id, X: next() * 4, Y: next() * 4}
			case 3:
				ev.Kind = teehistorian.KindPlayerOld
				ev.PlayerOld.ClientId = id
			case 4:
				ev.Kind = teehistorian.KindPlayerDiff
				ev.PlayerDiff = teehistorian.PlayerDiff{ClientId: id, X: next() * 1e6, Y: next() * 8}
			case 5:
				ev.Kind = teehistorian.KindConsoleCommand
				names := []string{"tune", "pause", "spec", "kill", "weapons", "tune_reset", "super", "tele"}
				ev.ConsoleCommand = teehistorian.ConsoleCommand{ClientId: id, Flags: 128, Command: []byte(names[next()&7])}
				if ev.ConsoleCommand.Command[0] == 't' {
					what := []string{"gravity", "laser_reach", "laser_bounce_delay", "grenade_speed"}[next()&3]
					ev.ConsoleCommand.Arguments = [][]byte{[]byte(what), []byte([]string{"-999999", "999999", "0"}[next()&0x7f%3])}
				}
			default:
				ev.Kind = teehistorian.KindInputNew
				ev.InputNew = teehistorian.InputNew{ClientId: id, Input: teehistorian.Input{
					Direction: next(), TargetX: next() << 24, TargetY: next(), Jump: next() & 1, Hook: next() & 1,
					Fire: next(), WantedWeapon: next() & 7, NextWeapon: next(), PrevWeapon: next() >> 6,
				}}
			}
			ev.AtTick = tick
			w.Apply(&ev)
		}
		w.Close()
	})
}

// TestMap refuses maps without tiles, and those that are too large.
func TestMap(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, -1}, {physics.MaxTiles, 2}, {1 << 40, 1 << 40}} {
		if _, err := physics.NewMap(size[0], size[1]); !errors.Is(err, physics.ErrMap) {
			t.Errorf("%v gives %v", size, err)
		}
	}
}
