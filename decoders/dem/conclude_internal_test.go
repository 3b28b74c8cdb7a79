package dem

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestFactsAllocateNothing: a fact takes no memory of its own, unless it is remembered.
func TestFactsAllocateNothing(t *testing.T) {
	for _, game := range []string{"dota", "csgo", "citadel"} {
		var ev Event
		concluded := 0
		d := New(bytes.NewReader(demtest.Players(game)), Options{Kinds: func(Kind) bool { return true }})
		d.facts.remembered = kindSet{}
		for d.Next(&ev) == nil {
			kind := ev.Kind
			if !d.facts.sources.has(kind) || !d.facts.pending() {
				continue
			}
			concluded++
			if n := testing.AllocsPerRun(10, func() { d.conclude(&ev, kind) }); n > 0 {
				t.Errorf("%s: %v allocations for a fact of %v", game, n, kind)
			}
		}
		if concluded < 4 {
			t.Errorf("%s: %d facts", game, concluded)
		}
	}
}
