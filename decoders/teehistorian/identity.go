package teehistorian

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// Servers write only a part of who a client is: the rest follows from clients' messages, and from rules of the server that leave
// no record. This file has these rules. See docs/formats/teehistorian.md, "Identity".

// tickRate is the number of ticks in a second.
const tickRate = 50

// rules are the rules of a server that depend on its version.
type rules struct {
	// repeatsLogins: in tick 0 the file states all logins that are older than the file. A client without one has none.
	repeatsLogins bool
	// recordsJoins: every connection has a JOIN. Earlier servers did not write all, by mistake, and later ones are not known.
	recordsJoins bool
	// recordsReady: PLAYER_READY tells which clients have entered the game.
	recordsReady bool
	// refusesInvalid: a message whose texts are not UTF-8 has no effect.
	refusesInvalid bool
}

// The minor versions that changed the rules. Each comment names the first release after the change.
const (
	readyMinor    = 3  // DDNet 16.0
	unpackedMinor = 7  // 18.2
	noLoginsMinor = 15 // 19.6: logins are no longer repeated, by mistake
	loginsMinor   = 22 // 19.9: all joins and logins are repeated
	knownMinor    = 23 // 20.1.1
)

// rulesOf returns the rules of the server that wrote a header.
func rulesOf(h *Header) rules {
	extended := h.Version >= 2
	return rules{
		repeatsLogins:  extended && (h.VersionMinor < noLoginsMinor || h.VersionMinor >= loginsMinor),
		recordsJoins:   h.VersionMinor >= loginsMinor && h.VersionMinor <= knownMinor,
		recordsReady:   h.VersionMinor >= readyMinor,
		refusesInvalid: h.VersionMinor >= unpackedMinor,
	}
}

// settings are the server's settings that decide whether it accepts a client's statements about itself.
type settings struct {
	spamProtection bool
	infoDelay      int32 // the least time between two changes, in seconds
}

// defaultSettings are the values of settings that a header leaves out.
var defaultSettings = settings{spamProtection: true, infoDelay: 5}

// settingsOf returns the settings of a header.
func settingsOf(h *Header) settings {
	s := defaultSettings
	for name, value := range h.Config {
		s.set(name, value)
	}
	return s
}

// maxInfoDelay is the largest value of sv_info_change_delay. Servers reduce larger ones.
const maxInfoDelay = 9999

// set changes a setting as the server's console does. It ignores other settings.
func (s *settings) set(name, value string) {
	switch name {
	case "sv_spamprotection":
		s.spamProtection = leadingInt(value) > 0
	case "sv_info_change_delay":
		s.infoDelay = int32(min(max(leadingInt(value), 0), maxInfoDelay))
	}
}

// reset gives a setting its default. It ignores other settings.
func (s *settings) reset(name string) {
	switch name {
	case "sv_spamprotection":
		s.spamProtection = defaultSettings.spamProtection
	case "sv_info_change_delay":
		s.infoDelay = defaultSettings.infoDelay
	}
}

// leadingInt returns the number at the start of a text, as servers read it. It is 0 without one.
func leadingInt(text string) int {
	n := 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || n == 0 && (text[n] == '-' || text[n] == '+')) {
		n++
	}
	v, _ := strconv.Atoi(text[:n]) // the nearest number when out of range
	return v
}

// player holds what the server knows of a connected client's player until the map changes.
type player struct {
	introduced bool   // the server accepted the start info
	infoAt     int32  // the tick in which it last accepted clan and skin; 0 for none, in the server, too
	code       uint64 // a hash of the timeout code; 0 for none
}

// takes reports whether the server accepts a change of clan and skin now.
func (s *State) takes(c *Client) bool {
	next := int64(c.infoAt) + int64(s.infoDelay)*tickRate
	return !s.spamProtection || c.infoAt == 0 || int64(s.tick) >= next
}

// startInfo applies a client's introduction. The server accepts the first one. Of a later one, for example when a client rejoins,
// it accepts only the skin of a client of 0.7.
func (s *State) startInfo(c *Client, p *PlayerInfo) {
	switch {
	case s.refusesInvalid && !p.valid():
	case !c.introduced:
		c.introduced, c.infoAt = true, s.tick
		c.setInfo(p)
	case !p.HasSkin:
		c.setSkin(&Skin{}, p.SkinParts)
	}
}

// changeInfo applies a change of clan and skin. The server ignores it if the client is not in the game, or if too little time has
// passed since the last one.
func (s *State) changeInfo(c *Client, p *PlayerInfo) {
	if s.refusesInvalid && !p.valid() || s.recordsReady && !c.Ready || !s.takes(c) {
		return
	}
	c.infoAt = s.tick
	c.setInfo(p)
}

// skinChange applies a change of the skin of a client of 0.7.
func (s *State) skinChange(c *Client, parts []SkinPart) {
	if s.takes(c) {
		c.infoAt = s.tick
		c.setSkin(&Skin{}, parts)
	}
}

