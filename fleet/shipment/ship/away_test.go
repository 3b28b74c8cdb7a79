package ship_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/ship"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
)

// TestAway: a file that was away and came back is not gone; when it goes again, it is missed for as long as one that never was away.
func TestAway(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "a")
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	file := filepath.Join(dir, "a")
	write(t, file, []byte("content"))
	write(t, filepath.Join(dir, "other"), []byte("stays")) // an empty directory is one that is not there
	begin(t, conn, dir, func(o *ship.Options) { o.Absent = patience })
	arrived(t, conn, "a", int64(len("content")))
	move := func(from, to string) time.Time {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	left := move(file, away)
	time.Sleep(patience / 3) // in which the shipper notices
	move(away, file)
	back := time.Now()
	for time.Since(left) < patience+patience/5 {
		time.Sleep(patience / 20)
	}
	if m := last(t, conn, "a"); m.Kind != shipment.Bytes && back.Sub(left) < patience {
		t.Fatal("it came back, and is", m.Kind)
	}
	left = move(file, away)
	shipmenttest.Until(t, "removed", func() bool { return last(t, conn, "a").Kind == shipment.Removed })
	if m := last(t, conn, "a"); m.Time.Sub(left) < patience*9/10 {
		t.Errorf("it was given up after %v, want %v", m.Time.Sub(left), patience)
	}
}
