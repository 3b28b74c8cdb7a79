package teehistorian

import "strconv"

// message decodes a MESSAGE record, which is a client's packet as the server received it. Malformed contents are not an
// error of the file. See docs/formats/teehistorian.md, "Game messages".
func (d *Decoder) message(c *cursor, ev *Event, r *record) {
	d.begin(c, ev, KindMessage)
	id, raw := r.client, r.data
	client := d.namedClient(ev, id)
	client.markPresent()
	m := &ev.Message
	m.ClientId, m.Raw, m.Redacted = id, raw, false
	protocol := client.Protocol
	if protocol == ProtocolUnspecified {
		protocol = guessProtocol(m)
	}
	f, odd, _ := m.parse(protocol)
	if f == fitsNothing && len(m.Uuid) > 0 {
		u := cursor{b: raw}
		u.int()
		m.Name = d.uuidName(u.uuid())
	}
	if odd {
		warn(ev, WarningIntegerPadding)
	}
	if f == fitsTrailing {
		warn(ev, WarningTrailingData)
	}
	switch m.ContentCase {
	case MessageContentStartInfo:
		d.state.startInfo(client, &m.StartInfo)
		if len(m.Uuid) == 0 {
			client.Protocol = m.Protocol // the other protocol has no client message of this number
		}
	case MessageContentChangeInfo:
		d.state.changeInfo(client, &m.ChangeInfo)
	case MessageContentSkinChange:
		d.state.skinChange(client, m.SkinChange.SkinParts)
	}
}

// fit is how well a message matches a protocol.
type fit int

const (
	fitsNothing  fit = iota // not a known message of that protocol
	fitsCut                 // it ends early
	fitsTrailing            // bytes follow it
	fitsExactly
)

// guessProtocol returns the protocol that fits a message of a client that has not stated its protocol. It returns 0.6
// when both fit equally well, and ProtocolUnspecified when neither knows the message.
func guessProtocol(m *Message) Protocol {
	six, _, _ := m.parse(ProtocolSix)
	if six == fitsExactly {
		return ProtocolSix
	}
	seven, _, _ := m.parse(ProtocolSeven)
	switch {
	case seven > six:
		return ProtocolSeven
	case six > fitsNothing:
		return ProtocolSix
	default:
		return ProtocolUnspecified
	}
}

// parse parses m.Raw with the message numbers of a protocol, and fills in the rest of the message. odd reports that an
// integer has an unusual encoding. end is where the contents end in m.Raw.
func (m *Message) parse(protocol Protocol) (f fit, odd bool, end int) {
	m.Protocol, m.MessageId, m.Name, m.ContentCase = protocol, 0, nil, MessageContentNone
	m.Uuid, m.Error = m.Uuid[:0], m.Error[:0]

	c := cursor{b: m.Raw}
	header := c.int()
	m.MessageId = header >> 1
	switch {
	case c.cut:
		m.Error = append(m.Error, "it has no number"...)
		return fitsNothing, false, 0
	case header&1 != 0:
		m.Error = append(m.Error, "it is a system message"...)
		return fitsNothing, false, 0
	}
	var known bool
	switch {
	case m.MessageId == 0:
		u := c.uuid()
		if c.cut {
			m.Error = append(m.Error, "it ends inside its UUID"...)
			return fitsNothing, false, 0
		}
		m.Uuid = u.Append(m.Uuid)
		known = m.parseExtended(u, &c)
	case protocol == ProtocolSeven:
		known = m.parseSeven(m.MessageId, &c)
	default:
		known = m.parseSix(m.MessageId, &c)
	}
	switch {
	case !known:
		return fitsNothing, c.odd, 0
	case c.cut:
		m.ContentCase = MessageContentNone
		m.Error = append(m.Error, "it ends inside field "...)
		m.Error = strconv.AppendInt(m.Error, int64(c.fields-1), 10)
		return fitsCut, c.odd, 0
	case c.rest() > 0:
		return fitsTrailing, c.odd, c.p
	default:
		return fitsExactly, c.odd, c.p
	}
}

// The names of messages.
var (
	nameSay                  = []byte("cl_say")
	nameSetTeam              = []byte("cl_set_team")
	nameSetSpectatorMode     = []byte("cl_set_spectator_mode")
	nameStartInfo            = []byte("cl_start_info")
	nameChangeInfo           = []byte("cl_change_info")
	nameKill                 = []byte("cl_kill")
	nameEmoticon             = []byte("cl_emoticon")
	nameVote                 = []byte("cl_vote")
	nameCallVote             = []byte("cl_call_vote")
	nameIsDdnetLegacy        = []byte("cl_is_ddnet_legacy")
	nameShowOthersLegacy     = []byte("cl_show_others_legacy")
	nameShowDistance         = []byte("cl_show_distance")
	nameShowOthers           = []byte("cl_show_others")
	nameCameraInfo           = []byte("cl_camera_info")
	nameEnableSpectatorCount = []byte("cl_enable_spectator_count")
	nameReadyChange          = []byte("cl_ready_change")
	nameSkinChange           = []byte("cl_skin_change")
	nameCommand              = []byte("cl_command")
)

// setContent sets the name and the content case of the message.
func (m *Message) setContent(name []byte, content MessageContentCase) {
	m.Name, m.ContentCase = name, content
}

// The UUIDs of messages that have no number.
var (
	uuidShowDistance = UUID{0x53, 0xbb, 0x28, 0xaf, 0x42, 0x52, 0x3a, 0xc9, 0x8f, 0xd3, 0x6c, 0xcb, 0xc2, 0xa6, 0x03, 0xe3}
	uuidShowOthers   = UUID{0x7f, 0x26, 0x4c, 0xdd, 0x71, 0xa2, 0x39, 0x62, 0xbb, 0xce, 0x0f, 0x94, 0xbb, 0xd8, 0x19, 0x13}
	uuidCameraInfo   = UUID{0x8c, 0x47, 0x02, 0x28, 0xee, 0x11, 0x38, 0x08, 0x93, 0xb9, 0xc5, 0xc8, 0x7d, 0x08, 0xb5, 0x1c}
	uuidSpectators   = UUID{0xe1, 0x9b, 0x66, 0xe8, 0x06, 0x46, 0x35, 0x1b, 0xaa, 0x03, 0xd4, 0xab, 0xa7, 0xb9, 0x54, 0x5f}
)

// parseExtended parses a message that is identified by its UUID. These are the same in both protocols.
func (m *Message) parseExtended(u UUID, c *cursor) bool {
	switch u {
	case uuidShowDistance:
		m.setContent(nameShowDistance, MessageContentShowDistance)
		m.ShowDistance = ShowDistance{X: c.int(), Y: c.int()}
	case uuidShowOthers:
		m.setContent(nameShowOthers, MessageContentShowOthers)
		m.ShowOthers = ShowOthers{Show: c.int()}
	case uuidCameraInfo:
		m.setContent(nameCameraInfo, MessageContentCameraInfo)
		m.CameraInfo = CameraInfo{Zoom: c.int(), Deadzone: c.int(), FollowFactor: c.int()}
	case uuidSpectators:
		m.setContent(nameEnableSpectatorCount, MessageContentEnableSpectatorCount)
		m.EnableSpectatorCount = EnableSpectatorCount{Enable: c.bool()}
	default:
		return false
	}
	return true
}
