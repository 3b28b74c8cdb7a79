package teehistorian

import (
	"iter"
	"math"
)

// State is the sum of all records up to a position. It belongs to its Decoder, changes with the Decoder's next call,
// and must not be modified.
type State struct {
	tick int32
	// prev is the client id of the last PLAYER record of this tick. The next tick begins with a PLAYER record whose id
	// is not above it. It is -1 just after a tick began. At the start it is the largest number, so that any PLAYER
	// record begins tick 1. See docs/formats/teehistorian.md, "Ticks".
	prev     int32
	clients  []Client
	practice []bool // by team

	rules
	settings
	reclaim reclaim
	damage  damage
}

func newState() State { return State{prev: math.MaxInt32} }

// Tick returns the current tick. It is 0 before the first one.
func (s *State) Tick() int32 { return s.tick }

// Client returns the state of a client id, or the zero Client if no record has named it. Its texts are valid until the
// decoder's next call.
func (s *State) Client(id int32) Client {
	if id < 0 || int(id) >= len(s.clients) {
		return Client{}
	}
	return s.clients[id]
}

// Practice reports whether a team is in practice mode.
func (s *State) Practice(team int32) bool {
	return team >= 0 && int(team) < len(s.practice) && s.practice[team]
}

// setPractice ignores impossible teams: there are no more teams than clients.
func (s *State) setPractice(team int32, on bool) {
	switch {
	case team < 0 || team >= MaxClients:
		return
	case int(team) >= len(s.practice):
		s.practice = append(s.practice, make([]bool, int(team)+1-len(s.practice))...)
	}
	s.practice[team] = on
}

// Clients returns all client ids that a record has named, in ascending order, with their state.
func (s *State) Clients() iter.Seq2[int32, Client] {
	return func(yield func(int32, Client) bool) {
		for id := range s.clients {
			if s.clients[id].seen && !yield(int32(id), s.clients[id]) {
				return
			}
		}
	}
}

// client returns the slot of an id below MaxClients. It adds slots as needed.
func (s *State) client(id int32) *Client {
	if int(id) >= len(s.clients) {
		bigger := make([]Client, min(max(64, 2*int(id)), MaxClients))
		copy(bigger, s.clients)
		s.clients = bigger
	}
	return &s.clients[id]
}
