package teehistorian

import "fmt"

// A roster is who is connected where a game ends: what the file of the next game of the same server process leaves out.
// Servers write a client's name, version and login when they change, and not again after the map has.

// rosterVersion is the first byte of a roster. It changes with what follows.
const rosterVersion = 1

// Roster appends who is connected at the decoder's Position to b, for Carry of a decoder of the next game in the same
// server process.
func (d *Decoder) Roster(b []byte) []byte {
	return d.state.appendClients(append(b, rosterVersion), func(c *Client) bool { return c.Present && c.seen })
}

// Carry adds what the roster of the game before has of those whose connections may be older than the file: whatever the
// file itself, up to the present Position, does not say of them. It may be called at any time after the header was read, and
// again. It changes no event. The error of a roster that cannot be used wraps ErrSnapshot, and nothing is changed then.
func (d *Decoder) Carry(roster []byte) error {
	before, err := ReadRoster(roster)
	if err != nil {
		return err
	}
	d.state.carry(before)
	return nil
}

// CarryRoster is Carry for a game of which only its roster is at hand: it returns later with what earlier, of the game
// before it, adds.
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

// RosterIncomplete reports whether the game before could know more of somebody in a roster. It is false for a roster that
// cannot be used.
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

// ReadRoster returns who is in a roster: of the state, only its clients mean anything.
func ReadRoster(roster []byte) (*State, error) {
	s := newState()
	r := snapshotReader{b: roster}
	if version := r.byte(); version != rosterVersion {
		return nil, fmt.Errorf("%w: a roster of version %d", ErrSnapshot, version)
	}
	if r.clients(&s); r.bad || len(r.b) > 0 {
		return nil, fmt.Errorf("%w: a damaged roster", ErrSnapshot)
	}
	return &s, nil
}

// carry adds what is known from before.
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
			c.dress(&old.Skin, old.SkinParts)
		}
		if c.Version == 0 {
			c.Version = old.Version
			set(&c.VersionText, old.VersionText)
		}
		if !c.authed {
			c.AuthLevel, c.authed = old.AuthLevel, old.authed
			set(&c.Role, old.Role)
		}
	}
}
