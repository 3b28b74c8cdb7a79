package dem

import (
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// Past is what a decoder remembers of a match, whichever place it began at: what facts told, as far as some kilobytes can hold it.
type Past struct {
	// Rounds are the last MaxPastRounds rounds of Counter-Strike 2 that ended.
	Rounds []PastRound
	// Kills are the last MaxPastKills kills.
	Kills []PastKill
	// Objectives are the last MaxPastObjectives objectives of Dota 2 and Deadlock that were taken or lost, without wards and couriers.
	Objectives []PastObjective
	// Economy is what the sides of Dota 2 and Deadlock were worth in the last MaxPastMinutes minutes.
	Economy []PastEconomy
	// Players are the sums of what players did in rounds of Counter-Strike 2, and with wards, by the number of the player. The warm-up does not
	// count.
	Players [MaxPlayers]PastPlayer
}

// The limits of what a Past holds.
const (
	MaxPastRounds     = 128
	MaxPastKills      = 100
	MaxPastObjectives = 64
	MaxPastMinutes    = 128
)

// PastRound is a round that ended, and the tick of its end.
type PastRound struct {
	Tick int32
	FactRound
}

// PastKill is a kill. A unit that is no player's hero or body has the name of what it is. Names are cut.
type PastKill struct {
	Tick                   int32
	Killer, Victim, Weapon string
	KillerTeam, VictimTeam int32 // 0 when not known
	Assists                []string
	Headshot               bool
}

// PastObjective is an objective, as in FactObjective. Names are cut, as in PastKill.
type PastObjective struct {
	Tick      int32
	Type      ObjectiveType
	Actor     string
	ActorTeam int32 // 0 when not known
	Name      string
	Team      int32
	Denied    bool
}

// PastEconomy is what the players of the two sides were worth at the end of the first tick of a minute.
type PastEconomy struct {
	Tick     int32
	NetWorth [2]int64
}

// PastPlayer is the sum of a player's FactPlayerRounds: of a number, or in how many rounds something was true.
type PastPlayer struct {
	SteamId uint64
	Name    string

	Rounds, Won, Kills, Headshots, Assists, FlashAssists, Deaths int32
	Damage, UtilityDamage, OpeningKills, OpeningDeaths           int32
	Trades, Traded, Kast, Clutches, ClutchesWon, MoneySpent      int32
	Grenades, Blinded                                            int32
	BlindedSeconds                                               float32

	// Dota 2: wards, and those of the other side.
	WardsPlaced, WardsDestroyed int32
}

// The limits of names and lists in a PastKill.
const (
	maxPastName    = 64
	maxPastAssists = 10
)

// Past returns what the decoder remembers. It is complete if Options select the kinds of facts that it is of, or all kinds but facts. Its
// parts must not be changed.
func (d *Decoder) Past() Past {
	p := d.match.past
	p.Rounds, p.Kills = newest(p.Rounds, MaxPastRounds), newest(p.Kills, MaxPastKills)
	p.Objectives, p.Economy = newest(p.Objectives, MaxPastObjectives), newest(p.Economy, MaxPastMinutes)
	return p
}

func newest[T any](list []T, limit int) []T { return list[max(0, len(list)-limit):] }

// remembers reports whether what facts of a kind tell is remembered.
func (c *conclusions) remembers(k Kind) bool { return c.remembered.has(k) }

// remember adds a value to a list whose last values count. Snapshots hold earlier parts of the list, which do not change.
func remember[T any](d *Decoder, list []T, v T, limit int) []T {
	d.snaps.past = nil
	if len(list) >= 2*limit {
		list = slices.Clone(newest(list, limit))
	}
	return append(list, v)
}

// pastName returns a name as a text that is short.
func pastName(names ...[]byte) string {
	for _, name := range names {
		if len(name) > 0 {
			return string(name[:min(len(name), maxPastName)])
		}
	}
	return ""
}

// pastActor returns the name of an actor as a text that is short.
func pastActor(a *Actor) string { return pastName(a.UnitName, a.Name, a.HeroName) }

// rememberKill remembers a kill.
func (d *Decoder) rememberKill(k *FactKill) {
	if !d.facts.remembers(KindFactKill) {
		return
	}
	p := PastKill{Tick: d.out.tick, Weapon: pastName(k.Weapon), Headshot: k.Headshot}
	if k.HasKiller {
		p.Killer, p.KillerTeam = pastActor(&k.Killer), k.Killer.Team
	}
	if k.HasVictim {
		p.Victim, p.VictimTeam = pastActor(&k.Victim), k.Victim.Team
	}
	for i := range k.Assists[:min(len(k.Assists), maxPastAssists)] {
		p.Assists = append(p.Assists, pastActor(&k.Assists[i]))
	}
	d.match.past.Kills = remember(d, d.match.past.Kills, p, MaxPastKills)
}

// rememberRound remembers a round that ended.
func (d *Decoder) rememberRound(f *FactRound) {
	r := PastRound{Tick: d.out.tick, FactRound: *f}
	r.Sides = slices.Clone(f.Sides)
	d.match.past.Rounds = remember(d, d.match.past.Rounds, r, MaxPastRounds)
}

// rememberObjective remembers an objective, or of a ward who destroyed it.
func (d *Decoder) rememberObjective(f *FactObjective) {
	if !d.facts.remembers(KindFactObjective) || f.Type == ObjectiveTypeCourier {
		return
	}
	if f.Type == ObjectiveTypeWard {
		if p := d.pastPlayer(f.HasActor && !f.Denied, &f.Actor); p != nil {
			p.WardsDestroyed++
		}
		return
	}
	p := PastObjective{Tick: d.out.tick, Type: f.Type, Name: pastName(f.Name), Team: f.Team, Denied: f.Denied}
	if f.HasActor {
		p.Actor, p.ActorTeam = pastActor(&f.Actor), f.Actor.Team
	}
	d.match.past.Objectives = remember(d, d.match.past.Objectives, p, MaxPastObjectives)
}

// rememberWard remembers who placed a ward.
func (d *Decoder) rememberWard(f *FactWard) {
	if p := d.pastPlayer(f.HasPlayer && d.facts.remembers(KindFactWard), &f.Player); p != nil {
		p.WardsPlaced++
	}
}

// rememberEconomy remembers what the sides are worth at the end of a tick, in the first one of a minute in which that is known.
func (d *Decoder) rememberEconomy() {
	if !d.facts.remembers(KindFactKill) || d.match.game != gameDota && d.match.game != gameDeadlock {
		return
	}
	past, tick := &d.match.past.Economy, d.out.tick
	minute := int32(min(60*d.TicksPerSecond(), 1<<30))
	if n := len(*past); n > 0 && tick/minute <= (*past)[n-1].Tick/minute {
		return
	}
	e, known := PastEconomy{Tick: tick}, false
	for i := range MaxPlayers {
		if !d.meet(i) {
			continue
		}
		team, _ := d.number(playerTeam)
		if !sided(team) {
			continue
		}
		d.seat(team)
		if worth, ok := d.number(playerNetWorth); ok {
			e.NetWorth[team-firstSide] += int64(worth)
			known = true
		}
	}
	if known {
		*past = remember(d, *past, e, MaxPastMinutes)
	}
}

// pastPlayer returns what is remembered of a player, to be changed; nil if it is none. A number may be another player's by now.
func (d *Decoder) pastPlayer(there bool, a *Actor) *PastPlayer {
	if !there || uint32(a.PlayerId) >= MaxPlayers {
		return nil
	}
	d.snaps.past = nil
	p, name := &d.match.past.Players[a.PlayerId], pastName(a.Name)
	if p.SteamId != a.SteamId || p.SteamId == 0 && p.Name != name {
		*p = PastPlayer{SteamId: a.SteamId}
	}
	p.Name = name
	return p
}

// rememberPlayer adds a round of a player.
func (d *Decoder) rememberPlayer(f *FactPlayerRound) {
	p := d.pastPlayer(true, &f.Player)
	if p == nil {
		return
	}
	p.Rounds++
	p.BlindedSeconds += f.BlindedSeconds
	for _, sum := range [...]struct {
		to *int32
		by int32
	}{
		{&p.Kills, f.Kills}, {&p.Headshots, f.Headshots}, {&p.Assists, f.Assists}, {&p.FlashAssists, f.FlashAssists}, {&p.Damage, f.Damage},
		{&p.UtilityDamage, f.UtilityDamage}, {&p.Trades, f.Trades}, {&p.MoneySpent, f.MoneySpent}, {&p.Grenades, f.Grenades}, {&p.Blinded, f.Blinded},
		{&p.Won, one(f.Won)}, {&p.Deaths, one(f.Died)}, {&p.OpeningKills, one(f.OpeningKill)}, {&p.OpeningDeaths, one(f.OpeningDeath)}, {&p.Traded, one(f.Traded)},
		{&p.Kast, one(f.Kast)}, {&p.Clutches, one(f.Clutch > 0)}, {&p.ClutchesWon, one(f.Clutch > 0 && f.Won)},
	} {
		*sum.to += sum.by
	}
}

func one(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

// frozenPast returns what is remembered, for a snapshot.
func (d *Decoder) frozenPast() *share.Value[Past] {
	if d.snaps.past == nil {
		p := &d.match.past
		d.snaps.past = share.NewValue(*p, 144*len(p.Players)+512*len(p.Rounds)+256*(len(p.Kills)+len(p.Objectives))+24*len(p.Economy))
	}
	return d.snaps.past
}

// resumePast remembers what a snapshot holds, without changing it.
func (d *Decoder) resumePast(s *share.Value[Past]) {
	d.match.past = s.Of
	p := &d.match.past
	p.Rounds, p.Kills, p.Objectives, p.Economy = slices.Clip(p.Rounds), slices.Clip(p.Kills), slices.Clip(p.Objectives), slices.Clip(p.Economy)
}
