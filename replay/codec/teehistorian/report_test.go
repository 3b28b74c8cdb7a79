package teehistorian_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	decoder "github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
)

// reported returns the report of a recording after a tick, or at its present end if tick is nil.
func reported(t *testing.T, data []byte, tick *int32) *replaydv1.Report {
	t.Helper()
	r := &replaydv1.Report{Replay: &replaydv1.Replay{}}
	if err := encoder.Codec.Report(context.Background(), codectest.Input(data), codec.ReportOptions{Tick: tick, Pause: func(int64) error { return nil }}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// placesOf returns where in a recording each tick ends: the offset of the first record behind it.
func placesOf(t *testing.T, data []byte) (ends map[int32]int64, last int32) {
	t.Helper()
	d := decoder.New(bytes.NewReader(data), decoder.Options{})
	if _, err := d.Header(); err != nil {
		t.Fatal(err)
	}
	ends = map[int32]int64{}
	var ev decoder.Event
	for {
		at := d.Position().Offset
		if err := d.Next(&ev); err != nil {
			return ends, last
		}
		for ; last < ev.AtTick; last++ {
			ends[last] = at
		}
	}
}

// TestReportAtTick: the report after a tick is that of a game which is being written and has come so far, wherever it is cut, and
// whatever follows.
func TestReportAtTick(t *testing.T) {
	for name, data := range factGames(t, 60_000) {
		ends, last := placesOf(t, data)
		random := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			tick := random.Int32N(last)
			for n := tick; n > 0 && ends[n] == ends[tick]; n-- { // records of a tick that tick_skip passes over
				tick = n
			}
			want := reported(t, data, &tick)
			live := reported(t, data[:ends[tick]], nil)
			if live.GetTick() > tick || want.GetTick() != tick || want.GetEnded() || live.GetEnded() {
				t.Fatalf("%s: at tick %d the reports are of %d and %d", name, tick, want.GetTick(), live.GetTick())
			}
			if again := reported(t, data[:ends[tick]], &tick); !proto.Equal(again, live) {
				t.Fatalf("%s: at tick %d, which is the last: %v, without it %v", name, tick, again, live)
			}
			if live.GetTick() < tick { // times count to it
				continue
			}
			if !proto.Equal(want, live) {
				t.Fatalf("%s: at tick %d\n%v\nof a live game\n%v", name, tick, want, live)
			}
		}
		whole := reported(t, data, nil)
		if ended := name == "whole"; whole.GetEnded() != ended && ended || whole.GetTick() != last {
			t.Errorf("%s: %v", name, whole)
		}
		if at := reported(t, data, new(int32(math.MaxInt32))); !proto.Equal(at, whole) {
			t.Errorf("%s: a tick behind the end is not the end", name)
		}
		if none := reported(t, data, new(int32(-1))); len(none.GetTeehistorian().GetPlayers()) != 0 {
			t.Errorf("%s: before the first tick there are %v", name, none)
		}
	}
}

// TestReportOfFinishes: the report of a recording has each finish, and the best of each player, in order.
func TestReportOfFinishes(t *testing.T) {
	runs, finishes := 0, 0
	for _, run := range decodertest.Recordings(t) {
		for _, data := range run.Games {
			if data == nil || runs == 40 {
				continue
			}
			runs++
			d := decoder.New(bytes.NewReader(data), decoder.Options{})
			if _, err := d.Header(); err != nil {
				continue
			}
			seen := int32(0)
			var ev decoder.Event
			for d.Next(&ev) == nil {
				if ev.Kind == decoder.KindPlayerFinish {
					seen++
				}
			}
			finishes += int(seen)
			r := reported(t, data, nil).GetTeehistorian()
			total := int32(0)
			for i, p := range r.GetPlayers() {
				total += p.GetFinishCount()
				if (p.GetBest() != nil) != (p.GetFinishCount() > 0) {
					t.Errorf("%s: %v", run.Name, p)
				}
				if i > 0 && p.GetBest() != nil && (r.GetPlayers()[i-1].GetBest() == nil || r.GetPlayers()[i-1].GetBest().GetTime() > p.GetBest().GetTime()) {
					t.Errorf("%s: %v is behind %v", run.Name, p, r.GetPlayers()[i-1])
				}
				times := []int32{}
				for _, s := range p.GetStays() {
					for _, f := range s.GetFinishes() {
						times = append(times, f.GetTime())
					}
				}
				if len(times) > 0 && slices.Min(times) != p.GetBest().GetTime() {
					t.Errorf("%s: the best of %v is %v", run.Name, times, p.GetBest())
				}
			}
			if total != seen {
				t.Errorf("%s: %d finishes are reported, the file has %d", run.Name, total, seen)
			}
		}
	}
	if finishes < 20 {
		t.Errorf("only %d finishes", finishes)
	}
}

// TestReportOfDamage: whatever a file has, its report is small, or an error of the file.
func TestReportOfDamage(t *testing.T) { codectest.CheckReports(t, encoder.Codec, sampleOf(t)) }

func sampleOf(tb testing.TB) []byte {
	tb.Helper()
	sample := decodertest.Sample(tb, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	return sample
}

func FuzzReport(f *testing.F) {
	f.Add(sampleOf(f))
	f.Fuzz(func(t *testing.T, data []byte) { codectest.CheckReport(t, encoder.Codec, data) })
}
