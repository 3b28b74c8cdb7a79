package teehistorian

// parseSix parses the contents of a message of protocol 0.6 with DDNet's numbers. It returns false for a number that is
// not a client message.
func (m *Message) parseSix(id int32, c *cursor) bool {
	switch id {
	case 17:
		m.setContent(nameSay, MessageContentSay)
		m.Say = Say{Mode: SayModeAll, TargetClientId: -1}
		if c.bool() {
			m.Say.Mode = SayModeTeam
		}
		m.Say.Text = c.string()
	case 18:
		m.setContent(nameSetTeam, MessageContentSetTeam)
		m.SetTeam = SetTeam{Team: c.int()}
	case 19:
		m.setContent(nameSetSpectatorMode, MessageContentSetSpectatorMode)
		m.SetSpectatorMode = SetSpectatorMode{Mode: SpectatorModeFree, SpectatedClientId: c.int()}
		if m.SetSpectatorMode.SpectatedClientId >= 0 {
			m.SetSpectatorMode.Mode = SpectatorModePlayer
		}
	case 20:
		m.setContent(nameStartInfo, MessageContentStartInfo)
		m.StartInfo.parseSix(c)
	case 21:
		m.setContent(nameChangeInfo, MessageContentChangeInfo)
		m.ChangeInfo.parseSix(c)
	case 22:
		m.setContent(nameKill, MessageContentKill)
	case 23:
		m.setContent(nameEmoticon, MessageContentEmoticon)
		m.Emoticon = Emoticon{Emoticon: c.int()}
	case 24:
		m.setContent(nameVote, MessageContentVote)
		m.Vote = Vote{Vote: c.int()}
	case 25:
		m.setContent(nameCallVote, MessageContentCallVote)
		m.CallVote = CallVote{Type: c.string(), Value: c.string(), Reason: c.string()}
	case 26:
		m.setContent(nameIsDdnetLegacy, MessageContentIsDdnetLegacy)
		m.IsDdnetLegacy = IsDdnetLegacy{}
		if c.rest() > 0 { // the version was added later
			m.IsDdnetLegacy.Version = c.int()
		}
	case 31:
		m.setContent(nameShowOthersLegacy, MessageContentShowOthersLegacy)
		m.ShowOthersLegacy = ShowOthersLegacy{Show: c.bool()}
	default:
		return false
	}
	return true
}

func (p *PlayerInfo) parseSix(c *cursor) {
	*p = PlayerInfo{
		Name: c.string(), Clan: c.string(), Country: c.int(),
		Skin:    Skin{Name: c.string(), UseCustomColor: c.bool(), ColorBody: c.int(), ColorFeet: c.int()},
		HasSkin: true, SkinParts: p.SkinParts[:0],
	}
}
