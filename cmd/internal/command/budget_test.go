package command

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// budgetVariable enables the whole measurement if it is not empty: a budget of 512 MiB, 1,000 uploads and 1,000 streams.
const budgetVariable = "BUDGET"

// TestBudget has several mixes of many clients that hold uploads with the largest possible windows, or leave streams
// unread. The peak memory of the process must stay within 1.2 times the budget for streams and uploads. Calls beyond the
// budget must fail with RESOURCE_EXHAUSTED. In the end no memory may be reserved.
func TestBudget(t *testing.T) {
	budget, each, size := int64(256<<20), 40, 4<<20
	whole := os.Getenv(budgetVariable) != ""
	if whole {
		budget, each, size = 512<<20, 1000, 72<<20
	}
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	long := longReplay(sample, size)
	uploads := map[string][]byte{
		"gz": gzipped(t, long), "zst": zstdWith(t, long, 16<<20),
		"xz":  packed(t, long, 64, "xz", "-T1", "--lzma2=preset=1,dict=64MiB"),
		"bz2": packed(t, sample, 4, "bzip2", "-9"), // with the largest block size
	}
	dir := t.TempDir()
	files := []string{"long.teehistorian", "long.teehistorian.gz", "long.teehistorian.zst", "long.teehistorian.xz"}
	for i, data := range [][]byte{long, uploads["gz"], uploads["zst"], uploads["xz"]} {
		commandtest.WriteFile(t, filepath.Join(dir, files[i]), data)
	}
	for name, path := range map[string]string{
		"map.map": "datafile/sample.map", "demo.dem": "dem/sample.dem", "sc2.SC2Replay": "sc2replay/5.0.SC2Replay",
	} {
		data := decodertest.Sample(t, filepath.FromSlash(path))
		commandtest.WriteFile(t, filepath.Join(dir, name), data)
		files = append(files, name)
	}
	program := build(t)
	every := []string{"gz", "zst", "xz", "bz2"}
	for _, mix := range []struct {
		name             string
		uploads, streams int
		kinds            []string // of uploads
	}{
		{"all", each, each, every},
		{"xz", each, 0, []string{"xz"}},
		{"zst", each, 0, []string{"zst"}},
		{"bz2", each, 0, []string{"bz2"}},
		{"streams", 0, 2 * each, nil},
	} {
		if !whole && mix.name != "all" && mix.name != "xz" {
			continue
		}
		t.Run(mix.name, func(t *testing.T) {
			c := &chaos{t: t, addr: commandtest.FreeAddr(t), metrics: commandtest.FreeAddr(t)}
			cmd := exec.Command(program, "serve", "--listen", c.addr, "--metrics-listen", c.metrics, "--root", "r="+dir,
				"--max-memory", strconv.FormatInt(budget, 10), "--max-streams", "4096", "--client-share", "1",
				"--send-timeout", "1h", "--upload-timeout", "1h", "--survey-budget", "0", "--drain-timeout", "1s", "--log-level", "error")
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			commandtest.ClientOf(t, c.addr).Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/none"}, nil) // waits until the daemon serves
			h := &holders{t: t, addr: c.addr}
			for i := range max(mix.uploads, mix.streams) {
				if i < mix.uploads {
					h.start(func(api replaydv1.ReplayServiceClient) error {
						return holdUpload(ctx, api, uploads[mix.kinds[i%len(mix.kinds)]])
					})
				}
				if i < mix.streams {
					h.start(func(api replaydv1.ReplayServiceClient) error { return leaveUnread(ctx, api, "r/"+files[i%len(files)]) })
				}
			}
			h.begun.Wait()
			p := process{cmd.Process.Pid}
			taken := settled(ctx, c, p)
			now, peak := p.memory(t)
			t.Logf("%d uploads, %d unread streams: %d go on, %d were refused; %d MiB taken of %d, %d MiB in memory, %d at most",
				mix.uploads, mix.streams, h.held.Load(), h.refused.Load(), taken>>20, budget>>20, now>>20, peak>>20)
			limit := budget / 5 * 6
			if !whole { // the memory of the process itself is a larger part of a small budget
				limit += 64 << 20
			}
			if peak > limit {
				t.Errorf("the process had %d MiB, more than %d", peak>>20, limit>>20)
			}
			if h.held.Load() == 0 || taken > budget {
				t.Errorf("%d go on, %d bytes are taken", h.held.Load(), taken)
			}
			for _, conn := range h.conns {
				_ = conn.Close()
			}
			for taken := settled(ctx, c, p); taken != 0; taken = settled(ctx, c, p) {
				if ctx.Err() != nil {
					t.Fatalf("%d bytes are still taken", taken)
				}
			}
			if s := commandtest.ClientOf(t, c.addr).Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/map.map"}, nil); s.Err != nil {
				t.Errorf("afterwards: %v", s.Err)
			}
			_ = cmd.Process.Signal(syscall.SIGTERM)
		})
	}
}

