//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// TestDecode: each task counts events of a sample, and fails at another format's.
func TestDecode(t *testing.T) {
	samples := filepath.Join("..", "..", "testdata")
	recording := filepath.Join(samples, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	for task, path := range map[string]string{
		"teehistorian": recording,
		"map":          filepath.Join(samples, "datafile", "sample.map"),
		"map-all":      filepath.Join(samples, "datafile", "sample.map"),
		"sc2":          filepath.Join(samples, "sc2replay", "battle.SC2Replay"),
		"dem":          filepath.Join(samples, "dem", "teamfight.dem"),
		"dem-heroes":   filepath.Join(samples, "dem", "teamfight.dem"),
	} {
		if n, err := decode(task, read(path)); n == 0 || err != nil {
			t.Error(task, n, err)
		}
		if n, err := decode(task, []byte("neither")); err == nil {
			t.Error(task, n, "without an error")
		}
	}
	d := teehistorian.New(bytes.NewReader(read(recording)), teehistorian.Options{})
	want, err := all(d.Next)
	if n, _ := decode("teehistorian", read(recording)); n != want || err != nil {
		t.Errorf("%d events in batches, %d one by one, %v", n, want, err)
	}
	if long := lengthen(read(recording), 1<<20); len(long) < 1<<20 {
		t.Error(len(long))
	}
}
