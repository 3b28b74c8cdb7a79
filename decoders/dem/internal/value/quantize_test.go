package value

import (
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestQuantizedWhole: zeros and whole numbers that a field can tell are told to the last digit.
func TestQuantizedWhole(t *testing.T) {
	for _, test := range []struct {
		name         string
		bits         int
		low, high    float32
		flags        int
		step         uint64
		zeroBit      bool // zero has a bit of its own
		wantLast     float32
		wantSelected float32
	}{
		{"rate of playing, zero", 8, -4, 12, roundDown | encodeZero, 64, false, 11.9375, 0},
		{"rate of playing, one", 8, -4, 12, roundDown | encodeZero, 80, false, 11.9375, 1},
		{"speed", 12, 0, 2048, roundDown, 520, false, 2047.5, 260},
		{"whole numbers", 10, 0, 5, encodeIntegers, 128, false, 7.9921875, 1},
		{"zero between bounds that miss it", 10, -64, 64, encodeZero, 1023, true, 64, 64},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := NewQuantizer(test.bits, test.low, test.high, test.flags)
			if got := q.flags&encodeZero != 0; got != test.zeroBit {
				t.Errorf("a bit for zero: %t", got)
			}
			for step, want := range map[uint64]float32{1<<test.bits - 1: test.wantLast, test.step: test.wantSelected} {
				var w demtest.Bits
				if test.zeroBit {
					w.Bool(false)
				}
				w.Bits(step, test.bits)
				r := bits.New(w.Bytes())
				if got := q.read(&r); got != want {
					t.Errorf("step %d is %.9g, want %.9g", step, got, want)
				}
			}
		})
	}
}

// TestQuantizedBounds: a bound or a zero that no step hits has a bit of its own.
func TestQuantizedBounds(t *testing.T) {
	for name, test := range map[string]struct {
		bits      int
		low, high float32
		flags     int
		want      float32
	}{
		"the upper bound": {5, 16.125, 140.625, roundUp, 140.625},
		"zero":            {10, -64, 64, encodeZero, 0},
	} {
		q := NewQuantizer(test.bits, test.low, test.high, test.flags)
		var w demtest.Bits
		w.Bool(true)
		w.Bool(false)
		w.Bits(0, test.bits)
		r := bits.New(w.Bytes())
		if got := q.read(&r); got != test.want {
			t.Errorf("%s by its bit is %v", name, got)
		}
		if got := q.read(&r); got == test.want || got != q.Low {
			t.Errorf("%s: the lowest step is %v, want %v", name, got, q.Low)
		}
	}
}
