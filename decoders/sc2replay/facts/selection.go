package facts

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/replayd/replayd/decoders/sc2replay"
)

const (
	groups      = 10     // control groups of a user
	selected    = groups // the number by which events mean the selection
	maxSelected = 512    // units of a list; the game's own have 500 at most
	maxTypes    = 32     // of the units of a fact; the rest has no type
)

// selections are the units that a user has selected and in control groups.
type selections struct {
	lists [groups + 1]list
}

// list is a list of units, each once, by ascending tag, with the types that they had when they were selected.
type list struct {
	units    []member
	doubtful bool // a change did not fit
}

// member is a unit of a list.
type member struct {
	tag      uint32
	class    sc2replay.UnitClass
	typeName []byte
	guessed  bool
	life     *life // nil when the replay has said nothing of the unit
}

// change removes units from a list.
type change struct {
	mask       *sc2replay.BitMask
	gone, kept []uint32 // indices
	all        bool     // all but kept are removed
}

// selections returns the selections of the user who caused an event, or nil. Events name users, and without a lobby players.
func (f *Fold) selections(ev *sc2replay.Event) *selections {
	id := ev.Player.UserId
	if !ev.Player.HasUserId {
		id = ev.Player.PlayerId
	}
	if !ev.HasPlayer || id >= uint32(len(f.users)) {
		return nil
	}
	if f.users[id] == nil {
		f.users[id] = new(selections)
	}
	return f.users[id]
}

// selects applies a change of a selection or of a group.
func (f *Fold) selects(ev *sc2replay.Event) {
	d := &ev.SelectionDelta
	s := f.selections(ev)
	if s == nil || d.ControlGroupId > selected {
		return
	}
	var c change
	switch d.RemoveMaskCase {
	case sc2replay.SelectionDeltaRemoveMaskMask:
		c.mask = &d.Mask
	case sc2replay.SelectionDeltaRemoveMaskOneIndices:
		c.gone = d.OneIndices.Index
	case sc2replay.SelectionDeltaRemoveMaskZeroIndices:
		c.kept, c.all = d.ZeroIndices.Index, true
	}
	l := &s.lists[d.ControlGroupId]
	l.remove(&c)
	added := f.added[:0]
	for i := range d.AddUnitTags {
		u := &d.AddUnitTags[i]
		added = append(added, member{u.Tag, u.Class, u.TypeName, u.TypeGuessed, f.units.lives[u.Tag]})
	}
	f.added = added
	byTag := func(a, b member) int { return cmp.Compare(a.tag, b.tag) }
	if !slices.IsSortedFunc(added, byTag) {
		slices.SortStableFunc(added, byTag)
	}
	f.add(l, slices.CompactFunc(added, func(a, b member) bool { return a.tag == b.tag }))
}

// group applies a use of a control group, and returns the list of units that are in it afterwards. Of the other groups that lose units to
// it, selection_delta tells.
func (f *Fold) group(ev *sc2replay.Event) *list {
	u := &ev.ControlGroupUpdate
	s := f.selections(ev)
	if s == nil || u.ControlGroupIndex >= groups {
		return nil
	}
	var c change
	switch u.RemoveMaskCase {
	case sc2replay.ControlGroupUpdateRemoveMaskMask:
		c.mask = &u.Mask
	case sc2replay.ControlGroupUpdateRemoveMaskOneIndices:
		c.gone = u.OneIndices.Index
	case sc2replay.ControlGroupUpdateRemoveMaskZeroIndices:
		c.kept, c.all = u.ZeroIndices.Index, true
	}
	own, selection := &s.lists[u.ControlGroupIndex], &s.lists[selected]
	switch u.ControlGroupUpdate {
	case sc2replay.ControlGroupActionSet, sc2replay.ControlGroupActionSetAndSteal:
		own.set(selection)
	case sc2replay.ControlGroupActionAppend, sc2replay.ControlGroupActionAppendAndSteal:
		own.remove(&c)
		f.add(own, selection.units)
		own.doubtful = own.doubtful || selection.doubtful
	case sc2replay.ControlGroupActionRecall: // the group stays as it is
		selection.set(own)
		selection.remove(&c)
		return selection
	case sc2replay.ControlGroupActionClear:
		own.set(&list{})
	}
	return own
}

// set makes a list equal to another one.
func (l *list) set(to *list) { l.units, l.doubtful = append(l.units[:0], to.units...), to.doubtful }

// remove removes units from a list.
func (l *list) remove(c *change) {
	var marked [maxSelected / 64]uint64
	mark := func(i uint32) {
		if i >= uint32(len(l.units)) {
			l.doubtful = true
			return
		}
		marked[i/64] |= 1 << (i % 64)
	}
	switch {
	case c.mask != nil:
		if int(c.mask.Size) > len(l.units) {
			l.doubtful = true
		}
		for i := range min(int(c.mask.Size), len(l.units), 8*len(c.mask.Bits)) {
			if c.mask.Bits[i/8]>>(i%8)&1 != 0 {
				mark(uint32(i))
			}
		}
	case c.all:
		for _, i := range c.kept {
			mark(i)
		}
		for i := range marked {
			marked[i] = ^marked[i]
		}
	case len(c.gone) > 0:
		for _, i := range c.gone {
			mark(i)
		}
	default:
		return
	}
	left := l.units[:0]
	for i := range l.units {
		if marked[i/64]>>(i%64)&1 == 0 {
			left = append(left, l.units[i])
		}
	}
	l.units = left
}

