package teehistorian

// seven reads the contents of a message of protocol 0.7. It returns false for a number that is no client's.
func (m *Message) seven(id int32, c *cursor) bool {
	switch id {
	case 24:
		m.is(nameSay, MessageContentSay)
		m.Say = Say{Mode: SayMode(c.int()), TargetClientId: c.int(), Text: c.string()}
	case 25:
		m.is(nameSetTeam, MessageContentSetTeam)
		m.SetTeam = SetTeam{Team: c.int()}
	case 26:
		m.is(nameSetSpectatorMode, MessageContentSetSpectatorMode)
		m.SetSpectatorMode = SetSpectatorMode{}
		if mode := c.int(); 0 <= mode && mode <= 3 {
			m.SetSpectatorMode.Mode = SpectatorModeFree + SpectatorMode(mode)
		}
		m.SetSpectatorMode.SpectatedClientId = c.int()
	case 27:
		m.is(nameStartInfo, MessageContentStartInfo)
		info := &m.StartInfo
		*info = PlayerInfo{Name: c.string(), Clan: c.string(), Country: c.int(), SkinParts: info.SkinParts}
		info.SkinParts = skinParts(info.SkinParts, c)
	case 28:
		m.is(nameKill, MessageContentKill)
	case 29:
		m.is(nameReadyChange, MessageContentReadyChange)
	case 30:
		m.is(nameEmoticon, MessageContentEmoticon)
		m.Emoticon = Emoticon{Emoticon: c.int()}
	case 31:
		m.is(nameVote, MessageContentVote)
		m.Vote = Vote{Vote: c.int()}
	case 32:
		m.is(nameCallVote, MessageContentCallVote)
		m.CallVote = CallVote{Type: c.string(), Value: c.string(), Reason: c.string(), Force: c.bool()}
	case 34:
		m.is(nameSkinChange, MessageContentSkinChange)
		m.SkinChange.SkinParts = skinParts(m.SkinChange.SkinParts, c)
	case 39:
		m.is(nameCommand, MessageContentCommand)
		m.Command = Command{Name: c.string(), Arguments: c.string()}
	default:
		return false
	}
	return true
}

// skinPartCount is how many parts a 0.7 skin has: body, marking, decoration, hands, feet, eyes.
const skinPartCount = 6

// skinParts reads the parts of a skin into the memory of an earlier one.
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
