package datafile

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestRepeated: a row's first tiles are counted as one by one, whatever their size.
func TestRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom([]int{2, 4, 6}).Draw(t, "stride")
		tile := rapid.SliceOfN(rapid.Byte(), stride, stride).Draw(t, "tile")
		row := bytes.Repeat(tile, rapid.IntRange(1, 20).Draw(t, "tiles"))
		if at := rapid.IntRange(0, len(row)).Draw(t, "at"); at < len(row) {
			row[at]++
		}
		want := 1
		for want < len(row)/stride && bytes.Equal(row[want*stride:][:stride], row[:stride]) {
			want++
		}
		if got := repeated(row, stride); got != want {
			t.Fatalf("%d of % x, want %d", got, row, want)
		}
	})
}
