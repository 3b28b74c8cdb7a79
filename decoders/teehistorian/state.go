package teehistorian

import (
	"iter"
	"math"
)

// State is what the records up to a position add up to. It belongs to its Decoder, changes with the Decoder's next
// call, and must not be modified.
type State struct {
	tick int32
	// prev is the client id of the last PLAYER record of this tick: the next tick begins with a PLAYER record whose id
	// is not above it. It is -1 just after a tick was marked, and infinite at the start, where any PLAYER record begins
	// tick 1. See docs/formats/teehistorian.md, "Ticks".
	prev     int32
	clients  []Client
	practice []bool // by team
}

func newState() State { return State{prev: math.MaxInt32} }

// Tick is the current tick. It is 0 before the first one.
func (s *State) Tick() int32 { return s.tick }

// Client returns what is known of a client id, the zero Client when it was never named. Its Name is valid until the
// decoder's next call.
func (s *State) Client(id int32) Client {
	if id < 0 || int(id) >= len(s.clients) {
		return Client{}
	}
	return s.clients[id]
}

// Practice reports whether a team practises.
func (s *State) Practice(team int32) bool {
	return team >= 0 && int(team) < len(s.practice) && s.practice[team]
}

// setPractice ignores teams that cannot be: there are no more teams than clients.
func (s *State) setPractice(team int32, on bool) {
	switch {
	case team < 0 || team >= MaxClients:
		return
	case int(team) >= len(s.practice):
		s.practice = append(s.practice, make([]bool, int(team)+1-len(s.practice))...)
	}
	s.practice[team] = on
}

// Clients returns all client ids that any record named, in ascending order, with what is known of them.
func (s *State) Clients() iter.Seq2[int32, Client] {
	return func(yield func(int32, Client) bool) {
		for id := range s.clients {
			if s.clients[id].seen && !yield(int32(id), s.clients[id]) {
				return
			}
		}
	}
}

// client returns the slot of an id below MaxClients, making it if need be.
func (s *State) client(id int32) *Client {
	if int(id) >= len(s.clients) {
		bigger := make([]Client, min(max(64, 2*int(id)), MaxClients))
		copy(bigger, s.clients)
		s.clients = bigger
	}
	return &s.clients[id]
}
