package physics

// known has what is known of a character's state.
type known uint8

const (
	knownX known = 1 << iota // its speed sideways
	knownY
	knownHook
	knownJumps
	knownInput // it is not frozen
	knownAll   = 1<<iota - 1
)

// trust says whether the state of a character is known, and if not, why.
type trust struct {
	cause Cause
	tile  uint8
	known known
	keep  bool // only a new character is known again
	// streak is for how many ticks the recording confirmed what is calculated from a state that was not known. confirmed means that it
	// did for long: the state is taken as known, but not as the only one that leads there.
	streak    int32
	ticks     int32 // since then
	still     int32 // for how many of them it stands without walking, which halves its speed
	confirmed bool
}

// standing is how many ticks of standing take the least part of a unit from any speed that may be wrong.
const standing = 10

// longStreak is a streak in which a velocity that is wrong by its least part would show.
const longStreak = 50

func (t *trust) doubted() bool { return t.cause != CauseNone }

func (w *World) doubt(t *tee, cause Cause, tile uint8, keep bool) {
	if t.trust.keep {
		return
	}
	t.trust = trust{cause: cause, tile: tile, keep: keep}
}

// met notes that two characters have an effect on one another.
func (w *World) met(t, other *tee) {
	t.met = append(t.met, other.id)
	other.met = append(other.met, t.id)
}

// blur notes that a character may be in another state than the calculated one, which leads to where it is recorded, too.
func (t *tee) blur() { t.blurred = trust{cause: CauseInput} }

// uncertain reports whether the state of a character may be another one.
func (t *tee) uncertain() bool { return t.trust.doubted() || t.blurs() }

// learn notes what a tick, of which the recording confirms the outcome, tells of a state that was not known.
func (w *World) learn(t *tee, trusted *trust) {
	if trusted.keep {
		return
	}
	k := &trusted.known
	c, was := &t.core, &t.before
	if c.pos != was.pos {
		trusted.streak++
	}
	if trusted.streak > longStreak && *k&(knownHook|knownJumps|knownInput) == knownHook|knownJumps|knownInput {
		trusted.cause, trusted.confirmed = CauseNone, true
	}
	in := &t.input
	grounded := w.grounded(c)
	hooked := was.hook.state == hookHolding || c.hook.state == hookHolding
	fast := was.vel.length()*ticksPerSecond >= t.tune[rampStart]-ticksPerSecond
	if in.Hook == 0 && c.hook.state == hookIdle {
		*k |= knownHook
	}
	if grounded && (in.Jump == 0 || c.vel.y == 0) {
		*k |= knownJumps
	}
	trusted.ticks++
	if trusted.still++; !grounded || c.direction != 0 || t.tune[groundFriction] > 0.5 {
		trusted.still = 0
	}
	if c.frozen == 0 && (c.direction != 0 && c.pos.x != was.pos.x || trusted.ticks > w.freezeTicks) {
		*k |= knownInput // no freeze lasts longer
	}
	if (len(t.met) > 0 || hooked || fast) && *k&(knownX|knownY) != knownX|knownY {
		*k &^= knownX | knownY
		return
	}
	limit := t.tune[airSpeed]
	if grounded {
		limit = t.tune[groundSpeed]
	}
	// In one tick a guess may come to such a value by chance.
	if c.vel.x == was.vel.x && (c.vel.x == limit || c.vel.x == -limit || c.vel.x == 0 && (c.wall != 0 || trusted.still > standing)) {
		*k |= knownX
	}
	if c.vel.y == 0 && was.vel.y == 0 && grounded || c.vel.y == -t.tune[airJump] || c.vel.y == -t.tune[groundJump] {
		*k |= knownY
	}
	if *k == knownAll {
		*trusted = trust{}
	}
}

// possible returns what may explain that a character of which all is known is elsewhere than expected.
func (w *World) possible(t *tee) Cause {
	at := t.before.pos
	near := func(what vec, reach float32) bool { return what.sub(at).length() < reach }
	switch s := &w.slots[t.id]; {
	case t.trust.confirmed:
		return CauseDeviation
	case w.practice[t.team]:
		return CauseCommand // and newer servers have nobody die
	case s.pause == pauseAway:
		return CauseWatching
	case w.ambiguous && s.hasInput && s.changed >= w.tick-lateInputs:
		return CauseInput
	case w.upheaval || w.tries <= 0:
		return CauseOther
	}
	for _, shooter := range w.tiles.shooters {
		if near(shooter, shooterReach) {
			return CauseWeapon
		}
	}
	for _, other := range w.present {
		if other.armed && (other == t || w.together(t, other)) && (w.tiles.teleArms || near(other.before.pos, weaponReach)) {
			return CauseWeapon
		}
		if other == t || !w.together(t, other) {
			continue
		}
		if near(other.before.pos, hammerReach) {
			return CauseWeapon
		}
		if (w.evenHooks || other.trust.doubted()) && near(other.before.pos, t.tune[hookLength]+size*2) {
			return CauseOther
		}
	}
	return CauseNone
}

// How far things have an effect at most, in world units.
const (
	hammerReach  = size*0.75 + size*0.5 + size + 1
	weaponReach  = 2100 // a grenade in its lifetime
	shooterReach = 1100
	lateInputs   = 2 // ticks
)
