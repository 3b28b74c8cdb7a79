//go:build unix

package dem_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
	encoder "github.com/replayd/replayd/service/codec/dem"
	"github.com/replayd/replayd/service/filter"
)

// BenchmarkFill decodes a long demo into batches, like a stream.
func BenchmarkFill(b *testing.B) {
	class, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_Unit_Hero_Lina"}}}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("all", func(b *testing.B) { fill(b, nil) })
	b.Run("class", func(b *testing.B) { fill(b, class) })
}

func fill(b *testing.B, f *filter.Filter) {
	b.Helper()
	data, err := os.ReadFile(decodertest.Shared(b, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem"))
	if err != nil {
		b.Fatal(err)
	}
	long, err := demtest.Repeat(data, 50<<20)
	if err != nil {
		b.Fatal(err)
	}
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
