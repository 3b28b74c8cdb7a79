package facts

import (
	"slices"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// units holds the units alive.
type units struct {
	lives   map[uint32]*life // by tag
	tracked bool             // the replay says which units live
	begun   []beginning      // the constructions of the present gameloop
	tick    int32            // the gameloop of begun
}

// life holds the known facts of a living unit.
type life struct {
	first    []byte // its first type
	now      []byte // its present type
	appeared int32
	complete int32 // 0 while it is under construction; a unit that has existed since the beginning never is
	owner    uint32
	class    sc2replay.UnitClass
	building bool
	over     bool  // it has ended
	hatched  int32 // the gameloop in which a unit hatched from it, plus one
}

// beginning is a construction that was begun in the present gameloop.
type beginning struct {
	unit   sc2replay.Unit
	player uint32
	x, y   uint32
}

// add adds a unit, and replaces one with the same tag.
func (u *units) add(of *sc2replay.Unit, tick int32) *life {
	l := u.lives[of.Tag]
	if l == nil {
		l = new(life)
		u.lives[of.Tag] = l
	}
	*l = life{first: of.TypeName, now: of.TypeName, appeared: tick, class: of.Class}
	u.tracked = true
	return l
}

// unit returns a unit.
func (l *life) unit(tag uint32) sc2replay.Unit {
	return sc2replay.Unit{
		Tag: tag, Index: tag >> recycleBits, Recycle: tag & (1<<recycleBits - 1), TypeName: l.now, Class: l.class,
	}
}

// recycleBits is the number of a tag's lower bits that count the earlier uses of a unit's index.
const recycleBits = 18

// give notes that a unit has another owner.
func (u *units) give(ev *sc2replay.Event) {
	if l := u.lives[ev.UnitOwnerChange.Unit.Tag]; l != nil {
		l.owner = ev.UnitOwnerChange.ControlPlayerId
	}
}

// building returns the tags of players' units under construction, in ascending order.
func (f *Fold) building() (tags []uint32) {
	for tag, l := range f.units.lives {
		if l.building && l.owner > 0 && l.owner < uint32(len(f.players)) && f.players[l.owner] != nil {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}

// begin notes a construction.
func (u *units) begin(ev *sc2replay.Event) {
	e := &ev.UnitInit
	l := u.add(&e.Unit, ev.AtTick)
	l.building, l.owner = true, e.ControlPlayerId
	if u.tick != ev.AtTick {
		u.tick, u.begun = ev.AtTick, u.begun[:0]
	}
	u.begun = append(u.begun, beginning{e.Unit, e.ControlPlayerId, e.X, e.Y})
}

// drone is the type of the units that become structures.
const drone = "Drone"

// became returns the structure that a drone became which ended at a place in the present gameloop.
func (u *units) became(ev *sc2replay.Event) (structure sc2replay.Unit, ok bool) {
	e := &ev.UnitDied
	if string(e.Unit.TypeName) != drone || u.tick != ev.AtTick || !ev.HasPlayer {
		return structure, false
	}
	for i := range u.begun {
		if b := &u.begun[i]; b.player == ev.Player.PlayerId && b.x == e.X && b.y == e.Y {
			structure = b.unit
			u.begun = append(u.begun[:i], u.begun[i+1:]...)
			return structure, true
		}
	}
	return structure, false
}

// born notes a unit that is complete from the beginning.
func (f *Fold) born(ev *sc2replay.Event) {
	e := &ev.UnitBorn
	f.units.add(&e.Unit, ev.AtTick).complete = ev.AtTick
	if e.HasCreator {
		if creator := f.units.lives[e.Creator.Tag]; creator != nil {
			creator.hatched = ev.AtTick + 1
		}
	}
	f.place(ev)
	f.match.hallAt(ev.AtTick, e.ControlPlayerId, e.Unit.TypeName)
	f.step(ev, &e.Unit, e.StartedTick, e.HasStartedTick)
}

// done notes that a construction is complete.
func (f *Fold) done(ev *sc2replay.Event) {
	e := &ev.UnitDone
	if l := f.units.lives[e.Unit.Tag]; l != nil {
		l.complete, l.building = ev.AtTick, false
	}
	f.step(ev, &e.Unit, e.StartedTick, e.HasStartedTick)
}

// egg is the type of a larva that becomes another unit.
const egg = "Egg"

// died makes the fact of a life that has ended.
func (f *Fold) died(ev *sc2replay.Event) {
	e := &ev.UnitDied
	out := sc2replay.FactUnit{
		Unit: e.Unit, HasUnit: true, X: e.X, Y: e.Y,
		KillerPlayerId: e.KillerPlayerId, HasKillerPlayerId: e.HasKillerPlayerId,
		Killer: e.Killer, HasKiller: e.HasKiller && e.HasKillerPlayerId,
	}
	l := f.units.lives[e.Unit.Tag]
	if l != nil {
		out.FirstTypeName = l.first
		out.AppearedTick, out.HasAppearedTick = l.appeared, true
		out.CompleteTick, out.HasCompleteTick = l.complete, !l.building
		l.over = true
		delete(f.units.lives, e.Unit.Tag)
	}
	switch structure, became := f.units.became(ev); {
	case e.HasKillerPlayerId:
		out.End = sc2replay.UnitEndKilled
		f.players.lost(ev)
		f.fell(ev)
	case l != nil && l.hatched == ev.AtTick+1 && string(e.Unit.TypeName) == egg:
		out.End = sc2replay.UnitEndHatched
	case became:
		out.End, out.Became, out.HasBecame = sc2replay.UnitEndBecame, structure, true
	case l != nil && l.building:
		out.End = sc2replay.UnitEndCancelled
	}
	f.ready = append(f.ready, fact{kind: sc2replay.KindFactUnit, unit: out})
	if l != nil && l.building {
		f.stopped(ev, l, out.End)
	}
}