// settled waits until the daemon is almost idle, and returns the memory that it has reserved.
func settled(ctx context.Context, c *chaos, p process) int64 {
	for idle := 0; idle < 3 && ctx.Err() == nil; idle++ {
		before := p.cpu(c.t)
		time.Sleep(500 * time.Millisecond)
		if p.cpu(c.t)-before > 20*time.Millisecond {
			idle = -1
		}
	}
	return int64(c.figures()[`replayd_taken{resource="memory"}`])
}

// holders are clients that hold as many calls as the daemon accepts.
type holders struct {
	t    *testing.T
	addr string

	conns         []*grpc.ClientConn
	calls         int
	begun         sync.WaitGroup
	held, refused atomic.Int64
}

// start keeps a call open as long as the daemon allows. f must return when the daemon has accepted or refused the call.
func (h *holders) start(f func(replaydv1.ReplayServiceClient) error) {
	if h.calls%200 == 0 { // the limit of a connection is 256 calls
		h.conns = append(h.conns, commandtest.ClientOf(h.t, h.addr).Conn.(*grpc.ClientConn))
	}
	h.calls++
	api := replaydv1.NewReplayServiceClient(h.conns[len(h.conns)-1])
	h.begun.Go(func() {
		switch err := f(api); {
		case err == nil:
			h.held.Add(1)
		case status.Code(err) == codes.ResourceExhausted && len(status.Convert(err).Details()) >= 2: // the reason and the retry delay
			h.refused.Add(1)
		default:
			h.t.Errorf("it ends by %v", err)
		}
	})
}

// holdUpload begins an upload and does not end it. The daemon reads all of its data and sends no events.
func holdUpload(ctx context.Context, api replaydv1.ReplayServiceClient, data []byte) error {
	s, err := api.DecodeReplay(ctx, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	options := &replaydv1.StreamEventsRequest{Replay: "x", Include: []*replaydv1.EventFilter{{Kinds: []string{"finish"}}}}
	err = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: options}})
	for len(data) > 0 && err == nil {
		n := min(len(data), 256<<10)
		err = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data[:n]}})
		data = data[n:]
	}
	_, err = s.Recv() // the start, or the error
	return err
}

// leaveUnread begins a stream and reads only its start.
func leaveUnread(ctx context.Context, api replaydv1.ReplayServiceClient, replay string) error {
	s, err := api.StreamEvents(ctx, &replaydv1.StreamEventsRequest{Replay: replay}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	_, err = s.Recv()
	return err
}

// longReplay returns a replay without an end, of at least size bytes. Good compression reduces it to about a fiftieth. Behind the records of the
// sample a character moves away and comes back, over and over.
func longReplay(sample []byte, size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	header, round := teetest.Parts(sample)
	const playerNew = 0x42
	long := slices.Concat(header, round, []byte{playerNew, 0, 16, 16}) // client 0, at 16, 16
	moves := make([][2]byte, 512)                                      // to the right and up, of 1 to 63 units
	for i := range moves {
		moves[i] = [2]byte{byte(1 + random.IntN(63)), byte(1 + random.IntN(63))}
	}
	const back = 0x40 // of an integer below 0, whose bits are those of -1 less the integer
	for len(long) < size {
		for i := range 16 { // bytes that did not occur before
			moves[random.IntN(len(moves))][i%2] = byte(1 + random.IntN(63))
		}
		for _, m := range moves {
			long = append(long, 0, m[0], back|(m[1]-1)) // PLAYER_DIFF of client 0
		}
		for _, m := range moves {
			long = append(long, 0, back|(m[0]-1), m[1])
		}
	}
	return long
}

// The following functions return compressed streams without their last bytes, so that a reader waits for more.

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdWith(t *testing.T, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed compresses with a program, and leaves out the last bytes.
func packed(t *testing.T, data []byte, last int, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, append(args, "-c")...)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s: %v", program, err)
	}
	return out[:len(out)-last]
}
