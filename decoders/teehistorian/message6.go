package teehistorian

// six reads the contents of a message of protocol 0.6 with DDNet's numbers. It returns false for a number that is no
// client's.
func (m *Message) six(id int32, c *cursor) bool {
	switch id {
	case 17:
		m.is(nameSay, MessageContentSay)
		m.Say = Say{Mode: SayModeAll, TargetClientId: -1}
		if c.bool() {
			m.Say.Mode = SayModeTeam
		}
		m.Say.Text = c.string()
	case 18:
		m.is(nameSetTeam, MessageContentSetTeam)
		m.SetTeam = SetTeam{Team: c.int()}
	case 19:
		m.is(nameSetSpectatorMode, MessageContentSetSpectatorMode)
		m.SetSpectatorMode = SetSpectatorMode{Mode: SpectatorModeFree, SpectatedClientId: c.int()}
		if m.SetSpectatorMode.SpectatedClientId >= 0 {
			m.SetSpectatorMode.Mode = SpectatorModePlayer
		}
	case 20:
		m.is(nameStartInfo, MessageContentStartInfo)
		m.StartInfo.six(c)
	case 21:
		m.is(nameChangeInfo, MessageContentChangeInfo)
		m.ChangeInfo.six(c)
	case 22:
		m.is(nameKill, MessageContentKill)
	case 23:
		m.is(nameEmoticon, MessageContentEmoticon)
		m.Emoticon = Emoticon{Emoticon: c.int()}
	case 24:
		m.is(nameVote, MessageContentVote)
		m.Vote = Vote{Vote: c.int()}
	case 25:
		m.is(nameCallVote, MessageContentCallVote)
		m.CallVote = CallVote{Type: c.string(), Value: c.string(), Reason: c.string()}
	case 26:
		m.is(nameIsDdnetLegacy, MessageContentIsDdnetLegacy)
		m.IsDdnetLegacy = IsDdnetLegacy{}
		if c.rest() > 0 { // the version is a later addition
			m.IsDdnetLegacy.Version = c.int()
		}
	case 31:
		m.is(nameShowOthersLegacy, MessageContentShowOthersLegacy)
		m.ShowOthersLegacy = ShowOthersLegacy{Show: c.bool()}
	default:
		return false
	}
	return true
}

func (p *PlayerInfo) six(c *cursor) {
	*p = PlayerInfo{
		Name: c.string(), Clan: c.string(), Country: c.int(),
		Skin:    Skin{Name: c.string(), UseCustomColor: c.bool(), ColorBody: c.int(), ColorFeet: c.int()},
		HasSkin: true, SkinParts: p.SkinParts[:0],
	}
}
