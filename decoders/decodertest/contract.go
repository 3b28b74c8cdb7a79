package decodertest

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/replayd/replayd/decoders"
)

// Contract checks what all decoders have in common, on a whole file and on its first half. open decodes a file's events; it may
// refuse only the half.
func Contract[E any](t *testing.T, format decoders.Format, path string, open func(data []byte) (decoders.Decoder[E], error)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := decoders.Sniff(data[:decoders.SniffLen]); got != format {
		t.Errorf("sniffed as %v", got)
	}
	for _, part := range [][]byte{data, data[:len(data)/2]} {
		whole := len(part) == len(data)
		d, err := open(part)
		if err == nil {
			play(t, d, whole)
		} else if typed, ok := errors.AsType[*decoders.Error](err); whole || !ok {
			t.Errorf("opening ended with %v (%v)", err, typed)
		}
	}
}

// play decodes a replay to its end.
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
		// Positions go on with each event.
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
