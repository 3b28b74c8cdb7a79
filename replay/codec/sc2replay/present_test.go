package sc2replay_test

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/service/streamtest"
)

// told returns the events of the state at the start of a reader's delivery.
func told(tb testing.TB, r codec.Reader, batch int) []*sc2replayv1.Event {
	tb.Helper()
	if err := codectest.Seek(r); err != nil && !errors.Is(err, io.EOF) {
		tb.Fatal(err)
	}
	at, tick := r.Position(), r.Tick()
	var all sc2replayv1.EventList
	for {
		b := codec.Batch{MaxEvents: batch, MaxBytes: 256 << 10}
		err := r.(codec.Presenter).Present(&b)
		var list sc2replayv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			tb.Fatal(err)
		}
		if len(list.GetEvents()) != b.Count || b.Count > batch {
			tb.Fatalf("a batch of %d has %d events", batch, b.Count)
		}
		all.Events = append(all.Events, list.GetEvents()...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if r.Position() != at || r.Tick() != tick {
		tb.Errorf("at %+v, tick %d, and after the state at %+v, tick %d", at, tick, r.Position(), r.Tick())
	}
	return all.GetEvents()
}

// everything returns all events of a replay, their positions, and the error at the end.
func everything(tb testing.TB, data []byte) (events []*sc2replayv1.Event, starts []decoders.Position, end error) {
	tb.Helper()
	raw, marks, end := codectest.Read(tb, open(tb, data, codec.Options{}), 512)
	var list sc2replayv1.EventList
	if err := proto.Unmarshal(raw, &list); err != nil {
		tb.Fatal(err)
	}
	starts = append(starts, decoders.Position{})
	for _, m := range marks {
		starts = append(starts, m.Next)
	}
	return list.GetEvents(), starts, end
}

// states calls f with the state at each of a number of ticks, computed from the events before them.
func states(tb testing.TB, data []byte, ticks int, f func(tick int32, at decoders.Position, want []*sc2replayv1.Event)) {
	tb.Helper()
	events, starts, _ := everything(tb, data)
	random := rand.New(rand.NewPCG(uint64(len(data)), 17))
	at := []int32{-1, 0, 1}
	for range ticks {
		at = append(at, events[random.IntN(len(events))].GetAtTick()+random.Int32N(3)-1)
	}
	at = append(at, events[len(events)-1].GetAtTick()+1, 1<<31-1)
	slices.Sort(at)
	sum, i := streamtest.NewSC2State(events), 0
	for _, tick := range slices.Compact(at) {
		for ; i < len(events) && events[i].GetAtTick() < tick; i++ {
			sum.Apply(events[i])
		}
		f(tick, starts[i], sum.Events())
	}
}

// stateFiles calls f with our own replays, sound and damaged, and with some of the corpus if it is present. With CORPUS=all it
// calls f with the whole corpus.
func stateFiles(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	for _, name := range []string{
		"1.0", "1.1", "2.0", "3.0", "5.0", "archive", "battle", "beta", "between", "broken", "cut", "damaged", "future",
	} {
		t.Run(name, func(t *testing.T) { f(t, sample(t, name)) })
	}
	t.Run("corpus", func(t *testing.T) {
		root, n := decodertest.Shared(t, "corpus", "sc2replay"), 0
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if n++; n%40 != 0 && os.Getenv("CORPUS") != "all" {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			t.Run(filepath.Base(path), func(t *testing.T) { f(t, data) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestStateAtTicks checks the state at a tick, and at the position of the first event then. It must be the state of a client
// that read everything before. Of a damaged replay, that is everything that could be read.
func TestStateAtTicks(t *testing.T) {
	ticks, some := 50, 0
	if testing.Short() {
		ticks = 5
	}
	stateFiles(t, func(t *testing.T, data []byte) {
		r, err := encoder.Codec.Open(codectest.Input(data), codec.Options{})
		if err != nil || r.Header(new(replaydv1.Replay)) != nil {
			t.Skip("it has no header")
		}
		states(t, data, ticks, func(tick int32, at decoders.Position, want []*sc2replayv1.Event) {
			some += len(want)
			starts := []codec.Start{{Tick: &tick}}
			if tick%5 == 0 {
				starts = append(starts, codec.Start{Position: at})
			}
			for _, start := range starts {
				got := told(t, open(t, data, codec.Options{State: true, Start: start}), 1+int(tick&0xff))
				if slices.EqualFunc(got, want, func(a, b *sc2replayv1.Event) bool { return proto.Equal(a, b) }) {
					continue // comparing is slow
				}
				if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
					t.Errorf("at tick %d, start %+v: -want +got:\n%s", tick, start, diff)
				}
			}
		})
	})
	if some == 0 {
		t.Error("no state was sent")
	}
}

// TestStateNow checks that the state at the present end includes all events, also of a damaged replay. The damage is reported
// after it.
func TestStateNow(t *testing.T) {
	for _, name := range []string{"battle", "broken", "5.0", "3.0", "2.0", "cut", "damaged"} {
		data := sample(t, name)
		events, _, end := everything(t, data)
		sum := streamtest.NewSC2State(events)
		for _, e := range events {
			sum.Apply(e)
		}
		r := open(t, data, codec.Options{State: true, Start: codec.Start{Now: true}})
		if diff := cmp.Diff(sum.Events(), told(t, r, 3), protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if err := r.Fill(&codec.Batch{MaxEvents: 1, MaxBytes: 1}); err == nil || err.Error() != end.Error() {
			t.Errorf("%s: behind the state %v, want %v", name, err, end)
		}
	}
}

// TestStateFilter checks that conditions on players and teams restrict the state, and conditions on kinds and ticks do not.
func TestStateFilter(t *testing.T) {
	data := sample(t, "battle")
	tick := int32(900)
	all := told(t, open(t, data, codec.Options{State: true, Start: codec.Start{Tick: &tick}}), 100)
	for name, tt := range map[string]struct {
		include, exclude []*replaydv1.EventFilter
		keeps            func(e *sc2replayv1.Event) bool
	}{
		"kinds and ticks": {
			[]*replaydv1.EventFilter{{Kinds: []string{"chat"}, Ticks: &replaydv1.TickRange{Max: new(int32)}}}, nil,
			func(*sc2replayv1.Event) bool { return true },
		},
		"a player": {
			[]*replaydv1.EventFilter{{Players: []int32{1}}}, nil,
			func(e *sc2replayv1.Event) bool {
				return e.GetPlayer().GetPlayerId() == 1 || e.GetUnitState().GetUpkeepPlayerId() == 1
			},
		},
		"a team": {
			[]*replaydv1.EventFilter{{Teams: []int32{1}}}, nil,
			func(e *sc2replayv1.Event) bool { return e.GetPlayer().GetPlayerId() == 2 },
		},
		"not a player": {
			nil, []*replaydv1.EventFilter{{Players: []int32{2}}},
			func(e *sc2replayv1.Event) bool {
				return e.GetPlayer().GetPlayerId() != 2 && e.GetUnitState().GetUpkeepPlayerId() != 2
			},
		},
	} {
		_, f, err := filter.CompileWithState(&encoder.Codec.Filters, tt.include, tt.exclude)
		if err != nil {
			t.Fatal(err)
		}
		var want []*sc2replayv1.Event
		for _, e := range all {
			if tt.keeps(e) {
				want = append(want, e)
			}
		}
		got := told(t, open(t, data, codec.Options{State: true, StateFilter: f, Start: codec.Start{Tick: &tick}}), 2)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(want) == 0 {
			t.Errorf("%s: %d events; -want +got:\n%s", name, len(want), diff)
		}
	}
}
