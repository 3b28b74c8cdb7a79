package decoders_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data := decodertest.Sample(t, filepath.FromSlash(name))
	return data
}

// TestAll checks that breaking out of a loop leaves the decoder behind the last event.
func TestAll(t *testing.T) {
	data := read(t, "dem/sample.dem")
	var kinds, parts []dem.Kind
	for ev := range decoders.All(dem.New(bytes.NewReader(data), dem.Options{})) {
		kinds = append(kinds, ev.Kind)
	}
	d := dem.New(bytes.NewReader(data), dem.Options{})
	for range kinds {
		for ev := range decoders.All(d) {
			parts = append(parts, ev.Kind)
			break
		}
	}
	if len(kinds) < 10 || len(parts) != len(kinds) {
		t.Fatalf("%d events at once, %d one by one", len(kinds), len(parts))
	}
	for i := range kinds {
		if kinds[i] != parts[i] {
			t.Fatalf("event %d is %v, not %v", i, parts[i], kinds[i])
		}
	}
}
