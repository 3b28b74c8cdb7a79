package sc2replay

import (
	"bytes"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/sc2replay/names"
)

// units is the state of the game's units so far. It comes from the tracker's events, or from selections in replays
// without a tracker.
type units struct {
	all       []unit           // the first stands for those that are not known
	newest    []int32          // by a unit's index, which of all began there last, or 0
	others    map[uint32]int32 // by tag
	cells     int32            // size of the tracker's unit of places, in cells
	naming    *naming          // names of the types in selections
	untracked bool             // there is no tracker; types come from selections
}

type unit struct {
	typeName []byte // aliases the tracker's data
	tag      uint32
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
	*u = units{all: make([]unit, 1), others: map[uint32]int32{}, cells: 1}
	if baseBuild < firstWithCells {
		u.cells = oldCells
	}
}

// find returns the unit with a tag. It is valid until another one is made.
func (u *units) find(tag uint32) *unit {
	if i := int(tag >> recycleBits); i < len(u.newest) && u.all[u.newest[i]].tag == tag {
		return &u.all[u.newest[i]]
	}
	return &u.all[u.others[tag]]
}

// known reports whether find found a unit.
func (u *units) known(found *unit) bool { return found != &u.all[0] }

// findOrMake returns the unit with a tag, which is a new one if it is not known.
func (u *units) findOrMake(tag uint32) *unit {
	found := u.find(tag)
	if !u.known(found) {
		u.others[tag] = int32(len(u.all))
		found = u.store(unit{tag: tag})
	}
	return found
}

// store adds a unit to all.
func (u *units) store(n unit) *unit {
	u.all = append(u.all, n)
	return &u.all[len(u.all)-1]
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
	known := u.find(unit.Tag)
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
			known := u.find(n.Tag)
			switch {
			case u.known(known) && !u.untracked:
				if len(known.typeName) > 0 {
					u.naming.learn(group.UnitLink, known.typeName)
				}
			case !u.known(known) || known.link != group.UnitLink:
				if known = new(unit); u.untracked {
					known = u.findOrMake(n.Tag)
				}
				known.typeName, known.guessed = u.naming.unit(group.UnitLink)
				known.link, known.class = group.UnitLink, u.naming.all.ClassOf(known.typeName)
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
		u.add(&e.Unit, e.ControlPlayerId, ev.AtTick).begun = ev.AtTick + 1
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
		u.setTag(&e.Unit)
		known := u.findOrMake(e.Unit.Tag)
		if e.PreviousTypeName = known.typeName; isCocoon(known.typeName) {
			e.StartedTick, e.HasStartedTick = known.since, true
		}
		known.typeName, known.class, known.since = cutName(name), u.naming.all.ClassOf(name), ev.AtTick
		e.Unit.Class = UnitClass(known.class)
		return uint32(known.owner)
	case KindUnitOwnerChange:
		e := &ev.UnitOwnerChange
		u.named(&e.Unit)
		u.findOrMake(e.Unit.Tag).owner = ownerOf(e.ControlPlayerId)
		return e.ControlPlayerId
	case KindUnitPositions:
		for i := range ev.UnitPositions.Positions {
			p := &ev.UnitPositions.Positions[i]
			p.X *= u.cells
			p.Y *= u.cells
			if at := p.Unit.Index; at < uint32(len(u.newest)) && u.newest[at] > 0 {
				p.Unit.Tag = u.all[u.newest[at]].tag
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
func (u *units) add(n *Unit, owner uint32, tick int32) *unit {
	u.setTag(n)
	index := int(n.Tag >> recycleBits)
	if more := index + 1 - len(u.newest); more > 0 {
		u.newest = slices.Grow(u.newest, more)[:index+1]
	}
	if last := u.newest[index]; last > 0 {
		u.others[u.all[last].tag] = last
	}
	u.newest[index] = int32(len(u.all))
	known := u.store(unit{typeName: cutName(n.TypeName), tag: n.Tag, owner: ownerOf(owner), class: u.naming.all.ClassOf(n.TypeName), since: tick})
	n.Class = UnitClass(known.class)
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
func (u *units) named(n *Unit) *unit {
	u.setTag(n)
	known := u.find(n.Tag)
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
