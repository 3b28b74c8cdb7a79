package dem_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestTicksPerSecond: the server tells the speed, which a decoder that begins at a snapshot knows, too.
func TestTicksPerSecond(t *testing.T) {
	data := demtest.Round()
	d := dem.New(bytes.NewReader(data), dem.Options{})
	if got := d.TicksPerSecond(); got != 30 {
		t.Errorf("%v before the server told it, want Dota 2's 30", got)
	}
	if _ = run(d, func(*dem.Event) {}); d.TicksPerSecond() != 64 {
		t.Errorf("%v, want 64", d.TicksPerSecond())
	}
	all := snapshots(data, nil, 1)
	if got := dem.Resume(bytes.NewReader(nil), dem.Options{}, all[len(all)-1]).TicksPerSecond(); got != 64 {
		t.Errorf("%v behind a snapshot, want 64", got)
	}
}
