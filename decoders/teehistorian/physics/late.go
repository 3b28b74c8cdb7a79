package physics

// In old recordings, an input may have come into effect a tick later than it seems. Often that shows only some ticks later, as when a
// hook arrives. So a character has two states from there on, until the recording says which of them is right.

// fork begins another state, in which the character still acts with its last input.
func (w *World) fork(t *tee) {
	if w.ambiguous && !t.forked && w.slots[t.id].changed == w.tick-1 && t.input != t.kept {
		t.forked, t.other, t.otherInput = true, t.core, t.kept
	}
}

// follow plays the tick in the other state.
func (w *World) follow(t *tee) {
	if len(t.met) > 0 || t.left || t.away {
		t.forked = false // the others would have to be played, too
		return
	}
	was := *t
	w.alone = true
	t.core, t.input = was.other, was.otherInput
	w.act(t)
	w.move(t)
	t.core.round()
	w.alone = false
	was.other, was.otherInput = t.core, was.input // each input comes a tick late
	if t.dead {
		was.forked = false
	}
	*t = was
}

// choose drops the state that the recording contradicts.
func (w *World) choose(t *tee) {
	switch s := &w.slots[t.id]; {
	case t.core == t.other || !s.there || t.other.pos != s.place():
	case t.wrong(s):
		t.core = t.other
	default:
		return
	}
	t.forked = false
}
