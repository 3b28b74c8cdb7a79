package sc2replay

import (
	"bytes"
	"math"

	"github.com/replayd/replayd/decoders/sc2replay/names"
)

// units is the state of the game's units so far. It comes from the tracker's events, or from selections in replays
// without a tracker.
type units struct {
	byTag     map[uint32]unit
	latest    map[uint32]uint32 // the newest tag at an index
	cells     int32             // size of the tracker's unit of places, in cells
	naming    *naming           // names of the types in selections
	untracked bool              // there is no tracker; types come from selections
}

type unit struct {
	typeName []byte // aliases the tracker's data
	link     uint32 // of the type, if it comes from a selection
	since    int32  // the tick since which it has its current type
	begun    int32  // the tick of its unit_init plus one, or 0
	owner    uint8  // player id; see ownerOf
	class    names.Class
	guessed  bool // the type's name is a guess
}

// A unit's tag consists of its index and a count of earlier uses of the index.
const (
	recycleBits = 18
	recycleMask = 1<<recycleBits - 1
)

// firstWithCells is the base build since which all places of the tracker are in whole cells. Before, the unit was
// oldCells: see docs/formats/sc2replay.md, "What the values mean".
const (
	firstWithCells = 27950
	oldCells       = 4
)

func (u *units) reset(baseBuild uint32) {
	*u = units{byTag: map[uint32]unit{}, latest: map[uint32]uint32{}, cells: 1}
	if baseBuild < firstWithCells {
		u.cells = oldCells
	}
}

// place converts a place of the tracker to cells.
func (u *units) place(x, y *uint32) {
	*x *= uint32(u.cells)
	*y *= uint32(u.cells)
}

// setTag sets the tag of a unit in a tracker event, which has an index and a recycle count.
func (u *units) setTag(unit *Unit) {
	unit.Tag = unit.Index<<recycleBits | unit.Recycle&recycleMask
}

// resolve completes a unit in a game event, which has a tag.
func (u *units) resolve(unit *Unit) {
	unit.Index, unit.Recycle = unit.Tag>>recycleBits, unit.Tag&recycleMask
	known := u.byTag[unit.Tag]
	unit.TypeName, unit.Class, unit.TypeGuessed = known.typeName, UnitClass(known.class), known.guessed
}

// selection completes the units that a selection adds. Subgroups give the types of units that the tracker has not named
// yet. This includes units that it names in the same gameloop, because tracker events come last.
func (u *units) selection(delta *SelectionDelta) {
	added := delta.AddUnitTags
	for i := range delta.AddSubgroups {
		group := &delta.AddSubgroups[i]
		n := min(int(group.Count), len(added))
		for j := range added[:n] {
			n := &added[j]
			n.Index, n.Recycle = n.Tag>>recycleBits, n.Tag&recycleMask
			known, ok := u.byTag[n.Tag]
			switch {
			case ok && !u.untracked:
				if len(known.typeName) > 0 {
					u.naming.learn(group.UnitLink, known.typeName)
				}
			case !ok || known.link != group.UnitLink:
				name, guessed := u.naming.unit(group.UnitLink)
				known = unit{typeName: name, link: group.UnitLink, class: u.naming.all.ClassOf(name), guessed: guessed}
				if u.untracked {
					u.byTag[n.Tag] = known
				}
			}
			n.TypeName, n.Class, n.TypeGuessed = known.typeName, UnitClass(known.class), known.guessed
		}
		added = added[n:]
	}
	for i := range added { // units beyond those of the subgroups
		u.resolve(&added[i])
	}
}

