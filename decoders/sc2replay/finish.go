package sc2replay

// finishers bring old layouts into the form of the new ones, after an event of theirs was read.
var finishers = map[Kind]func(*Event){
	KindCmd:                finishCmd,
	KindSelectionDelta:     finishSelection,
	KindControlGroupUpdate: finishControlGroup,
	KindUnitPositions:      finishPositions,
}

// noAbility is how 1.0 says that an order has no ability.
const noAbility = 0xFFFF

// finishCmd distinguishes the targets of 1.0: there everything was always written, and zeros stood for nothing. An order with a
// unit's tag, or with the type of a unit that the player remembers in the fog, is aimed at the unit; any other at the point,
// if there is one. (Since 1.1, where orders say what they are aimed at, units in the fog have no tag either.)
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

// finishSelection: before 1.1 there was always a mask, empty for nothing.
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

// finishPositions turns the list of numbers - index difference, x, y - into positions.
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
