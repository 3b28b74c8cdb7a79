package sc2replay

// Limits of a State, which is about 7 MB at most. Real games are far below: in 277 replays, the largest has 1,866 units
// at once, and 220 upgrades of a player, whose names have 4.5 KB.
const (
	// MaxUnits is the largest number of units at once. It follows from the bits of a tag that the recycle count does
	// not use.
	MaxUnits = 1 << (32 - recycleBits)
	// MaxPlayers is the largest number of players. Games have up to 16.
	MaxPlayers = 32
	// MaxUpgrades is the number of upgrades kept per player, and maxUpgradeNames is the size of their names, in bytes.
	MaxUpgrades     = 512
	maxUpgradeNames = 32 << 10
)

// State is the state of the game according to the tracker's events so far: the players, and the units that are alive.
// It is updated with the events of one Decoder, and returns its contents as events of the kinds KindPlayerState and
// KindUnitState.
//
// It keeps at most MaxUnits units, one per index, and MaxUpgrades upgrades of each of MaxPlayers players. Names of
// units refer to the decoder's memory, which is kept as long as the State.
type State struct {
	d       *Decoder
	tick    int32
	players [MaxPlayers]*player
	units   []UnitState // by index; HasUnit is false where there is no unit

	tallies [MaxPlayers]tally // of units, by player
	tallied bool              // they are those of now
}

// player is the state of a player.
type player struct {
	PlayerState
	upgrades map[string]int // indices in Upgrades by name
	names    int            // bytes of their names
	gained   int64          // the sum of their counts, also of those that are left out
}

// NewState returns the state before the first event of d.
func NewState(d *Decoder) *State { return &State{d: d} }

// Apply updates the state with an event. Call it with every event that Next returns, in order.
func (s *State) Apply(ev *Event) {
	s.tick, s.tallied = ev.AtTick, false
	switch ev.Kind {
	case KindPlayerSetup:
		if p := s.player(ev.PlayerSetup.PlayerId); p != nil {
			p.Setup, p.HasSetup = ev.PlayerSetup, true
		}
	case KindPlayerStats:
		if p := s.player(ev.PlayerStats.PlayerId); p != nil {
			p.Stats, p.HasStats = ev.PlayerStats, true
			p.StatsTick, p.HasStatsTick = ev.AtTick, true
		}
	case KindUpgrade:
		if p := s.player(ev.Upgrade.PlayerId); p != nil {
			p.addUpgrade(&ev.Upgrade)
		}
	case KindUnitBorn:
		e := &ev.UnitBorn
		if u := s.addUnit(&e.Unit, ev.AtTick); u != nil {
			u.ControlPlayerId, u.UpkeepPlayerId, u.X, u.Y = e.ControlPlayerId, e.UpkeepPlayerId, int32(e.X), int32(e.Y)
			u.Creator, u.HasCreator = e.Creator, e.HasCreator
			u.CreatorAbilityName, u.HasCreatorAbilityName = e.CreatorAbilityName, e.HasCreatorAbilityName
		}
	case KindUnitInit:
		e := &ev.UnitInit
		if u := s.addUnit(&e.Unit, ev.AtTick); u != nil {
			u.ControlPlayerId, u.UpkeepPlayerId, u.X, u.Y = e.ControlPlayerId, e.UpkeepPlayerId, int32(e.X), int32(e.Y)
			u.UnderConstruction = true
		}
	case KindUnitDone:
		if u := s.unit(&ev.UnitDone.Unit); u != nil {
			u.UnderConstruction = false
		}
	case KindUnitDied:
		if u := s.unit(&ev.UnitDied.Unit); u != nil {
			*u = UnitState{}
		}
	case KindUnitOwnerChange:
		e := &ev.UnitOwnerChange
		if u := s.unit(&e.Unit); u != nil {
			u.ControlPlayerId, u.UpkeepPlayerId = e.ControlPlayerId, e.UpkeepPlayerId
		}
	case KindUnitTypeChange:
		if u := s.unit(&ev.UnitTypeChange.Unit); u != nil {
			u.Unit, u.TypeTick = ev.UnitTypeChange.Unit, ev.AtTick
		}
	case KindUnitPositions:
		for i := range ev.UnitPositions.Positions {
			p := &ev.UnitPositions.Positions[i]
			if u := s.unit(&p.Unit); u != nil {
				u.X, u.Y, u.PlaceTick = p.X, p.Y, ev.AtTick
			}
		}
	}
}

// player returns the state of a player, or nil for an invalid number.
func (s *State) player(id uint32) *player {
	if id >= MaxPlayers {
		return nil
	}
	if s.players[id] == nil {
		s.players[id] = &player{PlayerState: PlayerState{PlayerId: id}, upgrades: map[string]int{}}
	}
	return s.players[id]
}

func (p *player) addUpgrade(u *Upgrade) {
	p.gained += int64(u.Count)
	at, ok := p.upgrades[string(u.UpgradeTypeName)]
	switch {
	case ok:
		p.Upgrades[at].Count += u.Count
	case len(p.Upgrades) == MaxUpgrades || p.names+len(u.UpgradeTypeName) > maxUpgradeNames:
		p.UpgradesLeftOut++
	default:
		p.upgrades[string(u.UpgradeTypeName)] = len(p.Upgrades)
		p.Upgrades = append(p.Upgrades, *u)
		p.names += len(u.UpgradeTypeName)
	}
}

// addUnit adds a unit and replaces the unit at its index, if any. It returns nil for an index beyond MaxUnits.
func (s *State) addUnit(n *Unit, tick int32) *UnitState {
	if n.Index >= MaxUnits {
		return nil
	}
	for uint32(len(s.units)) <= n.Index {
		s.units = append(s.units, UnitState{})
	}
	u := &s.units[n.Index]
	*u = UnitState{Unit: *n, HasUnit: true, AppearedTick: tick, TypeTick: tick, PlaceTick: tick}
	return u
}

// unit returns the state of a unit that is alive, or nil.
func (s *State) unit(n *Unit) *UnitState {
	if n.Index >= uint32(len(s.units)) {
		return nil
	}
	if u := &s.units[n.Index]; u.HasUnit && u.Unit.Tag == n.Tag {
		return u
	}
	return nil
}

// Len returns the number of places for Present.
func (s *State) Len() int { return MaxPlayers + len(s.units) }

// Present sets ev to the state at a place, 0 to Len()-1. It returns false for an empty place. The event is valid until
// the next call of Apply.
func (s *State) Present(place int, ev *Event) bool {
	ev.HasPlayer, ev.AtTick = false, s.tick
	if place < MaxPlayers {
		p := s.players[place]
		if p == nil {
			return false
		}
		ev.Kind, ev.PlayerState = KindPlayerState, p.PlayerState
		s.d.setPlayer(ev, &s.d.rep.roster.byPlayer, p.PlayerId)
		return true
	}
	u := &s.units[place-MaxPlayers]
	if !u.HasUnit {
		return false
	}
	ev.Kind, ev.UnitState = KindUnitState, *u
	s.d.setPlayer(ev, &s.d.rep.roster.byPlayer, u.ControlPlayerId)
	return true
}
