package sc2

import (
	"cmp"
	"slices"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

// User returns the number of the user who caused an event, which identifies users in this package. It is the user id, or the
// player's number in replays without a lobby.
func User(e *sc2replayv1.Event) uint32 {
	if p := e.GetPlayer(); p != nil && p.UserId != nil {
		return p.GetUserId()
	}
	return e.GetPlayer().GetPlayerId()
}

// selection is the number by which events refer to the current selection, which they treat as a control group.
const selection = 10

// Selections holds the units in users' selections and control groups. It needs the kinds selection_delta and
// control_group_update.
//
// A dead unit stays in a list until the game removes it, which happens when the list is next used.
type Selections struct {
	lists map[list][]*sc2replayv1.Unit // each ordered by tag, and never modified once stored
}

type list struct{ user, group uint32 }

// Selected returns the units that a user has selected, by ascending tag. Their types are those at the time of the selection. The
// caller must not modify the slice.
func (s *Selections) Selected(user uint32) []*sc2replayv1.Unit { return s.Group(user, selection) }

// Group returns the units in a user's control group, 0 to 9, by ascending tag. The caller must not modify the slice.
func (s *Selections) Group(user, number uint32) []*sc2replayv1.Unit {
	return s.lists[list{user, number}]
}

// Apply updates the selections with an event. It ignores events of other kinds.
func (s *Selections) Apply(e *sc2replayv1.Event) {
	if s.lists == nil {
		s.lists = map[list][]*sc2replayv1.Unit{}
	}
	switch {
	case e.GetSelectionDelta() != nil:
		delta := e.GetSelectionDelta()
		key := list{User(e), delta.GetControlGroupId()}
		s.lists[key] = with(without(s.lists[key], delta), delta.GetAddUnitTags())
	case e.GetControlGroupUpdate() != nil:
		s.update(User(e), e.GetControlGroupUpdate())
	}
}

// update applies a use of a control group. For each group that loses units to another, the replay has a separate
// selection_delta, so update does not remove stolen units.
func (s *Selections) update(user uint32, u *sc2replayv1.ControlGroupUpdate) {
	group, selected := list{user, u.GetControlGroupIndex()}, list{user, selection}
	units := without(s.lists[group], u)
	switch u.GetControlGroupUpdate() {
	case sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_SET, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_SET_AND_STEAL:
		s.lists[group] = s.lists[selected]
	case sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_APPEND,
		sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_APPEND_AND_STEAL:
		s.lists[group] = with(units, s.lists[selected])
	case sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_RECALL:
		s.lists[selected] = units
	case sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_CLEAR:
		delete(s.lists, group)
	case sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_UNSPECIFIED:
	}
}

// change is an event that removes units from a list.
type change interface {
	GetMask() *sc2replayv1.BitMask
	GetOneIndices() *sc2replayv1.Indices
	GetZeroIndices() *sc2replayv1.Indices
}

// without returns a list without the units that a change removes.
func without(units []*sc2replayv1.Unit, c change) []*sc2replayv1.Unit {
	var removed func(i int) bool
	switch {
	case c.GetMask() != nil:
		bits := c.GetMask().GetBits()
		removed = func(i int) bool {
			return i < int(c.GetMask().GetSize()) && i/8 < len(bits) && bits[i/8]>>(i%8)&1 != 0
		}
	case c.GetOneIndices() != nil:
		removed = func(i int) bool { return slices.Contains(c.GetOneIndices().GetIndex(), uint32(i)) }
	case c.GetZeroIndices() != nil:
		removed = func(i int) bool { return !slices.Contains(c.GetZeroIndices().GetIndex(), uint32(i)) }
	default:
		return units
	}
	var left []*sc2replayv1.Unit
	for i, u := range units {
		if !removed(i) {
			left = append(left, u)
		}
	}
	return left
}

// with returns a list with units added, without duplicates.
func with(units, added []*sc2replayv1.Unit) []*sc2replayv1.Unit {
	if len(added) == 0 {
		return units
	}
	all := slices.Concat(added, units) // of two units with the same tag, the added one stays
	slices.SortStableFunc(all, func(a, b *sc2replayv1.Unit) int { return cmp.Compare(a.GetTag(), b.GetTag()) })
	return slices.CompactFunc(all, func(a, b *sc2replayv1.Unit) bool { return a.GetTag() == b.GetTag() })
}
