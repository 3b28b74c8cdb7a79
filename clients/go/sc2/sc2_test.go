package sc2_test

import (
	"math"
	"slices"
	"testing"

	"github.com/replayd/replayd/clients/go/sc2"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

// of returns an event of the first user.
func of(tick int32, fill func(*sc2replayv1.Event)) *sc2replayv1.Event {
	e := &sc2replayv1.Event{AtTick: tick, Player: &sc2replayv1.PlayerRef{UserId: new(uint32)}}
	fill(e)
	return e
}

func tags(units []*sc2replayv1.Unit) (out []uint32) {
	for _, u := range units {
		out = append(out, u.GetTag())
	}
	return out
}

func delta(group uint32, mask *sc2replayv1.BitMask, add ...uint32) *sc2replayv1.SelectionDelta {
	d := &sc2replayv1.SelectionDelta{ControlGroupId: group}
	if mask != nil {
		d.RemoveMask = &sc2replayv1.SelectionDelta_Mask{Mask: mask}
	}
	for _, tag := range add {
		d.AddUnitTags = append(d.AddUnitTags, &sc2replayv1.Unit{Tag: tag})
	}
	return d
}

func one(indices ...uint32) *sc2replayv1.Indices { return &sc2replayv1.Indices{Index: indices} }

// TestSelections applies every kind of change to a selection and to control groups.
func TestSelections(t *testing.T) {
	var s sc2.Selections
	only := delta(10, nil, 11)
	only.RemoveMask = &sc2replayv1.SelectionDelta_ZeroIndices{ZeroIndices: one()}
	but := delta(10, nil)
	but.RemoveMask = &sc2replayv1.SelectionDelta_OneIndices{OneIndices: one(0, 2)}
	stolen := delta(1, nil)
	stolen.RemoveMask = &sc2replayv1.SelectionDelta_OneIndices{OneIndices: one(0, 2)}
	use := func(number uint32, action sc2replayv1.ControlGroupAction) *sc2replayv1.ControlGroupUpdate {
		return &sc2replayv1.ControlGroupUpdate{ControlGroupIndex: number, ControlGroupUpdate: action}
	}
	appended := use(1, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_APPEND)
	appended.RemoveMask = &sc2replayv1.ControlGroupUpdate_Mask{Mask: &sc2replayv1.BitMask{Size: 1, Bits: []byte{1}}}
	recalled := use(1, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_RECALL)
	recalled.RemoveMask = &sc2replayv1.ControlGroupUpdate_OneIndices{OneIndices: one(1)}
	for i, tt := range []struct {
		change           any
		selected, g1, g2 []uint32
	}{
		{delta(10, nil, 7, 3, 5), []uint32{3, 5, 7}, nil, nil},
		{delta(10, nil, 5), []uint32{3, 5, 7}, nil, nil}, // no duplicates
		{use(1, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_SET), []uint32{3, 5, 7}, []uint32{3, 5, 7}, nil},
		{delta(10, &sc2replayv1.BitMask{Size: 2, Bits: []byte{2}}, 9), []uint32{3, 7, 9}, []uint32{3, 5, 7}, nil},
		{but, []uint32{7}, []uint32{3, 5, 7}, nil},
		{only, []uint32{11}, []uint32{3, 5, 7}, nil},
		{appended, []uint32{11}, []uint32{5, 7, 11}, nil},
		{recalled, []uint32{5, 11}, []uint32{5, 7, 11}, nil}, // a recall does not change the group
		{
			use(2, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_SET_AND_STEAL),
			[]uint32{5, 11}, []uint32{5, 7, 11}, []uint32{5, 11},
		},
		{stolen, []uint32{5, 11}, []uint32{7}, []uint32{5, 11}},
		{use(2, sc2replayv1.ControlGroupAction_CONTROL_GROUP_ACTION_CLEAR), []uint32{5, 11}, []uint32{7}, nil},
	} {
		s.Apply(of(1, func(e *sc2replayv1.Event) {
			switch c := tt.change.(type) {
			case *sc2replayv1.SelectionDelta:
				e.Kind = &sc2replayv1.Event_SelectionDelta{SelectionDelta: c}
			case *sc2replayv1.ControlGroupUpdate:
				e.Kind = &sc2replayv1.Event_ControlGroupUpdate{ControlGroupUpdate: c}
			}
		}))
		for which, want := range map[string][2][]uint32{
			"selected": {tags(s.Selected(0)), tt.selected}, "group 1": {tags(s.Group(0, 1)), tt.g1}, "group 2": {tags(s.Group(0, 2)), tt.g2},
		} {
			if !slices.Equal(want[0], want[1]) {
				t.Errorf("change %d: %s %v, want %v", i, which, want[0], want[1])
			}
		}
	}
	if len(s.Selected(1)) != 0 {
		t.Error("another user has a selection")
	}
}

func TestActionsPerMinute(t *testing.T) {
	var a sc2.ActionsPerMinute
	want := func(sc2reader, blizzard float64, told bool) {
		t.Helper()
		got, ok := a.Blizzard(0)
		if math.Abs(a.SC2Reader(0)-sc2reader) > 1e-9 || got != blizzard || ok != told {
			t.Errorf("sc2reader %v, Blizzard %v %v", a.SC2Reader(0), got, ok)
		}
	}
	want(0, 0, false)
	start := &sc2replayv1.Start{Version: &sc2replayv1.Version{Build: 97563}, ElapsedGameLoops: 22400}
	apm := 345.0
	for _, e := range []*sc2replayv1.Event{
		of(0, func(e *sc2replayv1.Event) { e.Kind = &sc2replayv1.Event_Start{Start: start} }),
		of(0, func(e *sc2replayv1.Event) {
			e.Kind = &sc2replayv1.Event_PlayerInfo{PlayerInfo: &sc2replayv1.PlayerInfo{Apm: &apm}}
		}),
		of(5, func(e *sc2replayv1.Event) { e.Kind = &sc2replayv1.Event_Cmd{Cmd: &sc2replayv1.Cmd{}} }),
		of(6, func(e *sc2replayv1.Event) {
			e.Kind = &sc2replayv1.Event_CmdUpdateTargetPoint{CmdUpdateTargetPoint: &sc2replayv1.CmdUpdateTargetPoint{}}
		}),
		of(7, func(e *sc2replayv1.Event) {
			e.Kind = &sc2replayv1.Event_CameraUpdate{CameraUpdate: &sc2replayv1.CameraUpdate{}} // does not count as an action
		}),
	} {
		a.Apply(e)
	}
	want(2*1.4/1000*60, 345, true)
	a.Apply(of(1600, func(e *sc2replayv1.Event) {
		e.Kind = &sc2replayv1.Event_GameUserLeave{GameUserLeave: &sc2replayv1.GameUserLeave{}}
	}))
	want(2*1.4/100*60, 345, true)
}
