package value

import (
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestLongText: a text beyond the limit is none.
func TestLongText(t *testing.T) {
	for n, ok := range map[int]bool{maxText: true, maxText + 1: false} {
		c := Codec{Op: OpText}
		var w demtest.Bits
		w.CString(strings.Repeat("x", n))
		var arena []byte
		r := bits.New(w.Bytes())
		c.Read(&r, &arena, 0)
		if r.Overrun() == ok || ok != (len(arena) == n) {
			t.Errorf("a text of %d bytes: %d are read, overrun %v", n, len(arena), r.Overrun())
		}
	}
}
