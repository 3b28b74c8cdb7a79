package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// The results of a match, which Dota and Deadlock send at its end.

// begin empties a summary, and keeps its memory.
func (s *MatchSummary) begin() {
	*s = MatchSummary{Players: s.Players[:0], TowerStatus: s.TowerStatus[:0], BarracksStatus: s.BarracksStatus[:0]}
}

// keep adds the game's own message, unless it is too large for one event.
func (s *MatchSummary) keep(raw []byte) {
	if s.RawSize = uint32(len(raw)); len(raw) <= maxChunk {
		s.Raw = raw
	}
}

// nextPlayer adds a player, whose memory may be a former one's. It returns nil when there are too many.
func (s *MatchSummary) nextPlayer() *SummaryPlayer {
	n := len(s.Players)
	if n >= maxPlayers {
		return nil
	}
	if n == cap(s.Players) {
		s.Players = append(s.Players, SummaryPlayer{})
	}
	s.Players = s.Players[:n+1]
	p := &s.Players[n]
	*p = SummaryPlayer{Items: p.Items[:0], ItemNames: p.ItemNames[:0]}
	return p
}

// readDotaSummary reads CMsgDOTAMatch.
func readDotaSummary(_ *Decoder, ev *Event, m *pb.Reader) {
	s := &ev.MatchSummary
	s.begin()
	s.keep(m.Rest())
	for m.Next() {
		switch m.Num {
		case 3:
			s.Duration = m.Uint32()
		case 4:
			s.StartTime, s.HasStartTime = timeOf(m.Uint32())
		case 5:
			s.readDotaPlayer(m)
		case 6:
			s.MatchId = m.Val
		case 8:
			s.TowerStatus = m.AppendUint32s(s.TowerStatus)
		case 9:
			s.BarracksStatus = m.AppendUint32s(s.BarracksStatus)
		case 12:
			s.FirstBloodTime = m.Uint32()
		case 16:
			s.LobbyType = m.Uint32()
		case 22:
			s.LeagueId = m.Uint32()
		case 31:
			s.GameMode = m.Int32()
			s.GameModeName = facts.GameModes.Name(int64(s.GameMode))
		case 48:
			s.FirstScore = m.Uint32()
		case 49:
			s.SecondScore = m.Uint32()
		case 50:
			s.Outcome = m.Int32()
		case 53:
			s.PreGameDuration = m.Uint32()
		}
	}
}

// dotaItems are the fields of CMsgDOTAMatch.Player that have items, in the order of the inventory.
var dotaItems = [...]int{4, 5, 6, 7, 8, 9, 59, 60, 61, 76, 83}

// readDotaPlayer reads an embedded CMsgDOTAMatch.Player.
func (s *MatchSummary) readDotaPlayer(m *pb.Reader) {
	p := s.nextPlayer()
	if p == nil {
		m.Fail()
		return
	}
	for range dotaItems {
		p.Items, p.ItemNames = append(p.Items, -1), append(p.ItemNames, nil)
	}
	for q := m.Message(); m.Within(&q); {
		for i, field := range dotaItems {
			if q.Num == field {
				p.Items[i] = int64(q.Int32())
				p.ItemNames[i] = facts.Abilities.Name(p.Items[i])
			}
		}
		switch q.Num {
		case 1:
			p.AccountId = q.Uint32()
		case 2:
			p.Slot = q.Uint32()
		case 3:
			p.HeroId = q.Int32()
			p.HeroName = facts.Heroes.Name(int64(p.HeroId))
		case 14:
			p.Kills = q.Uint32()
		case 15:
			p.Deaths = q.Uint32()
		case 16:
			p.Assists = q.Uint32()
		case 17:
			p.Left = q.Uint32()
		case 18:
			p.Gold = q.Uint32()
		case 19:
			p.LastHits = q.Uint32()
		case 20:
			p.Denies = q.Uint32()
		case 21:
			p.GoldPerMinute = q.Uint32()
		case 22:
			p.XpPerMinute = q.Uint32()
		case 23:
			p.GoldSpent = q.Uint32()
		case 24:
			p.HeroDamage = q.Uint32()
		case 25:
			p.TowerDamage = q.Uint32()
		case 26:
			p.Healing = q.Uint32()
		case 27:
			p.Level = q.Uint32()
		case 29:
			p.Name = q.Raw
		case 52:
			p.NetWorth = q.Uint32()
		case 80:
			p.Team, p.HasTeam = q.Int32(), true
		}
	}
}

