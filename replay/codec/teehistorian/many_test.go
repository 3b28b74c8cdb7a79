package teehistorian

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/filter"
)

// passage is what a reader did until its end.
type passage struct {
	delivered int
	places    uint32 // a checksum of the positions of what was delivered
	filtered  uint64
	at        decoders.Position
	tick      int32
}

// place adds positions to the checksum.
func (p *passage) place(at ...decoders.Position) {
	for _, at := range at {
		b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(at.Offset)), uint64(at.Index))
		p.places = crc32.Update(p.places, crc32.IEEETable, b)
	}
}

// TestMany: a reader that decodes many events at once delivers and passes over as many as one that decodes each, with the same
// positions, and ends at the same place, whatever the filter.
func TestMany(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "teehistorian", "*", "*.teehistorian"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := each(t, data, nil).tick
		for what, f := range map[string]struct{ with, without []string }{
			"all": {}, "moves": {with: []string{"player_diff"}}, "inputs": {with: []string{"input_diff"}}, "ticks": {with: []string{"tick"}},
			"messages": {with: []string{"message"}}, "no moves": {without: []string{"player_diff"}},
			"no inputs": {without: []string{"input_diff"}}, "neither": {without: []string{"player_diff", "input_diff"}},
		} {
			for _, ticks := range [][2]int32{{-1, last + 1}, {0, last / 2}, {last / 3, last / 2}, {last / 2, last / 2}} {
				include := []*replaydv1.EventFilter{{Kinds: f.with, Ticks: &replaydv1.TickRange{Min: &ticks[0], Max: &ticks[1]}}}
				var exclude []*replaydv1.EventFilter
				if f.without != nil {
					exclude = append(exclude, &replaydv1.EventFilter{Kinds: f.without})
				}
				compiled, err := filter.Compile(&Codec.Filters, include, exclude)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := many(t, data, compiled), each(t, data, compiled); got != want {
					t.Errorf("%s: %s of ticks %v: %+v, want %+v", filepath.Base(path), what, ticks, got, want)
				}
			}
		}
	}
}

// many reads by the reader.
func many(t *testing.T, data []byte, f *filter.Filter) (p passage) {
	t.Helper()
	r := codectest.Open(t, Codec, data, codec.Options{Filter: f})
	for {
		b := codec.Batch{MaxEvents: 300, MaxBytes: 1 << 20}
		err := r.Fill(&b)
		p.delivered += b.Count
		p.place(codectest.Places(t, &b)...)
		if err != nil && !errors.Is(err, codec.ErrYield) {
			p.filtered, p.at, p.tick = r.Filtered(), r.Position(), r.Tick()
			return p
		}
	}
}

// each decodes event by event.
func each(t *testing.T, data []byte, f *filter.Filter) (p passage) {
	t.Helper()
	d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
	if _, err := d.Header(); err != nil {
		t.Fatal(err)
	}
	var ev teehistorian.Event
	for {
		at := d.Position()
		err := d.Next(&ev)
		p.at, p.tick = d.Position(), d.Tick()
		if err != nil {
			return p
		}
		if e := properties.Event(uint8(ev.Kind), ev.AtTick, &ev); f == nil || f.Match(&e) {
			p.delivered++
			p.place(at)
		} else {
			p.filtered++
		}
		if f != nil && d.Tick() > f.MaxTick() {
			return p
		}
	}
}

// TestManyYields: one call passes over about as many events as it may decode.
func TestManyYields(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "teehistorian", "finished",
		"4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	long := teetest.Repeat(data, 2<<20)
	f, err := filter.Compile(&Codec.Filters, []*replaydv1.EventFilter{{Kinds: []string{"finish"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := codectest.Open(t, Codec, long, codec.Options{Filter: f})
	for range 3 {
		before := r.Filtered()
		if err := r.Fill(&codec.Batch{MaxEvents: 300, MaxBytes: 1 << 20}); !errors.Is(err, codec.ErrYield) {
			t.Fatal(err)
		}
		if n := r.Filtered() - before; n < work/2 || n > work+movesAtOnce {
			t.Errorf("one call passed over %d events of %d", n, work)
		}
	}
}
