package dem_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// remembered collects what facts tell, as a Past has it.
type remembered struct{ dem.Past }

func (p *remembered) take(ev *dem.Event) {
	switch ev.Kind {
	case dem.KindFactKill:
		f := &ev.FactKill
		k := dem.PastKill{Tick: ev.AtTick, Weapon: string(f.Weapon), Headshot: f.Headshot}
		k.Killer, k.KillerTeam = named(&f.Killer)
		k.Victim, k.VictimTeam = named(&f.Victim)
		for i := range f.Assists {
			name, _ := named(&f.Assists[i])
			k.Assists = append(k.Assists, name)
		}
		p.Kills = append(p.Kills, k)
	case dem.KindFactObjective:
		p.takeObjective(ev)
	case dem.KindFactWard:
		if f := &ev.FactWard; f.Player.PlayerId >= 0 && f.State == dem.WardStatePlaced {
			p.player(&f.Player).WardsPlaced++
		}
	case dem.KindFactRound:
		r := dem.PastRound{Tick: ev.AtTick, FactRound: ev.FactRound}
		r.Sides = slices.Clone(ev.FactRound.Sides)
		p.Rounds = append(p.Rounds, r)
	case dem.KindFactPlayerRound:
		f := &ev.FactPlayerRound
		q := p.player(&f.Player)
		n := func(v bool) int32 {
			if v {
				return 1
			}
			return 0
		}
		q.Rounds, q.Won, q.Kills, q.Headshots, q.Assists = q.Rounds+1, q.Won+n(f.Won), q.Kills+f.Kills, q.Headshots+f.Headshots, q.Assists+f.Assists
		q.FlashAssists, q.Deaths, q.Damage, q.UtilityDamage = q.FlashAssists+f.FlashAssists, q.Deaths+n(f.Died), q.Damage+f.Damage, q.UtilityDamage+f.UtilityDamage
		q.OpeningKills, q.OpeningDeaths, q.Trades, q.Traded = q.OpeningKills+n(f.OpeningKill), q.OpeningDeaths+n(f.OpeningDeath), q.Trades+f.Trades, q.Traded+n(f.Traded)
		q.Grenades, q.Blinded, q.BlindedSeconds = q.Grenades+f.Grenades, q.Blinded+f.Blinded, q.BlindedSeconds+f.BlindedSeconds
		q.Kast, q.Clutches, q.ClutchesWon, q.MoneySpent = q.Kast+n(f.Kast), q.Clutches+n(f.Clutch > 0), q.ClutchesWon+n(f.Clutch > 0 && f.Won), q.MoneySpent+f.MoneySpent
	}
}

// named returns the name and the team of an actor.
func named(a *dem.Actor) (string, int32) {
	if len(a.UnitName) > 0 {
		return string(a.UnitName), a.Team
	}
	return string(a.Name), a.Team
}

// player returns what is remembered of a player.
func (p *remembered) player(a *dem.Actor) *dem.PastPlayer {
	q := &p.Players[a.PlayerId]
	if q.Name != string(a.Name) {
		*q = dem.PastPlayer{Name: string(a.Name), SteamId: a.SteamId}
	}
	return q
}

func (p *remembered) takeObjective(ev *dem.Event) {
	f := &ev.FactObjective
	switch f.Type {
	case dem.ObjectiveTypeWard:
		if f.HasActor && !f.Denied {
			p.player(&f.Actor).WardsDestroyed++
		}
	case dem.ObjectiveTypeCourier, dem.ObjectiveTypeBombPlanted, dem.ObjectiveTypeBombDefused, dem.ObjectiveTypeBombExploded:
	default:
		o := dem.PastObjective{Tick: ev.AtTick, Type: f.Type, Name: string(f.Name), Team: f.Team, Denied: f.Denied}
		if f.HasActor {
			o.Actor, o.ActorTeam = named(&f.Actor)
		}
		p.Objectives = append(p.Objectives, o)
	}
}

