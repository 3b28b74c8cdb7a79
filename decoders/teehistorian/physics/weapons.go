package physics

import (
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// weapon is the number of a weapon.
type weapon int8

const (
	hammer weapon = iota
	gun
	shotgun
	grenade
	laser
	ninja
)

const noWeapon weapon = -1

// arms are the weapons of a character.
type arms struct {
	got    uint8  // a bit for each
	active weapon // in its hand
	last   weapon // to which it returns from a ninja's sword
	queued weapon // to which it changes when it can
	reload int32  // ticks until it can shoot
	thawed bool   // came out of a freeze in this tick, so that a key that is held shoots
	fresh  bool   // no input came yet
	dash   dash
}

// dash is what a ninja does.
type dash struct {
	since int32 // the tick in which it got the sword
	dir   vec
	left  int32   // ticks
	speed float32 // before, in whole units
	hit   uint64  // whom, as bits; those with high numbers may share one
}

const (
	ninjaTicks = 15 * ticksPerSecond
	dashTicks  = ticksPerSecond / 5
	dashSpeed  = 50
)

func (a *arms) has(what weapon) bool { return a.got&(1<<what) != 0 }

// take gives a character a weapon. A ninja's sword is as new for as long as one lies near.
func (a *arms) take(what weapon, tick int32) {
	a.got |= 1 << what
	if what == ninja {
		a.dash.since = tick
		if a.active != ninja {
			a.last = a.active
		}
		a.active = ninja
	}
}

// putAway ends a ninja.
func (a *arms) putAway() {
	a.got &^= 1 << ninja
	a.dash = dash{}
	a.active = a.last
}

// shield takes weapons from a character. A ninja's sword it makes old, which in the first seconds of a game is not old enough.
func (a *arms) shield(what ...weapon) {
	const long = -500
	for _, one := range what {
		if one == ninja {
			a.dash.since, a.dash.dir, a.dash.left = long, vec{}, 0
		}
		if one == ninja && len(what) == 1 || !a.has(one) {
			continue
		}
		a.got &^= 1 << one
		a.last = gun
		if a.active == one {
			a.active = hammer
		}
	}
}

// presses returns how often a key was pressed between two values of its counter.
func presses(from, to int32) int32 {
	const states = 64
	from, to = from&(states-1), to&(states-1)
	if to < from {
		to += states
	}
	return (to+1)/2 - (from+1)/2
}

// choose notes which weapon a client wants.
func (a *arms) choose(was, in *teehistorian.Input, wanted int32) {
	want := a.active
	if a.queued != noWeapon {
		want = a.queued
	}
	if a.got&^(1<<ninja) == 0 {
		return
	}
	for range presses(was.NextWeapon, in.NextWeapon) {
		for want = (want + 1) % (ninja + 1); !a.has(want); want = (want + 1) % (ninja + 1) {
		}
	}
	for range presses(was.PrevWeapon, in.PrevWeapon) {
		for want = (want + ninja) % (ninja + 1); !a.has(want); want = (want + ninja) % (ninja + 1) {
		}
	}
	if in.WantedWeapon != 0 {
		want = weapon(min(max(wanted-1, -1), int32(ninja)+1))
	}
	if want >= hammer && want <= ninja && want != a.active && a.has(want) {
		a.queued = want
	}
	a.change()
}

// change changes to the weapon that is queued, if it can.
func (a *arms) change() {
	if a.reload == 0 && a.queued != noWeapon && !a.has(ninja) && a.has(a.queued) {
		a.last, a.active, a.queued = a.active, a.queued, noWeapon
	}
}

// names are the weapons' names in effects.
var names = [...]string{hammer: "hammer", gun: "gun", shotgun: "shotgun", grenade: "grenade", laser: "laser", ninja: "ninja"}

// note notes what is at work.
func (t *tee) note(what Effect) {
	if !slices.Contains(t.effects, what) {
		t.effects = append(t.effects, what)
	}
}

// direct does what an input does as soon as it arrives, which is before the tick in which it comes into effect.
func (w *World) direct(t *tee) {
	was := t.latest
	t.latest = t.input
	a := &t.core.arms
	if a.fresh {
		a.fresh = false // the first one does nothing
		return
	}
	a.choose(&was, &t.input, t.kept.WantedWeapon)
	if !t.holds {
		w.fire(t, presses(was.Fire, t.input.Fire) > 0, w.tick-1)
	}
}

// wield does what a character's weapons do in a tick.
func (w *World) wield(t *tee) {
	a := &t.core.arms
	if a.active == ninja {
		w.dash(t)
	}
	if t.core.jetpack && a.active == gun && t.latest.Fire&1 != 0 && t.core.frozen == 0 {
		t.note(Effect{Weapon: "jetpack"})
		w.push(t, aimOf(&t.latest).mul(-1).mul(t.tune[jetpackStrength]/100/6.11))
	}
	if a.reload > 0 {
		a.reload--
	} else {
		w.fire(t, false, w.tick)
	}
	a.thawed = false
}

// aimOf returns the direction in which a client aims.
func aimOf(in *teehistorian.Input) vec {
	if in.TargetX == 0 && in.TargetY == 0 {
		return vec{0, -1}
	}
	return vec{float32(in.TargetX), float32(in.TargetY)}.unit()
}

// fire shoots if the key is pressed, or held where that suffices.
func (w *World) fire(t *tee, pressed bool, since int32) {
	c := &t.core
	a := &c.arms
	if a.reload != 0 || w.alone {
		return
	}
	a.change()
	auto := a.active >= shotgun && a.active <= laser || c.jetpack && a.active == gun || a.thawed
	pressed = pressed || auto && t.latest.Fire&1 != 0
	if !pressed || c.frozen > 0 || !a.has(a.active) || a.active == hammer && c.deep && !w.deepFly {
		return
	}
	t.note(Effect{Weapon: names[a.active]})
	aim := aimOf(&t.latest)
	at := t.before.pos
	switch a.active {
	case hammer:
		w.hammer(t, at.add(aim.mul(size*0.75)))
	case shotgun, laser:
		w.beam(beam{weapon: a.active, owner: t.id, at: at, dir: aim, energy: t.tune[laserReach], doubted: t.uncertain()}, since)
	case grenade:
		w.throwGrenade(t, at.add(aim.mul(size*0.75)), aim, since)
	case ninja:
		a.dash.dir, a.dash.left, a.dash.speed, a.dash.hit = aim, dashTicks, float32(cut(c.vel.length())), 0
	}
	if a.reload == 0 {
		a.reload = cut(t.tune[hammerDelay+parameter(a.active)] * ticksPerSecond / 1000)
	}
}

// push changes a velocity as far as stoppers let it.
func (w *World) push(t *tee, by vec) {
	c := &t.core
	c.vel = c.held.clamp(c.vel.add(by))
}

// hammer hits those who are near a place.
func (w *World) hammer(t *tee, at vec) {
	if t.core.noHit {
		return
	}
	hits := false
	for _, other := range w.present {
		if other != t && w.together(t, other) && other.before.pos.sub(at).length() < size/2+size {
			w.met(t, other)
			w.hammered(other, t)
			hits = true
		}
	}
	if hits {
		t.core.arms.reload = cut(t.tune[hammerHitDelay] * ticksPerSecond / 1000)
	}
}

// hammered is what a hit of a hammer does.
func (w *World) hammered(t, by *tee) {
	c := &t.core
	t.note(Effect{Weapon: names[hammer]})
	t.hit(by.id, hammer, false)
	dir := vec{0, -1}
	if way := t.before.pos.sub(by.before.pos); way.length() > 0 {
		dir = way.unit()
	}
	push := c.held.clamp(c.vel.add(vec{dir.x, dir.y - 1.1}.unit().mul(10))).sub(c.vel)
	push.y--
	w.push(t, push.mul(by.tune[hammerStrength]))
	t.thaw(teehistorian.ThawCauseHammer, by.id)
}

// dash moves a character that has a ninja's sword.
func (w *World) dash(t *tee) {
	c := &t.core
	a := &c.arms
	if w.tick-a.dash.since > ninjaTicks {
		a.putAway()
		return
	}
	a.dash.left--
	if a.dash.left >= 0 {
		t.note(Effect{Weapon: names[ninja]})
	}
	switch {
	case a.dash.left == 0:
		c.vel = a.dash.dir.mul(a.dash.speed)
	case a.dash.left > 0:
		c.vel = a.dash.dir.mul(dashSpeed)
		c.pos = w.slide(c, t.tune)
		c.vel = vec{}
		w.slash(t)
	}
}

// slash hits those near a ninja who moves.
func (w *World) slash(t *tee) {
	if t.core.solo || w.alone {
		return
	}
	for _, other := range w.order {
		bit := uint64(1) << (other.id & 63)
		away := other.before.pos.sub(t.before.pos).length()
		if other == t || t.team != other.team || other.gone() || away >= size*3 {
			continue
		}
		if other.core.solo {
			return // who is near, but acts later, is spared
		}
		if t.core.arms.dash.hit&bit != 0 || away > size*2 {
			continue
		}
		t.core.arms.dash.hit |= bit
		w.met(t, other)
		other.note(Effect{Weapon: names[ninja]})
		other.hit(t.id, ninja, false)
		w.push(other, vec{0, -10})
	}
}
