package teehistorian

import (
	"strings"

	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
)

// carry passes the players at the end of the previous game to the decoder, because the file leaves them out. An unusable roster
// counts as none.
func (r *reader) carry() {
	if r.roster != nil {
		_ = r.d.Carry(r.roster)
	}
}

// resolve adds the players to the client ids of the event.
func (r *reader) resolve(ev *teehistorian.Event, of *filter.Event) {
	ev.Player, ev.HasPlayer = r.player(of.Numbers[filter.Players][0])
	ev.OtherPlayer, ev.HasOtherPlayer = r.player(of.Numbers[filter.Players][1])
}

// player returns the player of a client id, and false if no client has it.
func (r *reader) player(id int32) (teehistorian.Player, bool) {
	if id < 0 || id >= teehistorian.MaxClients {
		return teehistorian.Player{}, false
	}
	c := r.d.State().Client(id)
	return teehistorian.Player{Name: c.Name, Clan: c.Clan, Team: c.Team, HasTeam: true, Role: c.Role}, true
}

// carryRoster implements CarryRoster of codec.Codec.
func carryRoster(roster, earlier []byte) ([]byte, bool) {
	if earlier != nil {
		if carried, err := teehistorian.CarryRoster(roster, earlier); err == nil {
			roster = carried
		}
	}
	return roster, !teehistorian.RosterIncomplete(roster)
}

// players implements Players of codec.Codec.
func players(r *replaydv1.Replay, roster []byte) {
	clients, err := teehistorian.ReadRoster(roster)
	if err != nil {
		return
	}
	for id, c := range clients.Clients() {
		r.Players = append(r.Players, &replaydv1.Player{
			Id: id, Name: text(c.Name), Clan: text(c.Clan), Team: &c.Team, Role: codec.Known(text(c.Role)),
		})
	}
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
