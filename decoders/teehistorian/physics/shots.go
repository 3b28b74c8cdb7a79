package physics

import "github.com/replayd/replayd/decoders/teehistorian"

// maxShots bounds what flies at a time.
const maxShots = 1 << 8

// grenadeShot is a grenade that flies.
type grenadeShot struct {
	owner     int32
	from, dir vec
	since     int32 // tick
	life      int32 // ticks that are left
	tune      *tuning
	doubted   bool // how its owner stood is not known
}

// beam is a laser, or what a shotgun shoots.
type beam struct {
	weapon  weapon
	owner   int32
	from    vec // where it was before the last bounce
	at, dir vec
	energy  float32 // below 0 where it ends
	bounces int32
	since   int32 // tick
	tick    int32 // of the last bounce
	tune    *tuning
	doubted bool // how its owner stood is not known
}

// shots is what flies.
type shots struct {
	grenades []grenadeShot
	beams    []beam
}

func (s *shots) set(o *shots) {
	s.grenades = append(s.grenades[:0], o.grenades...)
	s.beams = append(s.beams[:0], o.beams...)
}

// tuneAt returns the tuning of a place.
func (w *World) tuneAt(p vec) *tuning {
	if tiles := w.tiles.others[LayerTune]; tiles != nil {
		if number := tiles[w.tiles.at(p)].Number; number != 0 {
			if zone := w.tiles.zones[number]; zone != nil {
				return zone
			}
			return &w.untuned
		}
	}
	return &w.tune
}

func (w *World) throwGrenade(t *tee, from, aim vec, since int32) {
	if len(w.shots.grenades) < maxShots {
		w.shots.grenades = append(w.shots.grenades, grenadeShot{
			owner: t.id, from: from, dir: aim, since: since, life: cut(ticksPerSecond * t.tune[grenadeLifetime]), tune: w.tuneAt(from),
			doubted: t.uncertain(),
		})
	}
}

// place returns where a grenade is in a tick.
func (g *grenadeShot) place(tick int32) vec {
	time := float32(float32(tick-g.since)/ticksPerSecond) * g.tune[grenadeSpeed]
	return vec{
		g.from.x + float32(g.dir.x*time),
		g.from.y + float32(g.dir.y*time) + float32(g.tune[grenadeCurvature]/10000*float32(time*time)),
	}
}

// fly moves what flies by a tick.
func (w *World) fly() {
	s := &w.shots
	kept := s.grenades[:0]
	for i := range s.grenades {
		if g := s.grenades[i]; w.flyGrenade(&g) {
			kept = append(kept, g)
		}
	}
	s.grenades = kept
	beams := s.beams[:0]
	for i := range s.beams {
		if b := s.beams[i]; float32(w.tick-b.tick) <= ticksPerSecond*b.tune[laserBounceDelay]/1000 || w.bounce(&b, w.tick) {
			beams = append(beams, b)
		}
	}
	s.beams = beams
}

// flyGrenade moves a grenade by a tick, and reports whether it flies on.
func (w *World) flyGrenade(g *grenadeShot) bool {
	owner := w.tee(g.owner)
	if owner == nil || owner.left {
		return false
	}
	from, to := g.place(w.tick-1), g.place(w.tick)
	at, _, wall := w.wall(from, to)
	target, met := w.onWay(from, at, 6, owner, owner)
	if target != nil {
		at = met
	}
	g.life--
	switch {
	case target != nil || wall || w.tiles.outside(to):
	case g.life < 0:
	default:
		return true
	}
	w.explode(at, owner, g.doubted)
	return false
}

// explode pushes those around a place away.
func (w *World) explode(at vec, owner *tee, doubted bool) {
	const radius, inner = 135, 48
	for _, t := range w.present {
		if t.gone() || t != owner && (owner.core.noHit || !w.together(t, owner)) {
			continue
		}
		way := t.before.pos.sub(at)
		away := way.length()
		damage := float32(owner.tune[explosionStrength] * (1 - min(max((away-inner)/(radius-inner), 0), 1)))
		if cut(damage) == 0 {
			continue
		}
		dir := vec{0, 1}
		if away != 0 {
			dir = way.unit()
		}
		if t != owner {
			w.met(t, owner)
		}
		t.note(Effect{Weapon: names[grenade]})
		t.hit(owner.id, grenade, doubted)
		w.push(t, dir.mul(damage).mul(2))
	}
}

