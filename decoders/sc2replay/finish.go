package sc2replay

// finishers convert events of old layouts to the form of the new ones, after such an event was read.
var finishers = map[Kind]func(*Event){
	KindCmd:                finishCmd,
	KindSelectionDelta:     finishSelection,
	KindControlGroupUpdate: finishControlGroup,
	KindUnitPositions:      finishPositions,
}

// noAbility is the ability link of an order without an ability, in 1.0.
const noAbility = 0xFFFF

// finishCmd determines the target of an order of 1.0. There, an order always contains every kind of target, and zeros
// stand for none. If it has a unit's tag, or the type of a unit that the player remembers in the fog, the target is
// that unit. Otherwise it is the point, if there is one. (Since 1.1, orders name their kind of target, and units in the
// fog have no tag either.)
func finishCmd(ev *Event) {
	c := &ev.Cmd
	if c.HasAbil && c.Abil.Link == noAbility {
		c.HasAbil = false
	}
	if c.HasOtherUnit && c.OtherUnit.Tag == 0 {
		c.HasOtherUnit = false
	}
	if c.TargetCase != CmdTargetNone {
		return
	}
	switch u := &c.TargetUnit; {
	case u.Unit.Tag != 0 || u.SnapshotUnitLink != 0:
		c.TargetCase = CmdTargetTargetUnit
		u.SnapshotPoint, u.HasSnapshotPoint = c.TargetPoint, true
	case c.TargetPoint != Point{}:
		c.TargetCase = CmdTargetTargetPoint
	}
}

// finishSelection removes an empty mask. Before 1.1 there was always a mask, and an empty one stood for none.
func finishSelection(ev *Event) {
	if d := &ev.SelectionDelta; d.RemoveMaskCase == SelectionDeltaRemoveMaskMask && d.Mask.Size == 0 {
		d.RemoveMaskCase = SelectionDeltaRemoveMaskNone
	}
}

func finishControlGroup(ev *Event) {
	if u := &ev.ControlGroupUpdate; u.RemoveMaskCase == ControlGroupUpdateRemoveMaskMask && u.Mask.Size == 0 {
		u.RemoveMaskCase = ControlGroupUpdateRemoveMaskNone
	}
}

// finishPositions converts the list of numbers (index difference, x, y) to positions.
func finishPositions(ev *Event) {
	p := &ev.UnitPositions
	p.Positions = p.Positions[:0]
	items, index := p.Items, p.FirstUnitIndex
	for ; len(items) >= 3; items = items[3:] {
		index += uint32(items[0])
		p.Positions = append(p.Positions, UnitPosition{
			Unit: Unit{Index: index}, HasUnit: true, X: items[1], Y: items[2],
		})
	}
	p.Items = append(p.Items[:0], items...)
}
