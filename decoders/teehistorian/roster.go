package teehistorian

import (
	"fmt"

	"github.com/replayd/replayd/decoders/teehistorian/internal/stored"
)

// A roster lists the clients that are connected at the end of a game. The file of the next game in the same server
// process lacks this information. Servers write a client's name, version and login when they change, and do not repeat
// them after a map change.

// rosterVersion is the first byte of a roster. Any change of the layout changes it.
const rosterVersion = 3

// Roster appends the roster at the decoder's Position to b. Pass it to Carry of a decoder of the next game in the same
// server process.
func (d *Decoder) Roster(b []byte) []byte {
	for id := range d.state.clients {
		c := &d.state.clients[id]
		c.authed = c.authed || d.state.repeatsLogins // the roster has no header, and earlier games must not add a login
	}
	return d.state.appendClients(append(b, rosterVersion), func(c *Client) bool { return c.Present && c.seen })
}

// Carry adds the roster of the previous game to the state. It completes clients whose connections may be older than the
// file, and adds only what the file itself, up to the current Position, does not state. It may be called at any time
// after the header was read, and repeatedly. It changes no event. For an invalid roster it changes nothing and returns
// an error that wraps ErrSnapshot.
func (d *Decoder) Carry(roster []byte) error {
	before, err := ReadRoster(roster)
	if err != nil {
		return err
	}
	if !d.state.damaged() { // after damage, a slot may have another client
		d.state.carry(before)
	}
	return nil
}

// CarryRoster is like Carry, for a game of which only the roster is available. It returns the roster later, completed with
// earlier, the roster of the previous game.
func CarryRoster(later, earlier []byte) ([]byte, error) {
	s, err := ReadRoster(later)
	if err != nil {
		return nil, err
	}
	before, err := ReadRoster(earlier)
	if err != nil {
		return nil, err
	}
	s.carry(before)
	return s.appendClients([]byte{rosterVersion}, func(c *Client) bool { return c.seen }), nil
}

// RosterIncomplete reports whether the previous game could add to a client in a roster. It is false for an invalid
// roster.
func RosterIncomplete(roster []byte) bool {
	s, err := ReadRoster(roster)
	if err != nil {
		return false
	}
	for _, c := range s.Clients() {
		if !c.fresh && !c.NameEffective {
			return true
		}
	}
	return false
}

// ReadRoster parses a roster. In the returned state, only the clients are valid.
func ReadRoster(roster []byte) (*State, error) {
	s := newState()
	r := snapshotReader{stored.Reader{Rest: roster}}
	if version := r.Byte(); version != rosterVersion {
		return nil, fmt.Errorf("%w: a roster of version %d", ErrSnapshot, version)
	}
	if r.clients(&s); r.Bad || len(r.Rest) > 0 {
		return nil, fmt.Errorf("%w: a damaged roster", ErrSnapshot)
	}
	return &s, nil
}

// carry completes the clients with those of the previous game.
func (s *State) carry(before *State) {
	for id, old := range before.Clients() {
		c := s.client(id)
		if c.fresh || c.dropped {
			continue
		}
		if old.NameEffective && !c.NameEffective || len(c.Name) == 0 {
			set(&c.Name, old.Name)
			c.NameEffective = old.NameEffective
		}
		if !c.HasInfo && old.HasInfo {
			c.HasInfo, c.HasSkin, c.Country = true, old.HasSkin, old.Country
			set(&c.Clan, old.Clan)
			c.setSkin(&old.Skin, old.SkinParts)
		}
		if !c.versioned {
			c.Version, c.versioned = old.Version, old.versioned
			set(&c.VersionText, old.VersionText)
		}
		if !c.authed && !s.repeatsLogins {
			c.AuthLevel, c.authed = old.AuthLevel, old.authed
			set(&c.Role, old.Role)
		}
	}
}
