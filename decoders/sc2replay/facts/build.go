package facts

import (
	"bytes"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
)

// advanced holds the types that structures become without a cocoon, so that only the change of the type shows them.
var advanced = map[string]bool{
	"OrbitalCommand": true, "PlanetaryFortress": true, "Lair": true, "Hive": true, "GreaterSpire": true, "WarpGate": true,
}

// rewards holds the beginnings of names of upgrades that a player has not made.
var rewards = [][]byte{[]byte("Spray"), []byte("Reward")}

// morphed makes the step of a unit that another one became. Lifting off, burrowing and the like are no steps.
func (f *Fold) morphed(ev *sc2replay.Event) {
	e := &ev.UnitTypeChange
	if l := f.units.lives[e.Unit.Tag]; l != nil {
		l.now, l.class = e.Unit.TypeName, e.Unit.Class
	}
	// A lowered OrbitalCommandFlying was an OrbitalCommand before.
	if e.HasStartedTick || advanced[string(e.Unit.TypeName)] && !bytes.HasPrefix(e.PreviousTypeName, e.Unit.TypeName) {
		f.step(ev, &e.Unit, e.StartedTick, e.HasStartedTick)
	}
}

// upgraded makes the step of an upgrade.
func (f *Fold) upgraded(ev *sc2replay.Event) {
	name := ev.Upgrade.UpgradeTypeName
	for _, prefix := range rewards {
		if bytes.HasPrefix(name, prefix) {
			return
		}
	}
	p := f.maker(ev)
	if p == nil || ev.Upgrade.Count <= 0 {
		return
	}
	step := f.reckon(ev.AtTick, sc2replay.FactBuildStep{Name: name, Upgrade: true, End: sc2replay.StepEndComplete})
	f.upgrade = sc2replay.FactUpgrade{Name: name, Count: ev.Upgrade.Count, ReckonedTick: step.ReckonedTick, HasReckonedTick: step.HasReckonedTick}
	f.ready = append(f.ready, p.step(ev.AtTick, step), fact{kind: sc2replay.KindFactUpgrade})
}

// step makes the step of a complete unit.
func (f *Fold) step(ev *sc2replay.Event, of *sc2replay.Unit, began int32, known bool) {
	p := f.maker(ev)
	if p == nil {
		return
	}
	if ev.Kind != sc2replay.KindUnitTypeChange {
		p.made(of)
	}
	f.ready = append(f.ready, p.step(ev.AtTick, f.reckon(ev.AtTick, sc2replay.FactBuildStep{
		Name: of.TypeName, Unit: *of, HasUnit: true, BeganTick: began, HasBeganTick: known, End: sc2replay.StepEndComplete,
	})))
}

// stopped makes the step of a construction that has ended without being complete.
func (f *Fold) stopped(ev *sc2replay.Event, l *life, end sc2replay.UnitEnd) {
	p := f.maker(ev)
	if p == nil {
		return
	}
	how := sc2replay.StepEndCancelled
	if end == sc2replay.UnitEndKilled {
		how = sc2replay.StepEndKilled
	}
	of := &ev.UnitDied.Unit
	f.ready = append(f.ready, p.step(ev.AtTick, sc2replay.FactBuildStep{
		Name: of.TypeName, Unit: *of, HasUnit: true, BeganTick: l.appeared, HasBeganTick: true, End: how,
	}))
}

// unfinished makes the steps of the constructions that the end of the replay interrupts, by ascending tag, as far as there is room.
func (f *Fold) unfinished(tick int32) {
	tags := f.building()
	for _, tag := range tags[:min(len(tags), decoders.Room-1-len(f.ready))] {
		l := f.units.lives[tag]
		p := f.players[l.owner]
		made := p.step(tick, sc2replay.FactBuildStep{
			Name: l.now, Unit: l.unit(tag), HasUnit: true, BeganTick: l.appeared, HasBeganTick: true, End: sc2replay.StepEndGameEnded,
		})
		made.player = p
		f.ready = append(f.ready, made)
	}
}

// reckon adds the time at which a step was begun that was complete at tick, by its build time, if the replay does not tell and
// the build time is known. A unit that would have been begun before the game was given or created.
func (f *Fold) reckon(tick int32, step sc2replay.FactBuildStep) sc2replay.FactBuildStep {
	if f.of == nil || step.HasBeganTick {
		return step
	}
	if loops, ok := f.of.BuildTime(step.Name); ok && loops <= tick {
		step.ReckonedTick, step.HasReckonedTick = tick-loops, true
	}
	return step
}

// maker returns the player who made the unit or upgrade of an event, or nil if nobody did.
func (f *Fold) maker(ev *sc2replay.Event) *player {
	if ev.AtTick == 0 || !ev.HasPlayer || ev.Player.PlayerId == 0 {
		return nil
	}
	return f.players.of(ev)
}

// step completes a step with the supply at its beginning, or else at its end.
func (p *player) step(tick int32, step sc2replay.FactBuildStep) fact {
	if step.HasBeganTick {
		tick = step.BeganTick
	}
	step.Supply, step.HasSupply = p.supplyAt(tick)
	return fact{kind: sc2replay.KindFactBuildStep, step: step}
}
