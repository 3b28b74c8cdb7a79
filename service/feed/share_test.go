package feed_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/service/feed"
)

// TestShareThenMore: a batch that shares a segment, and its positions, goes on with the events of the next one.
func TestShareThenMore(t *testing.T) {
	data := sample(t, 20_000)
	g := grow(data[:10_000])
	f := g.feed()
	defer f.Stop()
	sub := f.Subscribe()
	defer sub.Close()
	sub.Sync(t.Context())
	r, err := sub.Open(g.open, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	b := codec.Batch{MaxEvents: 16384, MaxBytes: 1 << 20}
	read := func() {
		t.Helper()
		for {
			switch err := r.Fill(&b); {
			case errors.Is(err, decoders.ErrMore):
				return
			case err != nil && !errors.Is(err, codec.ErrYield):
				t.Fatal(err)
			}
		}
	}
	read()
	before := b.Count
	b.Reset()
	g.append(data[10_000:10_300])
	sub.Sync(t.Context())
	read()
	if b.Wire() == nil || b.Count == 0 {
		t.Fatalf("%d events, shared %v", b.Count, b.Shared())
	}
	first := b.Count
	g.append(data[10_300:10_600])
	sub.Sync(t.Context())
	read()
	want := offline(t, data, &replaydv1.StreamEventsRequest{}).At[before:][:b.Count]
	if got := codectest.Places(t, &b); b.Count == first || !slices.Equal(got, want) {
		t.Errorf("%d events of which %d were shared: %v, want %v", b.Count, first, got, want)
	}
}

// TestReaders: a reader that a subscriber opens leaves its earlier one as it is.
func TestReaders(t *testing.T) {
	g := grow(sample(t, 20_000))
	f := g.feed()
	defer f.Stop()
	sub := f.Subscribe()
	defer sub.Close()
	sub.Sync(t.Context())
	var at [2]decoders.Position
	var opened [2]*feed.Reader
	for i := range opened {
		r, err := sub.Open(g.open, codec.Options{Start: codec.Start{Now: i == 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Header(new(replaydv1.Replay)); err != nil {
			t.Fatal(err)
		}
		if err := codectest.Seek(r); err != nil && !errors.Is(err, decoders.ErrMore) {
			t.Fatal(err)
		}
		at[i], opened[i] = r.Position(), r
	}
	if opened[0].Position() != at[0] || at[0] == at[1] {
		t.Errorf("the first is at %v and was at %v, the second is at %v", opened[0].Position(), at[0], at[1])
	}
}
