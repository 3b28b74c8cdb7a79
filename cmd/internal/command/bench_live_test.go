package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// BenchmarkThousand measures the memory for each of a thousand followers on connections of their own, and how many events they
// receive while a full server plays.
func BenchmarkThousand(b *testing.B) {
	const n = 1000
	for b.Loop() {
		dir := b.TempDir()
		g := commandtest.NewGame(b, "../../..", filepath.Join(dir, "live.teehistorian"))
		addr, p := daemon(b, dir)
		ctx, cancel := context.WithCancel(context.Background())
		empty, _ := p.memory(b)
		all := make([]*commandtest.Follower, n)
		var ready, done sync.WaitGroup
		for i := range all {
			all[i] = new(commandtest.Follower)
			ready.Add(1)
			done.Go(func() {
				all[i].Run(ctx, commandtest.ClientOf(b, addr), &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}, nil, ready.Done)
			})
		}
		ready.Wait()
		time.Sleep(time.Second)
		full, _ := p.memory(b)
		before, began := p.cpu(b), time.Now()
		playing, stop := context.WithTimeout(ctx, 5*time.Second)
		g.Play(playing, b)
		stop()
		core := float64(p.cpu(b)-before) / float64(time.Since(began))
		busy, _ := p.memory(b)
		cancel()
		done.Wait()
		b.ReportMetric(float64(full-empty)/n/1024, "KiB-each-idle")
		b.ReportMetric(float64(busy-empty)/n/1024, "KiB-each-busy")
		b.ReportMetric(float64(g.Events())*n/5/1e6, "Mevents/s")
		b.ReportMetric(100*core, "%core")
	}
}

// BenchmarkIdle measures a daemon that follows a thousand idle files and ten full servers. It reports how long it takes until
// all followers have caught up, and the CPU time while all files are idle and while the ten servers play.
func BenchmarkIdle(b *testing.B) {
	const idle, active = 1000, 10
	for b.Loop() {
		dir := b.TempDir()
		var games []*commandtest.Game
		for i := range idle + active {
			sub := filepath.Join(dir, fmt.Sprintf("server%d", i)) // only the newest file of a directory may grow
			if err := os.MkdirAll(sub, 0o750); err != nil {
				b.Fatal(err)
			}
			g := commandtest.NewGame(b, "../../..", filepath.Join(sub, "live.teehistorian"))
			g.Step(b)
			if i >= idle {
				games = append(games, g)
			} else {
				g.Close()
			}
		}
		began := time.Now()
		addr, p := daemon(b, dir)
		started := time.Since(began)
		ctx, cancel := context.WithCancel(context.Background())
		var ready, done sync.WaitGroup
		client := commandtest.ClientOf(b, addr)
		for i := range idle + active {
			if i%200 == 0 {
				client = commandtest.ClientOf(b, addr)
			}
			c := client
			ready.Add(1)
			done.Go(func() {
				new(commandtest.Follower).Run(ctx, c, &replaydv1.StreamEventsRequest{
					Replay: fmt.Sprintf("live/server%d/live.teehistorian", i), Follow: true,
				}, nil, ready.Done)
			})
		}
		ready.Wait()
		following := time.Since(began)
		time.Sleep(80 * time.Second) // files that changed a minute ago or less are polled more often
		before := p.cpu(b)
		time.Sleep(20 * time.Second)
		quiet := float64(p.cpu(b)-before) / float64(20*time.Second)
		playing, stop := context.WithTimeout(ctx, 5*time.Second)
		var wg sync.WaitGroup
		before = p.cpu(b)
		for _, g := range games {
			wg.Go(func() { g.Play(playing, b) })
		}
		wg.Wait()
		stop()
		busy := float64(p.cpu(b)-before) / float64(5*time.Second)
		rss, _ := p.memory(b)
		cancel()
		done.Wait()
		b.ReportMetric(commandtest.Ms(started), "start-ms")
		b.ReportMetric(commandtest.Ms(following), "all-following-ms")
		b.ReportMetric(100*quiet, "%core-idle")
		b.ReportMetric(100*busy, "%core-10-active")
		b.ReportMetric(float64(rss)/(1<<20), "MiB")
	}
}
