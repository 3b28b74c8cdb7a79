package fieldpath

import (
	"strings"
	"testing"
)

// TestPathCodes compares the codes built from the weights with those that the game uses.
func TestPathCodes(t *testing.T) {
	want := strings.Fields(`0 1110 110010 11011111 11010 110110001101 110110001100101 11011010 11000 11011100 11011001
		1111 110110110 1101100011001000 11011000110010011 11011000110010010 11011000110011101 11011000110011100
		11011000110011111 11011000110011110 11011000110011001 11011000110011000 11011000110011011 11011000110011010
		1101100011000101 1101100011000100 110111011 110110001100001 1101100011000111 110011 110110000 110111010
		11011110 1101100011000110 1101100011000001 1101100011000000 11011000111 110110111 1101100010 10`)
	for op, c := range buildCodes(weights[:]) {
		var got strings.Builder
		for i := range c.length {
			got.WriteByte('0' + byte(c.bits>>i&1))
		}
		if got.String() != want[op] {
			t.Errorf("operation %d has code %s, want %s", op, got.String(), want[op])
		}
		code := table[c.bits&(1<<tableBits-1)]
		if code.length == 0 {
			code = longCodes[c.bits>>tableBits]
		}
		if int(code.op) != op || int(code.length) != c.length {
			t.Errorf("operation %d is looked up as %d of %d bits", op, code.op, code.length)
		}
	}
}
