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
	// Players are the sums of what players did in rounds of Counter-Strike 2, by the number of the player. The warm-up does not count.
	Players [MaxPlayers]PastPlayer
}

// MaxPastRounds and MaxPastKills limit what a Past holds.
const (
	MaxPastRounds = 128
	MaxPastKills  = 100
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

// PastPlayer is the sum of a player's FactPlayerRounds: of a number, or in how many rounds something was true.
type PastPlayer struct {
	SteamId uint64
	Name    string

	Rounds, Won, Kills, Headshots, Assists, FlashAssists, Deaths int32
	Damage, UtilityDamage, OpeningKills, OpeningDeaths           int32
	Trades, Traded, Kast, Clutches, ClutchesWon, MoneySpent      int32
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

// rememberKill remembers a kill.
func (d *Decoder) rememberKill(k *FactKill) {
	if !d.facts.remembers(KindFactKill) {
		return
	}
	p := PastKill{Tick: d.out.tick, Weapon: pastName(k.Weapon), Headshot: k.Headshot}
	if k.HasKiller {
		p.Killer, p.KillerTeam = pastName(k.Killer.UnitName, k.Killer.Name, k.Killer.HeroName), k.Killer.Team
	}
	if k.HasVictim {
		p.Victim, p.VictimTeam = pastName(k.Victim.UnitName, k.Victim.Name, k.Victim.HeroName), k.Victim.Team
	}
	for i := range k.Assists[:min(len(k.Assists), maxPastAssists)] {
		p.Assists = append(p.Assists, pastName(k.Assists[i].UnitName, k.Assists[i].Name, k.Assists[i].HeroName))
	}
	d.match.past.Kills = remember(d, d.match.past.Kills, p, MaxPastKills)
}

// rememberRound remembers a round that ended.
func (d *Decoder) rememberRound(f *FactRound) {
	r := PastRound{Tick: d.out.tick, FactRound: *f}
	r.Sides = slices.Clone(f.Sides)
	d.match.past.Rounds = remember(d, d.match.past.Rounds, r, MaxPastRounds)
}

// rememberPlayer adds a round of a player. A number may be another player's by now.
func (d *Decoder) rememberPlayer(number int, f *FactPlayerRound) {
	d.snaps.past = nil
	p, name := &d.match.past.Players[number], pastName(f.Player.Name)
	if p.SteamId != f.Player.SteamId || p.SteamId == 0 && p.Name != name {
		*p = PastPlayer{SteamId: f.Player.SteamId}
	}
	p.Name = name
	p.Rounds++
	for _, sum := range [...]struct {
		to *int32
		by int32
	}{
		{&p.Kills, f.Kills}, {&p.Headshots, f.Headshots}, {&p.Assists, f.Assists}, {&p.FlashAssists, f.FlashAssists}, {&p.Damage, f.Damage},
		{&p.UtilityDamage, f.UtilityDamage}, {&p.Trades, f.Trades}, {&p.MoneySpent, f.MoneySpent},
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
		d.snaps.past = share.NewValue(*p, 128*len(p.Players)+512*len(p.Rounds)+256*len(p.Kills))
	}
	return d.snaps.past
}

// resumePast remembers what a snapshot holds, without changing it.
func (d *Decoder) resumePast(s *share.Value[Past]) {
	d.match.past = s.Of
	d.match.past.Rounds, d.match.past.Kills = slices.Clip(s.Of.Rounds), slices.Clip(s.Of.Kills)
}
