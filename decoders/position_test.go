package decoders_test

import (
	"testing"

	"github.com/replayd/replayd/decoders"
)

// TestPosition: positions are in the order of their bytes, then of their index, and each event has its derived ones behind it.
func TestPosition(t *testing.T) {
	ordered := []decoders.Position{
		{Offset: 3, Index: -1}, {Offset: 3}, {Offset: 3, Index: 1}, {Offset: 3, Index: decoders.Room}, {Offset: 3, Index: decoders.Room + 5},
		{Offset: 4, Index: -2}, {Offset: 4}, {Offset: 1 << 40},
	}
	for i, p := range ordered {
		for j, q := range ordered {
			if p.Before(q) != (i < j) {
				t.Errorf("%v is before %v: %v", p, q, p.Before(q))
			}
		}
	}
	own := []int64{-1, 0, 0, decoders.Room, decoders.Room, -2, 0, 0}
	for i, p := range ordered {
		if got := p.Own(); got.Offset != p.Offset || got.Index != own[i] {
			t.Errorf("%v is derived from the event at %v", p, got)
		}
	}
}
