package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	decoder "github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
)

// growing is a file that grows and is written over.
type growing struct{ data []byte }

func (g *growing) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(g.data).ReadAt(p, off)
}

// fill reads all events that are there.
func fill(t *testing.T, r codec.Reader, b *codec.Batch) {
	t.Helper()
	err := codec.ErrYield
	for errors.Is(err, codec.ErrYield) {
		err = r.Fill(b)
	}
	if !errors.Is(err, decoders.ErrMore) && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// TestZerosBeforeData follows a recording whose file system shows zeros before the data: each time it has grown, its last bytes are
// zeros, which the data replaces later. The events are those of the recording, and none is sent early.
func TestZerosBeforeData(t *testing.T) {
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	whole := teetest.Repeat(sample, 40_000)
	want, _, _ := codectest.Read(t, codectest.Open(t, teehistorian.Codec, whole, codec.Options{}), 512)
	ends := recordEnds(t, whole)
	for _, zeros := range []int{1, 2, 3, 500, 5000, len(whole)} {
		g := &growing{whole[:ends[0]]}
		r, err := teehistorian.Codec.Open(source.Input{At: g, Size: int64(ends[0])}, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Header(new(replaydv1.Replay)); err != nil {
			t.Fatal(err)
		}
		b := &codec.Batch{MaxEvents: 1 << 20, MaxBytes: 64 << 20}
		for i := 0; i < len(ends); i += 97 {
			g.data = append(bytes.Clone(whole[:ends[i]]), make([]byte, min(zeros, len(whole)-ends[i]))...)
			fill(t, r, b)
			if !bytes.HasPrefix(want, b.Events) {
				t.Fatalf("%d zeros behind %d bytes: something else was sent", zeros, ends[i])
			}
		}
		g.data = whole
		fill(t, r, b)
		if !bytes.Equal(b.Events, want) {
			t.Errorf("%d zeros: %d bytes of events, want %d", zeros, len(b.Events), len(want))
		}
	}
}

// TestGrowingDamage: damage that grows is examined once, however often the file has grown meanwhile.
func TestGrowingDamage(t *testing.T) {
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	ends := recordEnds(t, sample)
	g := &growing{bytes.Clone(sample[:ends[20]])}
	r, err := teehistorian.Codec.Open(source.Input{At: g, Size: int64(len(g.data))}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	b := &codec.Batch{MaxEvents: 1 << 20, MaxBytes: 64 << 20}
	grow := func() {
		g.data = append(g.data, bytes.Repeat([]byte{0xff}, 64)...)
		fill(t, r, b)
	}
	for range 200 {
		grow()
	}
	g.data = slices.Grow(g.data, 1<<20)
	if n := testing.AllocsPerRun(100, grow); n > 1 { // a decoder that begins again takes more
		t.Errorf("%v allocations for 64 bytes of damage", n)
	}
}

// recordEnds returns where records end, beginning with the header.
func recordEnds(t *testing.T, data []byte) (ends []int) {
	t.Helper()
	d := decoder.New(bytes.NewReader(data), decoder.Options{})
	_, err := d.Header()
	for ev := new(decoder.Event); err == nil && ev.Kind != decoder.KindFinish; err = d.Next(ev) {
		if d.Position().Index == 0 {
			ends = append(ends, int(d.Position().Offset))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return ends
}
