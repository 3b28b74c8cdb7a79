package teehistorian

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestInt(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  int32
		odd   bool
	}{
		{"\x00", 0, false},
		{"\x01", 1, false},
		{"\x3f", 63, false},
		{"\x80\x01", 64, false},
		{"\x40", -1, false},
		{"\x7f", -64, false},
		{"\xc0\x01", -65, false},
		{"\xb3\x07", 499, false},
		{"\xa8\x0f", 1000, false},
		{"\x92\xcb\x01", 13010, false},
		{"\x80\x89\x7a", 1000000, false},
		{"\xbf\xff\xff\xff\x0f", math.MaxInt32, false},
		{"\xff\xff\xff\xff\x0f", math.MinInt32, false},
		{"\x80\x00", 0, true},
		{"\xc0\x00", -1, true},
		{"\x80\x80\x80\x80\x00", 0, true},
		{"\x80\x80\x80\x80\xf0", 0, true},
		{"\xbf\xff\xff\xff\xff", math.MaxInt32, true}, // the fifth byte is the last, and its upper half is padding
		{"\xff\xff\xff\xff\xff", math.MinInt32, true},
	} {
		for _, more := range []string{"", "\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
			c := cursor{b: []byte(test.bytes + more)}
			if got := c.int(); got != test.want || c.p != len(test.bytes) || c.odd != test.odd || c.cut {
				t.Errorf("% x: %d, %d bytes, odd %v, cut %v", test.bytes+more, got, c.p, c.odd, c.cut)
			}
		}
		for n := range len(test.bytes) {
			c := cursor{b: []byte(test.bytes[:n])}
			if c.int(); !c.cut || c.p != 0 {
				t.Errorf("% x: not cut", test.bytes[:n])
			}
		}
		if len(test.bytes) == 1 && short(test.bytes[0]) != test.want {
			t.Errorf("% x: %d by short", test.bytes, short(test.bytes[0]))
		}
	}
}

// TestInts checks that any bytes decode as consecutive integers of 1 to 5 bytes, until the bytes end inside one.
func TestInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursor{b: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")}
		for {
			before := c.p
			c.int()
			if c.cut {
				if len(c.b)-before >= 5 || c.p != before {
					t.Fatalf("cut with %d bytes left", len(c.b)-before)
				}
				return
			}
			if n := c.p - before; n < 1 || n > 5 {
				t.Fatalf("an integer of %d bytes", n)
			}
		}
	})
}
