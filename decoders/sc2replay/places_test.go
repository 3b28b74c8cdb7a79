package sc2replay_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// TestPlaces compares the places in tracker events with the places in orders and other tracker events. Before 2.1 and
// since, they must have the same units.
func TestPlaces(t *testing.T) {
	type era struct {
		inits, ordered int       // constructions that began, and those at the place of a build order of the same player
		moves          []float64 // distances between a unit's last place and its death within two seconds
	}
	eras := map[bool]*era{false: {}, true: {}}
	corpus(t, func(_ string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		e := eras[p.Start.Version.BaseBuild >= 27950]
		type place struct{ x, y float64 }
		type seen struct {
			place
			tick int32
		}
		positions := map[uint32]seen{}
		orders := map[uint32][]place{} // by player
		var ev sc2replay.Event
		d := p.Events(sc2replay.Options{})
		for {
			if d.Next(&ev) != nil { // TestCorpus checks the error
				return
			}
			switch ev.Kind {
			case sc2replay.KindCmd:
				if ev.Cmd.TargetCase == sc2replay.CmdTargetTargetPoint && ev.HasPlayer {
					at := ev.Cmd.TargetPoint
					orders[ev.Player.PlayerId] = append(orders[ev.Player.PlayerId], place{float64(at.X), float64(at.Y)})
				}
			case sc2replay.KindUnitInit:
				i := &ev.UnitInit
				e.inits++
				if slices.ContainsFunc(orders[i.ControlPlayerId], func(o place) bool {
					return math.Abs(o.x-float64(i.X)) <= 2 && math.Abs(o.y-float64(i.Y)) <= 2
				}) {
					e.ordered++
				}
			case sc2replay.KindUnitPositions:
				for _, u := range ev.UnitPositions.Positions {
					positions[u.Unit.Tag] = seen{place{float64(u.X), float64(u.Y)}, ev.AtTick}
				}
			case sc2replay.KindUnitDied:
				died := &ev.UnitDied
				if s, ok := positions[died.Unit.Tag]; ok && ev.AtTick-s.tick <= 32 {
					e.moves = append(e.moves, math.Hypot(s.x-float64(died.X), s.y-float64(died.Y)))
				}
			}
		}
	})
	for since, e := range eras {
		if len(e.moves) == 0 {
			t.Fatalf("since 2.1, %v: nothing to compare", since)
		}
		slices.Sort(e.moves)
		median := e.moves[len(e.moves)/2]
		t.Logf("since 2.1, %v: of %d constructions, %d where ordered; %d deaths, median distance from the unit's place %.1f cells",
			since, e.inits, e.ordered, len(e.moves), median)
		if e.ordered < e.inits/4 || median > 6 {
			t.Errorf("since 2.1, %v: places do not agree", since)
		}
	}
}