// weigh takes what the sides are worth behind a tick, if it is the first one of a minute.
func (p *remembered) weigh(d *dem.Decoder) {
	tick, minute := d.Tick(), 60*int32(d.TicksPerSecond())
	if n := len(p.Economy); tick < 0 || n > 0 && tick/minute <= p.Economy[n-1].Tick/minute {
		return
	}
	var ev dem.Event
	e, known := dem.PastEconomy{Tick: tick}, false
	for i := range dem.MaxPlayers {
		if s := &ev.SamplePlayer; d.SamplePlayer(tick, i, &ev) && s.HasNetWorth {
			e.NetWorth[s.Team-2] += int64(s.NetWorth)
			known = true
		}
	}
	if known {
		p.Economy = append(p.Economy, e)
	}
}

// last returns what a Past has of it.
func (p *remembered) last() dem.Past {
	out := p.Past
	out.Kills = slices.Clone(p.Kills[max(0, len(p.Kills)-dem.MaxPastKills):])
	out.Rounds = slices.Clone(p.Rounds[max(0, len(p.Rounds)-dem.MaxPastRounds):])
	out.Objectives = slices.Clone(p.Objectives[max(0, len(p.Objectives)-dem.MaxPastObjectives):])
	out.Economy = slices.Clone(p.Economy[max(0, len(p.Economy)-dem.MaxPastMinutes):])
	return out
}

// TestPast: what a decoder remembers is what facts have told before, whether these are delivered or not, wherever the decoder began.
func TestPast(t *testing.T) {
	match, _ := demtest.LongMatch(2, 2)
	few, _ := demtest.Rounds(7, 4, demtest.ByEvents)
	many, _ := demtest.Rounds(8, 2*dem.MaxPastRounds+40, demtest.ByCounts)
	for name, data := range map[string][]byte{"match": match, "few rounds": few, "many rounds": many, "deadlock": demtest.Players("citadel")} {
		t.Run(name, func(t *testing.T) { testPast(t, data) })
	}
}

func testPast(t *testing.T, data []byte) {
	t.Helper()
	// What facts have told before each record.
	want := map[int64]dem.Past{}
	var all remembered
	var offsets []int64
	var d *dem.Decoder
	d = dem.New(bytes.NewReader(data), dem.Options{Kinds: isFact, Record: func() bool {
		all.weigh(d)
		if d.Offset() > int64(len(offsets)+1)*int64(len(data))/12 {
			want[d.Offset()], offsets = all.last(), append(offsets, d.Offset())
		}
		return false
	}})
	_ = run(d, all.take)
	if len(all.Kills) == 0 || len(offsets) < 2 {
		t.Fatalf("%d kills, %d places", len(all.Kills), len(offsets))
	}
	equal := func(what string, at int64, got dem.Past) {
		t.Helper()
		if !reflect.DeepEqual(want[at], got) {
			t.Fatalf("%s, at %d (-want +got):\n%s", what, at, cmp.Diff(want[at], got))
		}
	}
	follow := func(what string, kinds func(dem.Kind) bool, from *dem.Snapshot) (last dem.Past, found []*dem.Snapshot) {
		var d *dem.Decoder
		o := dem.Options{Kinds: kinds, Record: func() bool {
			if _, there := want[d.Offset()]; there {
				equal(what, d.Offset(), d.Past())
				if s := d.Snapshot(); s != nil {
					found = append(found, s)
				}
			}
			return false
		}}
		if d = dem.New(bytes.NewReader(data), o); from != nil {
			d = dem.Resume(bytes.NewReader(data[from.Position().Offset:]), o, from)
		}
		_ = run(d, func(*dem.Event) {})
		return d.Past(), found
	}
	end, found := follow("everything", nil, nil)
	follow("facts that are remembered", func(k dem.Kind) bool {
		return k == dem.KindFactKill || k == dem.KindFactRound || k == dem.KindFactPlayerRound || k == dem.KindFactObjective || k == dem.KindFactWard
	}, nil)
	for i := 0; i < len(found); i += 4 {
		for _, kinds := range []func(dem.Kind) bool{nil, isFact, nil} { // the last of them after others have gone on
			if last, _ := follow("from a snapshot", kinds, found[i]); !reflect.DeepEqual(last, end) {
				t.Fatalf("from a snapshot, at the end (-want +got):\n%s", cmp.Diff(end, last))
			}
		}
	}
	for _, s := range found { // what they remember has not changed meanwhile
		equal("a snapshot", s.Position().Offset, dem.Resume(bytes.NewReader(nil), dem.Options{}, s).Past())
	}
}
