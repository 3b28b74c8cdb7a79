package facts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
)

func groupText(groups []sc2replay.UnitGroup, known bool) string {
	line := ""
	for i := range groups {
		g := &groups[i]
		line += fmt.Sprintf("%s %d %v, ", g.TypeName, g.Class, g.Tags)
	}
	return fmt.Sprintf("%sknown %v", line, known)
}

func orderText(o *sc2replay.FactOrder) string {
	return fmt.Sprintf("%s at %s to %s queued %v minimap %v autocast %v: %s", optional(o.HasAbility, string(o.Ability.Name)),
		optional(o.HasTargetPlace, o.TargetPlace), optional(o.HasTargetUnit, string(o.TargetUnit.TypeName)), o.Queued, o.Minimap, o.Autocast,
		groupText(o.Units, o.UnitsKnown))
}

const selection = 10

// selects returns a change of a user's list that adds units with these tags, all marines, and removes some.
func selects(player, group uint32, remove func(*sc2replay.SelectionDelta), tags ...uint32) *sc2replay.Event {
	return at(1, player, sc2replay.KindSelectionDelta, func(ev *sc2replay.Event) {
		ev.SelectionDelta.ControlGroupId = group
		for _, tag := range tags {
			ev.SelectionDelta.AddUnitTags = append(ev.SelectionDelta.AddUnitTags, unit(tag, "Marine", army))
		}
		if remove != nil {
			remove(&ev.SelectionDelta)
		}
	})
}

func masked(size uint32, bits byte) func(*sc2replay.SelectionDelta) {
	return func(d *sc2replay.SelectionDelta) {
		d.RemoveMaskCase, d.Mask = sc2replay.SelectionDeltaRemoveMaskMask, sc2replay.BitMask{Size: size, Bits: []byte{bits}}
	}
}

func without(indices ...uint32) func(*sc2replay.SelectionDelta) {
	return func(d *sc2replay.SelectionDelta) {
		d.RemoveMaskCase, d.OneIndices.Index = sc2replay.SelectionDeltaRemoveMaskOneIndices, indices
	}
}

func only(indices ...uint32) func(*sc2replay.SelectionDelta) {
	return func(d *sc2replay.SelectionDelta) {
		d.RemoveMaskCase, d.ZeroIndices.Index = sc2replay.SelectionDeltaRemoveMaskZeroIndices, indices
	}
}

// uses returns a use of a control group, in which the units whose bit is set are gone.
func uses(player, group uint32, action sc2replay.ControlGroupAction, bits byte) *sc2replay.Event {
	return at(2, player, sc2replay.KindControlGroupUpdate, func(ev *sc2replay.Event) {
		ev.ControlGroupUpdate = sc2replay.ControlGroupUpdate{ControlGroupIndex: group, ControlGroupUpdate: action}
		if bits > 0 {
			ev.ControlGroupUpdate.RemoveMaskCase = sc2replay.ControlGroupUpdateRemoveMaskMask
			ev.ControlGroupUpdate.Mask = sc2replay.BitMask{Size: 2, Bits: []byte{bits}}
		}
	})
}

