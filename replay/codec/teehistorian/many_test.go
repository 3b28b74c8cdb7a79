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
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/filter"
)

// passage is what a reader did until its end.
type passage struct {
	delivered int
	events    uint32 // a checksum of what was delivered
	places    uint32 // and of its positions
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

// TestMany: a reader that decodes many events at once delivers and passes over the same as one that decodes each, with the same
// positions, and ends at the same place, whatever the filter.
func TestMany(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "teehistorian", "*", "*.teehistorian"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	paths = append(paths, filepath.Join("..", "..", "..", "cmd", "internal", "demo", "race", "race.teehistorian")) // many move at once
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := each(t, data, nil, false).tick
		facts := []string{"fact_input_stats", "fact_session", "fact_death"}
		for what, f := range map[string]struct{ with, without, facts []string }{
			"facts": {facts: facts}, "facts without inputs": {facts: facts[1:]}, "only facts": {with: facts}, "facts, no ticks": {facts: facts, without: []string{"tick"}},
			"all": {}, "moves": {with: []string{"player_diff"}}, "inputs": {with: []string{"input_diff"}}, "ticks": {with: []string{"tick"}},
			"messages": {with: []string{"message"}}, "no moves": {without: []string{"player_diff"}},
			"no inputs": {without: []string{"input_diff"}}, "neither": {without: []string{"player_diff", "input_diff"}},
		} {
			for _, ticks := range [][2]int32{{-1}, {0, last / 2}, {last / 3, last / 2}, {last / 2, last / 2}} {
				include := []*replaydv1.EventFilter{{Kinds: f.with}}
				if ticks[0] >= 0 {
					include[0].Ticks = &replaydv1.TickRange{Min: &ticks[0], Max: &ticks[1]}
				}
				if f.facts != nil {
					include = append(include, &replaydv1.EventFilter{Kinds: f.facts, Ticks: include[0].GetTicks()})
				}
				var exclude []*replaydv1.EventFilter
				if f.without != nil {
					exclude = append(exclude, &replaydv1.EventFilter{Kinds: f.without})
				}
				compiled, err := filter.Compile(&Codec.Filters, include, exclude)
				if err != nil {
					t.Fatal(err)
				}
				got, want := many(t, data, codec.Options{Filter: compiled}), each(t, data, compiled, false)
				if got != want {
					t.Errorf("%s: %s of ticks %v: %+v, want %+v", filepath.Base(path), what, ticks, got, want)
				}
				if ticks[0] < 0 {
					got, want = many(t, data, codec.Options{Filter: compiled, Where: odd{}}), each(t, data, compiled, true)
				}
				if got != want {
					t.Errorf("%s: %s, sifted: %+v, want %+v", filepath.Base(path), what, got, want)
				}
			}
		}
	}
}

// odd lets events pass whose bytes have an odd sum.
type odd struct{}

func (odd) Matcher() codec.Matcher                 { return odd{} }
func (odd) Match(c *codec.Candidate) (bool, error) { return isOdd(c.Event), nil }
func (odd) Tired() bool                            { return false }
func isOdd(event []byte) bool {
	sum := byte(0)
	for _, b := range event {
		sum += b
	}
	return sum%2 == 1
}

// many reads by the reader.
func many(t *testing.T, data []byte, o codec.Options) (p passage) {
	t.Helper()
	r := codectest.Open(t, Codec, data, o)
	for n := 1; ; n++ {
		b := codec.Batch{MaxEvents: 1 + n*n%300, MaxBytes: 1 << 20}
		err := r.Fill(&b)
		if b.Count > b.MaxEvents {
			t.Fatalf("%d events in a batch of %d", b.Count, b.MaxEvents)
		}
		p.events = crc32.Update(p.events, crc32.IEEETable, b.Events)
		p.delivered += b.Count
		p.place(codectest.Places(t, &b)...)
		if err != nil && !errors.Is(err, codec.ErrYield) {
			p.filtered, p.at, p.tick = r.Filtered(), r.Position(), r.Tick()
			return p
		}
	}
}

// each decodes event by event.
func each(t *testing.T, data []byte, f *filter.Filter, sifted bool) (p passage) {
	t.Helper()
	d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
	h, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	var ev, fact teehistorian.Event
	take := func(at decoders.Position, ev *teehistorian.Event) {
		if e := properties.Event(uint8(ev.Kind), ev.AtTick, ev); f != nil && !f.Match(&e) {
			p.filtered++
			return
		}
		teehistorian.Redact(ev, 0)
		if sifted && !isOdd(AppendEvent(nil, ev)) {
			p.filtered++
			return
		}
		p.delivered++
		p.place(at)
		p.events = crc32.Update(p.events, crc32.IEEETable, entry(ev))
	}
	fold := conclude.New(h, conclude.Options{Inputs: f.Kind(uint8(teehistorian.KindFactInputStats))})
	for {
		at := d.Position()
		err := d.Next(&ev)
		p.at, p.tick = d.Position(), d.Tick()
		if err != nil {
			return p
		}
		fold.Apply(&ev)
		take(at, &ev)
		for f.Facts() && fold.Next(&fact) {
			at.Index++
			take(at, &fact)
		}
		if f != nil && d.Tick() > f.MaxTick() {
			return p
		}
	}
}

// TestManyYields: one call passes over about as many events as it may decode.
func TestManyYields(t *testing.T) {
	data := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
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
