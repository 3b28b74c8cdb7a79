package dem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// The limits of reports; replayd.v1.DemReport states them.
const (
	maxTeams      = 32
	maxPlayers    = 128
	maxPlayerName = 256 // in bytes
)

// The facts that reports are of, and the entities that they read, with their fields. Each game's classes derive from these classes of the
// engine.
var reported = []*replaydv1.EventFilter{{Kinds: []string{"fact_kill", "fact_round", "fact_player_round", "fact_objective", "fact_ward"}}, {Kinds: []string{"entity_entered"}, Dem: &replaydv1.DemFilter{
	Classes: []string{"*PlayerController", "*Team", resource},
	Fields: []string{
		"m_iszPlayerName", "m_steamID", "m_iTeamNum", "m_nPlayerID", "m_szTeamname", "m_szClanTeamname", "m_iScore",
		"m_iKills", "m_iPlayerKills", "m_iDeaths", "m_iAssists", "m_iPlayerAssists", "m_iLevel", "m_iGoldNetWorth", "m_nHeroID",
		"*.m_iKills", "*.m_iPlayerKills", "*.m_iDeaths", "*.m_iAssists", "*.m_iPlayerAssists", "*.m_iLevel", "*.m_iGoldNetWorth", "*.m_nHeroID",
		"*.m_nSelectedHeroID",
	},
}}}

// resource is the class of the entity with lists of what Dota counts of each player.
const resource = "CDOTA_PlayerResource"

// opener opens the readers of streams and of reports.
var opener = newOpener()

// report implements Report of codec.Codec.
func report(_ context.Context, in source.Input, o codec.ReportOptions, to *replaydv1.Report) error {
	s, err := stand(in, o, to)
	if err == nil {
		to.Game = &replaydv1.Report_Dem{Dem: s.conclude()}
	}
	return err
}

// stand returns what a report says of the game, and adds the rest to the report.
func stand(in source.Input, o codec.ReportOptions, to *replaydv1.Report) (*standing, error) {
	delivered, err := filter.Compile(&filter.Format{Name: "Source 2 demo", Kinds: properties.Describe(Kinds)}, reported, nil)
	if err != nil {
		return nil, err
	}
	options := codec.Options{Filter: delivered, StateFilter: delivered, State: true, Secrets: o.Secrets, Checkpoints: o.Checkpoints}
	switch {
	case o.Tick == nil || *o.Tick == math.MaxInt32:
		options.Start.Now = true
	default:
		options.Start.Tick = new(*o.Tick + 1)
	}
	r, err := opener(in, options)
	if err != nil {
		return nil, err
	}
	described := to.GetReplay()
	if err := r.Header(described); err != nil {
		if errors.Is(err, decoders.ErrMore) {
			err = r.Close()
		}
		return nil, err
	}
	s := &standing{ids: map[*replaydv1.DemPlayer]int32{}, out: &replaydv1.DemReport{
		FileHeader: described.GetDem().GetFileHeader(), Match: described.GetDem().GetFileInfo().GetMatch(),
	}}
	err = patient(r, &o, r.Seek)
	passed := err == nil && options.Start.Tick != nil
	var broken *decoders.Error
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) || errors.As(err, &broken) {
		if failed := s.read(r, &o); failed != nil {
			return nil, failed
		}
	}
	s.d = r.(*frontReader).present().d
	to.Tick = new(max(r.Tick(), 0))
	if passed {
		to.Tick = o.Tick
	} else if err == nil { // the tick is at the end of the present bytes
		err = patient(r, &o, func() error { return r.Fill(&codec.Batch{MaxEvents: 1, MaxBytes: 1}) })
	}
	return s, codec.Concluded(to, err)
}

// patient calls step until it has done its work.
func patient(r codec.Reader, o *codec.ReportOptions, step func() error) error {
	holder, _ := r.(codec.Holder)
	for {
		if err := step(); !errors.Is(err, codec.ErrYield) {
			return err
		}
		if err := o.Pause(holder.Held()); err != nil {
			return err
		}
	}
}

// standing collects what a report says of a game.
type standing struct {
	out    *replaydv1.DemReport
	ids    map[*replaydv1.DemPlayer]int32 // the numbers by which a resource refers to players
	list   *demv1.EventList
	listed *demv1.EntityEntered // the resource, whose names are in list; nil if there is none
	d      *dem.Decoder
}

