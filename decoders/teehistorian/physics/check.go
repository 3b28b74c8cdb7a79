package physics

// Mark says what is known of a character in a tick.
type Mark uint8

// The marks.
const (
	// Proven: the character is where its state before the tick, its input and the others lead to.
	Proven Mark = iota
	// Corrected: it is elsewhere. The calculation goes on from there.
	Corrected
	// Unknown: it is there, but its state before the tick was not known, so that this proves little.
	Unknown
	// Appeared: it was not there before. It begins as the rules say; the next tick proves it. Only a [Character] has this mark.
	Appeared
)

// Cause is a reason why a tick is not proven.
type Cause uint8

// The causes.
const (
	// CauseNone: nothing known to be at work can explain it.
	CauseNone Cause = iota
	// CauseDeviation: an earlier deviation, since which the state has not become known again.
	CauseDeviation
	// CauseWeapon: a weapon, or something in the map that shoots or pulls.
	CauseWeapon
	// CauseTile: a tile whose effect is not calculated.
	CauseTile
	// CauseCommand: a command that changes characters.
	CauseCommand
	// CauseWatching: the client watches, so that its character may be out of the game.
	CauseWatching
	// CauseOther: another character whose state is not known.
	CauseOther
	// CauseInput: the server is too old to record all inputs.
	CauseInput
	// CauseRest: nothing was recorded for so long that the ticks were not calculated.
	CauseRest
	// Causes is the number of causes.
	Causes
)

var causeNames = [Causes]string{"none", "deviation", "weapon", "tile", "command", "watching", "other", "input", "rest"}

// String returns the cause's name.
func (c Cause) String() string {
	if c < Causes {
		return causeNames[c]
	}
	return "invalid"
}

// Result is what became of a character in a tick.
type Result struct {
	Tick int32
	// Ticks is the number of ticks that it is about, of which Tick is the last. It is 1 except for CauseRest.
	Ticks int32
	// ClientID is the client whose character it is.
	ClientID int32
	Mark     Mark
	Cause    Cause
	// Tile is the index of the tile for CauseTile.
	Tile uint8
	// DX and DY lead from where the character was expected to where it is recorded.
	DX, DY int32
	// X and Y are where it is recorded.
	X, Y int32
	// Start and Finish: in the tick before, it came through such a tile of the map.
	Start, Finish bool
	// New: the character is another one from here on, as it died.
	New bool
	// Effects are the tiles and weapons that were at work. They are valid until the function that got the result returns.
	Effects []Effect
}

// Effect is a tile through which a character came, or a weapon that it used or that hit it.
type Effect struct {
	Weapon string // empty for a tile
	Layer  Layer
	Tile   uint8
}

func (w *World) report(t *tee, mark Mark, dx, dy int32) {
	s := &w.slots[t.id]
	t.verdict = verdict{mark: mark, cause: t.trust.cause, dx: dx, dy: dy}
	w.result = Result{
		Tick: w.tick, Ticks: 1, ClientID: t.id, Mark: mark, Cause: t.trust.cause, Tile: t.trust.tile,
		DX: dx, DY: dy, X: s.at[0], Y: s.at[1],
		Start: t.starts, Finish: t.finishes, Effects: t.effects,
	}
	w.check(&w.result)
}

// reportNew reports a character that died and appeared anew, as it had to.
func (w *World) reportNew(t *tee) {
	w.result = Result{Tick: w.tick, Ticks: 1, ClientID: t.id, New: true, X: w.slots[t.id].at[0], Y: w.slots[t.id].at[1]}
	w.check(&w.result)
}

