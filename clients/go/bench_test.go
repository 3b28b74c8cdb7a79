package replayd_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	replayd "github.com/replayd/replayd/clients/go"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// recording returns a long teehistorian file: the longest of the corpus, or a sample without the corpus.
func recording(b *testing.B) (dir, name string) {
	dir = filepath.Join("..", "..", "..", "shared", "corpus", "teehistorian")
	if _, err := os.Stat(dir); err != nil {
		return samples, finished
	}
	longest := int64(0)
	for _, n := range replays(b, dir, isReplay) {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(n))); err == nil && info.Size() > longest && strings.HasSuffix(n, "teehistorian") {
			longest, name = info.Size(), n
		}
	}
	return dir, name
}

// external returns the address of a daemon in another process and the name of a replay, from REPLAYD_BENCH=ADDR/REPLAY. The
// figures then do not include the daemon's work.
func external() (addr, name string, ok bool) {
	addr, name, ok = strings.Cut(os.Getenv("REPLAYD_BENCH"), "/")
	return addr, name, ok
}

// BenchmarkStream measures receiving and iterating events from a daemon on this machine. cpu-ns/event is the CPU time of this
// process. That is the client alone if REPLAYD_BENCH=ADDR/REPLAY names a daemon, and client and daemon otherwise.
func BenchmarkStream(b *testing.B) {
	var client *replayd.Client
	req := &replaydv1.StreamEventsRequest{}
	if addr, name, ok := external(); ok {
		var err error
		if client, err = replayd.Dial(addr); err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		req.Replay = name
	} else {
		dir, name := recording(b)
		client = serve(b, dir).connect()
		req.Replay = root + "/" + name
	}
	req.MaxBatchEvents = 4096
	run := func(name string, encoding replaydv1.Encoding, each func(*replayd.Batch) int) {
		b.Run(name, func(b *testing.B) {
			req.Encoding = encoding
			n := 0
			before := cpu()
			for b.Loop() {
				for batch, err := range client.Batches(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
					n += each(batch)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/event")
		})
	}
	rows := replaydv1.Encoding_ENCODING_ROWS
	run("raw", rows, func(batch *replayd.Batch) int { return batch.Len() })
	run("rows", rows, func(batch *replayd.Batch) int {
		n := 0
		for e := range batch.Events() {
			if e.Kind != "" {
				n++
			}
		}
		return n
	})
	var diff teehistorianv1.PlayerDiff
	var input teehistorianv1.InputDiff
	var sum int32
	run("rows-unmarshal", rows, func(batch *replayd.Batch) int {
		n := 0
		for e := range batch.Events() {
			switch e.Kind {
			case "player_diff":
				_ = e.Unmarshal(&diff)
				sum += diff.GetX()
			case "input_diff":
				_ = e.Unmarshal(&input)
				sum += input.GetInput().GetTargetX()
			}
			n++
		}
		return n
	})
	run("rows-value", rows, func(batch *replayd.Batch) int {
		n := 0
		for e := range batch.Events() {
			switch v := e.Value().(type) {
			case *teehistorianv1.PlayerDiff:
				sum += v.GetX()
			case *teehistorianv1.InputDiff:
				sum += v.GetInput().GetTargetX()
			}
			n++
		}
		return n
	})
	run("rows-generated", rows, func(batch *replayd.Batch) int {
		m, err := batch.Message()
		if err != nil {
			b.Fatal(err)
		}
		return len(m.(*teehistorianv1.EventList).GetEvents())
	})
	run("tables", replaydv1.Encoding_ENCODING_ARROW, func(batch *replayd.Batch) int { return batch.Len() })
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