// readCitadelSummary reads CCitadelUserMsg_PostMatchDetails, which holds a CMsgMatchMetaDataContents.
func readCitadelSummary(_ *Decoder, ev *Event, m *pb.Reader) {
	s := &ev.MatchSummary
	s.begin()
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		s.keep(m.Raw)
		for contents := m.Message(); m.Within(&contents); {
			if contents.Num == 2 {
				s.readCitadelMatch(&contents)
			}
		}
	}
}

// readCitadelMatch reads an embedded CMsgMatchMetaDataContents.MatchInfo.
func (s *MatchSummary) readCitadelMatch(m *pb.Reader) {
	var scores []uint32
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			s.Duration = q.Uint32()
		case 2:
			s.Outcome = q.Int32()
		case 3:
			s.Winner, s.HasWinner = q.Int32(), true
		case 4:
			s.readCitadelPlayer(&q)
		case 5:
			s.StartTime, s.HasStartTime = timeOf(q.Uint32())
		case 6:
			s.MatchId = q.Val
		case 9:
			s.GameMode = q.Int32()
		case 10:
			s.LobbyType = q.Uint32()
		case 28:
			scores = q.AppendUint32s(scores)
		}
	}
	if len(scores) == 2 {
		s.FirstScore, s.SecondScore = scores[0], scores[1]
	}
}

// readCitadelPlayer reads an embedded CMsgMatchMetaDataContents.Players.
func (s *MatchSummary) readCitadelPlayer(m *pb.Reader) {
	p := s.nextPlayer()
	if p == nil {
		m.Fail()
		return
	}
	var latest uint32 // the time of the latest statistics
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			p.AccountId = q.Uint32()
		case 2:
			p.Slot = q.Uint32()
		case 4:
			p.readCitadelItem(&q)
		case 5:
			p.readCitadelStats(&q, &latest)
		case 6:
			p.Team, p.HasTeam = q.Int32(), true
		case 8:
			p.Kills = q.Uint32()
		case 9:
			p.Deaths = q.Uint32()
		case 10:
			p.Assists = q.Uint32()
		case 11:
			p.NetWorth = q.Uint32()
		case 12:
			p.HeroId = q.Int32()
		case 13:
			p.LastHits = q.Uint32()
		case 14:
			p.Denies = q.Uint32()
		case 17:
			p.Lane = q.Uint32()
		case 18:
			p.Level = q.Uint32()
		case 23:
			p.Left = q.Uint32()
		}
	}
}

// maxItems bounds the items of a player.
const maxItems = 1 << 12

// readCitadelItem reads an embedded CMsgMatchMetaDataContents.Items.
func (p *SummaryPlayer) readCitadelItem(m *pb.Reader) {
	for q := m.Message(); m.Within(&q); {
		if q.Num == 2 {
			if len(p.Items) >= maxItems {
				m.Fail()
				return
			}
			p.Items = append(p.Items, int64(q.Uint32()))
		}
	}
}

// readCitadelStats reads an embedded CMsgMatchMetaDataContents.PlayerStats. The latest one counts.
func (p *SummaryPlayer) readCitadelStats(m *pb.Reader, latest *uint32) {
	var at, damage, bosses, healing uint32
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			at = q.Uint32()
		case 21:
			damage = q.Uint32()
		case 23:
			bosses = q.Uint32()
		case 25:
			healing = q.Uint32()
		}
	}
	if at >= *latest {
		*latest, p.HeroDamage, p.TowerDamage, p.Healing = at, damage, bosses, healing
	}
}
