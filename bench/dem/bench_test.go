//go:build unix

package dem

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dotabuff/manta"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// longSize is the size in bytes of the demo that is made from a short one.
const longSize = 50 << 20

func corpus(b *testing.B, name string) []byte {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "dem", filepath.FromSlash(name)))
	if err != nil {
		b.Skip(err)
	}
	return data
}

// lengthen makes a demo of at least size bytes from a recorded one.
func lengthen(b *testing.B, data []byte, size int) []byte {
	b.Helper()
	long, err := demtest.Repeat(data, size)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	return long
}

const auto = "haste/auto-20240102-2233-start-____.dem"

// BenchmarkEverything decodes everything, with all state of all entities.
func BenchmarkEverything(b *testing.B) {
	short := lengthen(b, corpus(b, auto), 1)
	long := lengthen(b, corpus(b, auto), longSize)
	for _, file := range []struct {
		name string
		data []byte
	}{{"short", short}, {"long", long}} {
		b.Run("replayd/"+file.name, func(b *testing.B) { replayd(b, file.data, dem.Options{}) })
		b.Run("manta/"+file.name, func(b *testing.B) { mantaAll(b, file.data) })
	}
}

// BenchmarkEntities decodes all entities with all their fields, which is what the other decoders are asked for, and nothing else.
func BenchmarkEntities(b *testing.B) {
	replayd(b, lengthen(b, corpus(b, auto), longSize), dem.Options{Kinds: func(k dem.Kind) bool { return k <= dem.KindEntityDeleted }})
}

// BenchmarkOneClass decodes only the entities of one class.
func BenchmarkOneClass(b *testing.B) {
	long := lengthen(b, corpus(b, auto), longSize)
	for _, class := range []string{"CDOTA_Unit_Hero_Lina", "CDOTAGamerulesProxy"} {
		b.Run(class, func(b *testing.B) {
			replayd(b, long, dem.Options{
				Kinds:   func(k dem.Kind) bool { return k <= dem.KindEntityDeleted },
				Classes: func(c string) bool { return c == class },
			})
		})
	}
}

// BenchmarkHeroes decodes six fields of the heroes.
func BenchmarkHeroes(b *testing.B) {
	fields := map[string]bool{
		"m_iHealth": true, "m_flMana": true, "m_iCurrentLevel": true, "m_lifeState": true,
		"CBodyComponent.m_cellX": true, "CBodyComponent.m_cellY": true,
	}
	replayd(b, lengthen(b, corpus(b, auto), longSize), dem.Options{
		Kinds:   func(k dem.Kind) bool { return k <= dem.KindEntityDeleted },
		Classes: func(c string) bool { return strings.HasPrefix(c, "CDOTA_Unit_Hero_") },
		Fields:  func(_, field string) bool { return fields[field] },
	})
}

// BenchmarkCombatLog decodes only the combat log.
func BenchmarkCombatLog(b *testing.B) {
	long := lengthen(b, corpus(b, auto), longSize)
	replayd(b, long, dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindCombatLog }})
}

// BenchmarkIndex reads the heads of all records.
func BenchmarkIndex(b *testing.B) {
	long := lengthen(b, corpus(b, auto), longSize)
	b.SetBytes(int64(len(long)))
	for b.Loop() {
		var x dem.Index
		if err := x.Read(bytes.NewReader(long), func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func replayd(b *testing.B, data []byte, opts dem.Options) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	events, updates := 0, int64(0)
	var ev dem.Event
	start := cpuTime()
	for b.Loop() {
		d := dem.New(bytes.NewReader(data), opts)
		for {
			if err := d.Next(&ev); err != nil {
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				break
			}
			events++
		}
		updates += d.Stats().EntityUpdates
	}
	reportCPU(b, data, start)
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(updates)/float64(b.N), "updates/op")
}

func mantaAll(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	updates := 0
	start := cpuTime()
	for b.Loop() {
		p, err := manta.NewParser(data)
		if err != nil {
			b.Fatal(err)
		}
		p.OnEntity(func(*manta.Entity, manta.EntityOp) error {
			updates++
			return nil
		})
		if err := p.Start(); err != nil {
			b.Fatal(err)
		}
	}
	reportCPU(b, data, start)
	b.ReportMetric(float64(updates)/float64(b.N), "updates/op")
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU reports the speed per CPU time. On a busy machine this is more exact than wall-clock time.
func reportCPU(b *testing.B, data []byte, start time.Duration) {
	b.Helper()
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "cpuMB/s")
}

// long is the file to which TestWriteLong writes a long demo, for decoders in other languages.
var (
	long      = flag.String("long", "", "write a long demo to this file")
	longBytes = flag.Int("bytes", longSize, "how large the demo of -long is at least")
)

func TestWriteLong(t *testing.T) {
	if *long == "" {
		t.Skip("no -long")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "dem", filepath.FromSlash(auto)))
	if err != nil {
		t.Skip(err)
	}
	if data, err = demtest.Repeat(data, *longBytes); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*long, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
