package command

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/proto/rawcodec"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// These benchmarks run the program as a process of its own, so that its cost can be separated from what its clients
// cost. Those that follow a live file take as long as they take, whatever -benchtime says; use -benchtime 1x.

// game writes a live recording of a full server: 64 players that move in every tick, 50 ticks a second.
type game struct {
	file *os.File

	mu sync.Mutex
	at []time.Time // when each tick was written
}

const players = 64

func newGame(tb testing.TB, path string) *game {
	tb.Helper()
	sample, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "teehistorian", "killed",
		"d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"))
	if err != nil {
		tb.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	data := slices.Clone(sample[:16+1+bytes.IndexByte(sample[16:], 0)])
	// Give every file another game id, since files with the same id are one game.
	data = bytes.Replace(data, []byte("d3a324eb"), fmt.Appendf(nil, "%08x", time.Now().UnixNano()&math.MaxUint32), 1)
	for id := range players {
		data = append(data, 0x42, byte(id), 0, 0) // PLAYER_NEW id x y
	}
	g := &game{file: file}
	if _, err := file.Write(data); err != nil {
		tb.Fatal(err)
	}
	return g
}

// step appends a tick: 64 records in one write, as a server does. The first record of the next tick ends it, because player ids
// start again from 0.
func (g *game) step(tb testing.TB) {
	var b [3 * players]byte
	for id := range players {
		b[3*id], b[3*id+1], b[3*id+2] = byte(id), 1, 0x40 // PLAYER_DIFF id +1 -1
	}
	now := time.Now()
	g.mu.Lock()
	g.at = append(g.at, now)
	g.mu.Unlock()
	if _, err := g.file.Write(b[:]); err != nil {
		tb.Error(err)
	}
}

// play appends 50 ticks a second until ctx ends.
func (g *game) play(ctx context.Context, tb testing.TB) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.step(tb)
		}
	}
}

func (g *game) written(tick int) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at[tick]
}

// process is the daemon's process.
type process struct{ pid int }

// cpu returns the CPU time that the process has used.
func (p process) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		tb.Skip(err)
	}
	// The fields after the name, which ends with the last parenthesis.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the resident memory of the process in bytes, now and at its peak.
func (p process) memory(tb testing.TB) (now, peak int64) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		tb.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			peak = n << 10
		}
	}
	return now, peak
}

func daemon(tb testing.TB, dir string) (addr string, p process) {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	addr = commandtest.FreeAddr(tb)
	cmd := exec.Command(program)
	cmd.Args = []string{"replayd", "serve", "--listen", addr, "--root", "live=" + dir, "--log-level", "error", "--max-streams", "4096"}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := commandtest.ClientOf(tb, addr)
	for deadline := time.Now().Add(10 * time.Second); ; {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		_, err := replaydv1.NewReplayServiceClient(c.Conn).GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			return addr, process{cmd.Process.Pid}
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

// follower measures the latency of the ticks that it receives.
type follower struct {
	late []time.Duration // from the append of a tick to its arrival
	mu   sync.Mutex
}

// run follows until ctx ends. It calls ready when it has caught up. After that, it measures the latency if g is not nil.
func (f *follower) run(ctx context.Context, c streamtest.Client, req *replaydv1.StreamEventsRequest, g *game, ready func()) {
	s, err := c.Open(ctx, req)
	if err != nil {
		return
	}
	for {
		var raw rawcodec.Message
		if err := s.RecvMsg(&raw); err != nil {
			return
		}
		now := time.Now()
		if ready != nil {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(raw.Bytes, &r); err != nil {
				return
			}
			if r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
				ready()
				ready = nil
			}
		} else if g != nil {
			// PLAYER_DIFF moves the player by one per tick, so x is the number of the tick.
			if x := lastX(raw.Bytes); x > 0 {
				f.mu.Lock()
				f.late = append(f.late, now.Sub(g.written(int(x)-1)))
				f.mu.Unlock()
			}
		}
	}
}

// lastX returns the x of a response's last event, or 0. It unmarshals only that event, because clients share the machine with
// the daemon.
func lastX(response []byte) int32 {
	r, err := client.ParseResponse(response)
	if err != nil || r.Batch == nil {
		return 0
	}
	var last client.Event
	for e := range r.Batch.Events() {
		last = e
	}
	diff, _ := last.Value().(*teehistorianv1.PlayerDiff)
	return diff.GetX()
}

func (f *follower) percentile(p float64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return percentile(f.late, p)
}

func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
