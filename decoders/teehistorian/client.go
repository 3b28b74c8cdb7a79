package teehistorian

import "bytes"

// Client is the state of one of the server's client slots.
type Client struct {
	// Present reports whether a client is connected, as far as the file shows. The client has joined and was not
	// dropped since. Some servers write no JOIN (before DDNet 17.3, and some later versions). There a client is also
	// present after it did something that only clients do.
	Present bool
	// Joined reports whether a JOIN record for this connection exists.
	Joined bool
	// Ready reports whether the client has entered the game, as far as the file shows.
	Ready bool
	// Alive reports whether the client has a character, at X and Y. After damage, it is false for a character that appeared before
	// the damage.
	Alive bool
	// X and Y are the position of the character, or its last position if it is not alive. They are in world units, 32
	// to a tile. Y grows downwards.
	X, Y int32
	// HasInput reports whether the client has sent an input. Input is the last one. Both stay when the client leaves.
	HasInput bool
	Input    Input
	// Protocol is the protocol whose message numbers the client uses, if known.
	Protocol Protocol
	// Team is the client's team.
	Team int32

	Identity

	seen bool // a record has named the client
	// fresh reports that the connection certainly began in this file. If it may be older, Decoder.Carry can add to the
	// client.
	fresh   bool
	dropped bool // the last connection ended
	authed  bool // the file states the login, or that there is none
	// versioned reports that the file states the version, or that the version is no longer known.
	versioned bool
	// settled reports that the file states, since the last damage, whether the client has a character.
	settled bool

	player
}

// Identity describes the person or program behind a client. It stays when the client leaves, until another client takes
// the slot.
type Identity struct {
	// Name is the client's name on the server. Until the server has stated it, Name is the name that the client asked
	// for.
	Name []byte
	// NameEffective reports whether the server has stated Name.
	NameEffective bool
	// HasInfo reports whether the client has sent its clan, country and skin. They are the values that the server accepted: see
	// docs/formats/teehistorian.md, "Identity".
	HasInfo bool
	// Clan is the client's clan.
	Clan []byte
	// Country is an ISO 3166-1 number, or -1 and below for special flags.
	Country int32
	// HasSkin reports whether Skin is valid. It is the skin of a client of 0.6.
	HasSkin bool
	Skin    Skin
	// SkinParts is the skin of a client of 0.7.
	SkinParts []SkinPart
	// Version is the DDNet version of the client's program, such as 16040 for 16.4. It is 0 if unknown.
	Version int32
	// VersionText is the version in the program's own notation.
	VersionText []byte
	// AuthLevel is the level of the client's login to the remote console. It is unspecified for a client without a
	// login, and for a role other than the usual three.
	AuthLevel AuthLevel
	// Role is the role of the login: "admin", "moderator", "helper", or a name that the operator chose. It is empty
	// without a login.
	Role []byte
}

// maxText bounds the memory that each of a client's texts takes. Servers allow 15 bytes for a name and 23 for a skin.
const maxText = 128

// usualText is the initial capacity of each text, in bytes.
const usualText = 64

// grow allocates the texts of a new client, all at once.
func (c *Client) grow() {
	if c.Name != nil {
		return
	}
	memory := make([]byte, 5*usualText)
	for i, text := range []*[]byte{&c.Name, &c.Clan, &c.Skin.Name, &c.VersionText, &c.Role} {
		if *text == nil { // a login may be the first record of a client
			*text = memory[i*usualText : i*usualText : (i+1)*usualText]
		}
	}
}

// set replaces a text of a client, cut at maxText, in the memory that the text has.
func set(text *[]byte, by []byte) { *text = append((*text)[:0], by[:min(len(by), maxText)]...) }

// connect begins a new connection in the slot. A connection that is carried over from the previous game is not new:
// servers repeat its JOIN in tick 0.
func (c *Client) connect(carried bool) {
	if !carried || c.dropped || c.Joined {
		c.reset()
	}
	c.grow()
	c.seen, c.dropped = true, false
	c.Joined, c.Present, c.Ready = true, true, false
	c.Team, c.player = 0, player{}
}

// markPresent records that a client is connected although it has no JOIN.
func (c *Client) markPresent() {
	c.grow()
	if c.dropped {
		c.reset()
	}
	c.Present, c.dropped = true, false
}

// disconnect ends the connection.
func (c *Client) disconnect() {
	c.Joined, c.Present, c.Ready, c.dropped = false, false, false, true
	c.Protocol = ProtocolUnspecified // the next client may state none
	c.player = player{}
}

// reset clears the identity of the slot and keeps the memory. Input and position stay.
func (c *Client) reset() {
	c.fresh, c.authed, c.versioned = true, false, false
	c.Identity = Identity{
		Name: c.Name[:0], Clan: c.Clan[:0], VersionText: c.VersionText[:0], Role: c.Role[:0], SkinParts: c.SkinParts[:0],
		Skin: Skin{Name: c.Skin.Name[:0]},
	}
}

// setInfo stores the values that the server accepted from a client's statement about itself.
func (c *Client) setInfo(p *PlayerInfo) {
	if !c.NameEffective {
		set(&c.Name, p.Name)
	}
	c.HasInfo, c.HasSkin, c.Country = true, p.HasSkin, p.Country
	setCut(&c.Clan, p.Clan, clanSize)
	c.Clan = trimRight(c.Clan)
	c.setSkin(&p.Skin, p.SkinParts)
}

// setSkin stores the skin of a client.
func (c *Client) setSkin(skin *Skin, parts []SkinPart) {
	name := c.Skin.Name
	setCut(&name, skin.Name, skinSize)
	c.Skin = *skin
	c.Skin.Name = name
	for len(c.SkinParts) < len(parts) {
		c.SkinParts = append(c.SkinParts, SkinPart{})
	}
	c.SkinParts = c.SkinParts[:len(parts)]
	for i := range parts {
		name := c.SkinParts[i].Name
		setCut(&name, parts[i].Name, skinSize)
		c.SkinParts[i] = parts[i]
		c.SkinParts[i].Name = name
	}
}

// setVersion stores the version of a client's program. 0 means not known.
func (c *Client) setVersion(version int32, text []byte) {
	c.versioned, c.Version = true, version
	set(&c.VersionText, text)
}

// setLogin stores a login. Without level and role, it stores that there is no login.
func (c *Client) setLogin(level AuthLevel, role []byte) {
	c.authed, c.AuthLevel = true, level
	if len(role) == 0 && level > AuthLevelUnspecified && int(level) < len(roles) {
		role = roles[level]
	}
	set(&c.Role, role)
}

// roles are the names of the roles that every server has, by level.
var roles = [...][]byte{AuthLevelHelper: []byte("helper"), AuthLevelModerator: []byte("moderator"), AuthLevelAdmin: []byte("admin")}

// roleLevel returns the level of a role, or AuthLevelUnspecified for a role that is not in roles.
func roleLevel(role []byte) AuthLevel {
	for level, name := range roles {
		if level > 0 && bytes.Equal(name, role) {
			return AuthLevel(level)
		}
	}
	return AuthLevelUnspecified
}
