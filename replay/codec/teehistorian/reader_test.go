package teehistorian_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// corpus calls f for every file of the corpus.
func corpus(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	root := decodertest.Shared(t, "corpus", "teehistorian")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".teehistorian" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.Run(strings.TrimPrefix(path, root+string(filepath.Separator)), func(t *testing.T) { f(t, data) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// open returns a reader of data that has read the header.
func open(tb testing.TB, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	return codectest.Open(tb, encoder.Codec, data, o)
}

// TestLeave: readers that are left give the windows of their decoders to later ones.
func TestLeave(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which drops what was left
	var data bytes.Buffer
	if _, err := teehistorian.NewWriter(&data, []byte(`{"version":"2","game_uuid":"a8a5b1f2-0c4e-3d6f-9a41-2f1d8a6e5b3c"}`)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200 {
		open(t, data.Bytes(), codec.Options{}).(codec.Leaver).Leave()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 200; n > 60<<10 { // the race detector makes a pool lose a quarter
		t.Errorf("a reader takes %d bytes", n)
	}
}

func TestResume(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		events, marks, end := codectest.Read(t, open(t, data, codec.Options{}), 512)
		if !errors.Is(end, io.EOF) && !errors.Is(end, decoders.ErrMore) {
			t.Fatal(end)
		}
		if len(data) < 1<<20 { // as messages, the largest file's would take most of the test's time
			var list teehistorianv1.EventList
			if err := proto.Unmarshal(events, &list); err != nil || len(list.GetEvents()) != len(marks) {
				t.Fatalf("%d events of %d, %v", len(list.GetEvents()), len(marks), err)
			}
		}
		random := rand.New(rand.NewPCG(uint64(len(data)), 0))
		step := 1 + len(marks)*len(marks)/300_000 // a few of the largest file's, all of a small one's
		for i := random.IntN(step); i < len(marks); i += 1 + random.IntN(2*step-1) {
			m := marks[i]
			r := open(t, data, codec.Options{Start: codec.Start{Position: m.Next}})
			rest, restMarks, err := codectest.Read(t, r, 1+random.IntN(700))
			switch {
			case !errors.Is(err, end):
				t.Fatalf("resumed after event %d at %+v: ended by %v", i, m.Next, err)
			case !bytes.Equal(rest, events[m.End:]) || len(restMarks) != len(marks)-i-1:
				t.Fatalf("resumed after event %d at %+v: not the rest", i, m.Next)
			}
		}
		last := int32(0)
		if len(marks) > 0 {
			last = marks[len(marks)-1].Tick
		}
		for range 10 {
			tick := random.Int32N(last + 2)
			from := 0
			first := len(marks)
			for i, m := range marks {
				if m.Tick >= tick {
					first = i
					break
				}
				from = m.End
			}
			r := open(t, data, codec.Options{Start: codec.Start{Tick: &tick}})
			rest, restMarks, err := codectest.Read(t, r, 100)
			if !errors.Is(err, end) || !bytes.Equal(rest, events[from:]) || len(restMarks) != len(marks)-first {
				t.Fatalf("from tick %d: %d events, not %d, ended by %v", tick, len(restMarks), len(marks)-first, err)
			}
		}
	})
}

func TestSeekTellsWhereItStops(t *testing.T) {
	data := simple(t)
	all, marks, _ := codectest.Read(t, open(t, data, codec.Options{}), 512)
	tick := int32(2)
	r := open(t, data, codec.Options{Start: codec.Start{Tick: &tick}})
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	var want codec.Mark
	for _, m := range marks {
		if m.Tick >= tick {
			break
		}
		want = m
	}
	if r.Position() != want.Next || r.Tick() != want.Tick {
		t.Errorf("stands at %+v, tick %d, not at %+v, tick %d", r.Position(), r.Tick(), want.Next, want.Tick)
	}
	// A cursor that was taken there leads to the same events.
	rest, _, _ := codectest.Read(t, open(t, data, codec.Options{Start: codec.Start{Position: r.Position()}}), 512)
	if !bytes.Equal(rest, all[want.End:]) {
		t.Error("the position leads elsewhere")
	}
	// Seek does not stop at a position inside a record.
	inside := decoders.Position{Offset: want.Next.Offset + 1}
	r = open(t, data, codec.Options{Start: codec.Start{Position: inside}})
	if err := codectest.Seek(r); err != nil || r.Position() == inside {
		t.Errorf("stands at %+v, %v", r.Position(), err)
	}
	// A position beyond the end is not reached.
	r = open(t, data, codec.Options{Start: codec.Start{Position: decoders.Position{Offset: 1 << 40}}})
	if err := codectest.Seek(r); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}

func TestFilter(t *testing.T) {
	list := func(f ...*replaydv1.EventFilter) []*replaydv1.EventFilter { return f }
	ticks := func(low, high int32) *replaydv1.TickRange { return &replaydv1.TickRange{Min: &low, Max: &high} }
	for _, test := range []struct {
		name             string
		include, exclude []*replaydv1.EventFilter
		keep             func(*teehistorianv1.Event) bool
	}{
		{"kinds", list(&replaydv1.EventFilter{Kinds: []string{"tick", "join"}}), nil, func(ev *teehistorianv1.Event) bool {
			return ev.GetTick() != nil || ev.GetJoin() != nil
		}},
		{"player", list(&replaydv1.EventFilter{Players: []int32{1}}), nil, func(ev *teehistorianv1.Event) bool {
			return ev.GetPlayerDiff().GetClientId() == 1 || ev.GetPlayerSwap().GetOtherClientId() == 1 ||
				ev.GetJoin().GetClientId() == 1 || ev.GetPlayerNew().GetClientId() == 1
		}},
		{"team", list(&replaydv1.EventFilter{Teams: []int32{7}}), nil, func(ev *teehistorianv1.Event) bool {
			return ev.GetPlayerTeam() != nil
		}},
		{"ticks", list(&replaydv1.EventFilter{Ticks: ticks(1, 2)}), nil, func(ev *teehistorianv1.Event) bool {
			return ev.GetAtTick() == 1 || ev.GetAtTick() == 2
		}},
		{"not", nil, list(&replaydv1.EventFilter{Kinds: []string{"player_diff"}}), func(ev *teehistorianv1.Event) bool {
			return ev.GetPlayerDiff() == nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := simple(t)
			all, _, _ := codectest.Read(t, open(t, data, codec.Options{}), 512)
			f, err := filter.Compile(&encoder.Codec.Filters, test.include, test.exclude)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, data, codec.Options{Filter: f})
			some, _, end := codectest.Read(t, r, 512)
			if !errors.Is(end, io.EOF) {
				t.Fatal(end)
			}
			var want, got teehistorianv1.EventList
			if err := errors.Join(proto.Unmarshal(all, &want), proto.Unmarshal(some, &got)); err != nil {
				t.Fatal(err)
			}
			total := len(want.GetEvents())
			kept := want.Events[:0]
			for _, ev := range want.GetEvents() {
				if test.keep(ev) {
					kept = append(kept, ev)
				}
			}
			want.Events = kept
			if !proto.Equal(&want, &got) {
				t.Errorf("got %v\nwant %v", &got, &want)
			}
			if test.name != "ticks" && int(r.Filtered())+len(kept) != total {
				t.Errorf("%d filtered, %d kept of %d", r.Filtered(), len(kept), total)
			}
			if test.name == "ticks" && (r.Tick() <= 2 || r.Position().Offset >= int64(len(data))) {
				t.Errorf("read on to %+v, tick %d, after the last tick that matters", r.Position(), r.Tick())
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		var r replaydv1.Replay
		if err := encoder.Codec.Describe(context.Background(), source.Input{At: bytes.NewReader(data)}, &r); err != nil {
			t.Fatal(err)
		}
		h := r.GetTeehistorian()
		if r.GetIdentity() != "teehistorian:"+h.GetGameUuid() || r.GetMapName() == "" || r.GetTicksPerSecond() != 50 ||
			r.GetStartTime().AsTime().Year() < 2017 || len(h.GetConfig()) == 0 || len(h.GetUuids()) == 0 {
			t.Errorf("%v", &r)
		}
		if size := proto.Size(&r); size > len(data) {
			t.Errorf("%d bytes of a file of %d", size, len(data))
		}
	})
	for name, data := range map[string]string{"empty": "", "half": "\x69\x9d\xb1\x7b"} {
		in := source.Input{Front: strings.NewReader(data), Size: -1}
		err := encoder.Codec.Describe(context.Background(), in, new(replaydv1.Replay))
		if !errors.Is(err, decoders.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		list := []*replaydv1.EventFilter{{Players: []int32{0, 1, 2, 3}}, {Kinds: []string{"tick", "message"}}}
		f, err := filter.Compile(&encoder.Codec.Filters, list, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]*filter.Filter{"filtered": f, "all": nil} {
			r := open(t, data, codec.Options{Filter: f})
			b := codec.Batch{MaxEvents: 512, MaxBytes: 128 << 10, KeepMarks: true}
			fill := func(offset int64) error {
				for r.Position().Offset < offset {
					b.Reset()
					if err := r.Fill(&b); err != nil && !errors.Is(err, codec.ErrYield) {
						return err
					}
				}
				return nil
			}
			// During the first part the reused memory grows: the batch, clients, names, an event's lists.
			header := r.Position().Offset
			if err := fill(header + (int64(len(data))-header)/2); err != nil {
				continue // the file is empty but for its end
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := fill(int64(len(data)))
			runtime.ReadMemStats(&after)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, decoders.ErrMore) {
				t.Error(err)
			}
			if n := after.Mallocs - before.Mallocs; n > 20 { // a client may join late, a batch be larger than any before
				t.Errorf("%s: %d allocations", name, n)
			}
		}
	})
}

func BenchmarkFill(b *testing.B) {
	path := decodertest.Shared(b, "corpus", "teehistorian", "ddnet-16.4", "1ef1b84f-e194-4af4-944e-9573abe74f92.teehistorian")
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	batch := codec.Batch{MaxEvents: 512, MaxBytes: 128 << 10}
	events := 0
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := open(b, data, codec.Options{})
		for {
			batch.Reset()
			err := r.Fill(&batch)
			events += batch.Count
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.Is(err, codec.ErrYield) {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
