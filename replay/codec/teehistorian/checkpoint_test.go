package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/teehistorian"
)

// rest reads all events from a start on. read is how many bytes of the file were read.
func rest(t *testing.T, data []byte, o codec.Options) (events []byte, count int, read int64) {
	t.Helper()
	r, n := codectest.OpenCounted(t, teehistorian.Codec, data, o)
	events, marks, err := codectest.Read(t, r, 512)
	if !errors.Is(err, io.EOF) && !errors.Is(err, decoders.ErrMore) {
		t.Fatal(err)
	}
	return events, len(marks), *n
}

// TestCheckpoints checks that a start in the middle yields the same events with checkpoints as without, and reads less.
func TestCheckpoints(t *testing.T) {
	path := decodertest.Shared(t, "corpus", "teehistorian", "ddnet-16.4")
	data, err := os.ReadFile(filepath.Join(path, "1ef1b84f-e194-4af4-944e-9573abe74f92.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	_, points := codectest.Checkpoints(teehistorian.Codec)
	rest(t, data, codec.Options{Checkpoints: points})
	tick := int32(17000)
	for name, start := range map[string]codec.Start{
		"tick":     {Tick: &tick},
		"position": {Position: decoders.Position{Offset: 6_000_000}},
		"now":      {Now: true},
	} {
		want, n, all := rest(t, data, codec.Options{Start: start})
		got, m, some := rest(t, data, codec.Options{Start: start, Checkpoints: points})
		if !bytes.Equal(got, want) || n != m {
			t.Errorf("%s: %d events with checkpoints, %d without", name, m, n)
		}
		if some > all/2 {
			t.Errorf("%s: read %d bytes with checkpoints, %d without", name, some, all)
		}
	}
}
