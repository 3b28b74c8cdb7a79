package teehistorian

import "bytes"

// Client is what a decoder knows of one of the server's slots.
type Client struct {
	// Present: a client is connected, as far as the file says: it joined, or, where servers did not write that (before
	// DDNet 17.3, and in some later versions), it did something that clients do; and it was not dropped since.
	Present bool
	// Joined: a JOIN record says that the client is connected.
	Joined bool
	// Ready: the client has entered the game, as far as the file says.
	Ready bool
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

	Identity

	seen bool // some record named the client
	// fresh: the connection began in this file, for certain. Where it may be older, Decoder.Carry knows more of the client.
	fresh   bool
	dropped bool // the last connection ended
	authed  bool // some record of this connection says whether the client is logged in
}

// Identity is who a client is. It stays when the client leaves, until another takes the slot.
type Identity struct {
	// Name is what the server calls the client, or, until the server says so, what the client asked to be called.
	Name []byte
	// NameEffective: Name is the server's word.
	NameEffective bool
	// HasInfo: the client sent its clan, country and skin.
	HasInfo bool
	// Clan is the client's clan.
	Clan []byte
	// Country is an ISO 3166-1 number, or -1 and below for special flags.
	Country int32
	// HasSkin: Skin is the skin of a client of 0.6.
	HasSkin bool
	Skin    Skin
	// SkinParts is the skin of a client of 0.7.
	SkinParts []SkinPart
	// Version is the DDNet version of the client's program, such as 16040 for 16.4; 0 when not known.
	Version int32
	// VersionText is the version as the program spells it.
	VersionText []byte
	// AuthLevel is the level of the client's login to the remote console; unspecified when it is not logged in, or by a role
	// that is none of the usual three.
	AuthLevel AuthLevel
	// Role is the role of the login: "admin", "moderator", "helper", or as the operator calls it. Empty without a login.
	Role []byte
}

// maxText bounds the memory that each of a client's texts takes. Servers allow 15 bytes for a name and 23 for a skin.
const maxText = 128

// usualText is how much memory a text gets at first.
const usualText = 64

// grow gives the texts of a client that is new memory, all at once.
func (c *Client) grow() {
	if c.Name != nil {
		return
	}
	memory := make([]byte, 5*usualText)
	for i, text := range []*[]byte{&c.Name, &c.Clan, &c.Skin.Name, &c.VersionText, &c.Role} {
		if *text == nil { // a login may come before anything else
			*text = memory[i*usualText : i*usualText : (i+1)*usualText]
		}
	}
}

// set sets a text of a client, in the text's own memory.
func set(text *[]byte, to []byte) { *text = append((*text)[:0], to[:min(len(to), maxText)]...) }

// connect begins a new connection in the slot. One that is carried over from the game before is not new: servers write its
// JOIN again in tick 0.
func (c *Client) connect(carried bool) {
	if !carried || c.dropped || c.Joined {
		c.forget()
	}
	c.grow()
	c.seen, c.dropped = true, false
	c.Joined, c.Present, c.Ready = true, true, false
	c.Team = 0
}

// appear notes that a client is connected that has no JOIN.
func (c *Client) appear() {
	c.grow()
	if c.dropped {
		c.forget()
	}
	c.Present, c.dropped = true, false
}

// disconnect ends the connection.
func (c *Client) disconnect() {
	c.Joined, c.Present, c.Ready, c.dropped = false, false, false, true
	c.Protocol = ProtocolUnspecified // the next client may send none
}

// forget forgets who used the slot, and keeps the memory. What an input or a position changes stays.
func (c *Client) forget() {
	c.fresh, c.authed = true, false
	c.Identity = Identity{
		Name: c.Name[:0], Clan: c.Clan[:0], VersionText: c.VersionText[:0], Role: c.Role[:0], SkinParts: c.SkinParts[:0],
		Skin: Skin{Name: c.Skin.Name[:0]},
	}
}

// introduce notes what a client says of itself.
func (c *Client) introduce(p *PlayerInfo) {
	if !c.NameEffective {
		set(&c.Name, p.Name)
	}
	c.HasInfo, c.HasSkin, c.Country = true, p.HasSkin, p.Country
	set(&c.Clan, p.Clan)
	c.dress(&p.Skin, p.SkinParts)
}

// dress notes what a client looks like.
func (c *Client) dress(skin *Skin, parts []SkinPart) {
	name := c.Skin.Name
	set(&name, skin.Name)
	c.Skin = *skin
	c.Skin.Name = name
	for len(c.SkinParts) < len(parts) {
		c.SkinParts = append(c.SkinParts, SkinPart{})
	}
	c.SkinParts = c.SkinParts[:len(parts)]
	for i := range parts {
		name := c.SkinParts[i].Name
		set(&name, parts[i].Name)
		c.SkinParts[i] = parts[i]
		c.SkinParts[i].Name = name
	}
}

// login notes a login, or, without level and role, that there is none.
func (c *Client) login(level AuthLevel, role []byte) {
	c.authed, c.AuthLevel = true, level
	if len(role) == 0 && level > AuthLevelUnspecified && int(level) < len(roles) {
		role = roles[level]
	}
	set(&c.Role, role)
}

// roles are the names of the roles that every server has, by level.
var roles = [...][]byte{AuthLevelHelper: []byte("helper"), AuthLevelModerator: []byte("moderator"), AuthLevelAdmin: []byte("admin")}

// roleLevel is the level of a role.
func roleLevel(role []byte) AuthLevel {
	for level, name := range roles {
		if level > 0 && bytes.Equal(name, role) {
			return AuthLevel(level)
		}
	}
	return AuthLevelUnspecified
}