// read takes the state of the entities.
func (s *standing) read(r codec.Reader, o *codec.ReportOptions) error {
	p, _ := r.(codec.Presenter)
	for over := false; !over; {
		b := codec.Batch{MaxEvents: 64, MaxBytes: 256 << 10}
		err := p.Present(&b)
		switch {
		case errors.Is(err, io.EOF):
			over = true
		case errors.Is(err, codec.ErrYield), err == nil:
			if holder, ok := r.(codec.Holder); ok {
				if err := o.Pause(holder.Held()); err != nil {
					return err
				}
			}
		default:
			return err
		}
		list := new(demv1.EventList)
		if err := proto.Unmarshal(append(slices.Clone(b.Events), b.Tail...), list); err != nil {
			return fmt.Errorf("reading the state: %w", err)
		}
		for _, ev := range list.GetEvents() {
			if e := ev.GetEntityEntered(); e != nil {
				s.entity(list, e)
			}
		}
	}
	return nil
}

// nameAt returns a name of a list, or an empty one.
func nameAt(list *demv1.EventList, i uint32) string {
	if int(i) < len(list.GetStrings()) {
		return list.GetStrings()[i]
	}
	return ""
}

// entity takes the state of an entity.
func (s *standing) entity(list *demv1.EventList, e *demv1.EntityEntered) {
	switch class := nameAt(list, e.GetClass()); {
	case class == resource:
		s.list, s.listed = list, e
	case strings.HasSuffix(class, "PlayerController"):
		s.player(list, e)
	case len(s.out.Teams) < maxTeams:
		s.team(list, e)
	}
}

// player takes the state of a player.
func (s *standing) player(list *demv1.EventList, e *demv1.EntityEntered) {
	p := &replaydv1.DemPlayer{Number: int32(e.GetIndex())}
	for _, f := range e.GetFields() {
		switch n := number(f); nameAt(list, f.GetField()) {
		case "m_iszPlayerName":
			p.Name = short(f.GetText())
		case "m_steamID":
			if id := f.GetUint(); id != 0 {
				p.SteamId = &id
			}
		case "m_iTeamNum":
			p.Team = n
		case "m_nPlayerID":
			if n != nil {
				s.ids[p] = *n
			}
		default:
			count(p, nameAt(list, f.GetField()), f, n)
		}
	}
	if p.GetName() != "" && len(s.out.Players) < maxPlayers {
		s.out.Players = append(s.out.Players, p)
	}
}

// count sets the player's count that a game keeps in a field with this end of its name, in the entity of the player or of all
// players.
func count(p *replaydv1.DemPlayer, field string, f *demv1.FieldValue, n *int32) {
	switch field[strings.LastIndexByte(field, '.')+1:] {
	case "m_iScore":
		p.Score = n
	case "m_iKills", "m_iPlayerKills":
		p.Kills = n
	case "m_iDeaths":
		p.Deaths = n
	case "m_iAssists", "m_iPlayerAssists":
		p.Assists = n
	case "m_iLevel":
		p.Level = n
	case "m_iGoldNetWorth":
		p.NetWorth = n
	case "m_nHeroID", "m_nSelectedHeroID":
		p.Hero = short(f.GetName())
	}
}

// team takes the state of a team.
func (s *standing) team(list *demv1.EventList, e *demv1.EntityEntered) {
	t := &replaydv1.DemTeam{Number: -1}
	for _, f := range e.GetFields() {
		switch n := number(f); nameAt(list, f.GetField()) {
		case "m_iTeamNum":
			if n != nil {
				t.Number = *n
			}
		case "m_szTeamname":
			t.Name = cmp.Or(t.GetName(), short(f.GetText()))
		case "m_szClanTeamname": // the player's team, if it is known
			if clan := short(f.GetText()); clan != "" {
				t.Name = clan
			}
		case "m_iScore":
			t.Score = n
		}
	}
	if t.GetNumber() >= 0 && !slices.ContainsFunc(s.out.GetTeams(), func(o *replaydv1.DemTeam) bool { return o.GetNumber() == t.GetNumber() }) {
		s.out.Teams = append(s.out.Teams, t)
	}
}

