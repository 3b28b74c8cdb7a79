//go:build unix

package dem_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
)

// BenchmarkFill decodes a long demo into batches, like a stream.
func BenchmarkFill(b *testing.B) {
	class := include(b, &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_Lina"}}})
	b.Run("all", func(b *testing.B) { fill(b, nil) })
	b.Run("class", func(b *testing.B) { fill(b, class) })
}

func fill(b *testing.B, f *filter.Filter) {
	b.Helper()
	long := repeated(b, 50<<20)
	b.SetBytes(int64(len(long)))
	b.ReportAllocs()
	events, bytes := 0, 0
	start := cpuTime()
	for b.Loop() {
		r := open(b, long, codec.Options{Filter: f})
		batch := codec.Batch{MaxEvents: 512, MaxBytes: 128 << 10}
		for {
			err := r.Fill(&batch)
			events += batch.Count
			bytes += len(batch.Events) + len(batch.Tail)
			batch.Reset()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.Is(err, codec.ErrYield) {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(long))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "cpuMB/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(bytes)/float64(events), "B/event")
}

// cpuTime returns the processor time used by the process. On a shared machine it varies less than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// checkpoints decodes a demo once and returns the checkpoints that this leaves.
func checkpoints(b *testing.B, data []byte) func(string) codec.Checkpoints {
	b.Helper()
	_, points := codectest.Checkpoints(encoder.Codec)
	deliver(b, data, codec.Options{Checkpoints: points})
	return points
}

// deliver reads a whole demo in batches and returns the number of events.
func deliver(b *testing.B, data []byte, o codec.Options) (events int) {
	b.Helper()
	r := open(b, data, o)
	batch := codec.Batch{MaxEvents: 512, MaxBytes: 128 << 10}
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

// BenchmarkAhead decodes a long demo into batches: by one reader, by several at once, and by two that know nothing of each other,
// which is what the processors can give.
func BenchmarkAhead(b *testing.B) {
	long := repeated(b, 50<<20)
	o := codec.Options{Checkpoints: checkpoints(b, long)}
	var helpers sync.WaitGroup
	ahead := func(step func() bool, done func()) {
		helpers.Go(func() {
			defer done()
			for step() {
			}
		})
	}
	for name, run := range map[string]func(){
		"one":   func() { deliver(b, long, o) },
		"ahead": func() { deliver(b, long, codec.Options{Checkpoints: o.Checkpoints, Ahead: ahead}); helpers.Wait() },
		"two": func() {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { deliver(b, long, o) })
			}
			both.Wait()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(long)))
			if name == "two" {
				b.SetBytes(2 * int64(len(long)))
			}
			start := cpuTime()
			for b.Loop() {
				run()
			}
			b.ReportMetric((cpuTime()-start).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// BenchmarkTick starts at a tick in the middle of a long demo, up to the first event: with checkpoints there, and without.
func BenchmarkTick(b *testing.B) {
	long := repeated(b, 50<<20)
	points := checkpoints(b, long)
	last := demtest.LastTick(long)
	heroes := include(b, &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_*"}}})
	for _, test := range []struct {
		name string
		o    codec.Options
	}{
		{"all", codec.Options{Checkpoints: points}}, {"heroes", codec.Options{Checkpoints: points, Filter: heroes}},
		{"cold-all", codec.Options{}}, {"cold-heroes", codec.Options{Filter: heroes}},
	} {
		b.Run(test.name, func(b *testing.B) {
			longest, n, start := time.Duration(0), int32(0), cpuTime()
			for b.Loop() {
				n++
				tick := last/2 + n*577%(last/10)
				began := time.Now()
				test.o.Start.Tick = &tick
				if strings.HasPrefix(test.name, "cold") {
					_, test.o.Checkpoints = codectest.Checkpoints(encoder.Codec)
				}
				r := open(b, long, test.o)
				if err := codectest.Seek(r); err != nil {
					b.Fatal(err)
				}
				for batch := (codec.Batch{MaxEvents: 1, MaxBytes: 1 << 20}); batch.Count == 0; {
					if err := r.Fill(&batch); err != nil && !errors.Is(err, codec.ErrYield) {
						b.Fatal(err)
					}
				}
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
			b.ReportMetric((cpuTime()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
		})
	}
}
