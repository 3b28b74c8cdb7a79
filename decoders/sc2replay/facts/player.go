package facts

import (
	"math"
	"sort"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// players holds the players by number.
type players [sc2replay.MaxPlayers]*player

// player holds the known facts of a player.
type player struct {
	ref      sc2replay.PlayerRef
	result   sc2replay.Result
	mmr      int32
	rated    bool // mmr is known
	start    sc2replay.Point2
	started  bool // start is known
	supplies []supply
	economy  economy

	unspent, income int64 // the sums of all player_stats
	capped          uint32
	actions         uint32
	left            int32
	gone            bool // left is known

	army, workers         uint32
	armyLost, workersLost uint32
}

// supply is the supply of a player_stats.
type supply struct {
	tick int32
	used float32
}

// of returns the player of an event, or nil if the event has none.
func (s *players) of(ev *sc2replay.Event) *player {
	if !ev.HasPlayer || !ev.Player.HasPlayerId || ev.Player.PlayerId >= uint32(len(s)) {
		return nil
	}
	at := &s[ev.Player.PlayerId]
	if *at == nil {
		*at = &player{ref: ev.Player}
	}
	return *at
}

// apply applies an event that completes no fact.
func (s *players) apply(ev *sc2replay.Event) {
	p := s.of(ev)
	if p == nil {
		return
	}
	switch ev.Kind {
	case sc2replay.KindPlayerInfo:
		p.result = ev.PlayerInfo.Result
		p.mmr, p.rated = ev.PlayerInfo.Mmr, ev.PlayerInfo.HasMmr
	case sc2replay.KindCmd, sc2replay.KindCmdUpdateTargetPoint, sc2replay.KindCmdUpdateTargetUnit, sc2replay.KindSelectionDelta,
		sc2replay.KindControlGroupUpdate:
		p.actions++
	case sc2replay.KindGameUserLeave, sc2replay.KindPlayerLeave:
		p.left, p.gone = ev.AtTick, true
	}
}

// sample applies a report of a player's economy.
func (p *player) sample(tick int32, s *sc2replay.PlayerStats) {
	p.unspent += int64(s.MineralsCurrent) + int64(s.VespeneCurrent)
	p.income += int64(s.MineralsCollectionRate) + int64(s.VespeneCollectionRate)
	if s.FoodUsed >= s.FoodMade {
		p.capped++
	}
	p.supplies = append(p.supplies, supply{tick, s.FoodUsed})
}

// supplyAt returns the supply in the last report up to a gameloop.
func (p *player) supplyAt(tick int32) (used float32, ok bool) {
	i := sort.Search(len(p.supplies), func(i int) bool { return p.supplies[i].tick > tick })
	if i == 0 {
		return 0, false
	}
	return p.supplies[i-1].used, true
}

// made counts a unit that the player made.
func (p *player) made(u *sc2replay.Unit) { count(u, &p.army, &p.workers) }

// lost counts a unit that another player killed.
func (s *players) lost(ev *sc2replay.Event) {
	if p := s.of(ev); p != nil && ev.UnitDied.KillerPlayerId != ev.Player.PlayerId {
		count(&ev.UnitDied.Unit, &p.armyLost, &p.workersLost)
	}
}

func count(u *sc2replay.Unit, army, workers *uint32) {
	switch u.Class {
	case sc2replay.UnitClassArmy:
		*army++
	case sc2replay.UnitClassWorker:
		*workers++
	}
}

// place notes the place of the main building that a player begins with.
func (f *Fold) place(ev *sc2replay.Event) {
	e := &ev.UnitBorn
	if p := f.players.of(ev); (ev.AtTick == 0 || f.match.fact.PlayersChosen) && p != nil && !p.started && sc2replay.IsTownHall(e.Unit.TypeName) {
		p.start, p.started = sc2replay.Point2{X: float32(e.X), Y: float32(e.Y)}, true
	}
}

// ended makes the facts at the end of a replay, if all its events could be read with a fitting table.
func (f *Fold) ended(ev *sc2replay.Event) {
	if ev.End.DecodeInfo.Unproven {
		return
	}
	for _, part := range ev.End.DecodeInfo.Parts {
		if part.State == sc2replay.PartStatePartial || part.State == sc2replay.PartStateUnreadable {
			return
		}
	}
	f.match.conclude(ev.AtTick)
	f.ready = append(f.ready, fact{kind: sc2replay.KindFactMatch})
	for _, p := range f.players {
		if p != nil {
			f.ready = append(f.ready, fact{kind: sc2replay.KindFactPlayer, player: p})
		}
	}
	for len(f.fights.open) > 0 {
		f.fought(0)
	}
	for _, p := range f.players {
		if p != nil && p.economy.block.samples > 0 {
			f.unblocked(p, true)
		}
	}
	f.unfinished(ev.AtTick)
}

// Player returns the game up to a tick, the present one, of the player with a number, in the form of fact_player at the end. ok is
// false if no event has named the player.
func (f *Fold) Player(id uint32, tick int32) (game sc2replay.FactPlayer, ok bool) {
	if id >= uint32(len(f.players)) || f.players[id] == nil {
		return game, false
	}
	return f.players[id].summary(tick, f.match.perSecond), true
}

// summary returns the player's game up to a tick in numbers. perSecond is the number of gameloops in a real second, or 0.
func (p *player) summary(tick int32, perSecond float64) sc2replay.FactPlayer {
	out := sc2replay.FactPlayer{
		PlayerId: p.ref.PlayerId, StartPlace: p.start, HasStartPlace: p.started, Samples: uint32(len(p.supplies)),
		Actions: p.actions, HasActions: p.ref.HasUserId, LeftTick: p.left, HasLeftTick: p.gone,
		ArmyMade: p.army, WorkersMade: p.workers, ArmyLost: p.armyLost, WorkersLost: p.workersLost, Result: p.result,
		Mmr: p.mmr, HasMmr: p.rated,
	}
	if p.gone {
		tick = min(tick, p.left)
	}
	if seconds := float64(tick) / perSecond; out.HasActions && perSecond > 0 && seconds >= 1 {
		out.ActionsPerMinute, out.HasActionsPerMinute = float64(p.actions)*60/seconds, true
	}
	if n := int64(len(p.supplies)); n > 0 {
		out.Supply, out.HasSupply = p.supplies[n-1].used, true
		out.SupplyCapped, out.HasSupplyCapped = float32(p.capped)/float32(n), true
		out.SpendingQuotient, out.HasSpendingQuotient = spendingQuotient(p.unspent/n, p.income/n)
	}
	return out
}

// spendingQuotient returns the quotient that whatthefat published on teamliquid.net in 2011 ("Do you macro like a pro?"), rounded
// half up as s2prot does.
func spendingQuotient(unspent, income int64) (q int32, ok bool) {
	if unspent <= 0 {
		return 0, false
	}
	return int32(35*(0.00137*float64(income)-math.Log(float64(unspent))) + 240.5), true
}
