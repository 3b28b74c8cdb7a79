package teehistorian

import (
	"io"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/table"
)

var _ codec.Presenter = (*reader)(nil)

// Present implements codec.Presenter. It appends an event of each client that is connected or has a character.
func (r *reader) Present(b *codec.Batch) error {
	state := r.d.State()
	for id, c := range state.Clients() {
		switch {
		case id < r.present || !c.Present && !c.Alive:
			continue
		case b.Full():
			return nil
		}
		r.present = id + 1
		ev := teehistorian.Event{AtTick: r.Tick(), Kind: teehistorian.KindPlayerState, PlayerState: teehistorian.PlayerState{
			ClientId: id, Joined: c.Present, Protocol: c.Protocol, Name: c.Name, Team: c.Team,
			Alive: c.Alive, X: c.X, Y: c.Y, Input: c.Input, HasInput: c.HasInput,
			NameEffective: c.NameEffective, Clan: c.Clan, Country: c.Country, HasCountry: c.HasInfo,
			Skin: c.Skin, HasSkin: c.HasSkin, SkinParts: c.SkinParts,
			ClientVersion: c.Version, ClientVersionText: c.VersionText, AuthLevel: c.AuthLevel, Role: c.Role,
			Practice: state.Practice(c.Team), Ready: c.Ready,
		}}
		property := properties.Event(uint8(ev.Kind), ev.AtTick, &ev)
		if !r.StateFilter.Match(&property) {
			continue
		}
		if r.ResolvePlayers {
			r.resolve(&ev, &property)
		}
		r.write(b, table.NoPosition, &ev)
	}
	r.present = 0
	return io.EOF
}
