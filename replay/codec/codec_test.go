package codec_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/position"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
)

// TestShare checks that a batch does not modify shared events, and that Reset restores its own memory.
func TestShare(t *testing.T) {
	own := make([]byte, 0, 64)
	b := codec.Batch{Events: own}
	all := []byte("first second third")
	b.Share(all[6:12], 1)
	if !b.Shared() || string(b.Events) != "second" || b.Count != 1 {
		t.Fatalf("%q, %d events", b.Events, b.Count)
	}
	b.Events = append(b.Events, "!!!!!!!"...)
	if string(all) != "first second third" {
		t.Errorf("what was shared became %q", all)
	}
	b.Reset()
	if b.Shared() || b.Count != 0 || len(b.Events) != 0 || cap(b.Events) != cap(own) {
		t.Errorf("shared %v, %d events, memory of %d bytes", b.Shared(), b.Count, cap(b.Events))
	}
	b.Events = append(b.Events, "own"...)
	if !bytes.Equal(own[:3], []byte("own")) {
		t.Error("its own memory did not come back")
	}
}

// TestShareAll: a batch shares positions with the events, and has its own when more events follow, however that begins.
func TestShareAll(t *testing.T) {
	var places position.List
	places.Add(100, 0)
	places.Add(100, decoders.Room)
	wire := places.Append([]byte("events"))
	var b codec.Batch
	b.ShareAll(wire, &places, 2)
	if string(b.Events) != "events" || &b.Wire()[0] != &wire[0] || len(b.Wire()) != len(wire) {
		t.Fatalf("%q in %q", b.Events, b.Wire())
	}
	b.Own()
	b.Events, b.Count = append(b.Events, "!"...), 3
	b.Place(decoders.Position{Offset: 100, Index: 2 * decoders.Room})
	want := []decoders.Position{{Offset: 100}, {Offset: 100, Index: decoders.Room}, {Offset: 100, Index: 2 * decoders.Room}}
	if got := codectest.Places(t, &b); b.Wire() != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v; wire %q", got, want, b.Wire())
	}
	if b.Own(); len(codectest.Places(t, &b)) != 3 {
		t.Error("it owned its positions")
	}
	if !bytes.Equal(places.Append([]byte("events")), wire) {
		t.Error("what was shared changed")
	}
	b.Reset()
	if b.Wire() != nil || b.Places.Len() != 0 {
		t.Errorf("%q and %d bytes of positions are left", b.Wire(), b.Places.Len())
	}
}
