package dem_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/clients/go/dem"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
)

// sampleFiles are demos of our own making of each game.
var sampleFiles = []string{"sample.dem", "dota.dem", "cs2.dem", "deadlock.dem", "players of dota", "players of csgo", "players of citadel"}

func sampleFile(t *testing.T, name string) []byte {
	t.Helper()
	if game, ok := strings.CutPrefix(name, "players of "); ok {
		return demtest.Players(game)
	}
	data := decodertest.Sample(t, "dem", name)
	return data
}

// sampling returns the filter of samples at the multiples of a number of ticks, and of other kinds.
func sampling(t *testing.T, every int32, only *replaydv1.DemFilter, others ...string) *filter.Filter {
	t.Helper()
	include := []*replaydv1.EventFilter{{Kinds: []string{"sample_player", "sample_entity"}, Ticks: &replaydv1.TickRange{Every: &every}, Dem: only}}
	if len(others) > 0 {
		include = append(include, &replaydv1.EventFilter{Kinds: others})
	}
	f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// entity returns a sample as the event that gives a client the whole state of an entity.
func entity(s *demv1.SampleEntity) *demv1.Event {
	return &demv1.Event{Kind: &demv1.Event_EntityEntered{EntityEntered: &demv1.EntityEntered{
		Index: s.GetIndex(), Class: s.GetClass(), Serial: s.GetSerial(), Full: true, Fields: s.GetFields(), OutOfView: s.GetOutOfView(),
	}}}
}

// TestSamplesFold: samples are the states that a client has that applies all events of entities up to the tick.
func TestSamplesFold(t *testing.T) {
	for _, name := range sampleFiles {
		data := sampleFile(t, name)
		events, _ := read(t, open(t, data, codec.Options{}), 512)
		samples, _ := read(t, open(t, data, codec.Options{Filter: sampling(t, 1, nil)}), 512)
		if len(samples.list) == 0 {
			t.Fatalf("%s: no samples", name)
		}
		var state dem.EntityState
		next := 0
		for i := 0; i < len(samples.list); {
			tick, got := samples.list[i].GetAtTick(), dem.EntityState{}
			for ; i < len(samples.list) && samples.list[i].GetAtTick() == tick; i++ {
				names := samples.names[i]
				if samples.list[i].GetSamplePlayer() != nil {
					continue
				}
				got.Apply(entity(samples.list[i].GetSampleEntity()), func(n uint32) string { return names[n] })
			}
			for ; next < len(events.list) && events.list[next].GetAtTick() <= tick; next++ {
				names := events.names[next]
				state.Apply(events.list[next], func(n uint32) string { return names[n] })
			}
			if g, w := got.All(), state.All(); !reflect.DeepEqual(g, w) {
				t.Fatalf("%s: the %d entities of tick %d are others than the %d of a fold", name, len(g), tick, len(w))
			}
		}
	}
}

// positions returns the positions of what a reader delivers, and each event with its names.
func positions(t *testing.T, r codec.Reader) (at []decoders.Position, texts []string) {
	t.Helper()
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	last := r.Position()
	s, _ := drain(t, r, 7)
	for _, m := range s.marks {
		at = append(at, last)
		if !last.Before(m.Next) {
			t.Fatalf("%+v goes on at %+v", last, m.Next)
		}
		last = m.Next
	}
	return at, s.events
}

// TestSamples: a stream that begins at any place goes on as the whole does; the samples of fewer ticks are some of those of more; the
// samples of the beginning of a demo are a beginning of those of the whole.
func TestSamples(t *testing.T) {
	for _, name := range sampleFiles {
		data := sampleFile(t, name)
		wanted := sampling(t, 1, nil, "entity_created", "sync_tick", "stop")
		at, whole := positions(t, open(t, data, codec.Options{Filter: wanted}))
		step := max(1, len(whole)/20)
		for i := 0; i < len(whole); i += step {
			r := open(t, data, codec.Options{Filter: wanted, Start: codec.Start{Position: at[i]}})
			if err := codectest.Seek(r); err != nil || r.Position() != at[i] {
				t.Fatalf("%s: a stream that begins at %+v stands at %+v: %v", name, at[i], r.Position(), err)
			}
			if s, _ := drain(t, r, 5); !slices.Equal(s.events, whole[i:]) {
				t.Fatalf("%s: from %+v on there are %d events, want %d", name, at[i], len(s.events), len(whole)-i)
			}
			plain := open(t, data, codec.Options{Start: codec.Start{Position: at[i]}})
			if err := codectest.Seek(plain); err != nil || plain.Position() != at[i] {
				t.Fatalf("%s: a stream without samples that begins at %+v stands at %+v: %v", name, at[i], plain.Position(), err)
			}
		}
		_, more := positions(t, open(t, data, codec.Options{Filter: sampling(t, 1, nil)}))
		_, fewer := positions(t, open(t, data, codec.Options{Filter: sampling(t, 3, nil)}))
		for _, text := range fewer {
			i := slices.Index(more, text)
			if i < 0 {
				t.Fatalf("%s: a sample of fewer ticks is none of those of more", name)
			}
			more = more[i+1:]
		}
		for end := 1000; end < len(data); end += max(1000, len(data)/15) {
			r, err := encoder.Codec.Open(codectest.Input(data[:end]), codec.Options{Filter: wanted})
			if err != nil || r.Header(new(replaydv1.Replay)) != nil {
				continue // it ends in the header
			}
			if s, _ := drain(t, r, 100); len(s.events) > len(whole) || !slices.Equal(s.events, whole[:len(s.events)]) {
				t.Fatalf("%s: with %d bytes the events are others", name, end)
			}
		}
	}
}

// TestSamplesFromWithin: a reader that begins at a place within a record, of which no later event is wanted, stands behind the samples before
// the next record when it has delivered them, also if of that record no more than the head is there.
func TestSamplesFromWithin(t *testing.T) {
	seen := 0
	for _, name := range sampleFiles {
		data := sampleFile(t, name)
		at, _ := positions(t, open(t, data, codec.Options{}))
		wanted := sampling(t, 1, nil, "stop")
		for i, next := 0, 0; i < len(at); i += max(1, len(at)/500) {
			for next < len(at) && at[next].Offset <= at[i].Offset {
				next++
			}
			if next == len(at) {
				break
			}
			r, err := encoder.Codec.Open(codectest.Input(data[:at[next].Offset+12]), codec.Options{Filter: wanted, Start: codec.Start{Position: at[i]}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Header(new(replaydv1.Replay)) != nil || codectest.Seek(r) != nil {
				continue // its header, or the record, is longer
			}
			b := codec.Batch{MaxEvents: 1 << 16, MaxBytes: 1 << 20}
			for err := codec.ErrYield; errors.Is(err, codec.ErrYield); {
				err = r.Fill(&b)
			}
			if b.Count > 0 && !at[i].Before(r.Position()) {
				t.Fatalf("%s: from %+v on, %d samples are sent, and the reader stands at %+v", name, at[i], b.Count, r.Position())
			}
			seen += b.Count
		}
	}
	if seen == 0 {
		t.Error("no sample was seen")
	}
}

// TestSamplesOfFields: classes and fields of a filter narrow samples, as they do other events of entities.
func TestSamplesOfFields(t *testing.T) {
	data := sampleFile(t, "cs2.dem")
	all, _ := read(t, open(t, data, codec.Options{Filter: sampling(t, 30, nil)}), 512)
	only := &replaydv1.DemFilter{Classes: []string{"CCSPlayer*"}, Fields: []string{"m_iHealth", "m_iTeamNum", "*.place"}}
	some, _ := read(t, open(t, data, codec.Options{Filter: sampling(t, 30, only)}), 512)
	if len(some.list) == 0 || len(some.list) >= len(all.list) {
		t.Fatalf("%d of %d samples", len(some.list), len(all.list))
	}
	for i, ev := range some.list {
		for _, f := range ev.GetSampleEntity().GetFields() {
			if name := some.names[i][f.GetField()]; !slices.Contains([]string{"m_iHealth", "m_iTeamNum", "CBodyComponent.place"}, name) {
				t.Fatalf("field %s was not asked for", name)
			}
		}
	}
}

// TestSamplesFromTick: a stream that begins at a tick, also at one that the demo skips, stands at a position from which another stream
// gives the same.
func TestSamplesFromTick(t *testing.T) {
	for _, name := range sampleFiles {
		data := sampleFile(t, name)
		wanted := sampling(t, 1, nil, "sync_tick")
		_, whole := positions(t, open(t, data, codec.Options{Filter: wanted}))
		for tick := int32(0); tick < 400; tick += 19 {
			r := open(t, data, codec.Options{Filter: wanted, Start: codec.Start{Tick: &tick}})
			if err := codectest.Seek(r); err != nil {
				continue // behind the last tick
			}
			at := r.Position()
			from, _ := drain(t, r, 5)
			again := open(t, data, codec.Options{Filter: wanted, Start: codec.Start{Position: at}})
			if err := codectest.Seek(again); err != nil {
				t.Fatalf("%s: tick %d, %+v: %v", name, tick, at, err)
			}
			if resumed, _ := drain(t, again, 5); !slices.Equal(from.events, resumed.events) {
				t.Fatalf("%s: from tick %d on there are %d events of %d, and from its position %+v on %d", name, tick, len(from.events), len(whole), at, len(resumed.events))
			}
		}
	}
}