// compare compares the last tick with the recording.
func (w *World) compare() {
	if !w.pending {
		return
	}
	w.pending = false
	w.tries = min(w.tries+triesPerTick, maxTries)
	if w.upheaval = w.departed(); w.upheaval {
		w.run()
	}
	for _, t := range w.present {
		if len(t.branches) > 0 && t.branches[0].waits {
			w.meet(t)
		}
		w.choose(t)
	}
	for _, t := range w.present {
		t.astray = t.wrong(&w.slots[t.id])
	}
	if w.wrongs() > 0 {
		w.explain()
	}
	for _, t := range w.present {
		w.upheaval = w.upheaval || t.dead || t.team != w.slots[t.id].team
		explained := t.astray
		if t.astray = t.wrong(&w.slots[t.id]); explained && !t.astray {
			t.blur() // something else may explain it, too
		}
	}
	for _, t := range w.present {
		if w.tiles.threatened(t.before.pos) {
			t.blurred = trust{cause: CauseWeapon}
		}
	}
	for id := range w.slots {
		s := &w.slots[id]
		if s.tee != nil {
			w.judge(s)
		}
		if s.there && s.tee == nil {
			w.enter(s, int32(id))
		}
		s.fresh = false
	}
	w.conclude()
}

// departed marks those who left between the ticks, so that they were not there in this one, and reports whether there are any.
func (w *World) departed() (found bool) {
	for _, t := range w.present {
		s := &w.slots[t.id]
		if !t.dead && (!s.there || s.fresh || s.killed >= w.tick && w.tiles.spawns[s.place()] && t.core.pos != s.place()) {
			t.left, found = true, true
		}
	}
	return found
}

// wrong reports whether a character is elsewhere than the recording has it.
func (t *tee) wrong(s *slot) bool {
	return s.there && !s.fresh && !t.left && t.core.pos != s.place()
}

// place is where the recording has a client's character.
func (s *slot) place() vec { return vec{float32(s.at[0]), float32(s.at[1])} }

// judge compares a client's character with the recording.
func (w *World) judge(s *slot) {
	t := s.tee
	if !s.there || s.fresh {
		w.leave(s)
		return
	}
	if t.left {
		w.reportNew(t)
		w.leave(s) // and enters again
		return
	}
	c, at := &t.core, s.place()
	for _, id := range t.met {
		if other := w.tee(id); !t.trust.doubted() && other != nil && other.astray {
			// What the other does to it shows at once, but perhaps not all of it.
			t.trust = trust{confirmed: true}
			t.blur()
		}
	}
	reborn := t.dead && w.tiles.spawns[at]
	switch {
	case reborn && c.pos != at:
		w.reportNew(t)
		w.leave(s) // and enters again
		return
	case t.dead && !t.trust.doubted():
		// The recording has a character that should have died.
		if t.finished && t.team != 0 { // which is spared
			w.doubt(t, CauseTile, tileDeath, false)
		} else {
			w.doubt(t, w.possible(t), 0, false)
		}
		w.report(t, Corrected, 0, 0)
		w.correct(t, at)
	case c.pos == at:
		if s.pause == pauseAway && !t.away && c.pos == c.previous && w.grounded(c) {
			w.goAway(t)
		}
		if t.trust.doubted() {
			w.report(t, Unknown, 0, 0)
		} else {
			w.report(t, Proven, 0, 0)
		}
		if t.trust.doubted() || t.trust.confirmed {
			w.learn(t, &t.trust)
		}
		if t.blurred.doubted() {
			w.learn(t, &t.blurred)
		}
	default:
		d := at.sub(c.pos)
		if !t.trust.doubted() {
			w.doubt(t, w.possible(t), 0, false)
		}
		w.report(t, Corrected, cut(d.x), cut(d.y))
		w.correct(t, at)
	}
}

// correct sets a character to where the recording has it.
func (w *World) correct(t *tee, at vec) {
	w.doubtShots(t)
	const jump = 64 // no velocity explains more
	c := &t.core
	d := at.sub(c.pos)
	switch length := d.length(); {
	case length <= 2:
		c.vel = c.vel.add(d.mul(0.5))
	case length < jump:
		c.vel = c.vel.add(d)
	default:
		c.vel, c.previous = vec{}, at
		c.release(hookRetracted)
	}
	c.pos = at
	t.trust = trust{cause: t.trust.cause, tile: t.trust.tile, keep: t.trust.keep}
	t.branches, t.blurred = t.branches[:0], trust{}
	if t.trust.cause == CauseNone {
		t.trust.cause = CauseDeviation
	}
}