// add adds units to a list, each once and by ascending tag. Those that are in it get the types of the added ones.
func (f *Fold) add(l *list, units []member) {
	if len(units) == 0 {
		return
	}
	all, rest := f.merged[:0], l.units
	for i := range units {
		tag := units[i].tag
		for len(rest) > 0 && rest[0].tag < tag {
			all, rest = append(all, rest[0]), rest[1:]
		}
		if len(rest) > 0 && rest[0].tag == tag {
			rest = rest[1:]
		}
		all = append(all, units[i])
	}
	if all = append(all, rest...); len(all) > maxSelected {
		all, l.doubtful = all[:maxSelected], true
	}
	l.units, f.merged = all, l.units
}

// grouped returns the living units of a list by type, in the order of the first of each, and whether the list is certain.
func (f *Fold) grouped(l *list) (groups []sc2replay.UnitGroup, known bool) {
	if l == nil {
		return nil, false
	}
	f.groups, f.tags, f.kinds = f.groups[:0], f.tags[:0], f.kinds[:0]
	for i := range l.units {
		u := &l.units[i]
		if u.life == nil && f.units.tracked {
			u.life = f.units.lives[u.tag] // it was selected in the gameloop in which it appeared
		}
		of := sc2replay.UnitGroup{TypeName: u.typeName, Class: u.class, TypeGuessed: u.guessed}
		switch {
		case u.life != nil && !u.life.over:
			of = sc2replay.UnitGroup{TypeName: u.life.now, Class: u.life.class}
		case f.units.tracked:
			continue
		}
		f.kinds, f.tags = append(f.kinds, f.groupOf(&of)), append(f.tags, u.tag)
	}
	f.arrange()
	return f.groups, !l.doubtful
}

// groupOf returns the number of the group of a type, and adds it if it is new and there is room.
func (f *Fold) groupOf(of *sc2replay.UnitGroup) uint8 {
	for i := range f.groups {
		if g := &f.groups[i]; g.Class == of.Class && g.TypeGuessed == of.TypeGuessed && bytes.Equal(g.TypeName, of.TypeName) {
			return uint8(i)
		}
	}
	switch len(f.groups) {
	case maxTypes:
		return maxTypes - 1
	case maxTypes - 1:
		f.groups = append(f.groups, sc2replay.UnitGroup{})
	default:
		f.groups = append(f.groups, *of)
	}
	return uint8(len(f.groups) - 1)
}

// arrange gives each group its tags.
func (f *Fold) arrange() {
	var ends [maxTypes]int // of each group's tags
	for _, g := range f.kinds {
		ends[g]++
	}
	n := len(f.tags)
	f.tags = slices.Grow(f.tags, n)[:2*n]
	sorted, at := f.tags[n:], 0
	for g := range f.groups {
		f.groups[g].Tags = sorted[at : at+ends[g] : at+ends[g]]
		ends[g], at = at, at+ends[g]
	}
	for i, g := range f.kinds {
		sorted[ends[g]] = f.tags[i]
		ends[g]++
	}
}

// controlGroup returns the fact of the last event, a use of a control group.
func (f *Fold) controlGroup() (out sc2replay.FactControlGroup) {
	u := &f.event.ControlGroupUpdate
	out.Group, out.Action = u.ControlGroupIndex, u.ControlGroupUpdate
	out.Units, out.UnitsKnown = f.grouped(f.list)
	return out
}

// The flags of orders that the facts name. All versions have them.
const (
	flagQueued   = 1 << 1
	flagAutocast = 1 << 6
	flagMinimap  = 1 << 16
)

// order returns the fact of the last event, an order.
func (f *Fold) order() sc2replay.FactOrder {
	c := &f.event.Cmd
	out := sc2replay.FactOrder{
		Ability: c.Abil, HasAbility: c.HasAbil,
		Queued: c.CmdFlags&flagQueued != 0, Minimap: c.CmdFlags&flagMinimap != 0, Autocast: c.CmdFlags&flagAutocast != 0,
	}
	switch c.TargetCase {
	case sc2replay.CmdTargetTargetPoint:
		out.TargetPlace, out.HasTargetPlace = c.TargetPoint, true
	case sc2replay.CmdTargetTargetUnit:
		t := &c.TargetUnit
		out.TargetPlace, out.HasTargetPlace = t.SnapshotPoint, t.HasSnapshotPoint
		if out.TargetUnit, out.HasTargetUnit = t.Unit, true; len(t.Unit.TypeName) == 0 {
			out.TargetUnit.TypeName, out.TargetUnit.TypeGuessed = t.SnapshotUnitName, t.SnapshotUnitNameGuessed
		}
	}
	if s := f.selections(f.event); s != nil {
		out.Units, out.UnitsKnown = f.grouped(&s.lists[selected])
	}
	return out
}
