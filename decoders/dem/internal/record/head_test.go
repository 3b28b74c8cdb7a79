package record_test

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/record"
)

// TestAside: what a decoder knows of the game does not come from key frames, which repeat it, nor from records that hold animations or saved
// games, or that nobody knows.
func TestAside(t *testing.T) {
	aside := map[uint32]bool{10: true, 11: true, record.CmdFullPacket: true, 14: true, 15: true, 16: true, 17: true, 18: true, 19: true, 1000: true}
	for _, id := range []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 1000} {
		if name := record.CommandName(id); (name != "") != (id <= 18) || record.Aside(id) != aside[id] {
			t.Errorf("%d %q: %t", id, name, record.Aside(id))
		}
	}
}
