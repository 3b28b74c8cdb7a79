package replayd

import (
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestFormats checks that formats has every format of the API, with all its kinds.
func TestFormats(t *testing.T) {
	if n := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Oneofs().ByName("events").Fields().Len(); n != len(formats()) {
		t.Errorf("%d formats of %d", len(formats()), n)
	}
	for _, f := range formats() {
		for _, k := range f.kinds {
			if k.message == nil {
				t.Errorf("%s: no message for %s", f.name, k.name)
			}
		}
	}
	if kinds := fastKinds(); len(kinds) != 3 || kinds[0].name != "player_diff" || kinds[1].name != "input_diff" || kinds[2].name != "tick" {
		t.Error("a kind of fast.go does not exist")
	}
}

// fastKinds returns the kinds of fast.go, in their order.
func fastKinds() (kinds []*kind) {
	for _, f := range formats() {
		for _, k := range f.kinds {
			if k.fast != fastNone {
				kinds = append(kinds, k)
			}
		}
	}
	slices.SortFunc(kinds, func(a, b *kind) int { return int(a.fast) - int(b.fast) })
	return kinds
}

// FuzzValue compares the decoders of fast.go with proto.Unmarshal.
func FuzzValue(f *testing.F) {
	input := &teehistorianv1.Input{Direction: -1, TargetX: 100, TargetY: -1000, PlayerFlags: 1 << 20, PrevWeapon: 3}
	for i, m := range []proto.Message{
		&teehistorianv1.PlayerDiff{ClientId: 63, Dx: -3, Dy: 1 << 30, X: proto.Int32(-1 << 31), Y: proto.Int32(0)},
		&teehistorianv1.InputDiff{ClientId: -1, Input: input, Diff: &teehistorianv1.Input{Jump: 1}},
		&teehistorianv1.InputDiff{Diff: input},
		&teehistorianv1.Tick{Skipped: 300, Implicit: true},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(max(0, i-1)), b)
		f.Add(uint8(max(0, i-1)), append(b, 0x78, 1))   // an unknown field
		f.Add(uint8(max(0, i-1)), append(b, b...))      // each field twice
		f.Add(uint8(max(0, i-1)), append(b, 0x80))      // half a varint
		f.Add(uint8(max(0, i-1)), b[:max(0, len(b)-1)]) // cut
	}
	kinds := fastKinds()
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		k := kinds[which%3]
		want := k.message.New().Interface()
		bad := proto.Unmarshal(b, want)
		e := Event{Kind: k.name, kind: k, wire: b, size: uint32(len(b))}
		got := e.Value()
		into := k.message.New().Interface()
		err := e.Unmarshal(into)
		if (bad != nil) != (got == nil) || (bad != nil) != (err != nil) {
			t.Fatalf("%v and %v, but proto.Unmarshal returns %v", got, err, bad)
		}
		if bad == nil && (!proto.Equal(got, want) || !proto.Equal(into, want)) {
			t.Fatalf("%v and %v, want %v", got, into, want)
		}
		into.ProtoReflect().SetUnknown([]byte{0x78, 1})
		if err := e.Unmarshal(into); bad == nil && (err != nil || !proto.Equal(into, want)) {
			t.Fatalf("again: %v, %v; want %v", into, err, want)
		}
	})
}

// FuzzResponse checks that parsing arbitrary bytes does not panic, and that a batch has as many events as it claims.
func FuzzResponse(f *testing.F) {
	diff := &teehistorianv1.Event{AtTick: 7, Kind: &teehistorianv1.Event_PlayerDiff{PlayerDiff: &teehistorianv1.PlayerDiff{X: proto.Int32(9)}}}
	list := &teehistorianv1.EventList{Events: []*teehistorianv1.Event{diff, diff, diff}}
	b, err := proto.Marshal(&replaydv1.StreamEventsResponse{
		Cursor: []byte("cursor"), Response: &replaydv1.StreamEventsResponse_Batch{Batch: &replaydv1.EventBatch{
			FirstSequence: 5, NextSequence: 8, Events: &replaydv1.EventBatch_Teehistorian{Teehistorian: list},
		}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	tables, err := proto.Marshal(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Batch{
		Batch: &replaydv1.EventBatch{NextSequence: 2, Tables: []*replaydv1.Table{{Kind: "tick", Rows: 2, Data: []byte("data")}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tables)
	f.Fuzz(func(t *testing.T, b []byte) {
		batch, err := parseBatch(b)
		if err != nil || batch == nil {
			return
		}
		n := 0
		for e, err := range batch.Events() {
			if err != nil {
				return
			}
			if e.Sequence != batch.First+uint64(n) {
				t.Fatalf("event %d is number %d", n, e.Sequence)
			}
			n++
			e.Value()
			_, _ = e.AppendJSON(nil)
		}
		if n != batch.Len() {
			t.Fatalf("%d events of %d", n, batch.Len())
		}
	})
}

// TestRetryDefaults checks the defaults, and that a negative GiveUpAfter is kept.
func TestRetryDefaults(t *testing.T) {
	if r := (Retry{}).withDefaults(); r.Initial != 100*time.Millisecond || r.Max != 5*time.Second || r.GiveUpAfter != 10*time.Minute {
		t.Errorf("defaults %v, %v, %v", r.Initial, r.Max, r.GiveUpAfter)
	}
	if r := (Retry{GiveUpAfter: -1}).withDefaults(); r.GiveUpAfter != -1 {
		t.Errorf("GiveUpAfter -1 became %v", r.GiveUpAfter)
	}
}

// TestStringAt: strings of a batch are found by their indices, also from several goroutines, and there are no others.
func TestStringAt(t *testing.T) {
	texts := []string{"CDOTA_Unit_Hero_Axe", "", "m_iHealth"}
	wire, err := proto.Marshal(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Batch{Batch: &replaydv1.EventBatch{
		NextSequence: 1, Offsets: []int64{0}, Events: &replaydv1.EventBatch_Dem{Dem: &demv1.EventList{Events: []*demv1.Event{{}}, Strings: texts}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseResponse(wire)
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for event, err := range r.Batch.Events() {
				got := []string{event.StringAt(0), event.StringAt(1), event.StringAt(2), event.StringAt(3)}
				if err != nil || !slices.Equal(got, append(slices.Clone(texts), "")) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	asking.Wait()
	if got := (Event{}).StringAt(0); got != "" {
		t.Errorf("no event has the string %q", got)
	}
}
