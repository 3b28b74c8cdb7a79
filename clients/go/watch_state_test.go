package replayd_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestWatchState: a client has the state of a live game as it grows, and again after the daemon was killed.
func TestWatchState(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(samples, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "game.teehistorian"))
	if err == nil {
		_, err = file.Write(data[:len(data)/4])
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	d := &daemon{tb: t, real: newDaemon(dir, filepath.Join(t.TempDir(), "index"))}
	d.start()
	t.Cleanup(d.kill)
	d.addr = d.real.Addr
	req := &replaydv1.WatchStateRequest{Interval: durationpb.New(50 * time.Millisecond), ResolvePlayers: true}
	part, last := 1, int32(-1)
	for states, err := range d.connect().WatchState(soon(t), req) {
		if err != nil {
			t.Fatal(err)
		}
		if len(states) > 1 {
			t.Fatalf("one game has the numbers of %d", len(states))
		}
		for _, of := range states {
			if of.GetDescription().GetName() != root+"/game.teehistorian" || len(of.GetTeehistorian().GetEvents()) == 0 || of.GetTick() < last {
				t.Fatalf("after tick %d: %v", last, of)
			}
			if of.GetTick() == last {
				continue
			}
			if last = of.GetTick(); part == 3 {
				return
			}
			if _, err := file.Write(data[part*len(data)/4 : (part+1)*len(data)/4]); err != nil {
				t.Fatal(err)
			}
			part++
			d.kill()
			d.start()
		}
	}
}

// TestWatchStateRefused: an error that is not transient ends it.
func TestWatchStateRefused(t *testing.T) {
	d := &daemon{tb: t, real: newDaemon(t.TempDir(), filepath.Join(t.TempDir(), "index"))}
	d.start()
	t.Cleanup(d.kill)
	d.addr = d.real.Addr
	var failed error
	for _, err := range d.connect().WatchState(soon(t), &replaydv1.WatchStateRequest{Columns: []string{"nothing"}}) {
		failed = errors.Join(failed, err)
	}
	if failed == nil {
		t.Error("a column that nothing has is no error")
	}
}
