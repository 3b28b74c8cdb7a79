package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// BenchmarkLatency measures the time from the append of a tick to its arrival at a client, at 50 appends a second.
func BenchmarkLatency(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		g := commandtest.NewGame(b, "../../..", filepath.Join(dir, "live.teehistorian"))
		addr, _ := daemon(b, dir)
		ctx, cancel := context.WithCancel(context.Background())
		var f commandtest.Follower
		ready := make(chan struct{})
		go f.Run(ctx, commandtest.ClientOf(b, addr), &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}, g, func() { close(ready) })
		<-ready
		playing, stop := context.WithTimeout(ctx, 10*time.Second)
		g.Play(playing, b)
		stop()
		cancel()
		b.ReportMetric(commandtest.Ms(f.Percentile(0.5)), "p50-ms")
		b.ReportMetric(commandtest.Ms(f.Percentile(0.99)), "p99-ms")
		b.ReportMetric(float64(len(f.Late)), "appends")
	}
}

// BenchmarkFollowers measures the CPU time that followers of a full server cost the daemon. It runs one follower, a hundred on
// connections of their own or on shared ones, and a hundred with a batch delay.
func BenchmarkFollowers(b *testing.B) {
	for _, c := range []struct {
		followers, connections int
		wait                   time.Duration
	}{{1, 1, 0}, {100, 100, 0}, {100, 10, 0}, {100, 1, 0}, {100, 100, 100 * time.Millisecond}} {
		name := fmt.Sprintf("%don%d", c.followers, c.connections)
		if c.wait > 0 {
			name += "waiting" + c.wait.String()
		}
		b.Run(name, func(b *testing.B) {
			req := &replaydv1.StreamEventsRequest{
				Replay: "live/live.teehistorian", Follow: true, MaxBatchDelay: durationpb.New(c.wait),
			}
			for b.Loop() {
				core, late := followers(b, req, c.followers, c.connections, 0)
				b.ReportMetric(100*core, "%core")
				b.ReportMetric(commandtest.Ms(commandtest.Percentile(late, 0.5)), "p50-ms")
				b.ReportMetric(commandtest.Ms(commandtest.Percentile(late, 0.99)), "p99-ms")
			}
		})
	}
}

// bareProgram is the name of a program that only writes bytes to its followers.
const bareProgram = "bare"

// bareBytes is the approximate size of a tick of a full server on the wire.
const bareBytes = 1330

// bare listens at an address and waits for a number of connections. Then it writes to each of them 50 times a second. Each
// connection has a goroutine, which bare wakes for each write. bare runs until it is killed.
func bare() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	wake := make([]chan struct{}, n)
	for i := range wake {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		wake[i] = make(chan struct{}, 1)
		go func() {
			message := make([]byte, bareBytes)
			for range wake[i] {
				_, _ = conn.Write(message)
			}
		}()
	}
	for range time.Tick(20 * time.Millisecond) {
		for _, w := range wake {
			w <- struct{}{}
		}
	}
}

// BenchmarkBare measures the cost of the network alone for a hundred followers on connections of their own. It is a lower bound
// for the daemon.
func BenchmarkBare(b *testing.B) {
	const n = 100
	for b.Loop() {
		program, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		addr := commandtest.FreeAddr(b)
		cmd := exec.Command(program)
		cmd.Args = []string{bareProgram, addr, strconv.Itoa(n)}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var done sync.WaitGroup
		for range n {
			conn, err := net.Dial("tcp", addr)
			for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); conn, err = net.Dial("tcp", addr) {
				time.Sleep(10 * time.Millisecond)
			}
			if err != nil {
				b.Fatal(err)
			}
			done.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			})
		}
		p := process{cmd.Process.Pid}
		time.Sleep(time.Second)
		before, began := p.cpu(b), time.Now()
		time.Sleep(8 * time.Second)
		core := float64(p.cpu(b)-before) / float64(time.Since(began))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		done.Wait()
		b.ReportMetric(100*core, "%core")
	}
}

// followers makes n clients follow a game on a number of connections, beside stalled clients, which never read. It returns the
// part of a core that the daemon used, and the latencies of the ticks at the n clients.
func followers(b *testing.B, req *replaydv1.StreamEventsRequest, n, connections, stalled int) (core float64, late []time.Duration) {
	b.Helper()
	dir := b.TempDir()
	g := commandtest.NewGame(b, "../../..", filepath.Join(dir, "live.teehistorian"))
	addr, p := daemon(b, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clients := make([]streamtest.Client, connections)
	for i := range clients {
		clients[i] = commandtest.ClientOf(b, addr)
	}
	all := make([]*commandtest.Follower, n)
	var ready, done sync.WaitGroup
	for i := range all {
		all[i] = new(commandtest.Follower)
		ready.Add(1)
		done.Go(func() {
			all[i].Run(ctx, clients[i%connections], req, g, ready.Done)
		})
	}
	for range stalled {
		if _, err := commandtest.ClientOf(b, addr).Open(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	ready.Wait()
	playing, stop := context.WithTimeout(ctx, time.Second)
	g.Play(playing, b)
	stop()
	for _, f := range all {
		f.Forget()
	}
	before, began := p.cpu(b), time.Now()
	playing, stop = context.WithTimeout(ctx, 8*time.Second)
	g.Play(playing, b)
	stop()
	core = float64(p.cpu(b)-before) / float64(time.Since(began))
	time.Sleep(100 * time.Millisecond)
	cancel()
	done.Wait()
	for _, f := range all {
		late = append(late, f.Late...)
	}
	return core, late
}

// BenchmarkStalled measures the latency of ticks at 99 clients, with and without one more that never reads.
func BenchmarkStalled(b *testing.B) {
	req := &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}
	for _, stalled := range []int{0, 1} {
		b.Run(strconv.Itoa(stalled), func(b *testing.B) {
			for b.Loop() {
				_, late := followers(b, req, 99, 99, stalled)
				b.ReportMetric(commandtest.Ms(commandtest.Percentile(late, 0.5)), "p50-ms")
				b.ReportMetric(commandtest.Ms(commandtest.Percentile(late, 0.99)), "p99-ms")
			}
		})
	}
}

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
