package sc2replay

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// The limits of reports; replayd.v1.Sc2ReplayPlayer states them.
const (
	maxUpgrades = 512
	maxTypes    = 256
	maxName     = 128 // of the name of a type or an upgrade, in bytes; the game's own names have 40 at most
)

// standing collects a report's facts of a game. The report feeds it with each event, after the decoder delivered it.
type standing struct {
	fold     *facts.Fold
	state    *sc2replay.State
	upgrades [sc2replay.MaxPlayers][]*replaydv1.Sc2ReplayUpgrade
	fact     sc2replay.Event
}

// report implements Report of codec.Codec.
func report(_ context.Context, in source.Input, o codec.ReportOptions, to *replaydv1.Report) error {
	p, unpacked, err := settled(in, 0)
	if err != nil {
		return err
	}
	if err := addHeader(to.GetReplay(), p, in); err != nil {
		return err
	}
	var none sc2replay.Kinds
	options := sc2replay.Options{Want: &none} // without the contents of members
	d := p.Events(options)
	if unpacked != nil {
		d = unpacked.Events(options)
	}
	s := &standing{fold: facts.New(p), state: sc2replay.NewState(d)}
	passed, err := s.read(d, &o)
	if err := codec.Concluded(to, err); err != nil {
		return err
	}
	if to.Tick = new(max(d.Tick(), 0)); passed {
		to.Tick = o.Tick
	}
	to.Game = &replaydv1.Report_Sc2Replay{Sc2Replay: s.conclude(p, d, to.GetTick())}
	return nil
}

// read decodes until passed reports that the report's tick is over, or until an error.
func (s *standing) read(d *sc2replay.Decoder, o *codec.ReportOptions) (passed bool, err error) {
	var ev sc2replay.Event
	for n := 1; ; n++ {
		if err := d.Next(&ev); err != nil {
			return false, err
		}
		if o.Tick != nil && ev.AtTick > *o.Tick {
			return true, nil
		}
		s.add(&ev)
		if n%work == 0 {
			if err := o.Pause(d.Held() + s.state.Held() + s.fold.Held()); err != nil {
				return false, err
			}
		}
	}
}

// add adds an event's facts to the report.
func (s *standing) add(ev *sc2replay.Event) {
	s.state.Apply(ev)
	s.fold.Apply(ev)
	for s.fold.Next(&s.fact) {
		if s.fact.Kind != sc2replay.KindFactUpgrade || s.fact.Player.PlayerId >= sc2replay.MaxPlayers {
			continue
		}
		if list := &s.upgrades[s.fact.Player.PlayerId]; len(*list) < maxUpgrades {
			*list = append(*list, &replaydv1.Sc2ReplayUpgrade{Name: name(s.fact.FactUpgrade.Name), Tick: s.fact.AtTick})
		}
	}
}

// conclude returns the report of the events up to a tick.
func (s *standing) conclude(p *sc2replay.Replay, d *sc2replay.Decoder, tick int32) *replaydv1.Sc2ReplayReport {
	v := &p.Start.Version
	out := &replaydv1.Sc2ReplayReport{
		Version: &sc2replayv1.Version{
			Flags: v.Flags, Major: v.Major, Minor: v.Minor, Revision: v.Revision, Build: v.Build, BaseBuild: v.BaseBuild,
		},
		Unproven: d.Info().Unproven,
	}
	byID := map[uint32]*replaydv1.Sc2ReplayPlayer{}
	for i := range d.Players() {
		q := &d.Players()[i]
		if q.Observer {
			out.Observers++
			continue
		}
		player := s.player(q, tick)
		out.Players = append(out.Players, player)
		if q.Ref.HasPlayerId {
			byID[q.Ref.PlayerId] = player
		}
	}
	slices.SortStableFunc(out.Players, func(a, b *replaydv1.Sc2ReplayPlayer) int { return cmp.Compare(a.GetTeam(), b.GetTeam()) })
	s.living(byID)
	return out
}