// conclude returns the report.
func (s *standing) conclude() *replaydv1.DemReport {
	byID := map[int32]*replaydv1.DemPlayer{}
	for _, p := range s.out.GetPlayers() {
		if id, known := s.ids[p]; known {
			byID[id] = p
		}
	}
	for _, f := range s.listed.GetFields() {
		field := nameAt(s.list, f.GetField())
		var at int32
		if _, err := fmt.Sscanf(field, "m_vecPlayerTeamData.%d.", &at); err != nil {
			continue
		}
		if p := byID[at]; p != nil && at >= 0 && strings.Count(field, ".") == 2 {
			count(p, field, f, number(f))
		}
	}
	s.sample(byID)
	s.past()
	for _, m := range s.out.GetMatch().GetPlayers() {
		for _, p := range s.out.GetPlayers() {
			if m.GetSteamId() != 0 && m.GetSteamId() == p.GetSteamId() {
				p.Hero = cmp.Or(p.GetHero(), m.GetHeroName())
			}
		}
	}
	slices.SortFunc(s.out.Teams, func(a, b *replaydv1.DemTeam) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) })
	slices.SortStableFunc(s.out.Players, func(a, b *replaydv1.DemPlayer) int {
		return cmp.Or(cmp.Compare(a.GetTeam(), b.GetTeam()), cmp.Compare(a.GetNumber(), b.GetNumber()))
	})
	return s.out
}

// sample adds to the players, by the numbers that the game has for them, what samples of players say. A game whose players have no entities
// of their own has the players of the samples.
func (s *standing) sample(byID map[int32]*replaydv1.DemPlayer) {
	for _, p := range s.out.GetPlayers() {
		if _, other := s.ids[p]; !other && byID[p.GetNumber()-1] == nil { // the number of the entity is that of the player
			byID[p.GetNumber()-1] = p
		}
	}
	past, alone := s.d.Past(), len(s.out.GetPlayers()) == 0
	var ev dem.Event
	for i := range int32(dem.MaxPlayers) {
		if !s.d.SamplePlayer(0, int(i), &ev) {
			continue
		}
		sample := &ev.SamplePlayer
		p := byID[i]
		if alone && len(sample.Name) > 0 {
			p = &replaydv1.DemPlayer{
				Number: i, Name: short(text(sample.Name)), SteamId: codec.Known(sample.SteamId), Team: new(sample.Team), Hero: text(sample.HeroName),
				Kills: known(sample.Kills, sample.HasKills), Deaths: known(sample.Deaths, sample.HasDeaths), Assists: known(sample.Assists, sample.HasAssists),
				Level: known(sample.Level, sample.HasLevel),
			}
			s.out.Players, s.ids[p] = append(s.out.Players, p), i
		}
		if p == nil {
			continue
		}
		p.Money, p.LastHits, p.Denies = known(sample.Money, sample.HasMoney), known(sample.LastHits, sample.HasLastHits), known(sample.Denies, sample.HasDenies)
		if p.NetWorth == nil {
			p.NetWorth = known(sample.NetWorth, sample.HasNetWorth)
		}
		q := &past.Players[i]
		if q.SteamId != sample.SteamId {
			continue
		}
		if p.WardsPlaced, p.WardsDestroyed = q.WardsPlaced, q.WardsDestroyed; q.Rounds > 0 {
			p.Rounds = &replaydv1.DemPlayerRounds{
				Rounds: q.Rounds, Won: q.Won, Kills: q.Kills, Headshots: q.Headshots, Assists: q.Assists, FlashAssists: q.FlashAssists, Deaths: q.Deaths,
				Damage: q.Damage, UtilityDamage: q.UtilityDamage, OpeningKills: q.OpeningKills, OpeningDeaths: q.OpeningDeaths, Trades: q.Trades,
				Traded: q.Traded, Kast: q.Kast, Clutches: q.Clutches, ClutchesWon: q.ClutchesWon, MoneySpent: q.MoneySpent,
				Grenades: q.Grenades, Blinded: q.Blinded, BlindedSeconds: q.BlindedSeconds,
			}
		}
	}
}

// known returns a number that may not be known.
func known(n int32, has bool) *int32 {
	if !has {
		return nil
	}
	return &n
}

