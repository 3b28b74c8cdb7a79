package command

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// soakVariable is the environment variable that sets the duration, such as 10m for a long run.
const soakVariable = "SOAK"

// TestSoak opens and closes streams while servers play. At the end, the daemon must have few open descriptors, and its memory
// must not have grown much since the first fifth of the time.
func TestSoak(t *testing.T) {
	duration := 5 * time.Second
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakVariable, err)
		}
	}
	dir := t.TempDir()
	addr, p := daemon(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 3 {
		g := commandtest.NewGame(t, "../../..", filepath.Join(dir, fmt.Sprintf("%d.teehistorian", i)))
		g.Step(t)
		wg.Go(func() { g.Play(ctx, t) })
	}
	requests := []*replaydv1.StreamEventsRequest{
		{Replay: "live/0.teehistorian"},
		{Replay: "live/0.teehistorian", Follow: true},
		{Replay: "live", Follow: true, FollowSuccessors: true},
		{Replay: "live/1.teehistorian", Follow: true, Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}},
		{Replay: "live/2.teehistorian", Follow: true, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 1000}}},
		{Replay: "live/2.teehistorian", Include: []*replaydv1.EventFilter{{Players: []int32{3}}}},
		{Replay: "live/nothing"},
	}
	sessions := make([]int, 4)
	client := commandtest.ClientOf(t, addr)
	for i := range sessions {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				left := random.IntN(20)
				client.Raw(ctx, requests[random.IntN(len(requests))], func([]byte) bool { left--; return left > 0 })
				sessions[i]++
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	descriptors := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	time.Sleep(duration / 5)
	warmRSS, _ := p.memory(t)
	wg.Wait()
	time.Sleep(500 * time.Millisecond)
	idle := descriptors()
	endRSS, _ := p.memory(t)
	total := 0
	for _, n := range sessions {
		total += n
	}
	t.Logf("%v, %d sessions: %d descriptors at the end; memory %.1f MiB after a fifth, %.1f MiB at the end",
		duration, total, idle, float64(warmRSS)/(1<<20), float64(endRSS)/(1<<20))
	// Open without any stream: standard streams, the listener, epoll, inotify, one connection.
	if idle > 20 {
		t.Errorf("%d descriptors are open without any stream", idle)
	}
	if endRSS > 2*warmRSS+64<<20 {
		t.Errorf("memory grew from %d to %d bytes", warmRSS, endRSS)
	}
}
