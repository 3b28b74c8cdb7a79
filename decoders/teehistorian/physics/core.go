package physics

const (
	ticksPerSecond = 50
	size           = 28 // of a character
	half           = 14
	maxSpeed       = 6000
)

// hookState says what a hook does. The states from retracting to retracted are steps of one tick each.
type hookState int8

const (
	hookRetracted hookState = iota - 1
	hookIdle
	hookRetracting
	_
	hookRetractEnd
	hookFlying
	hookHolding
)

// hook is the hook of a character.
type hook struct {
	state  hookState
	at     vec
	dir    vec
	base   vec   // where the hook left a teleporter, if it did
	tele   bool  // the hook left a teleporter
	player int32 // who is held; -1 for nobody
	ticks  int32 // how long it holds
}

// Bits of jumped.
const (
	jumpHeld uint8 = 1 << iota // the key has not been released since the last jump
	jumpUsed                   // no jumps in the air are left
)

// movement has the directions in which a character cannot move.
type movement uint8

const (
	noRight movement = 1 << iota
	noDown
	noLeft
	noUp
)

// clamp takes from a velocity what a character cannot do.
func (m movement) clamp(v vec) vec {
	if m == 0 {
		return v
	}
	if v.x > 0 && m&noRight != 0 || v.x < 0 && m&noLeft != 0 {
		v.x = 0
	}
	if v.y > 0 && m&noDown != 0 || v.y < 0 && m&noUp != 0 {
		v.y = 0
	}
	return v
}

// core is what the movement of a character depends on, from tick to tick.
type core struct {
	pos, vel vec
	hook     hook
	jumped   uint8
	jumps    int32    // how many it has
	done     int32    // how many it made since it stood
	noMove   movement // where it was as it began to act, which stops hooks
	held     movement // where it was when tiles last had an effect, which stops everything else

	direction int32
	wall      int8 // 1 at a wall on the right, 2 on the left
	wallReady bool // has moved sideways since the last jump from a wall

	solo, noCollision, noHook, noHit   bool
	endless, unlimited, jetpack, super bool
	deep, live                         bool
	frozen                             int32 // ticks
	frozenAt                           int32 // tick
	refilled                           bool  // stands in a tile that refills jumps
	checkpoint                         uint8 // of teleporters
	previous                           vec   // where it was a tick ago
	arms                               arms
}

// spawn returns a new character.
func spawn(at vec) core {
	return core{
		pos: at, previous: at, jumps: 2, wallReady: true,
		hook: hook{player: -1, at: at}, frozenAt: -ticksPerSecond - 1,
		arms: arms{got: 1<<hammer | 1<<gun, active: gun, queued: noWeapon, fresh: true},
	}
}

// release lets the hook go.
func (c *core) release(state hookState) {
	c.hook.player, c.hook.state, c.hook.at = -1, state, c.pos
}
