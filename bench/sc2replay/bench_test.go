package sc2replay_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	theirmpq "github.com/icza/mpq"
	"github.com/icza/s2prot"
	"github.com/icza/s2prot/rep"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
)

// both returns the replays that both decoders can decode, and their numbers of bytes and events.
func both(b *testing.B) (files [][]byte, size, events int64) {
	b.Helper()
	for _, data := range corpus(b) {
		r, err := rep.New(bytes.NewReader(data))
		if err != nil {
			continue
		}
		files = append(files, data)
		size += int64(len(data))
		events += int64(len(r.GameEvts) + len(r.MessageEvts))
		if r.TrackerEvts != nil {
			events += int64(len(r.TrackerEvts.Evts))
		}
		_ = r.Close()
	}
	return files, size, events
}

// decode decodes a whole replay.
func decode(data []byte, o sc2replay.Options, ev *sc2replay.Event) error {
	p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	d := p.Events(o)
	for {
		if err := d.Next(ev); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var streamNames = [...]string{"replay.game.events", "replay.message.events", "replay.tracker.events"}

// theirMembers unpacks the event streams with the archive reader that s2prot uses. Older replays have no tracker stream.
func theirMembers(b *testing.B, data []byte) (out [3][]byte) {
	b.Helper()
	m, err := theirmpq.New(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for i, name := range streamNames {
		if out[i], err = m.FileByName(name); err != nil && i < 2 {
			b.Fatal(err)
		}
	}
	return out
}

// cpuTime returns the CPU time that the process has used. On a busy machine it is more exact than wall-clock time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure reports the cost of one pass over all files.
func measure(b *testing.B, size, events int64, pass func()) {
	b.Helper()
	pass() // fill tables and pools
	b.SetBytes(size)
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime(b)
	for b.Loop() {
		pass()
	}
	cpu = cpuTime(b) - cpu
	runtime.ReadMemStats(&after)
	all := float64(events) * float64(b.N)
	b.ReportMetric(all/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(all/cpu.Seconds()/1e6, "Mevents/cpu-s")
	b.ReportMetric(float64(size)*float64(b.N)/cpu.Seconds()/1e6, "MB/cpu-s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/all, "allocs/event")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/event")
}

// BenchmarkWhole decodes whole replays, one after the other. Run it with -cpu 1,2: on two processors replayd unpacks two
// members of a replay at once.
func BenchmarkWhole(b *testing.B) {
	files, size, events := both(b)
	b.Run("replayd", func(b *testing.B) {
		var ev sc2replay.Event
		measure(b, size, events, func() {
			for _, data := range files {
				if err := decode(data, sc2replay.Options{}, &ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("s2prot", func(b *testing.B) {
		measure(b, size, events, func() {
			for _, data := range files {
				r, err := rep.New(bytes.NewReader(data))
				if err != nil {
					b.Fatal(err)
				}
				_ = r.Close()
			}
		})
	})
}

// BenchmarkParallel decodes many replays on all processors.
func BenchmarkParallel(b *testing.B) {
	files, size, events := both(b)
	each := func(fn func(data []byte)) {
		var wg sync.WaitGroup
		work := make(chan []byte)
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for data := range work {
					fn(data)
				}
			})
		}
		for _, data := range files {
			work <- data
		}
		close(work)
		wg.Wait()
	}
	pool := sync.Pool{New: func() any { return new(sc2replay.Event) }}
	b.Run("replayd", func(b *testing.B) {
		measure(b, size, events, func() {
			each(func(data []byte) {
				ev := pool.Get().(*sc2replay.Event)
				if err := decode(data, sc2replay.Options{}, ev); err != nil {
					b.Error(err)
				}
				pool.Put(ev)
			})
		})
	})
	b.Run("s2prot", func(b *testing.B) {
		measure(b, size, events, func() {
			each(func(data []byte) {
				r, err := rep.New(bytes.NewReader(data))
				if err != nil {
					b.Error(err)
					return
				}
				_ = r.Close()
			})
		})
	})
}

// BenchmarkUnpack only unpacks the three event streams. It is the cost of a replay without decoding events.
func BenchmarkUnpack(b *testing.B) {
	files, size, events := both(b)
	b.Run("replayd", func(b *testing.B) {
		var buf []byte
		measure(b, size, events, func() {
			for _, data := range files {
				a, err := mpq.Open(bytes.NewReader(data), int64(len(data)))
				if err != nil {
					b.Fatal(err)
				}
				for _, name := range streamNames {
					if m, ok := a.Find(name); ok {
						if buf, err = a.Append(buf[:0], m); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	})
	b.Run("s2prot", func(b *testing.B) {
		measure(b, size, events, func() {
			for _, data := range files {
				theirMembers(b, data)
			}
		})
	})
}

// BenchmarkEvents decodes the events of uncompressed members. It is the cost of decoding alone.
func BenchmarkEvents(b *testing.B) {
	files, _, events := both(b)
	type streams struct {
		proto                  *s2prot.Protocol
		game, message, tracker []byte
	}
	var size int64
	var theirs []streams
	var ours []*sc2replay.Unpacked
	for _, data := range files {
		var s streams
		m := theirMembers(b, data)
		s.game, s.message, s.tracker = m[0], m[1], m[2]
		size += int64(len(s.game) + len(s.message) + len(s.tracker))
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		u, err := p.Unpack()
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, u)
		s.proto = s2prot.GetProtocol(int(p.Start.Version.BaseBuild))
		theirs = append(theirs, s)
	}
	b.Run("replayd", func(b *testing.B) {
		want := sc2replay.AllKinds()
		want[sc2replay.KindMember] = false // the contents of other members would have to be unpacked
		var ev sc2replay.Event
		measure(b, size, events, func() {
			for _, u := range ours {
				d := u.Events(sc2replay.Options{Want: &want})
				for {
					if err := d.Next(&ev); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	})
	b.Run("s2prot", func(b *testing.B) {
		measure(b, size, events, func() {
			for _, s := range theirs {
				if _, err := s.proto.DecodeGameEvts(s.game); err != nil {
					b.Fatal(err)
				}
				if _, err := s.proto.DecodeMessageEvts(s.message); err != nil {
					b.Fatal(err)
				}
				if s.tracker != nil {
					if _, err := s.proto.DecodeTrackerEvts(s.tracker); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	})
}