// beam shoots a laser, or with a shotgun.
func (w *World) beam(b beam, tick int32) {
	b.tune, b.since = w.tuneAt(b.at), tick
	if w.bounce(&b, tick) && len(w.shots.beams) < maxShots {
		w.shots.beams = append(w.shots.beams, b)
	}
}

// bounce has a beam reach the next wall or character. It reports whether there still is a beam: one that has ended stays until it would
// bounce again.
func (w *World) bounce(b *beam, tick int32) bool {
	b.tick = tick
	if !(b.energy >= 0) {
		return false
	}
	from := b.at
	b.from = from
	at, to, wall := w.wall(from, from.add(b.dir.mul(b.energy)))
	if !wall {
		to = at
	}
	if hit, at := w.strike(b, from, to); hit {
		b.at, b.energy = at, -1
		return true
	}
	if !wall {
		b.at, b.energy = to, -1
		return true
	}
	b.at, b.dir = w.rebound(to, b.dir.mul(4))
	b.dir = b.dir.unit()
	b.energy -= from.sub(b.at).length() + b.tune[laserBounceCost]
	if b.bounces++; b.bounces > cut(b.tune[laserBounceCount]) {
		b.energy = -1
	}
	return true
}

// strike has a beam hit the first character on its way, and returns where.
func (w *World) strike(b *beam, from, to vec) (bool, vec) {
	owner := w.tee(b.owner)
	if owner == nil || owner.left {
		return false, to
	}
	not := owner
	if b.bounces > 0 {
		not = nil
	}
	t, at := w.onWay(from, to, 0, not, owner)
	if t == nil {
		return false, to
	}
	if t != owner {
		w.met(t, owner)
	}
	t.note(Effect{Weapon: names[b.weapon]})
	t.hit(b.owner, b.weapon, b.doubted)
	if b.weapon == laser {
		t.thaw(teehistorian.ThawCauseLaser, b.owner)
	} else if from != t.core.pos {
		w.push(t, from.sub(t.core.pos).unit().mul(b.tune[shotgunStrength]))
	}
	return true, at
}

// rebound moves a beam by a step, which walls turn round.
func (w *World) rebound(at, step vec) (vec, vec) {
	m := w.tiles
	next := at.add(step)
	if !m.solid(next.x, next.y) {
		return next, step
	}
	side, down := m.solid(next.x, at.y), m.solid(at.x, next.y)
	if !side && !down {
		side, down = true, true
	}
	if side {
		step.x = -step.x
	}
	if down {
		step.y = -step.y
	}
	return at, step
}

// wall returns where the way between two places meets a wall, if it does, and the last place before.
func (w *World) wall(from, to vec) (at, before vec, found bool) {
	end := cut(min(from.sub(to).length(), 1<<13) + 1)
	before = from
	for i := range end + 1 {
		at = from.toward(to, float32(i)/float32(end))
		if w.tiles.solid(at.x, at.y) {
			return at, before, true
		}
		before = at
	}
	return to, to, false
}

// onWay returns the first character on a way, except one, that another one can hit, and where. Who hits nobody else may hit itself.
func (w *World) onWay(from, to vec, wider float32, except, by *tee) (first *tee, at vec) {
	least := from.sub(to).length() * 100
	for _, t := range w.order { // the first of those at one place
		if t == except || t.gone() || t != by && (by.core.noHit || !w.together(t, by)) {
			continue
		}
		near, ok := t.before.pos.nearest(from, to)
		if !ok || t.before.pos.sub(near).length() >= size+wider {
			continue
		}
		if away := from.sub(near).length(); away < least {
			first, at, least = t, near, away
		}
	}
	return first, at
}