// valid reports whether all texts are UTF-8.
func (p *PlayerInfo) valid() bool {
	for i := range p.SkinParts {
		if !utf8.Valid(p.SkinParts[i].Name) {
			return false
		}
	}
	return utf8.Valid(p.Name) && utf8.Valid(p.Clan) && utf8.Valid(p.Skin.Name)
}

// The sizes of texts in servers, in bytes.
const (
	clanSize = 11
	skinSize = 23
)

// setCut stores a text in the form that servers keep: without blanks at the start, with blanks in place of control characters,
// and cut at the start of a character. It reuses the memory of to.
func setCut(to *[]byte, text []byte, size int) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !invisible(r) {
			break
		}
		text = text[n:]
	}
	if len(text) > size {
		for size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		text = text[:size]
	}
	set(to, text)
	for i, b := range *to {
		if b < ' ' {
			(*to)[i] = ' '
		}
	}
}

// trimRight returns a text without the blanks at its end.
func trimRight(text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeLastRune(text)
		if !invisible(r) {
			break
		}
		text = text[:len(text)-n]
	}
	return text
}

// invisible reports whether servers regard a character as invisible.
func invisible(r rune) bool {
	switch {
	case r <= 0x20, r == 0x85, r == 0xa0, r == 0x34f, r == 0x115f, r == 0x1160, r == 0x1680, r == 0x180e,
		r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x2064, r >= 0x206a && r <= 0x206f,
		r == 0x2800, r == 0x3000, r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff9 && r <= 0xfffc:
		return true
	}
	return false
}

// rejoin applies a new connection of a client from the same address without a drop. The server keeps the player and forgets login
// and version.
func (c *Client) rejoin() {
	c.markPresent()
	c.Protocol = ProtocolSix
	c.setLogin(AuthLevelUnspecified, nil)
	c.setVersion(0, nil)
}

// reclaim is a client's request to take over the slot of a lost connection. The server decides at once: if it agrees, the drop of
// the client's own slot is the next record, except for a logout.
type reclaim struct {
	client int32
	code   uint64 // 0 if the request has no code
	end    int64  // the offset at which the drop must start; 0 without a request
}

// dropReclaimed is the reason with which the server drops a connection that took over another slot. A client can give the same one.
const dropReclaimed = "Timeout Protection used"

// codeSize is the size of timeout codes in servers, in bytes. Longer codes never match.
const codeSize = 63

// hashCode returns the hash of a timeout code. The code itself is a secret, and not needed.
func hashCode(code []byte) uint64 {
	if len(code) == 0 {
		return 0
	}
	sum := sha256.Sum256(code)
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}

// command applies a console command that starts after the last record and ends at an offset.
func (s *State) command(c *ConsoleCommand, end int64) {
	switch name := string(c.Command); {
	case name == "timeout" && c.ClientId >= 0:
		s.timeout(c, end)
	case name == "reset" && len(c.Arguments) == 1:
		s.reset(string(c.Arguments[0]))
	case len(c.Arguments) == 1:
		if name == "sv_spamprotection" || name == "sv_info_change_delay" {
			s.set(name, string(c.Arguments[0]))
		}
	}
}

// timeout applies the command by which a client states its timeout code.
func (s *State) timeout(c *ConsoleCommand, end int64) {
	client := s.client(c.ClientId)
	s.reclaim = reclaim{client: c.ClientId, code: client.code, end: end}
	client.code = 0
	if len(c.Arguments) > 0 {
		code := c.Arguments[0]
		s.reclaim.code = hashCode(code)
		client.code = hashCode(code[:min(len(code), codeSize)])
	}
}

// pass moves the place of the awaited drop past a record that the server may write before it.
func (r *reclaim) pass(start, end int64) {
	if r.end != 0 && r.end == start {
		r.end = end
	}
}

// reclaimed applies the drop of a client at an offset. If the client took over another slot, reclaimed returns that slot: the
// client in it has the connection from now on. Otherwise it returns noClient. If several slots have the code, the file does not
// tell which one it was; reclaimed returns noClient, and none of them is logged in.
func (s *State) reclaimed(id int32, reason []byte, start int64) int32 {
	r := s.reclaim
	if r.end == 0 || r.end != start || r.client != id || r.code == 0 || string(reason) != dropReclaimed {
		return noClient
	}
	slot, from := int32(noClient), s.client(id)
	several := false
	for i := range s.clients {
		c := &s.clients[i]
		if int32(i) == id || !c.Present || c.code != r.code {
			continue
		}
		several = slot != noClient
		slot = int32(i)
		c.setLogin(AuthLevelUnspecified, nil)
	}
	if slot == noClient || several {
		return noClient
	}
	c := &s.clients[slot]
	c.Protocol = from.Protocol
	c.setVersion(from.Version, from.VersionText)
	return slot
}
