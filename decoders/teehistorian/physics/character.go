package physics

// HookState says what a character's hook does.
type HookState uint8

// The states of hooks.
const (
	// HookIdle: it is not out.
	HookIdle HookState = iota
	// HookFlying: it has been thrown, and has met nothing yet.
	HookFlying
	// HookHolding: it holds a wall or a character.
	HookHolding
	// HookRetracting: it comes back, for three ticks.
	HookRetracting
)

// Weapon is what a character has in its hand, or what flies.
type Weapon uint8

// The weapons. WeaponUnknown is not known.
const (
	WeaponUnknown Weapon = iota
	WeaponHammer
	WeaponGun
	WeaponShotgun
	WeaponGrenade
	WeaponLaser
	WeaponNinja
)

// verdict is what the comparison of a tick says of a character.
type verdict struct {
	mark   Mark
	cause  Cause
	dx, dy int32
}

// Character is how a character stands at the end of a tick.
type Character struct {
	Team int32
	// X and Y are where it is recorded, in world units.
	X, Y int32
	// VelX and VelY are its velocity, in world units per tick.
	VelX, VelY float32
	Hook       HookState
	// HookX and HookY are where the hook is, unless it is idle.
	HookX, HookY int32
	// Hooked is the client whose character the hook holds, -1 for nobody.
	Hooked int32
	Weapon Weapon
	// ReloadTicks is for how many ticks it cannot shoot.
	ReloadTicks int32
	// FreezeTicks is for how many ticks it is frozen.
	FreezeTicks  int32
	Deep, Live   bool // deep frozen, live frozen
	AirJumps     int32
	EndlessJumps bool
	EndlessHook  bool
	Jetpack      bool
	Solo         bool
	// Away: its client watches, and it is out of the game meanwhile.
	Away  bool
	Mark  Mark
	Cause Cause
	// DX and DY lead from where it was expected, if it is corrected.
	DX, DY int32
}

// Character returns a client's character at the last tick, which must be settled: see [World.Settle]. It returns false if there is none.
// Where its mark is [Unknown], the values are what the rules lead to from a state that may be wrong.
func (w *World) Character(id int32) (c Character, ok bool) {
	t := w.tee(id)
	if t == nil {
		return c, false
	}
	core, v := &t.core, t.standing()
	c = Character{
		Team: w.slots[id].team, X: w.slots[id].at[0], Y: w.slots[id].at[1], VelX: core.vel.x, VelY: core.vel.y,
		Hook: core.hook.what(), HookX: cut(core.hook.at.x), HookY: cut(core.hook.at.y), Hooked: core.hook.player,
		Weapon: Weapon(core.arms.active + 1), ReloadTicks: core.arms.reload,
		FreezeTicks: core.frozen, Deep: core.deep, Live: core.live,
		AirJumps: core.airJumps(), EndlessJumps: core.unlimited || core.super, EndlessHook: core.endless,
		Jetpack: core.jetpack, Solo: core.solo, Away: t.away,
		Mark: v.mark, Cause: v.cause, DX: v.dx, DY: v.dy,
	}
	if t.given {
		c.Weapon = WeaponUnknown
	}
	return c, true
}

// standing returns the verdict on how a character stands, not only on where.
func (t *tee) standing() verdict {
	v := t.verdict
	if v.mark == Proven && t.blurs() {
		if v.mark, v.cause = Unknown, CauseInput; t.blurred.doubted() {
			v.cause = t.blurred.cause
		}
	}
	return v
}

// seems reports whether two states of a [Character] that may both be right look alike. In the other one nobody shoots.
func (c *core) seems(o *core) bool {
	return c.vel == o.vel && c.hook.what() == o.hook.what() && c.hook.at == o.hook.at && c.hook.player == o.hook.player &&
		c.frozen == o.frozen && c.deep == o.deep && c.live == o.live && c.airJumps() == o.airJumps()
}

func (h *hook) what() HookState {
	switch {
	case h.state <= hookIdle:
		return HookIdle
	case h.state == hookFlying:
		return HookFlying
	case h.state == hookHolding:
		return HookHolding
	}
	return HookRetracting
}

// airJumps returns how often a character may jump before it stands again.
func (c *core) airJumps() int32 {
	if c.jumped&jumpUsed != 0 {
		return 0
	}
	return max(c.jumps-1-c.done, 1)
}

// Shot is what flies at the end of a tick.
type Shot struct {
	// ClientID is who shot, and SinceTick when.
	ClientID  int32
	SinceTick int32
	Weapon    Weapon // a grenade, a laser or a shotgun
	// X and Y are where it is, in world units. That of a laser or a shotgun is the end of its last part, which begins at FromX and FromY.
	X, Y, FromX, FromY float32
	// Known: the state of who shot was known, and the tick was proven.
	Known bool
}

// MaxShots bounds the numbers of shots.
const MaxShots = 2 * maxShots

// Shot returns what flies at the last tick, which must be settled, by a number below [MaxShots]. It returns false if there is none.
func (w *World) Shot(number int) (s Shot, ok bool) {
	if number < len(w.shots.grenades) {
		g := &w.shots.grenades[number]
		at := g.place(w.tick)
		return Shot{
			ClientID: g.owner, SinceTick: g.since, Weapon: WeaponGrenade, X: at.x, Y: at.y, FromX: g.from.x, FromY: g.from.y, Known: !g.doubted,
		}, true
	}
	number -= len(w.shots.grenades)
	if number >= len(w.shots.beams) {
		return s, false
	}
	b := &w.shots.beams[number]
	return Shot{
		ClientID: b.owner, SinceTick: b.since, Weapon: Weapon(b.weapon + 1), X: b.at.x, Y: b.at.y, FromX: b.from.x, FromY: b.from.y,
		Known: !b.doubted,
	}, true
}

// doubtShots marks what a character, which is elsewhere than expected, has shot in this tick.
func (w *World) doubtShots(t *tee) {
	for i := range w.shots.grenades {
		g := &w.shots.grenades[i]
		g.doubted = g.doubted || g.owner == t.id && g.since >= w.tick-1
	}
	for i := range w.shots.beams {
		b := &w.shots.beams[i]
		b.doubted = b.doubted || b.owner == t.id && b.since >= w.tick-1
	}
}
