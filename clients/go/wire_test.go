package replayd

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestFormats checks that formats has every format of the API, with all its kinds and columns.
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
		columns := 0
		fields := f.list.Descriptor().Fields()
		for i := range fields.Len() {
			if d := fields.Get(i); d.Name() != "events" && d.Message() != nil {
				columns++
			}
		}
		if columns != len(f.columns) {
			t.Errorf("%s: %d columns of %d", f.name, len(f.columns), columns)
		}
	}
	if playerDiffKind == nil || inputDiffKind == nil || tickKind == nil {
		t.Error("a kind of fast.go does not exist")
	}
}

// FuzzValue compares the decoders of fast.go with proto.Unmarshal.
func FuzzValue(f *testing.F) {
	input := &teehistorianv1.Input{Direction: -1, TargetX: 100, TargetY: -1000, PlayerFlags: 1 << 20, PrevWeapon: 3}
	for i, m := range []proto.Message{
		&teehistorianv1.PlayerDiff{ClientId: 63, Dx: -3, Dy: 1 << 30, X: -1 << 31, Y: 5},
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
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		k := []*kind{playerDiffKind, inputDiffKind, tickKind}[which%3]
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
	diff := &teehistorianv1.Event{AtTick: 7, Kind: &teehistorianv1.Event_PlayerDiff{PlayerDiff: &teehistorianv1.PlayerDiff{X: 9}}}
	list := &teehistorianv1.EventList{
		Events: []*teehistorianv1.Event{diff},
		TickColumns: &teehistorianv1.TickColumns{
			Place: []uint32{0, 2}, AtTick: []int32{7, 8}, Skipped: []int32{0, -1}, Implicit: []bool{true, false},
		},
	}
	b, err := proto.Marshal(&replaydv1.StreamEventsResponse{
		Cursor: []byte("cursor"), Response: &replaydv1.StreamEventsResponse_Batch{Batch: &replaydv1.EventBatch{
			FirstSequence: 5, NextSequence: 8, Events: &replaydv1.EventBatch_Teehistorian{Teehistorian: list},
		}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(bytes.Replace(b, []byte{0, 2}, []byte{0, 3}, 1)) // a place outside the batch
	f.Add(bytes.Replace(b, []byte{0, 2}, []byte{2, 2}, 1)) // a place used twice
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

// TestStateAsColumns checks that events of a state have no sequence numbers even in columns.
func TestStateAsColumns(t *testing.T) {
	wire, err := proto.Marshal(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_State{
		State: &replaydv1.StateBatch{Events: &replaydv1.StateBatch_Teehistorian{Teehistorian: &teehistorianv1.EventList{
			TickColumns: &teehistorianv1.TickColumns{
				Place: []uint32{0, 1}, AtTick: []int32{7, 8}, Skipped: []int32{0, 1}, Implicit: []bool{true, false},
			},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := parseBatch(wire)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range batch.Events() {
		if n++; err != nil || !e.State || e.Sequence != 0 || e.Kind != "tick" {
			t.Errorf("%v, %v", e, err)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
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

func TestVarints(t *testing.T) {
	values := []uint32{0, 1, 127, 128, 300, 16383, 16384, 1<<32 - 1}
	var packed []byte
	var want []uint32
	for i := range 200 {
		v := values[i*i%len(values)]
		if i/20%2 == 0 {
			v &= 127
		}
		want = append(want, v)
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	for n := range want {
		size := 0
		for _, v := range want[:n] {
			size += protowire.SizeVarint(uint64(v))
		}
		if got := countVarints(packed[:size]); got != n {
			t.Fatalf("counted %d varints of %d", got, n)
		}
		got, err := appendVarints([]uint32{42}, packed[:size], n)
		if err != nil || got[0] != 42 || len(got) != n+1 {
			t.Fatal(got, err)
		}
		for i, v := range want[:n] {
			if got[i+1] != v {
				t.Fatalf("number %d of %d is %d, not %d", i, n, got[i+1], v)
			}
		}
	}
}
