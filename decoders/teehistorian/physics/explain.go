package physics

// Each tick allows some more tries to play a tick again, up to a maximum that may be left over.
const (
	triesPerTick = 4
	maxTries     = 512
)

// explain plays a tick again with what may have happened, as far as that makes fewer characters wrong.
func (w *World) explain() {
	e := explanation{w: w, wrong: w.wrongs()}
	for _, t := range w.present {
		s := &w.slots[t.id]
		if was := t.team; was != s.team {
			t.team = s.team
			e.try(func() { t.team = was })
			w.last = t // servers that remove what it shot may forget who would act after it
			e.try(func() { w.last = nil })
		}
		if w.ambiguous && s.hasInput && s.changed == w.tick-1 && t.wrong(s) {
			was := t.input
			t.input = t.kept
			e.try(func() { t.input = was })
		}
		if t.shoots && w.tries > 0 {
			t.holds = true
			e.try(func() { t.holds = false })
		}
		if len(t.exits) > 1 && t.wrong(s) {
			e.leave(t, s.place())
		}
	}
	for range 2 { // some are hit twice
		for _, by := range w.present {
			e.hit(by)
		}
	}
}

// explanation is what is tried in a tick.
type explanation struct {
	w     *World
	wrong int // characters that are wrong by what stands
	hits  []*tee
}

// try plays the tick with a change, which it undoes unless fewer characters are wrong.
func (e *explanation) try(undo func()) bool {
	if e.w.tries <= 0 || e.wrong == 0 {
		undo()
		return false
	}
	e.w.tries--
	e.w.run()
	if left := e.w.wrongs(); left < e.wrong {
		e.wrong = left
		return true
	}
	undo()
	e.w.run()
	return false
}

// leave tries by which exit a character left a teleporter: those from which it may have come to a place in a tick.
func (e *explanation) leave(t *tee, to vec) {
	exits := t.exits
	reach := t.core.pos.sub(exits[0]).length()*2 + tileSize*2
	for exit := 1; exit < len(exits) && t.core.pos != to && e.w.tries > 0; exit++ {
		if exits[exit].sub(to).length() > reach {
			continue
		}
		t.exit = exit
		e.try(func() { t.exit = 0 })
	}
}

// hit tries whether a character has hit those that are wrong with its hammer.
func (e *explanation) hit(by *tee) {
	w := e.w
	e.hits = e.hits[:0]
	if !w.slots[by.id].fires {
		return
	}
	for _, t := range w.present {
		if t != by && t.wrong(&w.slots[t.id]) && w.together(t, by) && by.before.pos.sub(t.before.pos).length() < hammerReach {
			t.hits = append(t.hits, by.id)
			e.hits = append(e.hits, t)
		}
	}
	if len(e.hits) == 0 || !e.try(e.unhit) {
		return
	}
	// Who is still wrong was not hit.
	kept := len(e.hits)
	for _, t := range e.hits {
		if t.wrong(&w.slots[t.id]) {
			t.hits = t.hits[:len(t.hits)-1]
			kept--
		}
	}
	if kept < len(e.hits) {
		w.run()
		e.wrong = w.wrongs()
	}
}

func (e *explanation) unhit() {
	for _, t := range e.hits {
		t.hits = t.hits[:len(t.hits)-1]
	}
}

// wrongs returns how many characters are elsewhere than the recording has them.
func (w *World) wrongs() (n int) {
	for _, t := range w.present {
		if t.wrong(&w.slots[t.id]) {
			n++
		}
	}
	return n
}
