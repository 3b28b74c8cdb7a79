package teehistorian

import (
	"iter"
	"math"
)

// Client is what a decoder knows of one of the server's slots.
type Client struct {
	// Present: a client is connected, as far as the file tells: it joined, or, where servers did not write that (before
	// DDNet 17.3, and in some later versions), it did something that clients do; and it was not dropped since.
	Present bool
	// Joined: a JOIN record says that the client is connected.
	Joined bool
	// Alive: the client has a character, at X and Y.
	Alive bool
	// X and Y are where the character is, or was when it disappeared, in world units, 32 to a tile; y grows downwards.
	X, Y int32
	// HasInput: the client has sent an input, the last of which is Input. It stays when the client leaves.
	HasInput bool
	Input    Input
	// Protocol is the numbering of the client's messages, as far as it is known.
	Protocol Protocol
	// Team is the client's team.
	Team int32
	// Name is what the server calls the client, or, until the server says so, what the client asked to be called. It
	// stays when the client leaves. At most 128 bytes of it are kept.
	Name []byte

	seen  bool // some record named the client
	named bool // Name is the server's word
}

// maxName bounds the memory that names take. Servers allow 15 bytes.
const maxName = 128

func (c *Client) setName(name []byte) { c.Name = append(c.Name[:0], name[:min(len(name), maxName)]...) }

// State is what the records up to a position add up to. It belongs to its Decoder, changes with the Decoder's next
// call, and must not be modified.
type State struct {
	tick int32
	// prev is the client id of the last PLAYER record of this tick: the next tick begins with a PLAYER record whose id
	// is not above it. It is -1 just after a tick was marked, and infinite at the start, where any PLAYER record begins
	// tick 1. See docs/formats/teehistorian.md, "Ticks".
	prev    int32
	clients []Client
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
