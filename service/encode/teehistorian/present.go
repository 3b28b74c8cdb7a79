package teehistorian

import (
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/encode"
)

var _ encode.Presenter = (*reader)(nil)

// Presenting implements encode.Presenter.
func (r *reader) Presenting() bool { return r.present < teehistorian.MaxClients }

// nextPresent makes the event that tells the state of the next client who is connected or has a character, for somebody
// who starts now. It returns false when there is none left.
func (r *reader) nextPresent() bool {
	for id, c := range r.d.State().Clients() {
		if id < r.present || !c.Present && !c.Alive {
			continue
		}
		r.present = id + 1
		r.ev.AtTick, r.ev.Kind, r.ev.Warnings = r.d.Tick(), teehistorian.KindPlayerState, r.ev.Warnings[:0]
		r.ev.PlayerState = teehistorian.PlayerState{
			ClientId: id, Joined: c.Present, Protocol: c.Protocol, Name: c.Name, Team: c.Team,
			Alive: c.Alive, X: c.X, Y: c.Y, Input: c.Input, HasInput: c.HasInput,
			NameEffective: c.NameEffective, Clan: c.Clan, Country: c.Country, HasCountry: c.HasInfo,
			Skin: c.Skin, HasSkin: c.HasSkin, SkinParts: c.SkinParts,
			ClientVersion: c.Version, ClientVersionText: c.VersionText, AuthLevel: c.AuthLevel, Role: c.Role,
			Practice: r.d.State().Practice(c.Team), Ready: c.Ready,
		}
		return true
	}
	r.present = teehistorian.MaxClients
	return false
}
