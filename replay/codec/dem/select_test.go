package dem_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
)

// gathered are the bytes of batches and the marks of their events.
type gathered struct {
	bytes [][]byte
	marks []codec.Mark
}

// inBatches reads everything in batches of one size.
func inBatches(t *testing.T, data []byte, o codec.Options, events int) (all gathered, tails [][]byte) {
	t.Helper()
	r := open(t, data, o)
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	b := codec.Batch{MaxEvents: events, MaxBytes: 1 << 20, KeepMarks: true}
	for {
		err := r.Fill(&b)
		if errors.Is(err, codec.ErrYield) {
			continue
		}
		if b.Count > 0 {
			all.bytes = append(all.bytes, bytes.Clone(b.Events))
			all.marks = append(all.marks, b.Marks...)
			tails = append(tails, bytes.Clone(b.Tail))
		}
		b.Reset()
		if err != nil {
			return all, tails
		}
	}
}

// TestSelector: of batches with all events it makes the bytes that a reader with the filter does.
func TestSelector(t *testing.T) {
	files(t, func(t *testing.T, data []byte) {
		everything, err := filter.WithFacts(&encoder.Codec.Filters)
		if err != nil {
			t.Fatal(err)
		}
		all, tails := inBatches(t, data, codec.Options{Filter: everything}, 37)
		list, _ := read(t, open(t, data, codec.Options{Filter: everything}), 512)
		random := rand.New(rand.NewPCG(1, uint64(len(data))))
		selected := 0
		for range max(6, min(100, 1<<20/len(data))) {
			include, exclude := filters(random, &list), filters(random, &list)
			if random.IntN(2) > 0 {
				exclude = nil
			}
			f, err := filter.Compile(&encoder.Codec.Filters, include, exclude)
			if err != nil {
				continue
			}
			s := encoder.Codec.Selector(f)
			if s == nil {
				t.Fatalf("no selector of %v", include)
			}
			events := 1 + random.IntN(80)
			var got gathered
			var gotTails [][]byte
			b := codec.Batch{MaxEvents: events, MaxBytes: 1 << 20}
			flush := func() {
				if b.Count > 0 {
					got.bytes, gotTails = append(got.bytes, bytes.Clone(b.Events)), append(gotTails, bytes.Clone(b.Tail))
				}
				b.Reset()
			}
			var naming codec.Naming
			next := 0
			for i, from := range all.bytes {
				s.From(naming.Read(tails[i]))
				for begin := 0; begin < len(from); next++ {
					m := &all.marks[next]
					part, ok := s.Match(&m.Event, from[begin:m.End])
					if begin = m.End; !ok || f == nil && m.Kind >= uint8(dem.KindFactKill) && m.Kind <= uint8(dem.KindFactDraft) {
						continue
					}
					s.Append(&b, &m.Event, part)
					got.marks = append(got.marks, *m)
					if b.Full() {
						flush()
					}
				}
			}
			flush()
			want, wantTails := inBatches(t, data, codec.Options{Filter: f}, events)
			selected += len(want.marks)
			if !slices.EqualFunc(got.bytes, want.bytes, bytes.Equal) || !slices.EqualFunc(gotTails, wantTails, bytes.Equal) {
				t.Fatalf("%s without %s: %d events, want %d", texts(include), texts(exclude), len(got.marks), len(want.marks))
			}
			for i := range want.marks {
				if got, want := got.marks[i], want.marks[i]; got.At != want.At || got.Event != want.Event {
					t.Fatalf("event %d: %+v, want %+v", i, got, want)
				}
			}
		}
		if selected == 0 {
			t.Error("no filter selected anything")
		}
	})
}

func texts(all []*replaydv1.EventFilter) (s []string) {
	for _, f := range all {
		s = append(s, prototext.Format(f))
	}
	return s
}

// filters returns filters with conditions on what some events are.
func filters(random *rand.Rand, of *stream) (all []*replaydv1.EventFilter) {
	for range random.IntN(3) {
		f := &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{}}
		for range 1 + random.IntN(2) {
			i := random.IntN(len(of.list))
			ev, m := of.list[i], of.marks[i]
			name := func(index uint32) string { return of.names[i][index] }
			switch u := ev.GetEntityUpdated(); random.IntN(5) {
			case 0:
				f.Kinds = append(f.Kinds, dem.Kind(m.Kind).String())
			case 1:
				if u != nil {
					f.Dem.Classes = append(f.Dem.Classes, name(u.GetClass()))
				}
			case 2:
				if n := len(u.GetFields()); n > 0 {
					field := name(u.GetFields()[random.IntN(n)].GetField())
					f.Dem.Fields = append(f.Dem.Fields, field, field[:1]+strings.Repeat("?", random.IntN(8))+"*")
				}
			case 3:
				for _, e := range []interface{ GetName() string }{ev.GetGameEvent(), ev.GetMessage(), ev.GetCommand(), ev.GetModifier()} {
					if name := e.GetName(); name != "" {
						f.Dem.Types = append(f.Dem.Types, name)
					}
				}
				for _, typ := range []string{
					ev.GetCombatLog().GetType().String(), ev.GetFault().GetKind().String(), ev.GetAbilityChange().GetType().String(),
					ev.GetStringTableEntry().GetTable(), ev.GetOrder().GetTypeName(), ev.GetChatEvent().GetTypeName(), "7",
				} {
					if typ != "" && typ != demv1.FaultKind_FAULT_KIND_UNKNOWN_FIELD.String() {
						f.Dem.Types = append(f.Dem.Types, typ)
					}
				}
			case 4:
				f.Ticks = &replaydv1.TickRange{Min: &m.Tick}
			}
		}
		all = append(all, f)
	}
	return all
}
