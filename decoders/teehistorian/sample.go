package teehistorian

// Slots returns a number above all client ids that a record has named.
func (s *State) Slots() int { return len(s.clients) }

// Sample sets ev to a sample_player of a client at the current tick. It returns false for an id without a client and without a character.
// Call it when the tick is complete: when Next has returned the tick or finish event behind it, which change nothing that a sample
// has. The event is valid until the Decoder's next call.
func (s *State) Sample(id int32, ev *Event) bool {
	if id < 0 || int(id) >= len(s.clients) {
		return false
	}
	c := &s.clients[id]
	if !c.seen || !c.Present && !c.Alive {
		return false
	}
	ev.AtTick, ev.Kind, ev.Warnings = s.tick, KindSamplePlayer, ev.Warnings[:0]
	e := &ev.SamplePlayer
	e.ClientId, e.Team, e.Ready, e.Practice = id, c.Team, c.Ready, s.Practice(c.Team)
	e.Alive, e.HasX, e.HasY, e.X, e.Y = c.Alive, c.Alive, c.Alive, c.X, c.Y
	if e.HasInput = c.HasInput; e.HasInput {
		e.Input = c.Input
	}
	return true
}