// past adds the rounds, kills, fights and objectives up to now, and what the sides were worth.
func (s *standing) past() {
	past := s.d.Past()
	for i := range past.Rounds {
		r := &past.Rounds[i]
		out := &replaydv1.DemRound{Tick: r.Tick, Round: &demv1.FactRound{
			Number: codec.Known(r.Number), Warmup: r.Warmup, Overtime: codec.Known(r.Overtime), BeganTick: tickOf(r.BeganTick), FreezeEndTick: tickOf(r.FreezeEndTick),
			PlantedTick: tickOf(r.PlantedTick), Winner: codec.Known(r.Winner), WinnerName: codec.Known(text(r.WinnerName)), Reason: r.Reason,
			ReasonName: codec.Known(text(r.ReasonName)),
		}}
		for i := range r.Sides {
			side := &r.Sides[i]
			out.Round.Sides = append(out.Round.Sides, &demv1.RoundSide{
				Team: side.Team, TeamName: text(side.TeamName), Players: side.Players, Alive: side.Alive, EquipmentValue: side.EquipmentValue,
				MoneySpent: side.MoneySpent, Money: side.Money, Buy: text(side.Buy),
			})
		}
		s.out.Rounds = append(s.out.Rounds, out)
	}
	for i := range past.Kills {
		k := &past.Kills[i]
		out := &replaydv1.DemKill{
			Tick: k.Tick, Killer: text([]byte(k.Killer)), KillerTeam: codec.Known(k.KillerTeam), Victim: text([]byte(k.Victim)), VictimTeam: codec.Known(k.VictimTeam),
			Weapon: text([]byte(k.Weapon)), Headshot: k.Headshot,
		}
		for _, name := range k.Assists {
			out.Assists = append(out.Assists, text([]byte(name)))
		}
		s.out.Kills = append(s.out.Kills, out)
	}
	for i := range past.Objectives {
		o := &past.Objectives[i]
		s.out.Objectives = append(s.out.Objectives, &replaydv1.DemObjective{
			Tick: o.Tick, Type: demv1.ObjectiveType(o.Type), Actor: text([]byte(o.Actor)), ActorTeam: codec.Known(o.ActorTeam), Name: text([]byte(o.Name)),
			Team: codec.Known(o.Team), Denied: o.Denied,
		})
	}
	for _, e := range past.Economy {
		out := &replaydv1.DemEconomy{Tick: e.Tick}
		for i, worth := range e.NetWorth {
			out.Sides = append(out.Sides, &replaydv1.DemSide{Team: firstSide + int32(i), NetWorth: worth})
		}
		s.out.Economy = append(s.out.Economy, out)
	}
	if len(past.Economy) > 0 { // in Counter-Strike 2 each round is a fight
		s.out.Fights = fights(past.Kills, int32(fightSeconds*s.d.TicksPerSecond()))
	}
}

// firstSide is the number of the first of the two sides.
const firstSide = 2

// A fight has at least fightKills kills, each within fightSeconds of the one before.
const (
	fightKills   = 3
	fightSeconds = 15
)

// fights returns the fights among kills. gap is the longest time between two kills of a fight, in ticks.
func fights(kills []dem.PastKill, gap int32) (all []*replaydv1.DemFight) {
	for len(kills) > 0 {
		n := 1
		for n < len(kills) && kills[n].Tick-kills[n-1].Tick <= gap {
			n++
		}
		if n >= fightKills {
			all = append(all, fight(kills[:n]))
		}
		kills = kills[n:]
	}
	return all
}

func fight(kills []dem.PastKill) *replaydv1.DemFight {
	f := &replaydv1.DemFight{
		FromTick: kills[0].Tick, ToTick: kills[len(kills)-1].Tick,
		Sides: []*replaydv1.DemFightSide{{Team: firstSide}, {Team: firstSide + 1}},
	}
	for i := range kills {
		if side := int(kills[i].VictimTeam) - firstSide; uint(side) < uint(len(f.Sides)) {
			f.Sides[side].Deaths++
		}
	}
	return f
}

// tickOf returns a tick that is -1 where it is not known.
func tickOf(n int32) *int32 { return known(n, n >= 0) }

// number returns the value of a field with a number of 32 bits, and nil for other fields.
func number(f *demv1.FieldValue) *int32 {
	switch v := f.GetValue().(type) {
	case *demv1.FieldValue_Int:
		if v.Int == int64(int32(v.Int)) {
			return new(int32(v.Int))
		}
	case *demv1.FieldValue_Uint:
		if v.Uint <= math.MaxInt32 {
			return new(int32(v.Uint))
		}
	}
	return nil
}

// short cuts a name that no game has.
func short(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxPlayerName)], "\uFFFD")
}
