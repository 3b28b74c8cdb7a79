package teehistorian_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	decoder "github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// placed is an event with the position at which its stream would be resumed to begin with it.
type placed struct {
	at   decoders.Position
	kind string
	text string
}

func isFact(p placed) bool { return strings.HasPrefix(p.kind, "fact_") }

// named returns the include filter of some kinds, and selecting a compiled list of filters.
func named(kinds ...string) *replaydv1.EventFilter { return &replaydv1.EventFilter{Kinds: kinds} }

func selecting(t *testing.T, include ...*replaydv1.EventFilter) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(&encoder.Codec.Filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// deliver returns the events that a reader delivers from where it stands, with their positions. It checks that each is followed by the
// place at which the reader goes on.
func deliver(t *testing.T, r codec.Reader) (all []placed) {
	t.Helper()
	for {
		b := codec.Batch{MaxEvents: 7, MaxBytes: 256 << 10, KeepMarks: true}
		err := r.Fill(&b)
		begin, places := 0, codectest.Places(t, &b)
		for i, m := range b.Marks {
			p := placed{places[i], decoder.Kind(m.Kind).String(), string(b.Events[begin:m.End])}
			if begin = m.End; !p.at.Before(m.Next) {
				t.Fatalf("%+v goes on at %+v", p, m.Next)
			}
			all = append(all, p)
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return all
		}
	}
}

// from is deliver for a recording, from a position on.
func from(t *testing.T, data []byte, o codec.Options) []placed {
	t.Helper()
	r := open(t, data, o)
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	return deliver(t, r)
}

var factKinds = []string{
	"fact_finish", "fact_session", "fact_team", "fact_save", "fact_load", "fact_input_stats", "fact_chat", "fact_call_vote", "fact_vote", "fact_command",
	"fact_death", "fact_respawn",
}

// factGames returns a recording, and the same with damage. Both have sessions, changes of teams and statistics of inputs.
func factGames(t *testing.T, size int) map[string][]byte {
	t.Helper()
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	long := teetest.Repeat(sample, size)
	return map[string][]byte{"whole": long, "damaged": teetest.Damage(long)}
}

// TestFacts: facts come only to those who name them, behind the event that completes them, at the same positions whatever else is
// delivered, and to a stream that begins at any of them. A reader that does not want them can begin there, too.
func TestFacts(t *testing.T) {
	for name, data := range factGames(t, 60_000) {
		t.Run(name, func(t *testing.T) {
			raw := from(t, data, codec.Options{})
			if i := slices.IndexFunc(raw, isFact); i >= 0 {
				t.Fatalf("a stream without a filter has %+v", raw[i])
			}
			if got := from(t, data, codec.Options{Filter: selecting(t, &replaydv1.EventFilter{})}); !slices.Equal(got, raw) {
				t.Fatal("an empty filter selects facts")
			}
			everything := selecting(t, &replaydv1.EventFilter{}, named(factKinds...))
			whole := from(t, data, codec.Options{Filter: everything})
			var facts, others []placed
			var places []int // where the rest must be the same
			for i, p := range whole {
				if i%997 == 0 {
					places = append(places, i)
				}
				if !isFact(p) {
					others = append(others, p)
					continue
				}
				facts, places = append(facts, p), append(places, i, i+1)
				if own := p.at.Own(); own == p.at || !slices.ContainsFunc(whole[max(0, i-200):i], func(q placed) bool { return q.at == own && !isFact(q) }) {
					t.Errorf("%+v stands behind no event", p)
				}
			}
			if !slices.Equal(others, raw) {
				t.Error("facts change the events of the replay")
			}
			if got := from(t, data, codec.Options{Filter: selecting(t, named(factKinds...))}); !slices.Equal(got, facts) {
				t.Error("facts depend on what else is delivered")
			}
			if got := from(t, data, codec.Options{Filter: selecting(t, named(factKinds...), named("input_diff"))}); !slices.Equal(slices.DeleteFunc(got, func(p placed) bool { return !isFact(p) }), facts) {
				t.Error("facts depend on inputs that are delivered")
			}
			var events strings.Builder
			for _, p := range whole {
				events.WriteString(p.text)
			}
			r, b := open(t, data, codec.Options{Filter: everything}), codec.Batch{MaxEvents: 1 << 20, MaxBytes: 64 << 20}
			for err := codec.ErrYield; errors.Is(err, codec.ErrYield); {
				err = r.Fill(&b)
			}
			if string(b.Events) != events.String() {
				t.Error("where neither positions nor marks are kept, the events are others")
			}
			found := 0
			for _, kind := range factKinds {
				want := slices.DeleteFunc(slices.Clone(facts), func(p placed) bool { return p.kind != kind })
				if found += min(len(want), 1); !slices.Equal(from(t, data, codec.Options{Filter: selecting(t, named(kind))}), want) {
					t.Errorf("%s alone are others than beside all", kind)
				}
			}
			if found < 3 {
				t.Errorf("only %d kinds of facts", found)
			}
			step := 1 + len(places)/25
			for n := 0; n < len(places); n += step {
				i := places[n]
				if i == len(whole) {
					continue
				}
				start := codec.Start{Position: whole[i].at}
				if got := from(t, data, codec.Options{Filter: everything, Start: start}); !slices.Equal(got, whole[i:]) {
					t.Fatalf("a stream that begins with %+v is not the rest of the whole", whole[i])
				}
				r, own := open(t, data, codec.Options{Start: start}), open(t, data, codec.Options{Start: codec.Start{Position: whole[i].at.Own()}})
				if err := errors.Join(codectest.Seek(r), codectest.Seek(own)); err != nil || r.Position() != whole[i].at || r.Sum() != own.Sum() {
					t.Fatalf("a stream without facts that begins at %+v stands at %+v, %v", whole[i].at, r.Position(), err)
				}
				want := slices.DeleteFunc(slices.Clone(whole[i:]), isFact)
				if got := deliver(t, r); !slices.Equal(got, want) {
					t.Fatalf("a stream without facts that begins at %+v is not the rest of the whole", whole[i].at)
				}
			}
		})
	}
}

// TestFactsOfCheckpoints: a stream that begins at any checkpoint has the facts that stand behind it, and nothing before is read. Readers
// without facts, and without inputs, leave checkpoints of their own.
func TestFactsOfCheckpoints(t *testing.T) {
	for name, data := range factGames(t, 4_000_000) {
		t.Run(name, func(t *testing.T) {
			_, points := codectest.Checkpoints(encoder.Codec)
			from(t, data, codec.Options{Checkpoints: points, Filter: selecting(t, named("join"))})
			for _, kinds := range [][]string{{"fact_session", "fact_team"}, factKinds} {
				var left codec.Checkpoints
				o := codec.Options{Filter: selecting(t, named(kinds...)), Checkpoints: func(key string) codec.Checkpoints {
					left = points(key)
					return left
				}}
				whole, found := from(t, data, o), 0
				for c, ok := left.After(0); ok; c, ok = left.After(c.Position.Offset) {
					found++
					o.Start = codec.Start{Position: c.Position}
					r, read := codectest.OpenCounted(t, encoder.Codec, data, o)
					if err := codectest.Seek(r); err != nil {
						t.Fatal(err)
					}
					begin := slices.IndexFunc(whole, func(p placed) bool { return !p.at.Before(c.Position) })
					if got := deliver(t, r); !slices.Equal(got, whole[begin:]) {
						t.Errorf("%v: other facts behind the checkpoint at %+v", kinds, c.Position)
					}
					if most := int64(len(data)) - c.Position.Offset + 300_000; *read > most {
						t.Errorf("read %d bytes, more than the %d behind the checkpoint", *read, most)
					}
				}
				if found < 3 {
					t.Errorf("only %d checkpoints", found)
				}
			}
		})
	}
}

// TestFactsOfGrowingFile: of a recording that grows, in steps that end anywhere, the facts are those of the whole.
func TestFactsOfGrowingFile(t *testing.T) {
	for name, data := range factGames(t, 60_000) {
		f := selecting(t, named(factKinds...))
		want := from(t, data, codec.Options{Filter: f})
		random := rand.New(rand.NewPCG(1, 2))
		g := &growing{data[:8000]}
		r, err := encoder.Codec.Open(source.Input{At: g, Size: 8000}, codec.Options{Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Header(new(replaydv1.Replay)); err != nil {
			t.Fatal(err)
		}
		var got []placed
		for n := 8000; n < len(data); n += 1 + random.IntN(700) {
			g.data = data[:n]
			if got = append(got, deliver(t, r)...); !slices.Equal(got, want[:min(len(got), len(want))]) {
				t.Fatalf("%s: the facts of the first %d bytes are no beginning of those of all", name, n)
			}
		}
		g.data = data
		if got = append(got, deliver(t, r)...); !slices.Equal(got, want) {
			t.Errorf("%s: %d facts, want %d", name, len(got), len(want))
		}
	}
}

// TestFactsAreResolved: facts have the players whom they name, as other events have.
func TestFactsAreResolved(t *testing.T) {
	data := factGames(t, 20_000)["whole"]
	r := open(t, data, codec.Options{Filter: selecting(t, named("fact_session")), ResolvePlayers: true})
	events, marks, _ := codectest.Read(t, r, 512)
	var list teehistorianv1.EventList
	if err := proto.Unmarshal(events, &list); err != nil || len(marks) == 0 {
		t.Fatal(len(marks), err)
	}
	for _, ev := range list.GetEvents() {
		if s := ev.GetFactSession(); ev.GetPlayer().GetName() != s.GetRequestedName() || s.GetRequestedName() == "" {
			t.Errorf("%v", ev)
		}
	}
}
