package facts

import (
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
)

// match holds what the description of a replay says of its game.
type match struct {
	fact      sc2replay.FactMatch // without length, players and winner
	loops     int32               // of the game, by the header
	perSecond float64             // gameloops in a real second
	perMinute float64             // gameloops in a minute of the rates of player_stats
	saved     decoders.Time
	dated     bool // saved is known
	people    []person
	hall      int32 // the first gameloop but 0 in which a main building appeared
}

// person is a player or an observer in the lobby.
type person struct {
	info sc2replay.PlayerInfo
	left bool
}

// maxPeople bounds the people. Lobbies have 16 slots.
const maxPeople = 64

// firstClockRates is the build since which rates are those of a minute of the clock that the game showed. Before, they are those of a
// minute of the speed "Normal", which has loopsPerGameSecond gameloops a second.
const (
	firstClockRates    = 41743
	loopsPerGameSecond = 16
)

// gameScope is the scope of attributes of the game.
const gameScope = 16

// describe applies an event of the replay's description.
func (m *match) describe(ev *sc2replay.Event) {
	switch ev.Kind {
	case sc2replay.KindStart:
		s := &ev.Start
		m.loops, m.perSecond = int32(min(s.ElapsedGameLoops, math.MaxInt32)), s.LoopsPerRealSecond
		if m.perMinute = 60 * loopsPerGameSecond; s.Version.Build >= firstClockRates {
			m.perMinute = 60 * s.LoopsPerClockSecond
		}
		m.fact.Expansion, m.fact.ExpansionGuessed = s.DecodeInfo.Names.Expansion, s.DecodeInfo.Names.ExpansionGuessed
	case sc2replay.KindDetails:
		m.details(&ev.Details)
	case sc2replay.KindAttributes:
		for i := range ev.Attributes.Attributes {
			switch a := &ev.Attributes.Attributes[i]; {
			case a.Scope != gameScope:
			case string(a.Name) == "teams":
				m.fact.Teams = a.Value
			case string(a.Name) == "game_mode":
				m.fact.GameMode = a.Value
			}
		}
	case sc2replay.KindGameMetadata:
		if len(m.fact.Map) == 0 {
			m.fact.Map = ev.GameMetadata.Title
		}
	case sc2replay.KindPlayerInfo:
		if len(m.people) < maxPeople {
			m.people = append(m.people, person{info: ev.PlayerInfo})
		}
		m.fact.PlayersChosen = m.fact.PlayersChosen || ev.PlayerInfo.ObserverSource == sc2replay.ObserverSourceRule
	}
}

func (m *match) details(d *sc2replay.Details) {
	m.fact.Map = d.Title
	if n := len(d.CacheHandles); n > 0 {
		m.fact.MapHandle = d.CacheHandles[n-1]
	}
	m.saved, m.dated = d.TimeUtc, d.HasTimeUtc
	for i := range d.PlayerList {
		if result := sc2replay.Result(d.PlayerList[i].Result) + sc2replay.ResultUndecided; decided(result) {
			m.fact.ResultSource = sc2replay.ResultSourceDetails
		}
	}
}

func decided(r sc2replay.Result) bool {
	return r == sc2replay.ResultWin || r == sc2replay.ResultLoss || r == sc2replay.ResultTie
}

// person returns the one who caused an event, or nil.
func (m *match) person(ev *sc2replay.Event) *person {
	if !ev.HasPlayer {
		return nil
	}
	for i := range m.people {
		if sameUser(&m.people[i].info.Ref, &ev.Player) {
			return &m.people[i]
		}
	}
	return nil
}

// sameUser reports whether two references are to the same user. In archon mode two users are one player.
func sameUser(a, b *sc2replay.PlayerRef) bool {
	if a.HasUserId && b.HasUserId {
		return a.UserId == b.UserId
	}
	return a.HasPlayerId && b.HasPlayerId && a.PlayerId == b.PlayerId
}

// leave notes that the one who caused an event has left.
func (m *match) leave(ev *sc2replay.Event) {
	if p := m.person(ev); p != nil {
		p.left = true
	}
}

// hallAt notes that a player's main building appeared.
func (m *match) hallAt(tick int32, owner uint32, typeName []byte) {
	if m.hall == 0 && owner > 0 && sc2replay.IsTownHall(typeName) {
		m.hall = tick
	}
}

// length returns the number of gameloops of a game whose last event is at a tick. Headers of damaged replays may say less.
func (m *match) length(tick int32) int32 { return max(m.loops, tick) }

// conclude completes the fact at the tick of a replay's last event.
func (m *match) conclude(tick int32) {
	f, length := &m.fact, m.length(tick)
	if f.PlayersChosen {
		f.BeganTick = m.hall
	}
	f.LengthTicks = length - f.BeganTick
	if m.perSecond > 0 {
		f.LengthSeconds = float64(f.LengthTicks) / m.perSecond
		f.StartTime, f.HasStartTime = m.saved-decoders.Time(float64(m.loops)/m.perSecond*1e6), m.dated
	}
	winners, lost := 0, map[uint32]bool{}
	for i := range m.people {
		q := &m.people[i].info
		if q.Observer {
			continue
		}
		f.Players = append(f.Players, sc2replay.MatchPlayer{
			Ref: q.Ref, HasRef: true, Team: q.Team, Race: q.Race, Result: q.Result, Computer: q.Computer,
		})
		if decided(q.Result) && f.ResultSource == sc2replay.ResultSourceUnspecified {
			f.ResultSource = sc2replay.ResultSourceSummary
		}
		if q.Result == sc2replay.ResultWin && (winners == 0 || q.Team != f.WinnerTeam) {
			f.WinnerTeam = q.Team
			winners++
		}
		lost[q.Team] = lost[q.Team] || q.Result == sc2replay.ResultLoss
	}
	f.HasWinnerTeam = winners == 1 && !lost[f.WinnerTeam]
}