// track applies a tracker event. It completes the event's units, stores new information, and returns the id of the
// player whom the event is about, or 0.
func (u *units) track(ev *Event) uint32 {
	switch ev.Kind {
	case KindUnitBorn:
		e := &ev.UnitBorn
		u.add(&e.Unit, e.ControlPlayerId, ev.AtTick)
		u.place(&e.X, &e.Y)
		if e.HasCreator {
			if creator := u.named(&e.Creator); string(creator.typeName) == egg {
				e.StartedTick, e.HasStartedTick = creator.since, true
			}
		}
		return e.ControlPlayerId
	case KindUnitInit:
		e := &ev.UnitInit
		known := u.add(&e.Unit, e.ControlPlayerId, ev.AtTick)
		known.begun = ev.AtTick + 1
		u.byTag[e.Unit.Tag] = known
		u.place(&e.X, &e.Y)
		return e.ControlPlayerId
	case KindUnitDone:
		e := &ev.UnitDone
		known := u.named(&e.Unit)
		if known.begun > 0 {
			e.StartedTick, e.HasStartedTick = known.begun-1, true
		}
		return uint32(known.owner)
	case KindUnitDied:
		e := &ev.UnitDied
		u.place(&e.X, &e.Y)
		if e.HasKiller {
			u.named(&e.Killer)
		}
		return uint32(u.named(&e.Unit).owner)
	case KindUnitTypeChange:
		e := &ev.UnitTypeChange
		name := e.Unit.TypeName
		known := u.named(&e.Unit)
		e.PreviousTypeName, e.Unit.TypeName = known.typeName, name
		if isCocoon(known.typeName) {
			e.StartedTick, e.HasStartedTick = known.since, true
		}
		known.typeName, known.class, known.since = cutName(name), u.naming.all.ClassOf(name), ev.AtTick
		e.Unit.Class = UnitClass(known.class)
		u.byTag[e.Unit.Tag] = known
		return uint32(known.owner)
	case KindUnitOwnerChange:
		e := &ev.UnitOwnerChange
		known := u.named(&e.Unit)
		known.owner = ownerOf(e.ControlPlayerId)
		u.byTag[e.Unit.Tag] = known
		return e.ControlPlayerId
	case KindUnitPositions:
		for i := range ev.UnitPositions.Positions {
			p := &ev.UnitPositions.Positions[i]
			p.X *= u.cells
			p.Y *= u.cells
			if tag, ok := u.latest[p.Unit.Index]; ok {
				p.Unit.Tag = tag
				u.resolve(&p.Unit)
			}
		}
	case KindUpgrade:
		return ev.Upgrade.PlayerId
	case KindPlayerStats:
		return ev.PlayerStats.PlayerId
	case KindPlayerSetup:
		return ev.PlayerSetup.PlayerId
	}
	return 0
}

// add adds a new unit.
func (u *units) add(n *Unit, owner uint32, tick int32) unit {
	u.setTag(n)
	known := unit{typeName: cutName(n.TypeName), owner: ownerOf(owner), class: u.naming.all.ClassOf(n.TypeName), since: tick}
	n.Class = UnitClass(known.class)
	u.byTag[n.Tag] = known
	u.latest[n.Index] = n.Tag
	return known
}

// ownerOf returns a player id as stored. All invalid ids become the same value.
func ownerOf(player uint32) uint8 { return uint8(min(player, math.MaxUint8)) }

// egg is the type of a larva that is turning into another unit.
const egg = "Egg"

// isCocoon reports whether units of a type are morphing. A larva's egg is no cocoon: another unit hatches from it.
func isCocoon(name []byte) bool {
	return bytes.HasSuffix(name, []byte("Cocoon")) || bytes.HasSuffix(name, []byte(egg)) && len(name) > len(egg)
}

// named sets the type of a unit in a tracker event, and returns the unit's state.
func (u *units) named(n *Unit) unit {
	u.setTag(n)
	known := u.byTag[n.Tag]
	n.TypeName, n.Class = known.typeName, UnitClass(known.class)
	return known
}

// link completes the units of a game event.
func (u *units) link(ev *Event) {
	switch ev.Kind {
	case KindSelectionDelta:
		u.selection(&ev.SelectionDelta)
	case KindCmd:
		if ev.Cmd.TargetCase == CmdTargetTargetUnit {
			u.resolve(&ev.Cmd.TargetUnit.Unit)
		}
		if ev.Cmd.HasOtherUnit {
			u.resolve(&ev.Cmd.OtherUnit)
		}
	case KindCmdUpdateTargetUnit:
		u.resolve(&ev.CmdUpdateTargetUnit.Target.Unit)
	case KindTriggerUi:
		if ev.TriggerUi.HasUnit {
			u.resolve(&ev.TriggerUi.Unit)
		}
	case KindUnitClick:
		u.resolve(&ev.UnitClick.Unit)
	case KindUnitHighlight:
		u.resolve(&ev.UnitHighlight.Unit)
	case KindAiCommunicate:
		u.resolve(&ev.AiCommunicate.TargetUnit)
	}
}

// maxName bounds names that are repeated in every event of a player or unit, in bytes. Real names are shorter.
const maxName = 255

func cutName(name []byte) []byte { return name[:min(len(name), maxName)] }
