package stream_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/where"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
)

// BenchmarkStream decodes, encodes and frames a recording; nothing is sent.
func BenchmarkStream(b *testing.B) {
	data := recording(b, 16<<20)
	var facts []string
	for _, kind := range teehistorian.Codec.Filters.Kinds {
		if kind.Fact {
			facts = append(facts, kind.Name)
		}
	}
	moves, inputs := []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}, []*replaydv1.EventFilter{{Kinds: []string{"input_diff"}}}
	for _, test := range []struct {
		name    string
		include []*replaydv1.EventFilter
		where   string
	}{
		{"all", nil, ""},
		{"onePlayer", []*replaydv1.EventFilter{{Players: []int32{1}}}, ""},
		{"joins", []*replaydv1.EventFilter{{Kinds: []string{"join", "drop"}}}, ""},
		{"withFacts", []*replaydv1.EventFilter{{}, {Kinds: facts}}, ""},
		{"facts", []*replaydv1.EventFilter{{Kinds: facts}}, ""},
		{"moves", moves, ""},
		{"movesWhere", moves, "event.client_id == 1"},
		{"movesWhereAll", moves, "event.client_id >= 0"},
		{"movesCEL", moves, "event.client_id + 1 == 2"},
		{"inputs", inputs, ""},
		{"inputsWhere", inputs, "event.input.target_x > 100"},
	} {
		b.Run(test.name, func(b *testing.B) {
			events := uint64(0)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				c := config(data)
				var err error
				if c.Replay.Options.Filter, err = filter.Compile(&teehistorian.Codec.Filters, test.include, nil); err != nil {
					b.Fatal(err)
				}
				if test.where != "" {
					x, err := where.Compile(&teehistorian.Codec, c.Replay.Options.Filter, test.where)
					if err != nil {
						b.Fatal(err)
					}
					c.Replay.Options.Where = x
				}
				var last []byte
				err = stream.Run(context.Background(), c, func(f *frame.Frame) error {
					if f.Len() < 200 {
						buffer := f.Buffer()
						last = append(last[:0], buffer.ReadOnlyData()...)
						buffer.Free()
					}
					f.Free()
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				var r replaydv1.StreamEventsResponse
				if err := proto.Unmarshal(last, &r); err != nil {
					b.Fatal(err)
				}
				events += r.GetEnd().GetEventsSent() + r.GetEnd().GetEventsFiltered()
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkTables decodes the moves of a recording and encodes them as tables; nothing is sent.
func BenchmarkTables(b *testing.B) {
	data := decodertest.Read(b, "corpus", "teehistorian", "ddnet-16.4", "1ef1b84f-e194-4af4-944e-9573abe74f92.teehistorian")
	moves := []string{"player_diff"}
	for _, test := range []struct {
		name    string
		kinds   []string
		columns []string
		narrow  bool
	}{
		{"none", []string{"finish"}, nil, false},
		{"dx", moves, []string{"dx"}, false},
		{"six", moves, []string{"at_tick", "client_id", "dx", "dy", "x", "y"}, false},
		{"sixNarrow", moves, []string{"at_tick", "client_id", "dx", "dy", "x", "y"}, true},
		{"all", moves, nil, false},
		{"allNarrow", moves, nil, true},
		{"allKinds", nil, nil, false},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				c := tables(b, data, test.kinds, test.columns, arrowipc.Encoder{Narrow: test.narrow})
				if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { f.Free(); return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
