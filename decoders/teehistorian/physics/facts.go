package physics

import "github.com/replayd/replayd/decoders/teehistorian"

const (
	// blockTicks is for how long a character that was hit or held counts as blocked by the one who did.
	blockTicks = 3 * ticksPerSecond
	// maxBlows bounds the hits of a character in a tick, maxTold the facts that wait for Next.
	maxBlows = 16
	maxTold  = 1 << 12
)

// proof says whether something is proven, and otherwise what is known of its first part that is not.
type proof struct {
	mark  Mark
	cause Cause
}

// and adds a later part.
func (p *proof) and(part proof) {
	if p.mark == Proven {
		*p = part
	}
}

// fieldsOf returns the values of fields for a proof.
func fieldsOf(p proof) (teehistorian.Proof, teehistorian.ProofCause) {
	return teehistorian.Proof(p.mark) + teehistorian.ProofProven, teehistorian.ProofCause(p.cause)
}

// proof returns what a verdict proves. A character that has just appeared stands as all do.
func (v verdict) proof() proof {
	if v.mark == Appeared {
		v.mark = Proven
	}
	return proof{v.mark, v.cause}
}

// proof returns whether it is proven how a character stands.
func (t *tee) proof() proof { return t.standing().proof() }

// blow is a hit of a weapon.
type blow struct {
	by      int32
	weapon  weapon
	doubted bool // how the owner of the shot stood is not known
}

// hit notes that a weapon hit a character.
func (t *tee) hit(by int32, with weapon, doubted bool) {
	if len(t.blows) < maxBlows {
		t.blows = append(t.blows, blow{by, with, doubted})
	}
}

// past is what the facts of a character need of the ticks before.
type past struct {
	contact contact
	ice     span  // frozen
	grip    span  // its hook holds a character
	held    int32 // whose, during grip
	run     run
}

// contact is what another character did last.
type contact struct {
	by    int32
	what  teehistorian.Contact // unspecified if there was none
	tick  int32
	proof proof
}

// span has the ticks since one in which something began.
type span struct {
	on    bool
	from  int32
	proof proof
}

// at begins a span, or adds a tick.
func (s *span) at(tick int32, p proof) {
	if !s.on {
		*s = span{on: true, from: tick}
	}
	s.proof.and(p)
}

// run has the ticks since a character came through the start.
type run struct {
	span
	ticks    [Appeared]int32 // by mark
	unproven int32           // the first tick that is not proven
}

// at adds ticks, of which the last is given.
func (r *run) at(last, ticks int32, p proof) {
	if p.mark != Proven && r.proof.mark == Proven {
		r.unproven = last - ticks + 1
	}
	r.span.at(last, p)
	r.ticks[p.mark] += ticks
}

// told is a fact. kind says which of its values is valid.
type told struct {
	kind   teehistorian.Kind
	freeze teehistorian.FactFreeze
	thaw   teehistorian.FactThaw
	hit    teehistorian.FactHit
	hook   teehistorian.FactHook
	block  teehistorian.FactBlock
	end    teehistorian.FactCharacterEnd
	run    teehistorian.FactRun
}

// Tell has the world tell facts, which Next returns. Without it there are none.
func (w *World) Tell() { w.tells = true }

// Pending reports whether there are facts that Next has not returned yet.
func (w *World) Pending() bool { return len(w.told) > 0 }

// Next sets ev, but for its tick and warnings, to the next fact of the ticks that are settled. It returns false when there is none.
func (w *World) Next(ev *teehistorian.Event) bool {
	if len(w.told) == 0 {
		return false
	}
	f := &w.told[w.next]
	ev.Kind = f.kind
	switch f.kind {
	case teehistorian.KindFactFreeze:
		ev.FactFreeze = f.freeze
	case teehistorian.KindFactThaw:
		ev.FactThaw = f.thaw
	case teehistorian.KindFactHit:
		ev.FactHit = f.hit
	case teehistorian.KindFactHook:
		ev.FactHook = f.hook
	case teehistorian.KindFactBlock:
		ev.FactBlock = f.block
	case teehistorian.KindFactCharacterEnd:
		ev.FactCharacterEnd = f.end
	case teehistorian.KindFactRun:
		ev.FactRun = f.run
	}
	if w.next++; w.next == len(w.told) {
		w.told, w.next = w.told[:0], 0
	}
	return true
}

