package dem

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/dem/broadcast"
)

var recorded = flag.String("broadcast", "", "write the recorded broadcast of Deadlock as a demo to this file, for peers.py")

// TestWriteBroadcast writes the demo of -broadcast.
func TestWriteBroadcast(t *testing.T) {
	if *recorded == "" {
		t.Skip("no -broadcast")
	}
	d, file := broadcast.Demo{Label: "recorded"}, []byte(nil)
	add := func(part int, body []byte) {
		var err error
		if file, err = d.Append(file, broadcast.Part(part), body); err != nil {
			t.Fatal(err)
		}
	}
	const last = 2
	for part, pattern := range []string{"*/start.bin", "*/full.bin", last: "*/delta.bin"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "broadcast", "deadlock_2025-02", pattern))
		if err != nil || len(names) == 0 {
			t.Skip("no recorded broadcast", err)
		}
		for i, name := range names {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if part == last && i == len(names)-1 {
				body = append(body, 0, 0, 0, 0, 0, 0) // stop: boon needs a demo with an end
			}
			add(part, body)
		}
	}
	offsets := d.Offsets()
	copy(file[broadcast.OffsetsAt:], offsets[:])
	if err := os.WriteFile(*recorded, file, 0o600); err != nil {
		t.Fatal(err)
	}
}
