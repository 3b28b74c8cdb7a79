package teehistorian

import (
	"bytes"
	"unicode/utf8"
)

// rule is a property of every record that a server writes. A record without it is damage, and so are the following records, as
// far as they cannot be told from damage. A rule must hold for all versions of DDNet's server, or name the versions for which it
// holds: if a sound file breaks a rule, more is lost than a missing rule would find. See docs/formats/teehistorian.md, "The
// writer's rules".
type rule struct {
	// on are the records to which the rule applies.
	on records
	// broken describes a record that breaks the rule, for error texts and events.
	broken []byte
	// breaks reports whether a record breaks the rule. A rule that depends on earlier records is applied only if these are known.
	breaks func(d *Decoder, r *record) bool
	// needsState: the rule depends on earlier records.
	needsState bool
}

// records is a set of kinds of records.
type records uint16

const (
	onMove records = 1 << iota // and then by falling id
	onFinish
	onSkip
	onNew
	onOld
	onInputDiff
	onInputNew
	onMessage
	onJoin
	onDrop
	onCommand
	onEx
	onOther // ids that no record has
	onAll   = onOther<<1 - 1
)

// kind returns the kind of a record.
func (r *record) kind() records {
	switch {
	case r.id >= 0:
		return onMove
	case r.id >= idEx:
		return onMove << -r.id
	}
	return onOther
}

// writerRules are all rules, in the order in which they are applied: first the rules about a record's encoding. Each names the
// functions of DDNet's server from which it follows.
var writerRules = [...]rule{
	// CTeeHistorian: its enumeration of records, the same since 11.0; WriteExtra came with version 2.
	{on: onEx | onOther, broken: []byte("there is no record of that id"), breaks: func(d *Decoder, r *record) bool {
		return r.id < idEx || r.id == idEx && d.header.Version < 2
	}},
	// CTeehistorianPacker has 64 KiB, CPacker had 2 KiB. Commands and their arguments are at most a line of the console
	// (CONSOLE_MAX_STR_LENGTH), which has 8 KiB, and MAX_PARTS of them. Reasons of drops come from a packet, a ban or a line.
	{on: onMessage | onEx | onDrop | onCommand, broken: []byte("it is larger than the server's buffers, or has a negative size"), breaks: func(_ *Decoder, r *record) bool {
		return r.tooLong
	}},
	// CVariableInt::Pack ends with the highest bit that is set.
	{on: onAll, broken: []byte("an integer is longer than it need be"), breaks: func(d *Decoder, r *record) bool {
		return r.odd || r.id == idEx && r.known != nil && d.ex.odd
	}},
	// Ids are indexes of arrays of MAX_CLIENTS. IConsole's CLIENT_ID constants, for callers that are no clients, are -1 to -3.
	{on: onAll, broken: []byte("there is no client of that id"), breaks: func(_ *Decoder, r *record) bool {
		switch r.id {
		case idFinish, idTickSkip, idEx:
			return false
		case idConsoleCommand:
			return r.client < lowestCaller || r.client >= MaxClients
		}
		return r.client < 0 || r.client >= MaxClients
	}},
	// RecordPlayer compares the position with that of the last record.
	{on: onMove, broken: []byte("a move by 0, 0"), breaks: func(_ *Decoder, r *record) bool {
		return r.id >= 0 && r.v[0] == 0 && r.v[1] == 0
	}},
	// RecordPlayerInput compares the input with that of the last record.
	{on: onInputDiff, broken: []byte("a change of an input by nothing"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idInputDiff && r.v == [inputFields]int32{}
	}},
	// CEntity::GameLayerClipped: characters further than 200 tiles out of the map die before the tick's positions are written.
	{on: onNew, broken: []byte("a place out of reach"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idPlayerNew && beyond(r.v[0], r.v[1])
	}},
	// WriteTick: the tick grows between two calls. Before 11.0.3 (version 1), Reset did not mark tick 0 as written, so that it may
	// be marked by a skip of -1.
	{on: onSkip, broken: []byte("ticks that go back"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idTickSkip && (r.v[0] < -1 || r.v[0] < 0 && d.header.Version >= 2)
	}},
	// CGameContext::OnMessage records what CServer::ProcessClientPacket passes on: a message with a readable number, not a system
	// message, from a packet of at most NET_MAX_PACKETSIZE.
	{on: onMessage, broken: []byte("a message that no client can send"), breaks: func(_ *Decoder, r *record) bool {
		if r.id != idMessage {
			return false
		}
		c := cursor{b: r.data}
		header := c.int()
		return c.cut || header < 0 || header&1 != 0 || len(r.data) > maxPacket
	}},
	// CConsole::ExecuteLineStroked: the name is that of a command that the server's source registers, up to a blank.
	{on: onCommand, broken: []byte("a name that no command has"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idConsoleCommand &&
			(len(r.text) == 0 || bytes.ContainsFunc(r.text, func(c rune) bool { return c <= ' ' || c == utf8.RuneError }))
	}},
	// CConsole's m_FlagMask is a set of the CFGFLAG constants.
	{on: onCommand, broken: []byte("flags that no command has"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idConsoleCommand && (r.v[0] < 0 || r.v[0] > maxFlags)
	}},
	// The function of each extension writes all fields, in all versions.
	{on: onEx, broken: []byte("an extension without all of its fields, or of a client that there is not"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idEx && r.known != nil && (d.ex.cut || d.ex.bad)
	}},
	// Finish: CGameContext::OnShutdown closes the file behind it.
	{on: onFinish, broken: []byte("bytes behind the end"), breaks: func(_ *Decoder, r *record) bool {
		return r.id == idFinish && r.rest > 0
	}},
	// WriteTick, as above.
	{on: onSkip, needsState: true, broken: []byte("the mark of tick 0 in a later tick"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idTickSkip && r.v[0] < 0 && d.state.tick != 0
	}},
	// CServer::Run loads the map anew, which begins a new file, at MAX_TICK.
	{on: onSkip | onMove | onNew | onOld, needsState: true, broken: []byte("a tick beyond the last one"), breaks: func(d *Decoder, r *record) bool {
		switch s := &d.state; {
		case r.id == idTickSkip:
			return int64(s.tick)+int64(r.v[0])+1 > lastTick
		case r.id >= 0, r.id == idPlayerNew, r.id == idPlayerOld:
			return r.client <= s.prev && s.tick >= lastTick
		}
		return false
	}},
	// RecordPlayer and RecordDeadPlayer: m_Alive, which Reset clears.
	{on: onMove | onOld, needsState: true, broken: []byte("a character that moves or disappears, and was not there"), breaks: func(d *Decoder, r *record) bool {
		return (r.id >= 0 || r.id == idPlayerOld) && d.state.absent(r.client)
	}},
	{on: onNew, needsState: true, broken: []byte("a character that appears, and is there"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idPlayerNew && int(r.client) < len(d.state.clients) && d.state.clients[r.client].Alive
	}},
	// As for places: PLAYER_NEW and the moves since add up to the position.
	{on: onMove, needsState: true, broken: []byte("a move to a place out of reach"), breaks: func(d *Decoder, r *record) bool {
		if r.id < 0 || int(r.client) >= len(d.state.clients) {
			return false
		}
		c := &d.state.clients[r.client]
		return c.Alive && beyond(c.X+r.v[0], c.Y+r.v[1])
	}},
	// RecordPlayerInput: m_InputExists, in later versions m_UniqueClientId, which Reset clears.
	{on: onInputDiff, needsState: true, broken: []byte("a change of an input that there is not"), breaks: func(d *Decoder, r *record) bool {
		return r.id == idInputDiff && !d.state.damaged() &&
			(int(r.client) >= len(d.state.clients) || !d.state.clients[r.client].HasInput)
	}},
	// CServer: NewClientCallback, NewClientNoAuthCallback, and Run after a map change record a JOIN for each client; only these
	// clients send messages, and DelClientCallback drops only them.
	{on: onMessage | onDrop, needsState: true, broken: []byte("a message or a drop of a client that did not join"), breaks: func(d *Decoder, r *record) bool {
		return (r.id == idMessage || r.id == idDrop) && d.state.recordsJoins && !d.state.damaged() &&
			(int(r.client) >= len(d.state.clients) || !d.state.clients[r.client].Joined)
	}},
}

