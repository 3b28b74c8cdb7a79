package dem

func parseFileInfo(f *FileInfo, b []byte) bool {
	*f = FileInfo{RoundStartTicks: f.RoundStartTicks[:0], Match: Match{
		Players: f.Match.Players[:0], Draft: f.Match.Draft[:0],
	}}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			f.PlaybackTime = m.float32()
		case 2:
			f.PlaybackTicks = m.int32()
		case 3:
			f.PlaybackFrames = m.int32()
		case 4:
			info := newWire(m.raw)
			for info.next() {
				switch info.num {
				case 4:
					f.HasMatch = true
					m.bad = m.bad || !parseMatch(&f.Match, info.raw)
				case 5:
					cs := newWire(info.raw)
					for cs.next() {
						if cs.num == 1 {
							f.RoundStartTicks = cs.appendInt32s(f.RoundStartTicks)
						}
					}
					m.bad = m.bad || cs.bad
				}
			}
			m.bad = m.bad || info.bad
		}
	}
	return !m.bad
}

// maxPlayers bounds the players, and the picks, of a match.
const maxPlayers = 1 << 10

func parseMatch(g *Match, b []byte) bool {
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			g.Id = m.val
		case 2:
			g.GameMode = m.int32()
		case 3:
			g.Winner = m.int32()
		case 4:
			var p MatchPlayer
			for q := newWire(m.raw); q.next(); {
				switch q.num {
				case 1:
					p.HeroName = q.raw
				case 2:
					p.PlayerName = q.raw
				case 3:
					p.IsFakeClient = q.bool()
				case 4:
					p.SteamId = q.val
				case 5:
					p.Team = q.int32()
				}
			}
			if len(g.Players) < maxPlayers {
				g.Players = append(g.Players, p)
			}
		case 5:
			g.LeagueId = m.uint32()
		case 6:
			var p DraftPick
			for q := newWire(m.raw); q.next(); {
				switch q.num {
				case 1:
					p.IsPick = q.bool()
				case 2:
					p.Team = q.uint32()
				case 3:
					p.HeroId = q.int32()
				}
			}
			if len(g.Draft) < maxPlayers {
				g.Draft = append(g.Draft, p)
			}
		case 7:
			g.RadiantTeamId = m.uint32()
		case 8:
			g.DireTeamId = m.uint32()
		case 9:
			g.RadiantTeamTag = m.raw
		case 10:
			g.DireTeamTag = m.raw
		case 11:
			g.EndTime = m.uint32()
		}
	}
	return !m.bad
}