func (w *World) tell(f told) {
	if len(w.told) == maxTold {
		w.told, w.next = w.told[:copy(w.told, w.told[w.next:])], 0
	}
	if w.tells && len(w.told) < maxTold {
		w.told = append(w.told, f)
	}
}

// conclude tells what happened in the tick that was compared: first of those whose character came to its end in it.
func (w *World) conclude() {
	for i := range w.ended {
		w.meetings(&w.ended[i])
	}
	for _, t := range w.present {
		w.meetings(t)
		w.grips(t)
	}
	for i := range w.ended {
		w.finish(&w.ended[i])
		w.tellEnd(&w.ended[i])
	}
	for _, t := range w.present {
		w.freezes(t)
		w.finish(t)
	}
	w.ended = w.ended[:0]
}

// acted returns the character of a client that took part in the tick, nil if there was none.
func (w *World) acted(id int32) *tee {
	for i := range w.ended {
		if w.ended[i].id == id {
			return &w.ended[i]
		}
	}
	return w.tee(id)
}

// meetings tells of the hits of a character.
func (w *World) meetings(t *tee) {
	at := t.before.pos
	for _, b := range t.blows {
		p := t.proof()
		if by := w.acted(b.by); by != nil {
			p.and(by.proof())
		}
		if b.doubted {
			p.and(proof{Unknown, CauseWeapon})
		}
		f := teehistorian.FactHit{
			ClientId: b.by, OtherClientId: t.id, Team: t.team, Tick: w.tick, Weapon: teehistorian.Weapon(b.weapon + 1), X: cut(at.x), Y: cut(at.y),
		}
		f.Proof, f.ProofCause = fieldsOf(p)
		w.tell(told{kind: teehistorian.KindFactHit, hit: f})
		if b.by != t.id {
			t.past.contact = contact{b.by, teehistorian.Contact(b.weapon + 1), w.tick, p}
		}
	}
}

// grips follows whom a character's hook holds.
func (w *World) grips(t *tee) {
	p, h := &t.past, &t.core.hook
	if p.grip.on && h.player != p.held {
		w.tellHook(t)
	}
	if h.player < 0 {
		return
	}
	p.held = h.player
	p.grip.at(w.tick, t.proof())
	if held := w.acted(h.player); held != nil {
		both := t.proof()
		both.and(held.proof())
		held.past.contact = contact{t.id, teehistorian.ContactHook, w.tick, both}
	}
}

// tellHook tells of a hook that held a character up to the tick before.
func (w *World) tellHook(t *tee) {
	p := &t.past
	f := teehistorian.FactHook{ClientId: t.id, OtherClientId: p.held, Team: t.team, FromTick: p.grip.from, Tick: w.tick - 1}
	f.Proof, f.ProofCause = fieldsOf(p.grip.proof)
	w.tell(told{kind: teehistorian.KindFactHook, hook: f})
	p.grip.on = false
}

// iced reports whether a character is frozen in any way.
func (c *core) iced() bool { return c.frozen > 0 || c.deep || c.live }

// freezes follows whether a character is frozen.
func (w *World) freezes(t *tee) {
	ice := &t.past.ice
	switch iced := t.core.iced(); {
	case ice.on && !iced:
		w.tellThaw(t, w.tick, t.thawed, t.thawedBy)
	case !ice.on && iced:
		at, last := w.slots[t.id].at, w.lastContact(t)
		f := teehistorian.FactFreeze{
			ClientId: t.id, Team: t.team, Tick: w.tick, Cause: t.froze, X: at[0], Y: at[1],
			OtherClientId: last.by, Contact: last.what, ContactTick: last.tick,
		}
		f.Proof, f.ProofCause = fieldsOf(t.proof())
		w.tell(told{kind: teehistorian.KindFactFreeze, freeze: f})
		w.tellBlock(t, teehistorian.BlockOutcomeFreeze)
	}
	if t.core.iced() {
		ice.at(w.tick, t.proof())
	}
}