// TestSelections: the units of groups and orders are those that the changes of selections leave.
func TestSelections(t *testing.T) {
	order := at(3, 1, sc2replay.KindCmd, nil)
	const none = "3 fact_order 1 - at - to - queued false minimap false autocast false: "
	marines := func(tags string) string { return none + "Marine 2 [" + tags + "], known true" }
	set, add, recall := sc2replay.ControlGroupActionSet, sc2replay.ControlGroupActionAppend, sc2replay.ControlGroupActionRecall
	steal, addAndSteal, empty := sc2replay.ControlGroupActionSetAndSteal, sc2replay.ControlGroupActionAppendAndSteal, sc2replay.ControlGroupActionClear
	tooMany := make([]uint32, 600)
	for i := range tooMany {
		tooMany[i] = uint32(i)
	}
	for name, tt := range map[string]struct {
		events []*sc2replay.Event
		want   []string
	}{
		"none":            {[]*sc2replay.Event{order}, []string{none + "known true"}},
		"sorted, once":    {[]*sc2replay.Event{selects(1, selection, nil, 5, 3), selects(1, selection, nil, 4, 3), order}, []string{marines("3 4 5")}},
		"by a mask":       {[]*sc2replay.Event{selects(1, selection, nil, 3, 4, 5), selects(1, selection, masked(3, 5), 9), order}, []string{marines("4 9")}},
		"bits behind it":  {[]*sc2replay.Event{selects(1, selection, nil, 3, 4, 5), selects(1, selection, masked(2, 7)), order}, []string{marines("5")}},
		"by indices":      {[]*sc2replay.Event{selects(1, selection, nil, 3, 4, 5), selects(1, selection, without(0, 1)), order}, []string{marines("5")}},
		"all but indices": {[]*sc2replay.Event{selects(1, selection, nil, 3, 4, 5), selects(1, selection, only(1)), order}, []string{marines("4")}},
		"twice at once":   {[]*sc2replay.Event{selects(1, selection, nil, 5, 3, 5, 3), order}, []string{marines("3 5")}},
		"of another user": {[]*sc2replay.Event{selects(1, selection, nil, 3), selects(2, selection, nil, 4), order}, []string{marines("3")}},
		"a long mask": {
			[]*sc2replay.Event{selects(1, selection, nil, 3), selects(1, selection, masked(2, 2)), order},
			[]string{none + "Marine 2 [3], known false"},
		},
		"a large index": {
			[]*sc2replay.Event{selects(1, selection, nil, 3), selects(1, selection, without(1<<31)), order},
			[]string{none + "Marine 2 [3], known false"},
		},
		"certain again": {
			[]*sc2replay.Event{selects(1, selection, masked(2, 2), 3), selects(1, 4, nil, 7), uses(1, 4, recall, 0), order},
			[]string{"2 fact_control_group 1 4 3: Marine 2 [7], known true", marines("7")},
		},
		"set, recalled": {
			[]*sc2replay.Event{selects(1, selection, nil, 3, 4), uses(1, 4, set, 0), selects(1, selection, only(), 8), uses(1, 4, recall, 1), order, uses(1, 4, recall, 0)},
			[]string{
				"2 fact_control_group 1 4 1: Marine 2 [3 4], known true", "2 fact_control_group 1 4 3: Marine 2 [4], known true", marines("4"),
				"2 fact_control_group 1 4 3: Marine 2 [3 4], known true",
			},
		},
		"appended": {
			[]*sc2replay.Event{selects(1, 9, nil, 1, 5), selects(1, selection, nil, 3, 4), uses(1, 9, add, 1), uses(1, 9, addAndSteal, 2), uses(1, 9, steal, 0)},
			[]string{
				"2 fact_control_group 1 9 2: Marine 2 [3 4 5], known true", "2 fact_control_group 1 9 6: Marine 2 [3 4 5], known true",
				"2 fact_control_group 1 9 5: Marine 2 [3 4], known true",
			},
		},
		"appended in doubt": {
			[]*sc2replay.Event{selects(1, selection, masked(2, 2), 3), uses(1, 4, add, 0), selects(1, 5, masked(2, 2), 4), selects(1, selection, only(), 6), uses(1, 5, add, 0)},
			[]string{"2 fact_control_group 1 4 2: Marine 2 [3], known false", "2 fact_control_group 1 5 2: Marine 2 [4 6], known false"},
		},
		"cleared": {
			[]*sc2replay.Event{selects(1, 0, nil, 1, 5), uses(1, 0, empty, 0), uses(1, 0, recall, 0)},
			[]string{"2 fact_control_group 1 0 4: known true", "2 fact_control_group 1 0 3: known true"},
		},
		"no such group":    {[]*sc2replay.Event{selects(1, 11, nil, 1), uses(1, 10, set, 0)}, []string{"2 fact_control_group 1 10 1: known false"}},
		"no such user":     {[]*sc2replay.Event{selects(99, 1, nil, 1), uses(99, 1, set, 0)}, []string{"2 fact_control_group 99 1 1: known false"}},
		"more than a game": {[]*sc2replay.Event{selects(1, selection, nil, tooMany...), selects(1, selection, only(511)), order}, []string{none + "Marine 2 [511], known false"}},
		"types of the present, without the dead": {
			[]*sc2replay.Event{
				born(0, 1, unit(3, "SCV", worker), 1), born(0, 1, unit(4, "SCV", worker), 1), born(0, 1, unit(5, "Tank", army), 1), born(0, 1, unit(6, "SCV", worker), 1),
				selects(1, selection, nil, 3, 4, 5, 6), died(1, 1, unit(4, "SCV", worker), 1, 2), changed(2, unit(5, "TankSieged", army), "Tank", 0), order,
			},
			[]string{none + "SCV 1 [3 6], TankSieged 2 [5], known true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := of(sc2replay.KindFactOrder)
			kinds[sc2replay.KindFactControlGroup] = true
			if diff := cmp.Diff(tt.want, concludeOnly(kinds, tt.events...)); diff != "" {
				t.Error(diff)
			}
			for kind, name := range map[sc2replay.Kind]string{sc2replay.KindFactOrder: "fact_order", sc2replay.KindFactControlGroup: "fact_control_group"} {
				var alone []string
				for _, line := range tt.want {
					if strings.Contains(line, name) {
						alone = append(alone, line)
					}
				}
				if diff := cmp.Diff(alone, concludeOnly(of(kind), tt.events...)); diff != "" {
					t.Errorf("%s alone: %s", name, diff)
				}
			}
		})
	}
}

