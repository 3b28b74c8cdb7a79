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
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/checkpoint"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/teehistorian"
	"github.com/replayd/replayd/service/source"
)

// countingAt counts the bytes read.
type countingAt struct {
	io.ReaderAt
	n int64
}

func (c *countingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// rest reads all events from a start on.
func rest(t *testing.T, data []byte, o codec.Options) (events []byte, count int, read int64) {
	t.Helper()
	at := &countingAt{ReaderAt: bytes.NewReader(data)}
	r, err := teehistorian.Codec.Open(source.Input{At: at, Size: int64(len(data))}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	b := codec.Batch{MaxEvents: 512, MaxBytes: 64 << 10}
	for step := r.Seek; ; {
		err := step()
		events = append(events, b.Events...)
		count += b.Count
		b.Reset()
		switch {
		case err == nil:
			step = func() error { return r.Fill(&b) }
		case errors.Is(err, codec.ErrYield):
		case errors.Is(err, io.EOF), errors.Is(err, decoders.ErrMore):
			return events, count, at.n
		default:
			t.Fatal(err)
		}
	}
}

// TestCheckpoints checks that a start in the middle yields the same events with checkpoints as without, and reads less.
func TestCheckpoints(t *testing.T) {
	path := decodertest.Shared(t, "corpus", "teehistorian", "ddnet-16.4")
	data, err := os.ReadFile(filepath.Join(path, "1ef1b84f-e194-4af4-944e-9573abe74f92.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	store := checkpoint.NewStore(16 << 20)
	points := func(identity string) codec.Checkpoints { return store.Of(identity, source.Version{}, 0) }
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
