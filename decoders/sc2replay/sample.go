package sc2replay

// tally counts the living units of a player.
type tally struct {
	units, workers, army, structures, unfinished uint32
}

// Sample sets ev to a sample_player of a player, 0 to MaxPlayers-1, at a tick. It returns false for a player of whom the tracker has reported
// nothing. The event is valid until the next call of Apply. The first call after Apply looks at all units.
func (s *State) Sample(tick int32, player int, ev *Event) bool {
	p := s.players[player]
	if p == nil {
		return false
	}
	if !s.tallied {
		s.tally()
	}
	ev.HasPlayer, ev.HasUnproven, ev.AtTick, ev.Kind = false, false, tick, KindSamplePlayer
	s.d.setPlayer(ev, &s.d.rep.roster.byPlayer, p.PlayerId)
	e, units := &ev.SamplePlayer, &s.tallies[player]
	*e = SamplePlayer{
		PlayerId: p.PlayerId, Units: units.units, Workers: units.workers, Army: units.army, Structures: units.structures,
		UnderConstruction: units.unfinished, Upgrades: p.gained,
	}
	if p.HasStats {
		e.addStats(&p.Stats, p.StatsTick)
	}
	return true
}

// addStats adds the amounts of a player_stats.
func (e *SamplePlayer) addStats(s *PlayerStats, tick int32) {
	e.StatsTick, e.HasStatsTick = tick, true
	e.Minerals, e.HasMinerals = s.MineralsCurrent, true
	e.Vespene, e.HasVespene = s.VespeneCurrent, true
	e.MineralsRate, e.HasMineralsRate = s.MineralsCollectionRate, true
	e.VespeneRate, e.HasVespeneRate = s.VespeneCollectionRate, true
	e.WorkersActive, e.HasWorkersActive = s.WorkersActiveCount, true
	e.SupplyUsed, e.HasSupplyUsed = s.FoodUsed, true
	e.SupplyMade, e.HasSupplyMade = s.FoodMade, true
	e.ArmyMinerals, e.HasArmyMinerals = s.MineralsUsedCurrentArmy, true
	e.ArmyVespene, e.HasArmyVespene = s.VespeneUsedCurrentArmy, true
	e.MineralsLost, e.HasMineralsLost = sum(s.MineralsLostArmy, s.MineralsLostEconomy, s.MineralsLostTechnology), true
	e.VespeneLost, e.HasVespeneLost = sum(s.VespeneLostArmy, s.VespeneLostEconomy, s.VespeneLostTechnology), true
	e.MineralsKilled, e.HasMineralsKilled = sum(s.MineralsKilledArmy, s.MineralsKilledEconomy, s.MineralsKilledTechnology), true
	e.VespeneKilled, e.HasVespeneKilled = sum(s.VespeneKilledArmy, s.VespeneKilledEconomy, s.VespeneKilledTechnology), true
}

func sum(a, b, c int32) int64 { return int64(a) + int64(b) + int64(c) }

// tally counts the units of all players.
func (s *State) tally() {
	s.tallied, s.tallies = true, [MaxPlayers]tally{}
	for i := range s.units {
		u := &s.units[i]
		if !u.HasUnit || u.ControlPlayerId >= MaxPlayers {
			continue
		}
		t := &s.tallies[u.ControlPlayerId]
		if u.UnderConstruction {
			t.unfinished++
			continue
		}
		t.units++
		switch u.Unit.Class {
		case UnitClassWorker:
			t.workers++
		case UnitClassArmy:
			t.army++
		case UnitClassStructure:
			t.structures++
		}
	}
}