// The limits of the rules.
const (
	// lastTick is MAX_TICK and an hour, since a server that was stopped catches up before it looks.
	lastTick = 0x6fffffff + 3600*tickRate

	maxReason  = 8 << 10
	maxCommand = 16 << 10 // of the name, and of the arguments with their NULs
	maxPacket  = 1400
	maxFlags   = 1<<24 - 1 // 14 of them are in use

	lowestCaller = -16

	// The reach is from 2,048 tiles left of the map and above it to 129,000 tiles right and below. The widest map that DDNet's editor
	// makes has 100,000 tiles.
	reachBefore = 2048 * 32
	reachBits   = 22 // of the whole reach
)

// beyond reports whether no character can be at a place. It is the same for all maps, because the file does not contain the map.
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

// control reports whether servers replace a character of a client's text by a blank, except in texts of several lines.
func control(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }

// broken returns the rule that a record breaks, or nil.
func (d *Decoder) broken(r *record) *rule {
	kind := r.kind()
	for i := range writerRules {
		if rule := &writerRules[i]; rule.on&kind != 0 && rule.breaks(d, r) {
			return rule
		}
	}
	return nil
}

// plausible reports whether a record breaks none of the rules that need no state, and is usual. An unusual record is no damage,
// but does not help to find the places where records start.
func (d *Decoder) plausible(r *record) bool {
	kind := r.kind()
	for i := range writerRules {
		if rule := &writerRules[i]; rule.on&kind != 0 && !rule.needsState && rule.breaks(d, r) {
			return false
		}
	}
	switch r.id {
	case idMessage: // some client programs send other messages
		m := &d.seam.scratch.Message
		m.Raw = r.data
		six, _, _ := m.parse(ProtocolSix)
		seven, _, _ := m.parse(ProtocolSeven)
		return max(six, seven) == fitsExactly
	case idDrop: // an operator may give another reason
		return !bytes.ContainsFunc(r.text, control)
	case idEx: // a modified server may write extensions whose names are not in the header
		return r.known != nil || len(d.header.UUIDs) == 0 || d.uuidName(r.uuid) != nil
	}
	return true
}
