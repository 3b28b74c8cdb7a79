package teehistorian_test

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestLeave: decoders that use what others have left at the same time find what those do that share nothing, and one that was left is still at
// its place.
func TestLeave(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/teehistorian/*/*.teehistorian")
	if err != nil || len(files) == 0 {
		t.Skip("there are no samples", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := transcript(t, decode(data, nil), len(data))
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			for range 3 {
				d := decode(data, nil)
				if got := transcript(t, d, len(data)); got != want {
					t.Fatal("other events")
				}
				at, sum := d.Position(), d.Sum()
				d.Leave()
				d.Leave()
				if d.Position() != at || d.Sum() != sum {
					t.Errorf("at %v, not %v", d.Position(), at)
				}
			}
		})
	}
}

// TestLeaveMemory: a decoder has no window before it reads, and then the one that another left, unless a long record made it grow.
func TestLeaveMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which drops what was left
	took := func(data []byte, read bool) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 200 {
			if d := decode(data, nil); read {
				_, _ = d.Header()
				d.Leave()
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 200
	}
	long := []byte(string(newWriter("").b[:16]) + `{"version":"2","game_uuid":"` + strings.Repeat("0", 100<<10))
	if unread := took(long, false); unread > 40<<10 {
		t.Errorf("%d bytes before it reads", unread)
	}
	if short, grown := took(long[:100], true), took(long, true); short > 40<<10 || grown < 128<<10 { // the race detector makes a pool lose a quarter
		t.Errorf("%d bytes, and %d for a long header", short, grown)
	}
}