// player returns the known facts of a player, without living units.
func (s *standing) player(q *sc2replay.PlayerInfo, tick int32) *replaydv1.Sc2ReplayPlayer {
	out := &replaydv1.Sc2ReplayPlayer{
		Name: name(q.Ref.Name), Clan: name(q.Clan), Race: name(q.Race), Team: q.Team, Computer: q.Computer, Result: sc2replayv1.Result(q.Result),
	}
	if q.HasMmr {
		out.Mmr = &q.Mmr
	}
	if !q.Ref.HasPlayerId {
		return out
	}
	out.PlayerId = &q.Ref.PlayerId
	if q.Ref.PlayerId < sc2replay.MaxPlayers {
		out.Upgrades = s.upgrades[q.Ref.PlayerId]
	}
	game, ok := s.fold.Player(q.Ref.PlayerId, tick)
	if !ok {
		return out
	}
	out.WorkersLost, out.ArmyLost = game.WorkersLost, game.ArmyLost
	if game.HasSpendingQuotient {
		out.SpendingQuotient = &game.SpendingQuotient
	}
	if game.HasSupplyCapped {
		out.SupplyCapped = new(float64(game.SupplyCapped))
	}
	if game.HasLeftTick {
		out.LeftTick = &game.LeftTick
	}
	if game.HasActionsPerMinute {
		out.Apm = &game.ActionsPerMinute
	}
	return out
}

// living adds the complete, living units to players, and the last reports of their economies.
func (s *standing) living(players map[uint32]*replaydv1.Sc2ReplayPlayer) {
	types := map[*replaydv1.Sc2ReplayPlayer]map[string]*replaydv1.Sc2ReplayUnits{}
	var ev sc2replay.Event
	for i := range s.state.Len() {
		if !s.state.Present(i, &ev) {
			continue
		}
		if ev.Kind == sc2replay.KindPlayerState {
			addStats(players[ev.PlayerState.PlayerId], &ev)
			continue
		}
		p, u := players[ev.UnitState.ControlPlayerId], &ev.UnitState.Unit
		if p == nil || ev.UnitState.UnderConstruction {
			continue
		}
		switch u.Class {
		case sc2replay.UnitClassWorker:
			p.Workers++
		case sc2replay.UnitClassArmy:
			p.Army++
		case sc2replay.UnitClassStructure:
			p.Structures++
		default:
			continue
		}
		if types[p] == nil {
			types[p] = map[string]*replaydv1.Sc2ReplayUnits{}
		}
		of := types[p][string(u.TypeName)]
		if of == nil {
			of = &replaydv1.Sc2ReplayUnits{TypeName: name(u.TypeName), Class: sc2replayv1.UnitClass(u.Class)}
			types[p][string(u.TypeName)] = of
			p.Units = append(p.Units, of)
		}
		of.Count++
	}
	for _, p := range players {
		slices.SortFunc(p.Units, func(a, b *replaydv1.Sc2ReplayUnits) int {
			return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetTypeName(), b.GetTypeName()))
		})
		p.Units = slices.Clip(p.Units[:min(len(p.Units), maxTypes)])
	}
}

// addStats adds the last report of a player's economy, if the player is known and has one.
func addStats(p *replaydv1.Sc2ReplayPlayer, state *sc2replay.Event) {
	if p == nil || !state.PlayerState.HasStats {
		return
	}
	m, err := message(&sc2replay.Event{Kind: sc2replay.KindPlayerStats, PlayerStats: state.PlayerState.Stats})
	if err == nil {
		p.Stats, p.StatsTick = m.GetPlayerStats(), new(state.PlayerState.StatsTick)
	}
}

// name converts a name to valid UTF-8, and cuts one that no game has.
func name(b []byte) string { return strings.ToValidUTF8(string(b[:min(len(b), maxName)]), "\uFFFD") }
