package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
)

// match is what a demo says.
type match struct {
	ticks   int32
	facts   []string // each with its position, for comparison with those from elsewhere in the file
	at      []int32  // their ticks
	faults  int
	broken  error
	players map[int32]*player

	kills, damages, purchases, buildings, bombs []happening
	rounds                                      []round
}

// player is a player as the game counts at the end, and as the facts do.
type player struct {
	name                                        string
	steamID                                     uint64
	kills, deaths, assists                      int32
	lastHits, denies, netWorth                  int32
	counted                                     bool
	factKills, factDeaths, factAssists, teammen int32
}

// happening is something that happened: to whom by whom with what, at a tick or, in Dota, at a time on the clock in seconds.
type happening struct {
	at   float64
	what string
}

// round is a round of Counter-Strike 2.
type round struct {
	number, winner, reason, freezeEnd, ended int32
}

var factKinds = map[dem.Kind]bool{
	dem.KindFactKill: true, dem.KindFactDamage: true, dem.KindFactRound: true, dem.KindFactPlayerRound: true, dem.KindFactObjective: true, dem.KindFactPurchase: true,
}

func wanted(k dem.Kind) bool {
	return factKinds[k] || k == dem.KindTick || k == dem.KindFault || k == dem.KindSamplePlayer
}

// read decodes a demo from its beginning.
func read(file io.ReadSeeker) (*match, error) {
	m := &match{players: map[int32]*player{}}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	d := dem.New(file, dem.Options{Kinds: wanted})
	clock := math.NaN()
	err := decode(d, func(ev *dem.Event) {
		m.ticks = max(m.ticks, ev.AtTick)
		switch ev.Kind {
		case dem.KindTick:
			if clock = math.NaN(); ev.Tick.HasGameTime {
				clock = float64(ev.Tick.GameTime)
			}
			return
		case dem.KindFault:
			m.faults++
			return
		}
		if factKinds[ev.Kind] {
			m.facts, m.at = append(m.facts, factText(d, ev)), append(m.at, ev.AtTick)
			m.take(ev, clock)
		}
	})
	if _, damaged := errors.AsType[*decoders.Error](err); err != nil && !damaged {
		return nil, err
	}
	m.broken = err
	var ev dem.Event
	for i := range int32(dem.MaxPlayers) {
		if !d.SamplePlayer(m.ticks, int(i), &ev) {
			continue
		}
		s, p := &ev.SamplePlayer, m.player(i)
		p.name, p.steamID, p.counted = string(s.Name), s.SteamId, s.HasKills
		p.kills, p.deaths, p.assists, p.lastHits, p.denies, p.netWorth = s.Kills, s.Deaths, s.Assists, s.LastHits, s.Denies, s.NetWorth
	}
	return m, nil
}

// decode calls f with each event. A demo without an end of its own ends where its bytes end.
func decode(d *dem.Decoder, f func(ev *dem.Event)) error {
	var ev dem.Event
	for {
		err := d.Next(&ev)
		switch {
		case err == nil:
			f(&ev)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, decoders.ErrMore):
			return d.Close()
		default:
			return err
		}
	}
}

func (m *match) player(i int32) *player {
	if m.players[i] == nil {
		m.players[i] = &player{}
	}
	return m.players[i]
}

// factText is a fact with its position.
func factText(d *dem.Decoder, ev *dem.Event) string {
	at := fmt.Sprint(d.EventPosition(), " ", ev.AtTick, " ")
	switch ev.Kind {
	case dem.KindFactKill:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactKill))
	case dem.KindFactDamage:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactDamage))
	case dem.KindFactRound:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactRound))
	case dem.KindFactPlayerRound:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactPlayerRound))
	case dem.KindFactObjective:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactObjective))
	default:
		return at + fmt.Sprintf("%q", fmt.Sprint(ev.FactPurchase))
	}
}

// who is how happenings name somebody: by hero in Dota, and else by Steam id, 0 for nobody and for bots.
func who(has bool, a *dem.Actor) string {
	switch {
	case !has:
		return "0"
	case len(a.UnitName) > 0:
		return string(a.UnitName)
	case strings.HasPrefix(string(a.HeroName), "npc_dota_hero_"):
		return string(a.HeroName)
	}
	return fmt.Sprint(a.SteamId)
}

// take adds a fact.
func (m *match) take(ev *dem.Event, clock float64) {
	at := clock
	if math.IsNaN(clock) {
		at = float64(ev.AtTick)
	}
	switch ev.Kind {
	case dem.KindFactKill:
		f := &ev.FactKill
		m.kills = append(m.kills, happening{at, who(f.HasKiller, &f.Killer) + " kills " + who(f.HasVictim, &f.Victim)})
		if f.Reincarnates {
			break
		}
		if f.HasVictim && f.Victim.PlayerId >= 0 {
			m.player(f.Victim.PlayerId).factDeaths++
		}
		if f.HasKiller && f.Killer.PlayerId >= 0 {
			if p := m.player(f.Killer.PlayerId); f.Killer.Team != f.Victim.Team {
				p.factKills++
			} else {
				p.teammen++
			}
		}
		for i := range f.Assists {
			if f.Assists[i].PlayerId >= 0 {
				m.player(f.Assists[i].PlayerId).factAssists++
			}
		}
	case dem.KindFactDamage:
		f := &ev.FactDamage
		m.damages = append(m.damages, happening{at, fmt.Sprintf("%s hurts %s, left %d", who(f.HasAttacker, &f.Attacker), who(f.HasVictim, &f.Victim), f.Health)})
	case dem.KindFactRound:
		if f := &ev.FactRound; !f.Warmup {
			m.rounds = append(m.rounds, round{f.Number, f.Winner, f.Reason, f.FreezeEndTick, ev.AtTick})
		}
	case dem.KindFactPurchase:
		f := &ev.FactPurchase
		m.purchases = append(m.purchases, happening{at, fmt.Sprintf("player %d buys %s", f.Buyer.PlayerId, f.Item)})
	case dem.KindFactObjective:
		switch f := &ev.FactObjective; f.Type {
		case dem.ObjectiveTypeBuilding:
			m.buildings = append(m.buildings, happening{at, string(f.Name) + " falls"})
		case dem.ObjectiveTypeBombPlanted:
			m.bombs = append(m.bombs, happening{at, "planted"})
		case dem.ObjectiveTypeBombDefused:
			m.bombs = append(m.bombs, happening{at, "defused"})
		case dem.ObjectiveTypeBombExploded:
			m.bombs = append(m.bombs, happening{at, "exploded"})
		}
	}
}
