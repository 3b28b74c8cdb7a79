package dem_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// files calls f for the sample, and for some demos of the corpus if it is present.
func files(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	t.Run("sample", func(t *testing.T) { f(t, demtest.Sample()) })
	for _, name := range []string{"demofile-net/14160.dem", "demofile-net/deadlock_hltv_10423.dem", "haste/auto-20240102-2233-start-____.dem"} {
		t.Run(name, func(t *testing.T) {
			data := decodertest.Read(t, "corpus", "dem", filepath.FromSlash(name))
			f(t, data)
		})
	}
}

func open(tb testing.TB, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	return codectest.Open(tb, encoder.Codec, data, o)
}

// stream holds the events that were read, each by itself and with the names that it refers to inserted.
type stream struct {
	events []string // deterministic wire bytes of the event, and its names
	list   []*demv1.Event
	names  [][]string
	marks  []codec.Mark
}

// read reads all events in batches.
func read(tb testing.TB, r codec.Reader, batch int) (s stream, err error) {
	tb.Helper()
	if err := codectest.Seek(r); err != nil {
		return s, err
	}
	return drain(tb, r, batch)
}

// drain is like read, for a reader that is already at its start.
func drain(tb testing.TB, r codec.Reader, batch int) (s stream, err error) {
	tb.Helper()
	b := codec.Batch{MaxEvents: batch, MaxBytes: 128 << 10, KeepMarks: true}
	for {
		err := r.Fill(&b)
		var list demv1.EventList
		if err := proto.Unmarshal(append(bytes.Clone(b.Events), b.Tail...), &list); err != nil {
			tb.Fatal(err)
		}
		if len(list.GetEvents()) != b.Count || len(b.Marks) != b.Count || b.Count > batch {
			tb.Fatalf("a batch of %d has %d events, counts %d and marks %d", batch, len(list.GetEvents()), b.Count, len(b.Marks))
		}
		used := map[uint32]bool{}
		for _, ev := range list.GetEvents() {
			s.events = append(s.events, resolve(tb, ev, list.GetStrings(), used))
			s.list = append(s.list, ev)
			s.names = append(s.names, list.GetStrings())
		}
		if len(used) != len(list.GetStrings()) {
			tb.Fatalf("a batch has %d names and uses %d", len(list.GetStrings()), len(used))
		}
		s.marks = append(s.marks, b.Marks...)
		b.Reset()
		if errors.Is(err, codec.ErrDone) {
			err = io.EOF
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return s, err
		}
	}
}

