package teehistorian

import (
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/encode"
)

var _ encode.Presenter = (*reader)(nil)

// AppendPresent implements encode.Presenter: an event for each client that is connected or has a character.
func (r *reader) AppendPresent(b *encode.Batch) {
	for id, c := range r.d.State().Clients() {
		if !c.Present && !c.Alive {
			continue
		}
		r.ev.AtTick, r.ev.Kind, r.ev.Warnings = r.d.Tick(), teehistorian.KindPlayerState, r.ev.Warnings[:0]
		r.ev.PlayerState = teehistorian.PlayerState{
			ClientId: id, Joined: c.Present, Protocol: c.Protocol, Name: c.Name, Team: c.Team,
			Alive: c.Alive, X: c.X, Y: c.Y, Input: c.Input, HasInput: c.HasInput,
		}
		property := properties(&r.ev)
		if !r.Filter.Match(&property) {
			continue
		}
		r.add(b)
		if b.KeepMarks {
			b.Marks = append(b.Marks, encode.Mark{Event: property, End: len(b.Events), Next: r.d.Position()})
		}
	}
}
