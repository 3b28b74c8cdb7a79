package dem_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

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
	r, read := codectest.OpenCounted(tb, encoder.Codec, data, o)
	if err := codectest.Seek(r); err != nil {
		tb.Fatal(err)
	}
	sought = *read
	s, _ := drain(tb, r, 700)
	return s.events, sought
}

// repeated is a demo of at least so many bytes, made of a real one.
func repeated(tb testing.TB, size int) []byte {
	tb.Helper()
	short := decodertest.Read(tb, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem")
	long, err := demtest.Repeat(short, size)
	if err != nil {
		tb.Fatal(err)
	}
	return long
}

// include compiles a filter.
func include(tb testing.TB, filters ...*replaydv1.EventFilter) *filter.Filter {
	tb.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, filters, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return f
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
		store, points := codectest.Checkpoints(encoder.Codec)
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

// maxBytes is the length of the batches of tests.
const maxBytes = 64 << 10

// batches returns a line for each batch from a start on: its bytes, and where the reader is behind it.
func batches(tb testing.TB, data []byte, o codec.Options, most int) (out []string, end error) {
	tb.Helper()
	r := open(tb, data, o)
	if err := codectest.Seek(r); err != nil {
		tb.Fatal(err)
	}
	b := codec.Batch{MaxEvents: most, MaxBytes: maxBytes, KeepMarks: most%2 > 0}
	for {
		err := r.Fill(&b)
		if errors.Is(err, codec.ErrYield) {
			continue
		}
		if b.Count > 0 {
			out = append(out, fmt.Sprintf("%d %x %x %x %v %x %d %d", b.Count, crc32.ChecksumIEEE(b.Events), crc32.ChecksumIEEE(b.Tail),
				crc32.ChecksumIEEE(fmt.Append(nil, codectest.Places(tb, &b), b.Marks)), r.Position(), r.Sum(), r.Tick(), r.Filtered()))
		}
		if b.Reset(); err != nil {
			var e replaydv1.StreamEnd
			r.(interface {
				Summarize(end *replaydv1.StreamEnd)
			}).Summarize(&e)
			if kept := encoder.Kept(r); kept != 0 && errors.Is(err, io.EOF) {
				tb.Errorf("%d bytes are kept though all was delivered", kept)
			}
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
	if testAhead(t, longMatch(t, 7), 2*maxBytes+3<<10) == 0 { // how often they have one depends on what else runs
		t.Error("helpers never had a processor")
	}
}

// TestCorpusAhead is TestAhead of real files, with batches that outgrow their blocks.
func TestCorpusAhead(t *testing.T) {
	if testAhead(t, repeated(t, 3<<20), maxBytes+1) == 0 {
		t.Error("helpers never had a processor")
	}
	if testing.Short() {
		return
	}
	err := filepath.WalkDir(decodertest.Shared(t, "corpus", "dem"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".dem" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			if err := dem.New(bytes.NewReader(data), dem.Options{}).Next(new(dem.Event)); err != nil {
				t.Skip(err)
			}
			t.Logf("helpers had a processor %d times", testAhead(t, data, 2*maxBytes+3<<10))
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// testAhead compares the streams of a demo. It returns how often helpers had a processor.
func testAhead(t *testing.T, data []byte, blocks int) int64 {
	t.Helper()
	defer encoder.ShortSections(blocks)()
	random := rand.New(rand.NewPCG(uint64(len(data)), 2))
	s := newStreams(t, data)
	fromTick, upTo := demtest.LastTick(data)/4, demtest.LastTick(data)/3*2
	for name, f := range map[string]*filter.Filter{
		"all":    nil,
		"heroes": include(t, &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_*"}, Fields: []string{"*m_cell*", "m_iHealth"}}}),
		"kinds":  include(t, &replaydv1.EventFilter{Kinds: []string{"combat_log", "chat", "tick"}}),
		"ticks":  include(t, &replaydv1.EventFilter{Ticks: &replaydv1.TickRange{Min: &fromTick, Max: &upTo}}),
	} {
		s.compare(t, name, codec.Options{Filter: f}, 512, func() bool { return true })
		start := codec.Start{Position: decoders.Position{Offset: int64(random.IntN(len(data)))}}
		s.compare(t, name, codec.Options{Filter: f, Start: start}, 16383, func() bool { return s.asked.Add(1)%3 == 0 })
	}
	return s.helped.Load()
}

// TestAheadKeeps: helpers stop when so much is kept as may be, with or without what lies beside blocks, and do not ask again and again.
func TestAheadKeeps(t *testing.T) {
	const blocks, most = 2*maxBytes + 3<<10, 1 << 20
	defer encoder.ShortSections(blocks)()
	defer encoder.KeepAtMost(most)()
	s := newStreams(t, repeated(t, 8<<20))
	for _, marks := range []bool{false, true} {
		var helpers sync.WaitGroup
		var steps atomic.Int64
		r := open(t, s.data, codec.Options{Checkpoints: s.points, Ahead: func(step func() bool, done func()) {
			helpers.Go(func() {
				defer done()
				for step() {
					steps.Add(1)
				}
			})
		}})
		if err := codectest.Seek(r); err != nil {
			t.Fatal(err)
		}
		b := codec.Batch{MaxEvents: 512, MaxBytes: maxBytes, KeepMarks: marks}
		reached, slack := 0, 2*blocks // what two helpers were at
		if marks {
			slack += 2 * 128 * 1024
		}
		for range 50 {
			if err := r.Fill(&b); err != nil && !errors.Is(err, codec.ErrYield) {
				t.Fatal(err)
			}
			b.Reset()
			helpers.Wait() // until they have nothing to do
			reached = max(reached, encoder.Kept(r))
		}
		if steps.Load() > 1000 {
			t.Errorf("helpers were asked %d times", steps.Load())
		}
		if reached < most || reached >= most+slack {
			t.Errorf("%d bytes are kept at most, want %d and up to %d", reached, most, slack)
		}
	}
}

// streams are streams of a demo: from its beginning, from checkpoints, and of sections that are read at once.
type streams struct {
	data          []byte
	points        func(identity string) codec.Checkpoints
	whole         []string // the batches of 512 events, without a filter
	end           error
	helped, asked atomic.Int64
}

// newStreams reads the demo once, which leaves checkpoints.
func newStreams(t *testing.T, data []byte) *streams {
	t.Helper()
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(3, procs))
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	s := &streams{data: data}
	_, s.points = codectest.Checkpoints(encoder.Codec)
	s.whole, s.end = batches(t, data, codec.Options{Checkpoints: s.points}, 512)
	return s
}

// compare compares the batches of at most so many events, byte by byte. spare says whether a helper is given a processor. It
// returns how many there are.
func (s *streams) compare(t *testing.T, name string, o codec.Options, most int, spare func() bool) int {
	t.Helper()
	want, end := s.whole, s.end
	if o.Filter != nil || o.Start != (codec.Start{}) || most != 512 {
		want, end = batches(t, s.data, o, most)
	}
	o.Checkpoints = s.points
	for _, how := range []string{"resumed", "at once"} {
		var helpers sync.WaitGroup
		if how == "at once" {
			o.Ahead = func(step func() bool, done func()) {
				helpers.Go(func() {
					defer done()
					for spare() && step() {
						s.helped.Add(1)
					}
				})
			}
		} else if o.Start == (codec.Start{}) {
			continue
		}
		got, err := batches(t, s.data, o, most)
		helpers.Wait()
		if fmt.Sprint(err) == fmt.Sprint(end) && slices.Equal(got, want) {
			continue
		}
		for k := range min(len(got), len(want)) {
			if got[k] != want[k] {
				t.Errorf("batch %d is %s, want %s", k, got[k], want[k])
				break
			}
		}
		t.Fatalf("%s, from %+v, %s: %d batches, want %d; ended by %v, want %v", name, o.Start, how, len(got), len(want), err, end)
	}
	return len(want)
}

var longAhead = flag.Int("long-ahead", 0, "compare the streams of a demo of 50 MB with so many random filters in TestLongAhead")

// TestLongAhead: whatever the filter, and wherever they start, streams of a long demo are the same from its beginning, from
// checkpoints, and read at once.
func TestLongAhead(t *testing.T) {
	if *longAhead == 0 {
		t.Skip("no -long-ahead")
	}
	s := newStreams(t, repeated(t, 50<<20))
	last := demtest.LastTick(s.data)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range *longAhead {
		var o codec.Options
		text := "everything"
		if i > 0 {
			var some []*replaydv1.EventFilter
			for range 1 + random.IntN(3) {
				some = append(some, randomFilter(random, last))
			}
			o.Filter, text = include(t, some...), fmt.Sprint(some)
		}
		whole := s.compare(t, text, o, 512, func() bool { return true })
		switch tick := random.Int32N(last); i % 3 {
		case 0:
			o.Start.Tick = &tick
		case 1:
			o.Start.Position = decoders.Position{Offset: int64(random.IntN(len(s.data)))}
		case 2:
			o.Start.Position = decoders.Position{Offset: int64(random.IntN(len(s.data))), Index: random.Int64N(1 << 40)}
		}
		n := s.compare(t, text, o, 1+random.IntN(16383), func() bool { return s.asked.Add(1)%3 > 0 })
		t.Logf("%d and %d batches are the same, of %s from %+v", whole, n, text, o.Start)
	}
	t.Logf("helpers had a processor %d times", s.helped.Load())
}

// randomFilter returns a filter for some events of a demo of Dota.
func randomFilter(random *rand.Rand, last int32) *replaydv1.EventFilter {
	pick := func(from ...string) (some []string) {
		for _, s := range from {
			if random.IntN(3) == 0 {
				some = append(some, s)
			}
		}
		return some
	}
	f := new(replaydv1.EventFilter)
	switch random.IntN(4) {
	case 0:
		f.Kinds = append(pick("combat_log", "chat", "modifier", "message", "game_event", "fault", "string_table_entry", "order"), "tick")
	case 1:
		f.Dem = &replaydv1.DemFilter{Classes: append(pick("CDOTA_Unit_Hero_*", "CDOTA_Item*", "CDOTATeam", "CDOTA_Data*"), "CDOTA_BaseNPC*")}
	case 2:
		f.Dem = &replaydv1.DemFilter{Classes: pick("CDOTA*", "*Hero*"), Fields: append(pick("*m_cell*", "m_iHealth", "m_flMana", "*m_vec*", "*m_h*"), "m_lifeState")}
	case 3:
		f.Kinds = append(pick("entity_created", "entity_deleted", "entity_left", "entity_entered"), "entity_updated")
	}
	if random.IntN(3) == 0 {
		from, to := random.Int32N(last), random.Int32N(last)
		from, to = min(from, to), max(from, to)
		f.Ticks = &replaydv1.TickRange{Min: &from, Max: &to}
	}
	return f
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
		// Without the offsets in the header, which the end of a recording changes.
		if c.Sum != decoders.Sum(0).Add(other[:8]).Add(other[16:c.Position.Offset]) {
			t.Errorf("the checkpoint at %d is of other bytes", c.Position.Offset)
		}
	}
}

// TestSectionsOfTables: batches of tables, which one reader fills, do not end with sections.
func TestSectionsOfTables(t *testing.T) {
	defer encoder.ShortSections(maxBytes)()
	set := table.NewSet(encoder.Tables.Layout(false))
	r, b := open(t, longMatch(t, 2), codec.Options{Tables: set}), codec.Batch{MaxEvents: math.MaxInt32, MaxBytes: maxBytes, Tables: set}
	var sizes []int
	for err := error(nil); !errors.Is(err, io.EOF); {
		if err = r.Fill(&b); errors.Is(err, codec.ErrYield) {
			continue
		}
		sizes = append(sizes, set.Size())
		b.Reset()
	}
	if last := len(sizes) - 1; last < 8 || slices.Min(sizes[:last]) < maxBytes {
		t.Errorf("%d batches, the shortest but the last has %d bytes of values, want %d", len(sizes), slices.Min(sizes[:last]), maxBytes)
	}
}
