package streamtest

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

// game is the state of a game of StarCraft II after the events so far: the units alive, and the players' economy and upgrades.
type game struct {
	units   map[uint32]*sc2replayv1.UnitState // by index
	players map[uint32]*sc2replayv1.PlayerState
}

func sorted[V any](all map[uint32]V) []V {
	out := make([]V, 0, len(all))
	for _, key := range slices.SortedFunc(maps.Keys(all), cmp.Compare) {
		out = append(out, all[key])
	}
	return out
}

// A unit's tag consists of its index and, in the low recycleBits bits, a count of earlier uses of the index.
const (
	recycleBits = 18
	maxUnits    = 1 << (32 - recycleBits)
)

// apply updates the state with an event. It ignores events of other kinds.
func (g *game) apply(e *sc2replayv1.Event) {
	if g.units == nil {
		g.units, g.players = map[uint32]*sc2replayv1.UnitState{}, map[uint32]*sc2replayv1.PlayerState{}
	}
	switch k := e.GetKind().(type) {
	case *sc2replayv1.Event_PlayerSetup:
		g.player(k.PlayerSetup.GetPlayerId()).Setup = k.PlayerSetup
	case *sc2replayv1.Event_PlayerStats:
		p := g.player(k.PlayerStats.GetPlayerId())
		p.Stats, p.StatsTick = k.PlayerStats, new(e.GetAtTick())
	case *sc2replayv1.Event_Upgrade:
		gain(g.player(k.Upgrade.GetPlayerId()), k.Upgrade)
	default:
		g.applyUnit(e)
	}
}

func (g *game) applyUnit(e *sc2replayv1.Event) {
	switch k := e.GetKind().(type) {
	case *sc2replayv1.Event_UnitBorn:
		b := k.UnitBorn
		g.appear(e.GetAtTick(), &sc2replayv1.UnitState{
			Unit: b.GetUnit(), ControlPlayerId: b.GetControlPlayerId(), UpkeepPlayerId: b.GetUpkeepPlayerId(),
			X: int32(b.GetX()), Y: int32(b.GetY()), Creator: b.GetCreator(), CreatorAbilityName: b.CreatorAbilityName,
		})
	case *sc2replayv1.Event_UnitInit:
		i := k.UnitInit
		g.appear(e.GetAtTick(), &sc2replayv1.UnitState{
			Unit: i.GetUnit(), ControlPlayerId: i.GetControlPlayerId(), UpkeepPlayerId: i.GetUpkeepPlayerId(),
			X: int32(i.GetX()), Y: int32(i.GetY()), UnderConstruction: true,
		})
	case *sc2replayv1.Event_UnitDone:
		if u := g.alive(k.UnitDone.GetUnit()); u != nil {
			u.UnderConstruction = false
		}
	case *sc2replayv1.Event_UnitDied:
		if u := g.alive(k.UnitDied.GetUnit()); u != nil {
			delete(g.units, u.GetUnit().GetIndex())
		}
	case *sc2replayv1.Event_UnitOwnerChange:
		if u := g.alive(k.UnitOwnerChange.GetUnit()); u != nil {
			u.ControlPlayerId, u.UpkeepPlayerId = k.UnitOwnerChange.GetControlPlayerId(), k.UnitOwnerChange.GetUpkeepPlayerId()
		}
	case *sc2replayv1.Event_UnitTypeChange:
		if u := g.alive(k.UnitTypeChange.GetUnit()); u != nil {
			u.Unit, u.TypeTick = k.UnitTypeChange.GetUnit(), e.GetAtTick()
		}
	case *sc2replayv1.Event_UnitPositions:
		for _, p := range k.UnitPositions.GetPositions() {
			if u := g.alive(p.GetUnit()); u != nil {
				u.X, u.Y, u.PlaceTick = p.GetX(), p.GetY(), e.GetAtTick()
			}
		}
	}
}

// appear adds a new unit. It replaces any other unit with the same index.
func (g *game) appear(tick int32, u *sc2replayv1.UnitState) {
	u.PlaceTick, u.AppearedTick, u.TypeTick = tick, tick, tick
	if index := u.GetUnit().GetIndex(); index < maxUnits {
		g.units[index] = u
	}
}

// alive returns the state of the unit that an event names, or nil if it is not known.
func (g *game) alive(named *sc2replayv1.Unit) *sc2replayv1.UnitState {
	if u := g.units[named.GetIndex()]; u.GetUnit().GetTag() == named.GetTag() {
		return u
	}
	return nil
}

func (g *game) player(id uint32) *sc2replayv1.PlayerState {
	if g.players[id] == nil {
		g.players[id] = &sc2replayv1.PlayerState{PlayerId: id}
	}
	return g.players[id]
}

// gain adds an upgrade to a player, or increases its count if the player has it.
func gain(p *sc2replayv1.PlayerState, u *sc2replayv1.Upgrade) {
	for _, had := range p.GetUpgrades() {
		if had.GetUpgradeTypeName() == u.GetUpgradeTypeName() {
			had.Count += u.GetCount()
			return
		}
	}
	p.Upgrades = append(p.Upgrades, proto.CloneOf(u))
}
