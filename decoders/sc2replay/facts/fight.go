package facts

import "github.com/replayd/replayd/decoders/sc2replay"

// The rule of fact_engagement.
const (
	fightTicks  = 224 // the longest time from one death to the next
	fightCells  = 24  // the longest way from a death to the mean place of those before it
	fightDeaths = 3   // the least number of deaths
	maxFights   = 8   // at a time
)

// fights are the fights that are not over, in the order of their beginnings.
type fights struct {
	open  []fight
	over  int32                      // the first tick in which one of them is over
	sides []sc2replay.EngagementSide // of the facts that the last event has completed
}

// fight is a fight that is not over.
type fight struct {
	began, last int32
	deaths      int64
	x, y        int64 // the sums of all places
	sides       [sc2replay.MaxPlayers]sc2replay.EngagementSide
}

// near reports whether a place is within fightCells of the mean place.
func (g *fight) near(x, y int64) bool {
	dx, dy := float64(x)-float64(g.x)/float64(g.deaths), float64(y)-float64(g.y)/float64(g.deaths)
	return dx*dx+dy*dy <= fightCells*fightCells
}

// fell notes that a player killed a unit of another one.
func (f *Fold) fell(ev *sc2replay.Event) {
	e := &ev.UnitDied
	if !ev.HasPlayer || !ev.Player.HasPlayerId || !e.HasKillerPlayerId || e.Unit.Class == sc2replay.UnitClassUnspecified {
		return
	}
	owner, killer := ev.Player.PlayerId, e.KillerPlayerId
	if owner == killer || owner == 0 || killer == 0 || owner >= sc2replay.MaxPlayers || killer >= sc2replay.MaxPlayers {
		return
	}
	g := f.fightAt(ev.AtTick, int64(e.X), int64(e.Y))
	g.last = ev.AtTick
	g.deaths++
	g.x += int64(e.X)
	g.y += int64(e.Y)
	g.sides[killer].Killed++
	switch side := &g.sides[owner]; e.Unit.Class {
	case sc2replay.UnitClassArmy:
		side.ArmyLost++
	case sc2replay.UnitClassWorker:
		side.WorkersLost++
	case sc2replay.UnitClassStructure:
		side.StructuresLost++
	}
	f.fights.wait()
}

// fightAt returns the fight that a death belongs to.
func (f *Fold) fightAt(tick int32, x, y int64) *fight {
	open := f.fights.open
	for i := range open {
		if open[i].near(x, y) {
			return &open[i]
		}
	}
	if len(open) == maxFights {
		oldest := 0
		for i := range open {
			if open[i].last < open[oldest].last {
				oldest = i
			}
		}
		f.fought(oldest)
	}
	f.fights.open = append(f.fights.open, fight{began: tick})
	return &f.fights.open[len(f.fights.open)-1]
}

// wait finds when the next fight is over.
func (s *fights) wait() {
	for i := range s.open {
		if at := s.open[i].last + fightTicks + 1; i == 0 || at < s.over {
			s.over = at
		}
	}
}

// fightsUntil makes the facts of the fights that are over at a tick.
func (f *Fold) fightsUntil(tick int32) {
	for i := 0; i < len(f.fights.open); {
		if f.fights.open[i].last+fightTicks < tick {
			f.fought(i)
		} else {
			i++
		}
	}
	f.fights.wait()
}

// fought makes the fact of an open fight, which is over, and removes it.
func (f *Fold) fought(i int) {
	s := &f.fights
	g := &s.open[i]
	if g.deaths >= fightDeaths {
		from := len(s.sides)
		for id := range g.sides {
			if side := &g.sides[id]; *side != (sc2replay.EngagementSide{}) {
				side.PlayerId = uint32(id)
				s.sides = append(s.sides, *side)
			}
		}
		f.ready = append(f.ready, fact{kind: sc2replay.KindFactEngagement, fight: sc2replay.FactEngagement{
			BeganTick: g.began, LastTick: g.last, HasPlace: true, Sides: s.sides[from:len(s.sides):len(s.sides)],
			Place: sc2replay.Point2{X: float32(float64(g.x) / float64(g.deaths)), Y: float32(float64(g.y) / float64(g.deaths))},
		}})
	}
	s.open = append(s.open[:i], s.open[i+1:]...)
}
