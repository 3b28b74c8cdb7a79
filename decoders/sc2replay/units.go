package sc2replay

// units is what the tracker told of the game's units up to now.
type units struct {
	byTag  map[uint32]unit
	latest map[uint32]uint32 // the newest tag at an index
	cells  int32             // how many cells a unit of the tracker's places is
}

type unit struct {
	typeName []byte // aliases the tracker's data
	owner    uint8  // player id
}

// A unit's tag is its index and how often the index was used before.
const (
	recycleBits = 18
	recycleMask = 1<<recycleBits - 1
)

// firstWithCells is the base build since which all places of the tracker are in whole cells. Before, all were in units of
// oldCells: see docs/formats/sc2replay.md, "What the values mean".
const (
	firstWithCells = 27950
	oldCells       = 4
)

func (u *units) reset(baseBuild uint32) {
	u.byTag, u.latest, u.cells = map[uint32]unit{}, map[uint32]uint32{}, 1
	if baseBuild < firstWithCells {
		u.cells = oldCells
	}
}

// place brings a place of the tracker into cells.
func (u *units) place(x, y *uint32) {
	*x *= uint32(u.cells)
	*y *= uint32(u.cells)
}

// seen completes a unit of a tracker event, which has index and recycle count.
func (u *units) seen(unit *Unit) {
	unit.Tag = unit.Index<<recycleBits | unit.Recycle&recycleMask
}

// resolve completes a unit of a game event, which has a tag.
func (u *units) resolve(unit *Unit) {
	unit.Index, unit.Recycle = unit.Tag>>recycleBits, unit.Tag&recycleMask
	unit.TypeName = u.byTag[unit.Tag].typeName
}

// track follows a tracker event: it completes the event's units, remembers what is new, and returns the player id whom the
// event is about, 0 for nobody.
func (u *units) track(ev *Event) uint32 {
	switch ev.Kind {
	case KindUnitBorn:
		e := &ev.UnitBorn
		u.appear(&e.Unit, e.ControlPlayerId)
		u.place(&e.X, &e.Y)
		if e.HasCreator {
			u.named(&e.Creator)
		}
		return e.ControlPlayerId
	case KindUnitInit:
		e := &ev.UnitInit
		u.appear(&e.Unit, e.ControlPlayerId)
		u.place(&e.X, &e.Y)
		return e.ControlPlayerId
	case KindUnitDone:
		return uint32(u.named(&ev.UnitDone.Unit).owner)
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
		u.byTag[e.Unit.Tag] = unit{typeName: short(name), owner: known.owner}
		return uint32(known.owner)
	case KindUnitOwnerChange:
		e := &ev.UnitOwnerChange
		known := u.named(&e.Unit)
		u.byTag[e.Unit.Tag] = unit{typeName: known.typeName, owner: uint8(e.ControlPlayerId)}
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

func (u *units) appear(n *Unit, owner uint32) {
	u.seen(n)
	u.byTag[n.Tag] = unit{typeName: short(n.TypeName), owner: uint8(owner)}
	u.latest[n.Index] = n.Tag
}

// named completes a unit of a tracker event with its type, and returns what is known of it.
func (u *units) named(n *Unit) unit {
	u.seen(n)
	known := u.byTag[n.Tag]
	n.TypeName = known.typeName
	return known
}

// link completes the units of a game event.
func (u *units) link(ev *Event) {
	switch ev.Kind {
	case KindSelectionDelta:
		for i := range ev.SelectionDelta.AddUnitTags {
			u.resolve(&ev.SelectionDelta.AddUnitTags[i])
		}
	case KindCmd:
		if ev.Cmd.TargetCase == CmdTargetTargetUnit {
			u.resolve(&ev.Cmd.TargetUnit.Unit)
		}
		if ev.Cmd.HasOtherUnit {
			u.resolve(&ev.Cmd.OtherUnit)
		}
	case KindCmdUpdateTargetUnit:
		u.resolve(&ev.CmdUpdateTargetUnit.Target.Unit)
	case KindTriggerPing:
		u.resolve(&ev.TriggerPing.Unit)
	case KindUnitClick:
		u.resolve(&ev.UnitClick.Unit)
	case KindUnitHighlight:
		u.resolve(&ev.UnitHighlight.Unit)
	}
}

// maxName bounds names that are repeated in every event of a player or unit. The game has none that long.
const maxName = 255

func short(name []byte) []byte { return name[:min(len(name), maxName)] }
