package teehistorian

import (
	"bytes"
	"unicode/utf8"
)

// rule is a property that every record has that a server writes. A record without it is damage, and so is what follows, as far
// as it cannot be told from damage. See docs/formats/teehistorian.md, "The writer's rules", which has the source of each.
type rule struct {
	// broken describes a record that breaks the rule, for error texts and events.
	broken []byte
	// breaks reports whether a record breaks the rule. A rule that depends on earlier records is asked only where these are known.
	breaks func(d *Decoder, r *record) bool
	// needsState: the rule depends on earlier records.
	needsState bool
}

// writerRules are all the rules, in the order in which they are asked: those on how a record is written come first.
var writerRules = [...]rule{
	{broken: []byte("there is no record of that id"), breaks: func(d *Decoder, r *record) bool {
		return r.id < idEx || r.id == idEx && d.header.Version < 2
	}},
	{broken: []byte("it is larger than the server's buffers, or has a negative size"), breaks: func(_ *Decoder, r *record) bool {
		return r.tooLong
	}},
	{broken: []byte("an integer is longer than it need be"), breaks: func(d *Decoder, r *record) bool {
		return r.odd || r.id == idEx && r.known != nil && d.ex.odd
	}},
	{broken: []byte("there is no client of that id"), breaks: func(_ *Decoder, r *record) bool {
		switch r.id {
		case idFinish, idTickSkip, idEx:
			return false
		case idConsoleCommand:
			return r.client < lowestCaller || r.client >= MaxClients
		}
		return r.client < 0 || r.client >= MaxClients
	}},
	{broken: []byte("a move by 0, 0"), breaks: func(_ *Decoder, r *record) bool {
		return r.id >= 0 && r.v[0] == 0 && r.v[1] == 0
	}},
	{broken: []byte("a change of an input by nothing"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idInputDiff && r.v == [inputFields]int32{}
	}},
	{broken: []byte("a place out of reach"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idPlayerNew && beyond(r.v[0], r.v[1])
	}},
	{broken: []byte("ticks that go back"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idTickSkip && r.v[0] < 0
	}},
	{broken: []byte("a message that no client can send"), breaks: func(_ *Decoder, r *record) bool {
		if r.id != idMessage {
			return false
		}
		c := cursor{b: r.data}
		header := c.int()
		return c.cut || header < 0 || header&1 != 0 || len(r.data) > maxPacket
	}},
	{broken: []byte("a text that no server writes"), breaks: func(_ *Decoder, r *record) bool {
		switch r.id {
		case idDrop:
			return bytes.ContainsFunc(r.text, control)
		case idConsoleCommand:
			return len(r.text) == 0 || bytes.ContainsFunc(r.text, func(c rune) bool { return c <= ' ' || c == utf8.RuneError })
		}
		return false
	}},
	{broken: []byte("flags that no command has"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idConsoleCommand && (r.v[0] < 0 || r.v[0] > maxFlags)
	}},
	{broken: []byte("an extension whose name the header does not have"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idEx && r.known == nil && len(d.header.UUIDs) > 0 && d.uuidName(r.uuid) == nil
	}},
	{broken: []byte("an extension without all of its fields, or of a client that there is not"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idEx && r.known != nil && (d.ex.cut || d.ex.bad)
	}},
	{broken: []byte("bytes behind the end"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idFinish && r.rest > 0
	}},
	{needsState: true, broken: []byte("a tick beyond the last one"), breaks: func(d *Decoder, r *record) bool {
		switch s := &d.state; {
		case r.id == idTickSkip:
			return int64(s.tick)+int64(r.v[0])+1 > lastTick
		case r.id >= 0, r.id == idPlayerNew, r.id == idPlayerOld:
			return r.client <= s.prev && s.tick >= lastTick
		}
		return false
	}},
	{needsState: true, broken: []byte("a character that moves or disappears, and was not there"), breaks: func(d *Decoder, r *record) bool {
		return (r.id >= 0 || r.id == idPlayerOld) && d.state.absent(r.client)
	}},
	{needsState: true, broken: []byte("a character that appears, and is there"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idPlayerNew && int(r.client) < len(d.state.clients) && d.state.clients[r.client].Alive
	}},
	{needsState: true, broken: []byte("a move to a place out of reach"), breaks: func(d *Decoder, r *record) bool {
		if r.id < 0 || int(r.client) >= len(d.state.clients) {
			return false
		}
		c := &d.state.clients[r.client]
		return c.Alive && beyond(c.X+r.v[0], c.Y+r.v[1])
	}},
	{needsState: true, broken: []byte("a change of an input that there is not"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idInputDiff && !d.state.damaged() &&
			(int(r.client) >= len(d.state.clients) || !d.state.clients[r.client].HasInput)
	}},
	{needsState: true, broken: []byte("a message or a drop of a client that did not join"), breaks: func(d *Decoder, r *record) bool {
		return (r.id == idMessage || r.id == idDrop) && d.state.recordsJoins && !d.state.damaged() &&
			(int(r.client) >= len(d.state.clients) || !d.state.clients[r.client].Joined)
	}},
}

// The limits of the rules.
const (
	lastTick = 0x6fffffff // servers begin a new game before it

	maxReason  = 2 << 10  // a reason fits into a packet, of 1400 bytes
	maxCommand = 16 << 10 // a command with its arguments; the console has 8 KiB
	maxPacket  = 1400     // the largest packet of the game's protocol
	maxFlags   = 1<<24 - 1

	lowestCaller = -16 // servers have -1 to -3

	// Characters further than 200 tiles out of the map die. The reach is from 2,048 tiles left of the map and above it to some 30,000
	// tiles right and below, which no map is wide.
	reachBefore = 2048 * 32
	reachBits   = 20 // of the whole reach
)

// beyond reports whether no character can be at a place. It is the same for all maps, since the map is not in the file.
func beyond(x, y int32) bool {
	return (uint32(x+reachBefore)|uint32(y+reachBefore))>>reachBits != 0
}

// absent reports whether a client certainly has no character.
func (s *State) absent(id int32) bool {
	if int(id) >= len(s.clients) {
		return !s.damaged()
	}
	c := &s.clients[id]
	return !c.Alive && (c.settled || !s.damaged())
}

// control reports whether a character is one that servers replace by a blank in what clients send, other than those of texts of
// several lines.
func control(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }

// broken returns the rule that a record breaks, or nil.
func (d *Decoder) broken(r *record) *rule {
	for i := range writerRules {
		if writerRules[i].breaks(d, r) {
			return &writerRules[i]
		}
	}
	return nil
}

// plausible reports whether a record breaks none of the rules that need no state. In addition, it must not be a message that no
// client program sends. That some do is no damage, but it does not help to find the place where records start.
func (d *Decoder) plausible(r *record) bool {
	for i := range writerRules {
		if !writerRules[i].needsState && writerRules[i].breaks(d, r) {
			return false
		}
	}
	if r.id != idMessage {
		return true
	}
	m := &d.seam.scratch.Message
	m.Raw = r.data
	six, _, _ := m.parse(ProtocolSix)
	seven, _, _ := m.parse(ProtocolSeven)
	return max(six, seven) == fitsExactly
}
