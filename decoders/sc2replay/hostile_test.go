package sc2replay_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

var long = flag.Bool("long", false, "mutate 5,000 replays instead of 300")

// slowest and largestMemory are the maxima over all calls of decodeWithin.
var (
	slowest       time.Duration
	largestMemory uint64
)

// decodeWithin decodes a damaged replay. Decoding may fail only with a *decoders.Error, and must be quick and use
// little memory.
func decodeWithin(t testing.TB, name string, file []byte) (events int) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := func() error {
		p, err := sc2replay.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return err
		}
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		for {
			if err := d.Next(&ev); err != nil {
				return err
			}
			events++
		}
	}()
	var e *decoders.Error
	if !errors.Is(err, io.EOF) && !errors.As(err, &e) {
		t.Errorf("%s: ends with %v", name, err)
	}
	// It takes less than a second on an idle machine, but tests share theirs.
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("%s: took %v", name, took)
	}
	runtime.ReadMemStats(&after)
	slowest, largestMemory = max(slowest, time.Since(start)), max(largestMemory, after.TotalAlloc-before.TotalAlloc)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%s: allocated %d MB", name, n>>20)
	}
	return events
}

// mutants returns replays to damage: the samples, and the smaller replays of the corpus.
func mutants(t *testing.T) (files [][]byte) {
	for _, build := range []int{15405, 16561, 24764, 80949} {
		files = append(files, sc2test.Sample(build).Bytes())
	}
	t.Run("corpus", func(t *testing.T) {
		corpus(t, func(_ string, data []byte) {
			if len(data) < 60<<10 && len(files) < 40 {
				files = append(files, data)
			}
		})
	})
	return files
}

func TestMutations(t *testing.T) {
	files := mutants(t)
	rnd := rand.New(rand.NewPCG(21, 22))
	n := 300
	if *long {
		n = 5000
	}
	for i := range n {
		file := bytes.Clone(files[rnd.IntN(len(files))])
		name := ""
		switch i % 4 {
		case 0:
			name = "flipped bits"
			for range 1 + rnd.IntN(4) {
				file[rnd.IntN(len(file))] ^= 1 << rnd.IntN(8)
			}
		case 1:
			name = "other header"
			for range 1 + rnd.IntN(3) {
				file[rnd.IntN(min(len(file), 120))] = byte(rnd.Uint32())
			}
		case 2:
			name = "other archive header"
			for range 1 + rnd.IntN(3) {
				file[min(1024+rnd.IntN(208), len(file)-1)] = byte(rnd.Uint32())
			}
		case 3:
			name = "other tables"
			for range 1 + rnd.IntN(3) {
				file[len(file)-1-rnd.IntN(min(len(file), 600))] = byte(rnd.Uint32())
			}
		}
		decodeWithin(t, fmt.Sprintf("%s, mutation %d", name, i), file)
	}
	t.Logf("at most %v and %d KB", slowest, largestMemory>>10)
}

// TestTruncation cuts replays at every KB. As soon as the header is complete, its contents must be delivered.
func TestTruncation(t *testing.T) {
	for i, file := range mutants(t) {
		if !*long && i > 8 {
			break
		}
		for cut := 0; cut < len(file); cut += 1 << 10 {
			n := decodeWithin(t, fmt.Sprintf("replay %d cut to %d", i, cut), file[:cut])
			if cut >= 1<<10 && n < 2 {
				t.Errorf("replay %d cut to %d: %d events, not even start and end", i, cut, n)
			}
		}
	}
}

func FuzzReplay(f *testing.F) {
	for _, build := range []int{15405, 24764, 80949} {
		r := sc2test.Sample(build)
		r.Method = sc2test.Stored // damage reaches the events
		f.Add(r.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) { decodeWithin(t, "fuzzed", file) })
}

// FuzzGameEvents decodes arbitrary bytes as the streams of a table.
func FuzzGameEvents(f *testing.F) {
	for _, build := range []int{15405, 16561, 24764, 34784, 80949} {
		table, err := protocol.Default().Table(build)
		if err != nil {
			f.Fatal(err)
		}
		r := sc2test.Sample(build)
		f.Add(build, sc2test.Stream(table, protocol.Game, r.Game), sc2test.Stream(table, protocol.Message, r.Message))
	}
	builds := protocol.Default().Builds()
	f.Fuzz(func(t *testing.T, build int, game, message []byte) {
		if !slices.Contains(builds, build) {
			build = builds[uint(build)%uint(len(builds))]
		}
		r := &sc2test.Replay{Table: build, Loops: 1 << 20, Details: sc2test.S{}, InitData: sc2test.S{}}
		file := (&sc2test.Archive{UserData: header(r), Members: []sc2test.Member{
			{Name: "replay.game.events", Data: game}, {Name: "replay.message.events", Data: message},
			{Name: "replay.tracker.events", Data: message}, {Name: "replay.initData", Data: game}, {Name: "replay.details", Data: message},
		}}).Bytes()
		decodeWithin(t, "fuzzed", file)
	})
}

// header returns a replay's header.
func header(r *sc2test.Replay) []byte {
	file := r.Bytes()
	return file[16:512]
}
