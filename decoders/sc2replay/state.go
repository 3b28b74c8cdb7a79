package sc2replay

// What a State keeps at most: some 7 MB. No game comes near: of 277 replays the largest has 1,866 units at once and 220 upgrades
// of a player, whose names have 4.5 KB.
const (
	// MaxUnits is how many units there are at once: what is left of a tag's 32 bits beside the recycle count.
	MaxUnits = 1 << (32 - recycleBits)
	// MaxPlayers is how many players there are. Games have 16.
	MaxPlayers = 32
	// MaxUpgrades is how many upgrades of one player are kept, and maxUpgradeNames how many bytes their names have.
	MaxUpgrades     = 512
	maxUpgradeNames = 32 << 10
)

// State is what the tracker's events up to a place say of the game there: the players, and the units that are alive. It
// follows the events of one Decoder, and returns what it holds as events of the kinds KindPlayerState and KindUnitState.
//
// It keeps at most MaxUnits units, one at each index, and MaxUpgrades upgrades of each of MaxPlayers players. Names of units are
// in the decoder's memory, which lives as long as the State.
type State struct {
	d       *Decoder
	tick    int32
	players [MaxPlayers]*player
	units   []UnitState // by index; those without a unit have no HasUnit
}

// player is what is known of a player.
type player struct {
	PlayerState
	upgrades map[string]int // places in Upgrades by name
	names    int            // bytes of their names
}

// NewState returns the state before the first event of d.
func NewState(d *Decoder) *State { return &State{d: d} }

// Apply follows an event: all that Next returned must be handed in, in their order.
func (s *State) Apply(ev *Event) {
	s.tick = ev.AtTick
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
			p.gain(&ev.Upgrade)
		}
	case KindUnitBorn:
		e := &ev.UnitBorn
		if u := s.appear(&e.Unit, ev.AtTick); u != nil {
			u.ControlPlayerId, u.UpkeepPlayerId, u.X, u.Y = e.ControlPlayerId, e.UpkeepPlayerId, int32(e.X), int32(e.Y)
			u.Creator, u.HasCreator = e.Creator, e.HasCreator
			u.CreatorAbilityName, u.HasCreatorAbilityName = e.CreatorAbilityName, e.HasCreatorAbilityName
		}
	case KindUnitInit:
		e := &ev.UnitInit
		if u := s.appear(&e.Unit, ev.AtTick); u != nil {
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

// player returns what is known of a player, nil for a number that no player has.
func (s *State) player(id uint32) *player {
	if id >= MaxPlayers {
		return nil
	}
	if s.players[id] == nil {
		s.players[id] = &player{PlayerState: PlayerState{PlayerId: id}, upgrades: map[string]int{}}
	}
	return s.players[id]
}

func (p *player) gain(u *Upgrade) {
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

// appear makes room for a new unit, in the place of whichever was at its index. It returns nil where there is none.
func (s *State) appear(n *Unit, tick int32) *UnitState {
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

// unit returns what is known of a unit that is alive, or nil.
func (s *State) unit(n *Unit) *UnitState {
	if n.Index >= uint32(len(s.units)) {
		return nil
	}
	if u := &s.units[n.Index]; u.HasUnit && u.Unit.Tag == n.Tag {
		return u
	}
	return nil
}

// Len is how many places there are to ask Present of.
func (s *State) Len() int { return MaxPlayers + len(s.units) }

// Present makes ev the event of what there is at a place, 0 to Len()-1. It returns false for a place where there is nothing. The event
// is valid until the next call of Apply.
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