func (w *World) tellThaw(t *tee, tick int32, cause teehistorian.ThawCause, by int32) {
	ice := &t.past.ice
	ice.proof.and(t.proof())
	f := teehistorian.FactThaw{ClientId: t.id, Team: t.team, Tick: tick, FromTick: ice.from, Cause: cause, OtherClientId: by}
	f.Proof, f.ProofCause = fieldsOf(ice.proof)
	w.tell(told{kind: teehistorian.KindFactThaw, thaw: f})
	ice.on = false
}

// lastContact returns what another character did last to one, if that was not long ago.
func (w *World) lastContact(t *tee) contact {
	if c := t.past.contact; c.what != teehistorian.ContactUnspecified && w.tick-c.tick <= blockTicks {
		return c
	}
	return contact{by: -1, tick: -1}
}

// tellBlock tells who blocked a character, if somebody did.
func (w *World) tellBlock(t *tee, outcome teehistorian.BlockOutcome) {
	last := w.lastContact(t)
	if last.by < 0 {
		return
	}
	f := teehistorian.FactBlock{
		ClientId: last.by, OtherClientId: t.id, Team: t.team, Tick: w.tick, Outcome: outcome, Contact: last.what, ContactTick: last.tick,
	}
	last.proof.and(t.proof())
	f.Proof, f.ProofCause = fieldsOf(last.proof)
	w.tell(told{kind: teehistorian.KindFactBlock, block: f})
}

// end returns why a client's character came to its end in the tick.
func (w *World) end(s *slot) teehistorian.EndCause {
	switch t := s.tee; {
	case s.wanted >= w.tick:
		return s.wants
	case t.dead && w.kills(t.before.pos):
		return teehistorian.EndCauseTile
	case t.dead:
		return teehistorian.EndCauseOutside
	}
	return teehistorian.EndCauseUnspecified
}

// tellEnd tells of the end of a character.
func (w *World) tellEnd(t *tee) {
	if t.past.grip.on {
		w.tellHook(t)
	}
	if t.past.ice.on {
		w.tellThaw(t, w.tick, teehistorian.ThawCauseEnd, -1)
	}
	at := t.before.pos
	f := teehistorian.FactCharacterEnd{ClientId: t.id, Team: t.team, Tick: w.tick, Cause: t.ends, X: cut(at.x), Y: cut(at.y)}
	f.Proof, f.ProofCause = fieldsOf(t.proof())
	w.tell(told{kind: teehistorian.KindFactCharacterEnd, end: f})
	if t.ends == teehistorian.EndCauseTile || t.ends == teehistorian.EndCauseOutside {
		w.tellBlock(t, teehistorian.BlockOutcomeDeath)
	}
}

// finish follows a character's run.
func (w *World) finish(t *tee) {
	r, s := &t.past.run, &w.slots[t.id]
	if r.on {
		r.at(w.tick, 1, t.verdict.proof())
	}
	if recorded := s.finishTick == w.tick; recorded || t.finishes && r.on {
		f := teehistorian.FactRun{ClientId: t.id, Team: t.team, Tick: w.tick, FromTick: -1, UnprovenTick: -1, Time: -1}
		f.Proof = teehistorian.ProofUnknown
		if recorded {
			f.Time = s.finishTime
		}
		if r.on {
			f.FromTick, f.ProvenTicks, f.CorrectedTicks, f.UnknownTicks = r.from, r.ticks[Proven], r.ticks[Corrected], r.ticks[Unknown]
			if f.Proof, f.ProofCause = fieldsOf(r.proof); r.proof.mark != Proven {
				f.UnprovenTick = r.unproven
			}
		}
		w.tell(told{kind: teehistorian.KindFactRun, run: f})
		r.on = false
	}
	if t.starts {
		*r = run{}
		r.at(w.tick, 1, t.verdict.proof())
	}
}

// rested follows a character through ticks that were not calculated.
func (w *World) rested(t *tee, ticks int32) {
	p := &t.past
	if p.ice.on && !t.core.iced() {
		w.tellThaw(t, w.tick, teehistorian.ThawCauseExpired, -1)
	}
	for _, s := range [...]*span{&p.ice, &p.grip} {
		if s.on {
			s.proof.and(t.proof())
		}
	}
	if p.run.on {
		p.run.at(w.tick, ticks, t.verdict.proof())
	}
}
