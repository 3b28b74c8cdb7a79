package sc2replay

import (
	"bytes"

	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Maps such as GameHeart let everyone into the lobby as a player, and choose the players after the game has begun. No part of the
// replay names the chosen ones. Only they receive town halls, later than on other maps: docs/formats/sc2replay.md, "Players".

// leastChosen is the least number of players of such a game.
const leastChosen = 2

// townHalls are the types of buildings that players begin with.
var townHalls = map[string]bool{"CommandCenter": true, "Hatchery": true, "Nexus": true}

// IsTownHall reports whether players begin with buildings of a unit type.
func IsTownHall(typeName []byte) bool { return townHalls[string(typeName)] }

// mayChoosePlayers reports whether the map may have chosen the players: whether more of them are in the lobby than have to play,
// and no ladder put them there.
func (p *Replay) mayChoosePlayers() bool {
	if !p.Has.Lobby || p.Lobby.GameDescription.GameOptions.Amm || p.table.IDBits[protocol.Tracker] == 0 {
		return false
	}
	playing := 0
	for i := range p.Players {
		if q := &p.Players[i]; !q.Observer && !q.Computer {
			playing++
		}
	}
	return playing > leastChosen
}

// findObservers makes observers of the players that the map has not chosen, if it has chosen any. It reads the tracker's whole
// contents unless a town hall stands from the beginning, or too few are named in them at all, as in other kinds of games.
func (p *Replay) findObservers(data []byte) {
	named := 0
	for name := range townHalls {
		named += bytes.Count(data, []byte(name))
	}
	if named < leastChosen {
		return
	}
	var s stream
	var ev Event
	s.open(protocol.Tracker, memberTracker, p.table, &contents{data: data, found: true}, layouts{})
	halls, forces := map[uint32]bool{}, map[uint32]bool{} // by player id
	for s.ready {
		if _, ok := s.read(&ev); !ok {
			break
		}
		unit, owner := newlyOwned(&ev)
		if unit == nil || owner == 0 || owner >= MaxPlayers {
			continue
		}
		if IsTownHall(unit.TypeName) {
			if ev.AtTick == 0 {
				return
			}
			halls[owner] = true
		}
		// A unit that changes its owner counts whatever it is.
		forces[owner] = forces[owner] || ev.Kind == KindUnitOwnerChange || p.data.names.ClassOf(unit.TypeName) != names.NoClass
	}
	if s.err == nil { // otherwise the rest is unknown
		p.setObservers(halls, forces)
	}
}

// setObservers makes observers of the players without forces, if enough others have town halls.
func (p *Replay) setObservers(halls, forces map[uint32]bool) {
	if len(halls) < leastChosen {
		return
	}
	for i := range p.Players {
		q := &p.Players[i]
		if q.Observer || q.Computer || !q.Ref.HasPlayerId {
			continue
		}
		q.ObserverSource = ObserverSourceRule
		if !forces[q.Ref.PlayerId] {
			q.Observer, q.PickedRace = true, nil
		}
	}
}

// newlyOwned returns the unit that a player receives in an event of the tracker, and the player's id. It returns nil for other
// events.
func newlyOwned(ev *Event) (unit *Unit, owner uint32) {
	switch ev.Kind {
	case KindUnitBorn:
		return &ev.UnitBorn.Unit, ev.UnitBorn.ControlPlayerId
	case KindUnitInit:
		return &ev.UnitInit.Unit, ev.UnitInit.ControlPlayerId
	case KindUnitOwnerChange:
		return &ev.UnitOwnerChange.Unit, ev.UnitOwnerChange.ControlPlayerId
	}
	return nil, 0
}
