package dem_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/checkpoint"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/codectest"
	encoder "github.com/replayd/replayd/service/codec/dem"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/source"
)

// countedAt counts the bytes read.
type countedAt struct {
	io.ReaderAt
	n int64
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// longMatch is a demo of our own making of more than n times as many bytes as lie between two checkpoints.
func longMatch(tb testing.TB, n int) []byte {
	tb.Helper()
	data, err := demtest.Repeat(demtest.Match(), n*int(encoder.Codec.Spacing))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// rest returns the events from a start on, and how many bytes were read up to there.
func rest(tb testing.TB, data []byte, o codec.Options) (events []string, sought int64) {
	tb.Helper()
	at := &countedAt{ReaderAt: bytes.NewReader(data)}
	r, err := encoder.Codec.Open(source.Input{At: at, Size: int64(len(data))}, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		tb.Fatal(err)
	}
	for err = codec.ErrYield; errors.Is(err, codec.ErrYield); {
		err = r.Seek()
	}
	if err != nil {
		tb.Fatal(err)
	}
	sought = at.n
	s, _ := drain(tb, r, 700)
	return s.events, sought
}

// TestCheckpoints: a start in the middle yields the same events with checkpoints as without, whatever the filter, and reads less.
// A filter that makes decoders skip much leaves checkpoints, too.
func TestCheckpoints(t *testing.T) {
	data := longMatch(t, 14)
	tick := demtest.LastTick(data) * 19 / 20
	filters := map[string][]*replaydv1.EventFilter{
		"all":    nil,
		"heroes": {{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_*"}, Fields: []string{"*m_cell*", "m_iHealth"}}}},
		"kinds":  {{Kinds: []string{"combat_log", "chat", "tick"}}},
	}
	starts := map[string]codec.Start{
		"tick": {Tick: &tick}, "position": {Position: decoders.Position{Offset: int64(len(data)) * 19 / 20}}, "now": {Now: true},
	}
	compiled, wants := map[string]*filter.Filter{}, map[string][]string{}
	sizes := map[string]int64{}
	for name, include := range filters {
		f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
		if err != nil {
			t.Fatal(err)
		}
		compiled[name] = f
		for of, start := range starts {
			wants[name+of], sizes[name+of] = rest(t, data, codec.Options{Filter: f, Start: start, State: of == "tick"})
			if of == "tick" && len(wants[name+of]) == 0 {
				t.Fatalf("%s: no events", name)
			}
		}
	}
	for first := range filters { // of them, the one that comes first leaves the checkpoints
		store := checkpoint.NewStore(64 << 20)
		points := func(identity string) codec.Checkpoints {
			return store.Of(identity, source.Version{}, encoder.Codec.Spacing)
		}
		tick := codec.Options{Filter: compiled[first], Start: starts["tick"], State: true, Checkpoints: points}
		if got, _ := rest(t, data, tick); !slices.Equal(got, wants[first+"tick"]) {
			t.Fatalf("%s leaves checkpoints: %d events, want %d", first, len(got), len(wants[first+"tick"]))
		}
		for name, f := range compiled {
			for of, start := range starts {
				got, some := rest(t, data, codec.Options{Filter: f, Start: start, State: of == "tick", Checkpoints: points})
				if !slices.Equal(got, wants[name+of]) || some > sizes[name+of]/2 {
					t.Errorf("behind %s, %s, %s: %d events with checkpoints, %d without; read %d bytes and %d",
						first, name, of, len(got), len(wants[name+of]), some, sizes[name+of])
				}
			}
		}
		if store.Bytes() == 0 || store.Bytes() > 8<<20 {
			t.Errorf("%s left checkpoints of %d bytes", first, store.Bytes())
		}
		var identity replaydv1.Replay
		_ = open(t, data, codec.Options{}).Header(&identity)
		c, _ := points(identity.GetIdentity()).After(0)
		at := codec.Options{Filter: compiled[first], Start: codec.Start{Tick: &c.Tick}} // records before it may have its tick
		want, _ := rest(t, data, at)
		at.Checkpoints = points
		if got, _ := rest(t, data, at); !slices.Equal(got, want) {
			t.Errorf("%s from the tick of a checkpoint: %d events, want %d", first, len(got), len(want))
		}
		if points(identity.GetIdentity()).Drop(); store.Bytes() != 0 {
			t.Errorf("%d bytes are left without a checkpoint", store.Bytes())
		}
	}
}

// batches returns a line for each batch from a start on: its bytes, and where the reader is behind it.
func batches(tb testing.TB, data []byte, o codec.Options, most int) (out []string, end error) {
	tb.Helper()
	r := open(tb, data, o)
	if err := codectest.Seek(r); err != nil {
		tb.Fatal(err)
	}
	b := codec.Batch{MaxEvents: most, MaxBytes: 64 << 10, KeepPositions: true, KeepMarks: most%2 > 0}
	for {
		err := r.Fill(&b)
		if errors.Is(err, codec.ErrYield) {
			continue
		}
		if b.Count > 0 {
			out = append(out, fmt.Sprintf("%d %x %x %x %v %x %d %d", b.Count, crc32.ChecksumIEEE(b.Events), crc32.ChecksumIEEE(b.Tail),
				crc32.ChecksumIEEE(fmt.Append(nil, b.Positions, b.Marks)), r.Position(), r.Sum(), r.Tick(), r.Filtered()))
		}
		if b.Reset(); err != nil {
			var e replaydv1.StreamEnd
			r.(interface {
				Summarize(end *replaydv1.StreamEnd)
			}).Summarize(&e)
			if o.Filter == nil { // otherwise it is counted what was decoded for the checkpoints
				out = append(out, e.GetDem().String())
			}
			return append(out, fmt.Sprint(r.Position(), r.Sum(), r.Tick(), r.Filtered())), err
		}
	}
}

// TestAhead: what is read at once is the same, batch by batch, as what one reader reads, whatever the filter, wherever it begins,
// and however seldom there is a processor to spare.
func TestAhead(t *testing.T) {
	data := longMatch(t, 7)
	testAhead(t, data)
}

// TestCorpusAhead is TestAhead of a real file.
func TestCorpusAhead(t *testing.T) {
	short, err := os.ReadFile(decodertest.Shared(t, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := demtest.Repeat(short, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	testAhead(t, data)
}

func testAhead(t *testing.T, data []byte) {
	t.Helper()
	defer encoder.ShortSections()()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(3, runtime.GOMAXPROCS(0))))
	store := checkpoint.NewStore(64 << 20)
	points := func(identity string) codec.Checkpoints {
		return store.Of(identity, source.Version{}, encoder.Codec.Spacing)
	}
	whole, wholeEnd := batches(t, data, codec.Options{Checkpoints: points}, 512) // leaves the checkpoints
	random := rand.New(rand.NewPCG(uint64(len(data)), 2))
	var helped, asked atomic.Int64
	fromTick, upTo := demtest.LastTick(data)/4, demtest.LastTick(data)/3*2
	for name, include := range map[string][]*replaydv1.EventFilter{
		"all":    nil,
		"heroes": {{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_*"}, Fields: []string{"*m_cell*", "m_iHealth"}}}},
		"kinds":  {{Kinds: []string{"combat_log", "chat", "tick"}}},
		"ticks":  {{Ticks: &replaydv1.TickRange{Min: &fromTick, Max: &upTo}}},
	} {
		f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, most := range []int{512, 16383} {
			o := codec.Options{Filter: f}
			spare := func() bool { return true }
			if i > 0 {
				o.Start.Position.Offset = int64(random.IntN(len(data)))
				spare = func() bool { return asked.Add(1)%3 == 0 }
			}
			want, end := whole, wholeEnd
			if name != "all" || i > 0 {
				want, end = batches(t, data, o, most)
			}
			o.Checkpoints = points
			var helpers sync.WaitGroup
			o.Ahead = func(step func() bool, done func()) {
				helpers.Go(func() {
					defer done()
					for spare() && step() {
						helped.Add(1)
					}
				})
			}
			got, err := batches(t, data, o, most)
			helpers.Wait()
			if fmt.Sprint(err) != fmt.Sprint(end) || !slices.Equal(got, want) {
				for k := range min(len(got), len(want)) {
					if got[k] != want[k] {
						t.Errorf("batch %d is %s, want %s", k, got[k], want[k])
						break
					}
				}
				t.Fatalf("%s, from %d: %d batches, want %d; ended by %v, want %v", name, o.Start.Position.Offset, len(got), len(want), err, end)
			}
		}
	}
	if helped.Load() < 50 {
		t.Errorf("helpers had a processor %d times", helped.Load())
	}
}

// TestCheckpointsOfAnotherFile: checkpoints of a file that was changed before them are not used.
func TestCheckpointsOfAnotherFile(t *testing.T) {
	data := longMatch(t, 3)
	store := checkpoint.NewStore(64 << 20)
	version := int64(0)
	points := func(identity string) codec.Checkpoints {
		version++ // the file was written to
		return store.Of(identity, source.Version{Size: version}, encoder.Codec.Spacing)
	}
	tick := demtest.LastTick(data) / 2
	o := codec.Options{Start: codec.Start{Tick: &tick}, Checkpoints: points}
	want, cold := rest(t, data, o)
	if got, _ := rest(t, data, o); !slices.Equal(got, want) {
		t.Fatal("other events")
	}
	other := bytes.Clone(data)
	other[len(other)*2/5] ^= 1
	plain := o
	plain.Checkpoints = nil
	want, _ = rest(t, other, plain)
	if got, read := rest(t, other, o); !slices.Equal(got, want) || read < cold {
		t.Errorf("of the changed file %d events, want %d; read %d bytes of %d", len(got), len(want), read, len(other))
	}
	var identity replaydv1.Replay
	_ = open(t, other, codec.Options{}).Header(&identity)
	for c, ok := points(identity.GetIdentity()).After(0); ok; c, ok = points(identity.GetIdentity()).After(c.Position.Offset) {
		if c.Sum != decoders.Sum(0).Add(other[:c.Position.Offset]) {
			t.Errorf("the checkpoint at %d is of other bytes", c.Position.Offset)
		}
	}
}
