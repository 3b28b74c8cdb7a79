package teehistorian

// parseSeven parses the contents of a message of protocol 0.7. It returns false for a number that is not a client
// message.
func (m *Message) parseSeven(id int32, c *cursor) bool {
	switch id {
	case 24:
		m.setContent(nameSay, MessageContentSay)
		m.Say = Say{Mode: SayMode(c.int()), TargetClientId: c.int(), Text: c.string()}
	case 25:
		m.setContent(nameSetTeam, MessageContentSetTeam)
		m.SetTeam = SetTeam{Team: c.int()}
	case 26:
		m.setContent(nameSetSpectatorMode, MessageContentSetSpectatorMode)
		m.SetSpectatorMode = SetSpectatorMode{}
		if mode := c.int(); 0 <= mode && mode <= 3 {
			m.SetSpectatorMode.Mode = SpectatorModeFree + SpectatorMode(mode)
		}
		m.SetSpectatorMode.SpectatedClientId = c.int()
	case 27:
		m.setContent(nameStartInfo, MessageContentStartInfo)
		info := &m.StartInfo
		*info = PlayerInfo{Name: c.string(), Clan: c.string(), Country: c.int(), SkinParts: info.SkinParts}
		info.SkinParts = skinParts(info.SkinParts, c)
	case 28:
		m.setContent(nameKill, MessageContentKill)
	case 29:
		m.setContent(nameReadyChange, MessageContentReadyChange)
	case 30:
		m.setContent(nameEmoticon, MessageContentEmoticon)
		m.Emoticon = Emoticon{Emoticon: c.int()}
	case 31:
		m.setContent(nameVote, MessageContentVote)
		m.Vote = Vote{Vote: c.int()}
	case 32:
		m.setContent(nameCallVote, MessageContentCallVote)
		m.CallVote = CallVote{Type: c.string(), Value: c.string(), Reason: c.string(), Force: c.bool()}
	case 34:
		m.setContent(nameSkinChange, MessageContentSkinChange)
		m.SkinChange.SkinParts = skinParts(m.SkinChange.SkinParts, c)
	case 39:
		m.setContent(nameCommand, MessageContentCommand)
		m.Command = Command{Name: c.string(), Arguments: c.string()}
	default:
		return false
	}
	return true
}

// skinPartCount is the number of parts of a 0.7 skin: body, marking, decoration, hands, feet, eyes.
const skinPartCount = 6

// skinParts reads the parts of a skin. It reuses the memory of parts.
func skinParts(parts []SkinPart, c *cursor) []SkinPart {
	parts = parts[:0]
	for range skinPartCount {
		parts = append(parts, SkinPart{Name: c.string()})
	}
	for i := range parts {
		parts[i].UseCustomColor = c.bool()
	}
	for i := range parts {
		parts[i].Color = c.int()
	}
	return parts
}
