package physics

import (
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// In old recordings, an input may have come into effect a tick later than it seems. Often that shows only some ticks later, as when a
// hook arrives. So a character has several states from there on, until the recording says which of them is right.

// branch is another state in which a character may be.
type branch struct {
	core  core
	late  bool // acts with its last input in this tick
	waits bool // for how the others move in this tick
}

// maxBranches bounds the other states of a character.
const maxBranches = 7

// fork begins other states before a tick in which a character may act with its last input.
func (w *World) fork(t *tee) {
	if !w.ambiguous || w.slots[t.id].changed != w.tick-1 || !steers(&t.input, &t.kept) {
		return
	}
	others := len(t.branches)
	for i := range others {
		t.branches[i].late = true
	}
	t.branches = append(t.branches, branch{core: t.core, late: true})
	for i := range others {
		t.branches = append(t.branches, branch{core: t.branches[i].core})
	}
	if len(t.branches) > maxBranches {
		t.branches = t.branches[:maxBranches]
		t.blur()
	}
}

// steers reports whether two inputs move a character differently.
func steers(a, b *teehistorian.Input) bool {
	return a.Direction != b.Direction || a.Jump != b.Jump || a.Hook != b.Hook || a.Hook != 0 && (a.TargetX != b.TargetX || a.TargetY != b.TargetY)
}

// meets reports whether a character in some state may meet somebody.
func (w *World) meets(t *tee) bool {
	if len(t.met) > 0 {
		return true
	}
	reach := float32(size * 3)
	if hooks := func(b branch) bool { return b.core.hook.state >= hookFlying }; t.input.Hook != 0 || t.kept.Hook != 0 || slices.ContainsFunc(t.branches, hooks) {
		reach += t.tune[hookLength]
	}
	return slices.ContainsFunc(w.present, func(o *tee) bool {
		return o != t && w.together(t, o) && t.before.pos.sub(o.before.pos).length() < reach
	})
}

// follow plays the tick in the other states of a character that meets nobody.
func (w *World) follow(t *tee) {
	if w.meets(t) {
		for i := range t.branches {
			t.branches[i].waits = true // for meet
		}
		return
	}
	if t.left || t.away {
		t.branches = t.branches[:0]
		return
	}
	was := *t
	w.alone = true
	kept := was.branches[:0]
	for _, b := range was.branches {
		if t.core = b.core; b.late {
			t.input = was.kept
		}
		w.act(t)
		w.move(t)
		t.core.round()
		if !t.dead && !t.core.alike(&was.core) {
			kept = append(kept, branch{core: t.core})
		}
		*t = was
	}
	w.alone = false
	t.branches = kept
}

// meet plays the tick for everybody with each other state of a character that may meet somebody, and drops those that the recording contradicts.
// One that leads more of them to where they are recorded is right. What is left is kept if it makes no difference to the others; otherwise
// it is not known how the character stands.
func (w *World) meet(t *tee) {
	w.cores = w.cores[:0]
	for _, o := range w.present {
		w.cores = append(w.cores, o.core)
	}
	wrong, right := w.wrongs(), branch{core: t.before}
	input := t.input
	as := func(b branch) {
		arms := t.before.arms
		t.before, t.input = b.core, input
		if t.before.arms = arms; b.late {
			t.input = t.kept
		}
		w.run()
	}
	if w.tries <= len(t.branches) {
		t.branches = t.branches[:0]
		t.blur()
		return
	}
	w.tries -= len(t.branches) + 1
	kept := t.branches[:0]
	for _, b := range t.branches {
		switch as(b); {
		case w.wrongs() < wrong:
			wrong, right = w.wrongs(), b
			kept = kept[:0]
		case w.wrongs() > wrong:
		case !w.same(t):
			t.blur()
		case !t.core.alike(&w.cores[slices.Index(w.present, t)]):
			kept = append(kept, branch{core: t.core})
		}
	}
	as(right)
	t.branches = kept
}

// same reports whether all but one character stand as before a character was played otherwise.
func (w *World) same(but *tee) bool {
	for i, o := range w.present {
		if o != but && !o.core.alike(&w.cores[i]) {
			return false
		}
	}
	return true
}

// choose drops the states that the recording contradicts.
func (w *World) choose(t *tee) {
	s := &w.slots[t.id]
	if !s.there {
		return
	}
	right := slices.DeleteFunc(t.branches, func(b branch) bool { return b.core.pos != s.place() })
	if len(right) > 0 && t.wrong(s) {
		right[0].core.arms = t.core.arms
		t.core, right = right[0].core, right[1:]
	}
	t.branches = append(t.branches[:0], right...)
}

// alike reports whether two states of a character move alike from here on. Other states shoot nothing, so that weapons do not count.
func (c *core) alike(o *core) bool {
	a, b := *c, *o
	for _, one := range [...]*core{&a, &b} {
		if one.arms = (arms{}); one.hook.state <= hookIdle {
			one.hook = hook{state: one.hook.state}
		}
	}
	return a == b
}

// blurs reports whether a character may stand otherwise than calculated.
func (t *tee) blurs() bool {
	return t.blurred.doubted() || slices.ContainsFunc(t.branches, func(b branch) bool { return !t.core.seems(&b.core) })
}