// TestOrder: an order has the target and what its flags mean.
func TestOrder(t *testing.T) {
	give := func(fill func(*sc2replay.Cmd)) *sc2replay.Event {
		return at(3, 1, sc2replay.KindCmd, func(ev *sc2replay.Event) { fill(&ev.Cmd) })
	}
	at := func(unit sc2replay.Unit) func(*sc2replay.Cmd) {
		return func(c *sc2replay.Cmd) {
			c.TargetCase, c.CmdFlags = sc2replay.CmdTargetTargetUnit, 1<<6
			c.TargetUnit = sc2replay.TargetUnit{Unit: unit, SnapshotPoint: sc2replay.Point{X: 4}, HasSnapshotPoint: true, SnapshotUnitName: []byte("Fogged")}
		}
	}
	got := concludeOnly(of(sc2replay.KindFactOrder),
		give(func(c *sc2replay.Cmd) { c.CmdFlags, c.Abil.Name, c.HasAbil = 0xFFFEFFBD, []byte("Patrol"), true }),
		give(func(c *sc2replay.Cmd) {
			c.CmdFlags, c.TargetCase, c.TargetPoint = 1<<1, sc2replay.CmdTargetTargetPoint, sc2replay.Point{X: 1, Y: 2, Z: 3}
		}),
		give(func(c *sc2replay.Cmd) { c.CmdFlags, c.TargetCase = 1<<16, sc2replay.CmdTargetData }),
		give(at(unit(7, "Nexus", other))), give(at(sc2replay.Unit{})))
	want := []string{
		"3 fact_order 1 Patrol at - to - queued false minimap false autocast false: known true",
		"3 fact_order 1 - at {1 2 3} to - queued true minimap false autocast false: known true",
		"3 fact_order 1 - at - to - queued false minimap true autocast false: known true",
		"3 fact_order 1 - at {4 0 0} to Nexus queued false minimap false autocast true: known true",
		"3 fact_order 1 - at {4 0 0} to Fogged queued false minimap false autocast true: known true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestManyTypes: a fact has 32 groups of units at most, and no unit is lost. It takes no allocations.
func TestManyTypes(t *testing.T) {
	fold, fact := facts.New(nil), new(sc2replay.Event)
	add := selects(1, selection, nil)
	for i := range uint32(500) {
		add.SelectionDelta.AddUnitTags = append(add.SelectionDelta.AddUnitTags, unit(i, fmt.Sprint("type ", i%40), army))
	}
	order := at(3, 1, sc2replay.KindCmd, nil)
	fold.Apply(add)
	run := func() {
		fold.Apply(add)
		fold.Apply(order)
		fold.Next(fact)
	}
	if n := testing.AllocsPerRun(10, run); n > 0 {
		t.Errorf("an order takes %v allocations", n)
	}
	groups := fact.FactOrder.Units
	total := 0
	for i := range groups {
		total += len(groups[i].Tags)
	}
	if len(groups) != 32 || total != 500 || string(groups[30].TypeName) != "type 30" || len(groups[31].TypeName) != 0 || groups[31].Tags[0] != 31 {
		t.Errorf("%d units in %d groups: %v", total, len(groups), groups[30:])
	}
	if fold.Held() < 500*40 {
		t.Errorf("%d bytes are held", fold.Held())
	}
}
