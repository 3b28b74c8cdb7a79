package commandtest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/proto/rawcodec"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// Game writes a live recording of a full server: 64 players that move in every tick, 50 ticks a second.
type Game struct {
	file *os.File

	mu sync.Mutex
	at []time.Time // when each tick was written
}

const players = 64

// NewGame begins a game in a file. root is the path of the repository.
func NewGame(tb testing.TB, root, path string) *Game {
	tb.Helper()
	sample, err := os.ReadFile(filepath.Join(root, "testdata", "teehistorian", "killed",
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
	g := &Game{file: file}
	if _, err := file.Write(data); err != nil {
		tb.Fatal(err)
	}
	return g
}

// Step appends a tick: 64 records in one write, as a server does. The first record of the next tick ends it, because player ids
// start again from 0.
func (g *Game) Step(tb testing.TB) {
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

// Play appends 50 ticks a second until ctx ends.
func (g *Game) Play(ctx context.Context, tb testing.TB) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.Step(tb)
		}
	}
}

func (g *Game) written(tick int) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at[tick]
}

// Follower measures the latency of the ticks that it receives.
type Follower struct {
	Late []time.Duration // from the append of a tick to its arrival
	mu   sync.Mutex
}

// Run follows until ctx ends. It calls ready when it has caught up. After that, it measures the latency if g is not nil.
func (f *Follower) Run(ctx context.Context, c streamtest.Client, req *replaydv1.StreamEventsRequest, g *Game, ready func()) {
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
				f.Late = append(f.Late, now.Sub(g.written(int(x)-1)))
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
	for e := range r.Batch.Events() { //nolint:errcheck // Events is a sequence
		last = e
	}
	diff, _ := last.Value().(*teehistorianv1.PlayerDiff)
	return diff.GetX()
}

// Percentile returns the latency that a share p of the latencies do not exceed.
func (f *Follower) Percentile(p float64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Percentile(f.Late, p)
}

// Percentile returns the duration that a share p of the durations do not exceed.
func Percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// Ms returns a duration in milliseconds.
func Ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Events returns the number of written events.
func (g *Game) Events() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return players * len(g.at)
}

// Forget drops the latencies measured so far.
func (f *Follower) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Late = nil
}

// Close closes the file. The game can no longer be written to.
func (g *Game) Close() { _ = g.file.Close() }
