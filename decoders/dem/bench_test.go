//go:build unix

package dem_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

const longSize = 50 << 20

func longDem(b *testing.B) []byte {
	b.Helper()
	data, err := demtest.Repeat(readCorpus(b, autoDem), longSize)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	return data
}

func benchDecode(b *testing.B, data []byte, opts dem.Options) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var events, updates int64
	var ev dem.Event
	start := cpuTime()
	for b.Loop() {
		d := dem.New(bytes.NewReader(data), opts)
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			events++
		}
		updates += d.Stats().EntityUpdates
		if d.Stats().EntityMismatches > 0 {
			b.Fatalf("%+v", d.Stats())
		}
	}
	// Processor time tells more than the clock on a machine that others use.
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "cpuMB/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(updates)/float64(b.N), "updates/op")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heapMB")
}

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDecode(b *testing.B) {
	b.Run("short", func(b *testing.B) { benchDecode(b, readCorpus(b, autoDem), dem.Options{}) })
	b.Run("short/cached", func(b *testing.B) {
		benchDecode(b, readCorpus(b, autoDem), dem.Options{Schemas: new(dem.Schemas)})
	})
	b.Run("long", func(b *testing.B) { benchDecode(b, longDem(b), dem.Options{}) })
	b.Run("long/class", func(b *testing.B) {
		benchDecode(b, longDem(b), dem.Options{
			Kinds:   func(k dem.Kind) bool { return k <= dem.KindEntityDeleted },
			Classes: func(c string) bool { return c == "CDOTA_Unit_Hero_Lina" },
		})
	})
	b.Run("long/none", func(b *testing.B) {
		benchDecode(b, longDem(b), dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindCombatLog }})
	})
}
