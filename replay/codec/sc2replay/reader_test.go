package sc2replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

func sample(tb testing.TB, name string) []byte {
	tb.Helper()
	data := decodertest.Sample(tb, "sc2replay", name+".SC2Replay")
	return data
}

// replays returns the replays for the tests: our own, and some of the corpus if it is present.
func replays(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	for _, name := range []string{"1.0", "2.0", "5.0", "beta", "future"} {
		t.Run(name, func(t *testing.T) { f(t, sample(t, name)) })
	}
	for _, name := range []string{
		"1.1.0.16561/1v1_Lost Temple_1893.SC2Replay", "4.0.0.59587/1.SC2Replay", "5.0.16.97563/spawningtool__patch_5_0_16b.SC2Replay",
	} {
		t.Run(name, func(t *testing.T) {
			data := decodertest.Read(t, "corpus", "sc2replay", name)
			f(t, data)
		})
	}
}

// open returns a reader of data that has read the header.
func open(tb testing.TB, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	return codectest.Open(tb, encoder.Codec, data, o)
}

// TestSameAsProtobuf also decodes a replay without the reader, and expects for every event the bytes that protobuf writes.
func TestSameAsProtobuf(t *testing.T) {
	replays(t, func(t *testing.T, data []byte) {
		all, marks := codectest.ReadAll(t, open(t, data, codec.Options{}), 512)
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		from := 0
		for i, m := range marks {
			if err := d.Next(&ev); err != nil {
				t.Fatal(err)
			}
			if i < 50 || i%97 == 0 {
				events.Check(t, &ev)
			}
			var list sc2replayv1.EventList
			if err := proto.Unmarshal(all[from:m.End], &list); err != nil || len(list.GetEvents()) != 1 {
				t.Fatalf("event %d: %v", i, err)
			}
			if got := list.GetEvents()[0]; got.GetAtTick() != ev.AtTick || m.Tick != ev.AtTick || m.Kind != uint8(ev.Kind) || m.Next != d.Position() {
				t.Fatalf("event %d is %v, mark %+v, want %v at %d", i, got, m, ev.Kind, ev.AtTick)
			}
			if n := m.End - from; n > codec.MaxEventBytes {
				t.Errorf("event %d has %d bytes", i, n)
			}
			from = m.End
		}
		if err := d.Next(&ev); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// TestResume starts after events all over a replay, and expects exactly the rest.
func TestResume(t *testing.T) {
	replays(t, func(t *testing.T, data []byte) { codectest.CheckResume(t, encoder.Codec, data, 8) })
}

func TestStart(t *testing.T) {
	data := sample(t, "5.0")
	all, marks := codectest.ReadAll(t, open(t, data, codec.Options{}), 512)
	tick := func(v int32) *int32 { return &v }
	for name, tt := range map[string]struct {
		start codec.Start
		from  int32 // the first tick that is delivered
	}{
		"tick -1": {codec.Start{Tick: tick(-1)}, 0}, "tick 0": {codec.Start{Tick: tick(0)}, 0},
		"tick 12": {codec.Start{Tick: tick(12)}, 12}, "tick 13": {codec.Start{Tick: tick(13)}, 20},
		"past the end": {codec.Start{Tick: tick(100_001)}, 1 << 30}, "now": {codec.Start{Now: true}, 1 << 30},
	} {
		from := 0
		for i, m := range marks {
			if m.Tick < tt.from {
				from = marks[i].End
			}
		}
		if got, _, err := codectest.Read(t, open(t, data, codec.Options{Start: tt.start}), 512); !bytes.Equal(got, all[from:]) || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(all)-from, err)
		}
	}
	r := open(t, data, codec.Options{Start: codec.Start{Position: decoders.Position{Offset: 1 << 40}}})
	if err := codectest.Seek(r); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}

// TestFilter expects the events that match a filter.
func TestFilter(t *testing.T) {
	filters := map[string][2][]*replaydv1.EventFilter{
		"kinds":       {{{Kinds: []string{"cmd", "unit_born", "chat"}}}},
		"head only":   {{{Kinds: []string{"player_info", "details"}}}},
		"a player":    {{{Players: []int32{2}}}},
		"a team":      {{{Teams: []int32{0}}}},
		"ticks":       {{{Ticks: &replaydv1.TickRange{Min: proto.Int32(10), Max: proto.Int32(310)}}}},
		"no cameras":  {nil, {{Kinds: []string{"camera_update"}}}},
		"nothing":     {nil, {{}}},
		"player ping": {{{Players: []int32{2}, Kinds: []string{"ping", "unit_died"}}}},
	}
	replays(t, func(t *testing.T, data []byte) { codectest.CheckFilters(t, encoder.Codec, data, filters) })
}

func TestDescribe(t *testing.T) {
	data := sample(t, "5.0")
	var r, header replaydv1.Replay
	if err := encoder.Codec.Describe(context.Background(), codectest.Input(data), &r); err != nil {
		t.Fatal(err)
	}
	reader, err := encoder.Codec.Open(codectest.Input(data), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Header(&header); err != nil || !proto.Equal(&r, &header) {
		t.Errorf("Describe has %v, Header %v: %v", &r, &header, err)
	}
	if r.GetMapName() != "Testbed" || r.GetLastTick() != 100_000 || r.GetDuration().AsDuration() != 4464285714285*time.Nanosecond || r.GetTicksPerSecond() != 22.4 || r.GetIdentity() == "" {
		t.Errorf("got %v", &r)
	}
	saved := time.Unix(0, (129_240_000_000_000_000-116_444_736_000_000_000)*100)
	if end := r.GetStartTime().AsTime().Add(r.GetDuration().AsDuration()); end.Sub(saved).Abs() > time.Microsecond {
		t.Errorf("it ends at %v, and was saved at %v", end, saved)
	}
	if n := len(r.GetPlayers()); n != 2 {
		t.Fatalf("%d players", n)
	}
	alice := r.GetPlayers()[0]
	if alice.GetId() != 1 || alice.GetName() != "Alice" || alice.GetCharacter() != "Terran" || alice.GetResult() != replaydv1.PlayerResult_PLAYER_RESULT_WIN {
		t.Errorf("got %v", alice)
	}
	if got := r.GetStartTime().AsTime().UTC().Format(time.DateTime); got != "2010-07-19 06:45:35" {
		t.Errorf("started %s", got)
	}
	if h := r.GetSc2Replay(); h.GetStart().GetVersion().GetBaseBuild() != 80949 || len(h.GetPlayers()) != 3 || h.GetGameMetadata().GetTitle() != "Testbed" {
		t.Errorf("header %v", h)
	}
	other := new(replaydv1.Replay)
	if err := encoder.Codec.Describe(context.Background(), codectest.Input(sample(t, "3.0")), other); err != nil || other.GetIdentity() == r.GetIdentity() {
		t.Errorf("identity %s twice: %v", other.GetIdentity(), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := encoder.Codec.Describe(ctx, codectest.Input(data), new(replaydv1.Replay)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDescribeAsStart: a description says what the start of a stream says, also where the events have to tell which table is used and
// who plays. The memory for looking at them is asked for, and is not refused in silence.
func TestDescribeAsStart(t *testing.T) {
	made := func(r *sc2test.Replay, baseBuild int) *sc2test.Replay {
		r.BaseBuild = baseBuild
		r.More = append(r.More, sc2test.Member{Name: "replay.smartcam.events", Data: make([]byte, 100<<10), Method: sc2test.Stored})
		return r
	}
	misfit := made(sc2test.Sample(80949), 99999)
	misfit.Loops = 100 // so that events come after the end
	for name, tt := range map[string]struct {
		replay   *sc2test.Replay
		match    sc2replayv1.TableMatch
		unproven bool
		players  int
		asked    bool
	}{
		"exact":  {made(sc2test.Sample(80949), 0), sc2replayv1.TableMatch_TABLE_MATCH_EXACT, false, 2, false},
		"future": {made(sc2test.Sample(80949), 99999), sc2replayv1.TableMatch_TABLE_MATCH_NEAREST, false, 2, true},
		"fitted": {made(sc2test.Sample(34784), 33000), sc2replayv1.TableMatch_TABLE_MATCH_FITTED, false, 2, true},
		"misfit": {misfit, sc2replayv1.TableMatch_TABLE_MATCH_NEAREST, true, 2, true},
		"chosen": {made(sc2test.Chosen(), 0), sc2replayv1.TableMatch_TABLE_MATCH_EXACT, false, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := tt.replay.Bytes()
			asked := int64(0)
			in := source.Input{At: bytes.NewReader(data), Size: int64(len(data)), Take: func(n int64) error {
				asked += n
				return nil
			}}
			var described, started replaydv1.Replay
			if err := encoder.Codec.Describe(t.Context(), in, &described); err != nil {
				t.Fatal(err)
			}
			reader, err := encoder.Codec.Open(in, codec.Options{})
			if err == nil {
				err = reader.Header(&started)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(&described, &started) {
				t.Errorf("described as %v\nthe start says %v", &described, &started)
			}
			info := described.GetSc2Replay().GetStart().GetDecodeInfo()
			if info.GetMatch() != tt.match || info.GetUnproven() != tt.unproven || len(described.GetPlayers()) != tt.players {
				t.Errorf("match %v, unproven %v, %d players", info.GetMatch(), info.GetUnproven(), len(described.GetPlayers()))
			}
			if asked > 0 != tt.asked {
				t.Errorf("%d bytes were asked for", asked)
			}
			refused := errors.New("refused")
			in.Take = func(int64) error { return refused }
			if err := encoder.Codec.Describe(t.Context(), in, new(replaydv1.Replay)); errors.Is(err, refused) != tt.asked {
				t.Errorf("without memory: %v", err)
			}
		})
	}
}

// TestDamage checks that a truncated replay yields its header before the error. A damaged one yields everything that can be
// read, and its end lists the missing parts.
func TestDamage(t *testing.T) {
	r := new(replaydv1.Replay)
	err := encoder.Codec.Describe(context.Background(), codectest.Input(sample(t, "cut")), r)
	if !errors.Is(err, decoders.ErrTruncated) || r.GetLastTick() != 100_000 {
		t.Errorf("cut: %v: %v", r, err)
	}
	reader := open(t, sample(t, "damaged"), codec.Options{})
	_, marks, err := codectest.Read(t, reader, 512)
	var e *decoders.Error
	if !errors.As(err, &e) || len(marks) < 30 {
		t.Errorf("damaged: %d events, %v", len(marks), err)
	}
	end := new(replaydv1.StreamEnd)
	reader.Summarize(end)
	partial := slices.ContainsFunc(end.GetSc2Replay().GetParts(), func(p *sc2replayv1.PartStatus) bool {
		return p.GetName() == "replay.game.events" && p.GetState() == sc2replayv1.PartState_PART_STATE_PARTIAL
	})
	if !partial {
		t.Errorf("end %v", end)
	}
	if err := reader.Close(); !errors.As(err, &e) {
		t.Errorf("closed with %v", err)
	}
}

func TestSecrets(t *testing.T) {
	s := sc2test.Sample(80949)
	s.More = append(s.More, sc2test.Member{Name: "replay.server.battlelobby", Data: []byte("Name#1234")})
	for _, reveal := range []bool{false, true} {
		events, _ := codectest.ReadAll(t, open(t, s.Bytes(), codec.Options{Secrets: codectest.Secrets(reveal)}), 512)
		if got := bytes.Contains(events, []byte("Name#1234")); got != reveal {
			t.Errorf("reveal %v: %v", reveal, got)
		}
	}
}

// TestNoAllocations checks that the events of streams need no allocations.
func TestNoAllocations(t *testing.T) {
	s := sc2test.Sample(80949)
	var game []sc2test.Event
	for i := range 5000 {
		e := s.Game[2+i%4]
		e.Loop = i
		game = append(game, e)
	}
	s.Game = game
	data := s.Bytes()
	b := codec.Batch{MaxEvents: 512, MaxBytes: 256 << 10}
	n := testing.AllocsPerRun(3, func() {
		r := open(t, data, codec.Options{})
		if err := codectest.Seek(r); err != nil {
			t.Fatal(err)
		}
		for {
			err := r.Fill(&b)
			b.Reset()
			if errors.Is(err, io.EOF) {
				return
			}
		}
	})
	if n > 600 { // all of them for opening
		t.Errorf("%v allocations for %d events", n, len(game))
	}
}

func BenchmarkFill(b *testing.B) {
	var files [][]byte
	size := int64(0)
	root := decodertest.Shared(b, "corpus", "sc2replay")
	for _, dir := range []string{"1.4.0.19679", "2.0.8.25604", "4.0.0.59587", "5.0.12.91115"} {
		names, _ := filepath.Glob(filepath.Join(root, dir, "*"))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			files, size = append(files, data), size+int64(len(data))
		}
	}
	for name, include := range map[string][]*replaydv1.EventFilter{
		"all": nil, "withFacts": {{}, named(factKinds()...)}, "builds": {named("fact_build_step")},
	} {
		b.Run(name, func(b *testing.B) {
			f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				for _, data := range files {
					events += fill(b, data, f)
				}
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// fill reads a replay, and returns the number of events that a filter selects.
func fill(b *testing.B, data []byte, f *filter.Filter) (events int) {
	b.Helper()
	r := open(b, data, codec.Options{Filter: f})
	if err := codectest.Seek(r); err != nil {
		b.Fatal(err)
	}
	batch := codec.Batch{MaxEvents: 512, MaxBytes: 256 << 10}
	for {
		err := r.Fill(&batch)
		events += batch.Count
		batch.Reset()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			b.Fatal(err)
		}
	}
}
