package decoders_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/teehistorian"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestContract checks the contract that all decoders share. It decodes a sample of each format, whole and cut in
// half.
func TestContract(t *testing.T) {
	for format, test := range map[decoders.Format]struct {
		file string
		play func(t *testing.T, data []byte, whole bool)
	}{
		decoders.Dem: {"dem/sample.dem", func(t *testing.T, data []byte, whole bool) {
			play(t, dem.New(bytes.NewReader(data), dem.Options{}), whole)
		}},
		decoders.Teehistorian: {"teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian", func(t *testing.T, data []byte, whole bool) {
			play(t, teehistorian.New(bytes.NewReader(data), teehistorian.Options{}), whole)
		}},
		decoders.Datafile: {"datafile/sample.map", func(t *testing.T, data []byte, whole bool) {
			f, err := datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
			if err != nil {
				refused(t, err, whole)
				return
			}
			play(t, f.Events(datafile.Options{}), whole)
		}},
		decoders.SC2Replay: {"sc2replay/5.0.SC2Replay", func(t *testing.T, data []byte, whole bool) {
			r, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				refused(t, err, whole)
				return
			}
			play(t, r.Events(sc2replay.Options{}), whole)
		}},
	} {
		t.Run(format.String(), func(t *testing.T) {
			data := read(t, test.file)
			if got := decoders.Sniff(data[:decoders.SniffLen]); got != format {
				t.Errorf("sniffed as %v", got)
			}
			test.play(t, data, true)
			test.play(t, data[:len(data)/2], false)
		})
	}
}

// refused checks that opening failed with a typed error, and only for a cut file.
func refused(t *testing.T, err error, whole bool) {
	t.Helper()
	if typed, ok := errors.AsType[*decoders.Error](err); whole || !ok {
		t.Errorf("opening ended with %v (%v)", err, typed)
	}
}

// play decodes a replay to its end and checks the contract.
func play[E any](t *testing.T, d decoders.Decoder[E], whole bool) {
	t.Helper()
	last, events := d.Position(), 0
	var final error
	for ev, err := range decoders.All(d) {
		if err != nil {
			if final = err; ev != nil {
				t.Error("an event and an error at once")
			}
			continue
		}
		if final != nil {
			t.Fatal("an event after an error")
		}
		if events++; events > 1<<20 {
			t.Fatal("no end")
		}
		// Each event moves the position forward.
		now := d.Position()
		if !last.Before(now) {
			t.Fatalf("event %d moves from %+v to %+v", events, last, now)
		}
		last = now
	}
	if events == 0 && whole {
		t.Error("no event")
	}
	var ev E
	again := d.Next(&ev)
	if whole {
		if final != nil || !errors.Is(again, io.EOF) || d.Close() != nil {
			t.Errorf("ended with %v, then %v, closed with %v", final, again, d.Close())
		}
		return
	}
	if _, ok := errors.AsType[*decoders.Error](final); !ok {
		t.Errorf("half of it ended with %v", final)
	}
	if err := d.Close(); err == nil || errors.Is(again, io.EOF) {
		t.Errorf("half of it: then %v, closed with %v", again, err)
	}
}

// TestAll checks that after a break the decoder continues behind the last event.
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
