package dem

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// parseFileInfo reads CDemoFileInfo.
func parseFileInfo(f *FileInfo, b []byte, log *pb.Log) bool {
	*f = FileInfo{RoundStartTicks: f.RoundStartTicks[:0], Match: Match{
		Players: f.Match.Players[:0], Draft: f.Match.Draft[:0],
	}}
	m := pb.Read(b, lexicon.Type("CDemoFileInfo"), log)
	for m.Next() {
		switch m.Num {
		case 1:
			f.PlaybackTime = m.Float32()
		case 2:
			f.PlaybackTicks = m.Int32()
		case 3:
			f.PlaybackFrames = m.Int32()
		case 4:
			for info := m.Message(); m.Within(&info); {
				switch info.Num {
				case 4:
					f.HasMatch = true
					m.Bad = m.Bad || !parseMatch(&f.Match, info.Message())
				case 5:
					for cs := info.Message(); info.Within(&cs); {
						if cs.Num == 1 {
							f.RoundStartTicks = cs.AppendInt32s(f.RoundStartTicks)
						}
					}
				}
			}
		}
	}
	return !m.Bad
}

// maxPlayers bounds the players, and the picks, of a match.
const maxPlayers = 1 << 10

func parseMatch(g *Match, m pb.Reader) bool {
	for m.Next() {
		switch m.Num {
		case 1:
			g.Id = m.Val
		case 2:
			g.GameMode = m.Int32()
			g.GameModeName = facts.GameModes.Name(int64(g.GameMode))
		case 3:
			g.Winner = m.Int32()
		case 4:
			var p MatchPlayer
			for q := m.Message(); q.Next(); {
				switch q.Num {
				case 1:
					p.HeroName = q.Raw
				case 2:
					p.PlayerName = q.Raw
				case 3:
					p.IsFakeClient = q.Bool()
				case 4:
					p.SteamId = q.Val
				case 5:
					p.Team = q.Int32()
				}
			}
			if len(g.Players) < maxPlayers {
				g.Players = append(g.Players, p)
			}
		case 5:
			g.LeagueId = m.Uint32()
		case 6:
			var p DraftPick
			for q := m.Message(); q.Next(); {
				switch q.Num {
				case 1:
					p.IsPick = q.Bool()
				case 2:
					p.Team = q.Uint32()
				case 3:
					p.HeroId = q.Int32()
					p.HeroName = facts.Heroes.Name(int64(p.HeroId))
				}
			}
			if len(g.Draft) < maxPlayers {
				g.Draft = append(g.Draft, p)
			}
		case 7:
			g.RadiantTeamId = m.Uint32()
		case 8:
			g.DireTeamId = m.Uint32()
		case 9:
			g.RadiantTeamTag = m.Raw
		case 10:
			g.DireTeamTag = m.Raw
		case 11:
			g.EndTime, g.HasEndTime = timeOf(m.Uint32())
		}
	}
	return !m.Bad
}

// timeOf returns the time of a number of seconds since 1970, the form in games. known is false for 0.
func timeOf(seconds uint32) (t decoders.Time, known bool) {
	return decoders.Time(seconds) * 1e6, seconds != 0
}