// resolve returns an event in a form that does not depend on its batch.
func resolve(tb testing.TB, ev *demv1.Event, names []string, used map[uint32]bool) string {
	tb.Helper()
	ev = proto.Clone(ev).(*demv1.Event)
	var text strings.Builder
	name := func(i *uint32) {
		if int(*i) >= len(names) {
			tb.Fatalf("name %d of %d", *i, len(names))
		}
		used[*i] = true
		text.WriteString(names[*i] + "\n")
		*i = 0
	}
	fields := func(list []*demv1.FieldValue) {
		for _, f := range list {
			name(&f.Field)
		}
	}
	switch e := ev.GetKind().(type) {
	case *demv1.Event_EntityUpdated:
		name(&e.EntityUpdated.Class)
		fields(e.EntityUpdated.GetFields())
	case *demv1.Event_EntityCreated:
		name(&e.EntityCreated.Class)
		fields(e.EntityCreated.GetFields())
	case *demv1.Event_EntityEntered:
		name(&e.EntityEntered.Class)
		fields(e.EntityEntered.GetFields())
	case *demv1.Event_SampleEntity:
		name(&e.SampleEntity.Class)
		fields(e.SampleEntity.GetFields())
	case *demv1.Event_EntityLeft:
		name(&e.EntityLeft.Class)
	case *demv1.Event_EntityDeleted:
		name(&e.EntityDeleted.Class)
	case *demv1.Event_Fault:
		if e.Fault.Class != nil {
			name(e.Fault.Class)
		}
		if e.Fault.Field != nil {
			name(e.Fault.Field)
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(ev)
	if err != nil {
		tb.Fatal(err)
	}
	return text.String() + string(b)
}

// TestBatches checks that events do not depend on the batches, and are those of the decoder.
func TestBatches(t *testing.T) {
	files(t, func(t *testing.T, data []byte) {
		want, err := read(t, open(t, data, codec.Options{}), 512)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got, _ := read(t, open(t, data, codec.Options{}), 7)
		if !slices.Equal(got.events, want.events) {
			t.Errorf("in batches of 7: %d events, in batches of 512: %d", len(got.events), len(want.events))
		}
		d := dem.New(bytes.NewReader(data), dem.Options{})
		var ev dem.Event
		for i := 0; ; i++ {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				if i != len(want.list) {
					t.Errorf("the decoder has %d events, the reader %d", i, len(want.list))
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			w := want.list[i]
			if w.GetAtTick() != ev.AtTick || encoder.Codec.Filters.Kinds[ev.Kind].Name != string(w.ProtoReflect().WhichOneof(w.ProtoReflect().Descriptor().Oneofs().ByName("kind")).Name()) {
				t.Fatalf("event %d is %v of tick %d, the decoder has %v of tick %d", i, w, w.GetAtTick(), ev.Kind, ev.AtTick)
			}
			if u := w.GetEntityUpdated(); u != nil {
				names := want.names[i]
				if names[u.GetClass()] != d.Name(ev.EntityUpdated.Class) || len(u.GetFields()) != len(ev.EntityUpdated.Fields) {
					t.Fatalf("event %d is %v", i, u)
				}
				for j, f := range u.GetFields() {
					if names[f.GetField()] != d.Name(ev.EntityUpdated.Fields[j].Field) {
						t.Fatalf("event %d: field %s, not %s", i, names[f.GetField()], d.Name(ev.EntityUpdated.Fields[j].Field))
					}
				}
			}
		}
	})
}

// TestResume starts at positions and ticks, and expects exactly the rest.
func TestResume(t *testing.T) {
	files(t, func(t *testing.T, data []byte) {
		all, end := read(t, open(t, data, codec.Options{}), 512)
		random := rand.New(rand.NewPCG(uint64(len(data)), 0))
		for range 5 {
			i := random.IntN(len(all.marks))
			r := open(t, data, codec.Options{Start: codec.Start{Position: all.marks[i].Next}})
			rest, err := read(t, r, 1+random.IntN(700))
			if !errors.Is(err, end) || !slices.Equal(rest.events, all.events[i+1:]) {
				t.Fatalf("resumed after event %d at %+v: %d events, not %d; %v", i, all.marks[i].Next, len(rest.events), len(all.events)-i-1, err)
			}
		}
		// At the very end, too.
		rest, err := read(t, open(t, data, codec.Options{Start: codec.Start{Position: all.marks[len(all.marks)-1].Next}}), 100)
		if len(rest.events) > 0 || !errors.Is(err, io.EOF) {
			t.Errorf("after the last event: %d events, %v", len(rest.events), err)
		}
		last := all.marks[len(all.marks)-1].Tick
		for range 3 {
			tick := random.Int32N(last + 1)
			first := len(all.marks)
			for i, m := range all.marks {
				if m.Tick >= tick {
					first = i
					break
				}
			}
			r := open(t, data, codec.Options{Start: codec.Start{Tick: &tick}})
			rest, err := read(t, r, 100)
			if !errors.Is(err, end) || !slices.Equal(rest.events, all.events[first:]) {
				t.Fatalf("from tick %d: %d events, not %d, %v", tick, len(rest.events), len(all.events)-first, err)
			}
		}
		tick := last + 1
		if rest, err := read(t, open(t, data, codec.Options{Start: codec.Start{Tick: &tick}}), 100); len(rest.events) > 0 || !errors.Is(err, io.EOF) {
			t.Errorf("beyond the last tick: %d events, %v", len(rest.events), err)
		}
	})
}

// TestHeld checks that an event already decoded by Seek counts as not delivered.
func TestHeld(t *testing.T) {
	data := demtest.Sample()
	all, _ := read(t, open(t, data, codec.Options{}), 512)
	tick := int32(4)
	r := open(t, data, codec.Options{Start: codec.Start{Tick: &tick}})
	if err := r.Seek(); err != nil {
		t.Fatal(err)
	}
	at := r.Position()
	want, _ := read(t, r, 512)
	got, _ := read(t, open(t, data, codec.Options{Start: codec.Start{Position: at}}), 512)
	if len(want.events) == 0 || len(want.events) == len(all.events) || !slices.Equal(got.events, want.events) {
		t.Errorf("from %+v: %d events, want %d", at, len(got.events), len(want.events))
	}
}

// TestClientTicks tests a client's recording. Its sign-on part has ticks of the server, which are larger than those of the
// packets that follow. It is nevertheless before all ticks.
func TestClientTicks(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, 53211, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, 53211, demtest.PackMessages(demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 53211)}))
	d.Record(demtest.CmdSyncTick, 53211, nil)
	d.Record(demtest.CmdConsoleCmd, 0, demtest.Proto(nil).Text(1, "echo"))
	for tick := range int32(10) {
		d.Packet(tick, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 53211+int64(tick))})
	}
	d.Record(demtest.CmdStop, 9, nil)
	d.Record(demtest.CmdFileInfo, 9, demtest.Proto(nil).Varint(2, 9))
	ticksOf := func(o codec.Options) (out []int32) {
		s, err := read(t, open(t, d.Bytes(), o), 512)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for i, ev := range s.list {
			if s.marks[i].Tick != ev.GetAtTick() {
				t.Errorf("%v is marked with tick %d", ev, s.marks[i].Tick)
			}
			if ev.GetTick() != nil {
				out = append(out, ev.GetAtTick())
			}
		}
		return out
	}
	between := func(low, high *int32) *filter.Filter {
		f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Min: low, Max: high}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	two, four := int32(2), int32(4)
	for _, test := range []struct {
		name string
		o    codec.Options
		want []int32
	}{
		{"all", codec.Options{}, []int32{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"range", codec.Options{Filter: between(&two, &four)}, []int32{2, 3, 4}},
		{"up to a tick", codec.Options{Filter: between(nil, &two)}, []int32{-1, 0, 1, 2}},
		{"from a tick", codec.Options{Start: codec.Start{Tick: &four}}, []int32{4, 5, 6, 7, 8, 9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ticksOf(test.o); !slices.Equal(got, test.want) {
				t.Errorf("ticks %d, want %d", got, test.want)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	r := open(t, demtest.Sample(), codec.Options{})
	_, _ = read(t, r, 512)
	var end replaydv1.StreamEnd
	r.Summarize(&end)
	if s := end.GetDem(); s.GetEntityMismatches() != 1 || s.GetFaults() != 2 || s.GetEntityUpdates() < 10 {
		t.Errorf("%v", s)
	}
}

func TestDescribe(t *testing.T) {
	var r replaydv1.Replay
	data := demtest.Sample()
	counted := &counter{ReaderAt: bytes.NewReader(data)}
	if err := encoder.Codec.Describe(context.Background(), source.Input{At: counted, Size: int64(len(data))}, &r); err != nil {
		t.Fatal(err)
	}
	if r.GetMapName() != "dota" || r.GetTicksPerSecond() != 30 || r.GetLastTick() != 10 || len(r.GetPlayers()) != 2 ||
		r.GetPlayers()[0].GetResult() != replaydv1.PlayerResult_PLAYER_RESULT_WIN || r.GetPlayers()[1].GetResult() != replaydv1.PlayerResult_PLAYER_RESULT_LOSS || r.GetPlayers()[0].GetCharacter() != "npc_dota_hero_axe" ||
		r.GetStartTime().AsTime().Unix() != 1699999999 || !strings.HasPrefix(r.GetIdentity(), "dem:sha256:") {
		t.Errorf("%v", &r)
	}
	if h := r.GetDem(); h.GetFileHeader().GetGame() != "dota" || h.GetFileInfo().GetMatch().GetId() != 7000000001 || len(h.GetFileInfo().GetMatch().GetDraft()) != 2 {
		t.Errorf("header %v", h)
	}
	if counted.n > 8 {
		t.Errorf("%d reads", counted.n)
	}
	// The identity stays the same while a file grows.
	growing := bytes.Clone(data[:2000])
	copy(growing[8:16], make([]byte, 8))
	var before replaydv1.Replay
	if err := encoder.Codec.Describe(context.Background(), source.Input{Front: bytes.NewReader(growing), Size: -1}, &before); err != nil {
		t.Fatal(err)
	}
	if before.GetIdentity() != r.GetIdentity() || before.LastTick != nil {
		t.Errorf("%v", &before)
	}
	for name, test := range map[string]struct {
		data string
		kind error
	}{
		"empty": {"", decoders.ErrTruncated}, "source 1": {"PBUFDEM\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", decoders.ErrUnsupported},
		"no header": {"PBDEMS2\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01x", decoders.ErrCorrupt},
	} {
		in := source.Input{Front: strings.NewReader(test.data), Size: -1}
		if err := encoder.Codec.Describe(context.Background(), in, new(replaydv1.Replay)); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type counter struct {
	io.ReaderAt
	n int
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.n++
	return c.ReaderAt.ReadAt(p, off)
}

// TestNow starts at the present end of a file that grows.
func TestNow(t *testing.T) {
	data := demtest.Sample()
	all, _ := read(t, open(t, data, codec.Options{}), 512)
	// The place at which the events of tick 6 begin.
	first := slices.IndexFunc(all.marks, func(m codec.Mark) bool { return m.Tick == 6 })
	src := &front{data: data, there: int(all.marks[first].Next.Offset)}
	r, err := encoder.Codec.Open(source.Input{Front: src, Size: -1}, codec.Options{State: true, Start: codec.Start{Now: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	if err := r.Seek(); err != nil {
		t.Fatal(err)
	}
	at := r.Position()
	b := codec.Batch{MaxEvents: 512, MaxBytes: 1 << 20}
	for err := error(nil); !errors.Is(err, io.EOF); {
		if err = r.(codec.Presenter).Present(&b); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, codec.ErrYield) {
			t.Fatal(err)
		}
	}
	var state demv1.EventList
	if err := proto.Unmarshal(append(b.Events, b.Tail...), &state); err != nil || len(state.GetEvents()) != 3 {
		t.Fatal(err, &state)
	}
	src.there = len(data)
	rest, err := drain(t, r, 2)
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	// First the state of the three entities. One of them is out of view.
	for i, ev := range state.GetEvents() {
		e := ev.GetEntityEntered()
		if !e.GetFull() || e.GetIndex() != []uint32{0, 3, 9}[i] || ev.GetAtTick() != 4 || r.Position().Before(at) ||
			e.GetOutOfView() != (i == 1) || len(e.GetFields()) < 2 {
			t.Errorf("event %d is %v", i, ev)
		}
	}
	if !slices.Equal(rest.events, all.events[first:]) {
		t.Errorf("then %d events, want %d", len(rest.events), len(all.events)-first)
	}
}

type front struct {
	data        []byte
	read, there int
}

func (f *front) Read(p []byte) (int, error) {
	n := copy(p, f.data[f.read:f.there])
	f.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestFillDoesNotAllocate checks that events need no allocation once a reader knows the fields and its batch has grown.
func TestFillDoesNotAllocate(t *testing.T) {
	data := decodertest.Read(t, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem")
	long, err := demtest.Repeat(data, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA*"}, Fields: []string{"*m_vec*"}}}, {Kinds: []string{"combat_log", "tick"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*filter.Filter{"all": nil, "filtered": f} {
		r := open(t, long, codec.Options{Filter: f})
		b := codec.Batch{MaxEvents: 512, MaxBytes: 128 << 10, KeepMarks: true}
		events := 0
		fill := func(offset int64) {
			for r.Position().Offset < offset {
				b.Reset()
				if err := r.Fill(&b); err != nil && !errors.Is(err, codec.ErrYield) {
					t.Fatal(err)
				}
				events += b.Count
			}
		}
		fill(int64(len(long)) / 2)
		events = 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fill(int64(len(long)) * 9 / 10)
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n > uint64(events/100) {
			t.Errorf("%s: %d allocations for %d events", name, n, events)
		}
	}
}

// TestHealth checks that the start and the end of a stream list the unknown types, and the end their effects, with any filter.
func TestHealth(t *testing.T) {
	data := demtest.World(true)
	var first *demv1.Summary
	for _, test := range []struct {
		name     string
		includes []*replaydv1.EventFilter
		entities bool
	}{
		{"all", nil, true},
		{"faults", []*replaydv1.EventFilter{{Kinds: []string{"fault"}}}, false},
		{"another class", []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Classes: []string{"CWeapon"}}}}, true},
		{"a field", []*replaydv1.EventFilter{{Kinds: []string{"entity_updated"}, Dem: &replaydv1.DemFilter{Fields: []string{"m_iHealth"}}}}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := filter.Compile(&encoder.Codec.Filters, test.includes, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, data, codec.Options{Filter: f})
			var replay replaydv1.Replay
			if err := r.Header(&replay); err != nil {
				t.Fatal(err)
			}
			got, err := read(t, r, 100)
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			var end replaydv1.StreamEnd
			r.Summarize(&end)
			s := end.GetDem()
			strange := slices.IndexFunc(s.GetUnknownTypes(), func(u *demv1.UnknownType) bool { return u.GetName() == "Strange_t" })
			if strange < 0 || s.GetUnknownTypes()[strange].GetReadAs() != "" {
				t.Errorf("types at the end: %v", s.GetUnknownTypes())
			}
			if known := replay.GetDem().GetUnknownTypes(); test.entities && !slices.ContainsFunc(known, func(u *demv1.UnknownType) bool {
				return u.GetName() == "Strange_t" && u.GetReadAs() == ""
			}) {
				t.Errorf("types at the beginning: %v", known)
			}
			if first == nil {
				first = s
			}
			if len(s.GetClassFaults()) != 1 || s.GetClassFaults()[0].GetClass() != "CCSPlayerPawn" || s.GetFaults() == 0 ||
				s.GetFaults() != first.GetFaults() || s.GetFieldsLost() != first.GetFieldsLost() || s.GetFieldsLost() == 0 {
				t.Errorf("%v", s)
			}
			faults := int64(0)
			for _, ev := range got.list {
				if ev.GetFault() != nil {
					faults++
				}
			}
			if (test.name == "all" || test.name == "faults") != (faults == s.GetFaults()) {
				t.Errorf("%d faults of %d", faults, s.GetFaults())
			}
		})
	}
}
