package sc2replay_test

import (
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// TestTriggerUi decodes events of triggers. Their fields are those of the table, and abilities and units have names.
func TestTriggerUi(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Game = slices.Insert(r.Game, 10,
		sc2test.Event{Loop: 312, User: 0, Name: "TriggerCommandError", Value: sc2test.S{
			"error": 7, "abil": sc2test.S{"abilLink": 43, "abilCmdIndex": 1, "abilCmdData": 9},
		}},
		sc2test.Event{Loop: 313, User: 0, Name: "TriggerCommandError", Value: sc2test.S{"error": -1}},
		sc2test.Event{Loop: 314, User: 1, Name: "TriggerTargetModeUpdate", Value: sc2test.S{"abilLink": 43, "abilCmdIndex": 1, "state": -2}},
		sc2test.Event{Loop: 315, User: 1, Name: "TriggerPing", Value: sc2test.S{"point": sc2test.S{"x": -4096, "y": 8192}, "unit": sc2test.Tag(1)}},
		sc2test.Event{Loop: 316, User: 1, Name: "TriggerMouseMoved", Value: sc2test.S{"posUI": sc2test.S{"x": 800, "y": 600}}},
	)
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	byTick := map[int32]sc2replay.TriggerUi{}
	for d.Next(&ev) == nil {
		if ev.Kind == sc2replay.KindTriggerUi {
			e := ev.TriggerUi
			e.Fields = clone(e.Fields)
			byTick[ev.AtTick] = e
		}
	}
	number := func(tick int32, path ...string) int64 {
		fields := byTick[tick].Fields
		var v int64 = -99999
		for _, name := range path {
			i := slices.IndexFunc(fields, func(f sc2replay.Field) bool { return string(f.Name) == name })
			if i < 0 {
				t.Fatalf("%d: no %q in %+v", tick, path, fields)
			}
			v, fields = fields[i].IntValue, fields[i].Fields
		}
		return v
	}
	if e := byTick[312]; number(312, "error") != 7 || !e.HasAbil || string(e.Abil.Name) != "Patrol" || e.Abil.CommandData != 9 || e.HasUnit {
		t.Errorf("%+v", e)
	}
	if e := byTick[313]; number(313, "error") != -1 || e.HasAbil || len(e.Fields) != 1 {
		t.Errorf("%+v", e)
	}
	if e := byTick[314]; number(314, "state") != -2 || string(e.Abil.Name) != "Patrol" || e.Abil.HasCommandData {
		t.Errorf("%+v", e)
	}
	if e := byTick[315]; number(315, "point", "y") != 8192 || number(315, "point", "x") != -4096 || string(e.Unit.TypeName) != "SCV" || e.HasAbil {
		t.Errorf("%+v", e)
	}
	if e := byTick[316]; number(316, "posUI", "x") != 800 || string(e.Name) != "TriggerMouseMoved" || e.HasUnit {
		t.Errorf("%+v", e)
	}
}

// clone copies fields, whose memory the decoder reuses.
func clone(fields []sc2replay.Field) []sc2replay.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].Fields = clone(fields[i].Fields)
	}
	return fields
}

// TestTriggersAllocateNothing decodes a map's mouse moves. Their fields reuse the memory of those before.
func TestTriggersAllocateNothing(t *testing.T) {
	r := sc2test.Sample(80949)
	for range 2000 {
		r.Game = slices.Insert(r.Game, 10, sc2test.Event{Loop: 312, User: 0, Name: "TriggerMouseMoved", Value: sc2test.S{"posUI": sc2test.S{"x": 5}}})
	}
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	for ev.AtTick < 312 {
		if err := d.Next(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if err := d.Next(&ev); err != nil || ev.Kind != sc2replay.KindTriggerUi {
			t.Fatal(ev.Kind, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}
