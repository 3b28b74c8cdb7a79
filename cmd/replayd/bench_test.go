package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/proto/rawcodec"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// These benchmarks run the program as a process of its own, so that what it costs can be told from what its clients
// cost. Those that follow a live file take as long as they take, whatever -benchtime says; use -benchtime 1x.

// game writes a live recording of a full server: 64 players, each of whom moves in every tick, 50 ticks a second.
type game struct {
	file *os.File

	mu sync.Mutex
	at []time.Time // when each tick was written
}

const players = 64

func newGame(tb testing.TB, path string) *game {
	tb.Helper()
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "killed",
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
	// Every file is a game of its own.
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

// step appends a tick: 64 records, in one write as a server does it. It ends with what makes the next tick begin.
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

// process is what the operating system knows of the daemon.
type process struct{ pid int }

// cpu is the time that it has used.
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

// memory is what it holds, in bytes; peak the most that it ever held.
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
	addr = freeAddr(tb)
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
	client := clientOf(tb, addr)
	for deadline := time.Now().Add(10 * time.Second); ; {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		_, err := replaydv1.NewReplayServiceClient(client.Conn).GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			return addr, process{cmd.Process.Pid}
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

func clientOf(tb testing.TB, addr string) streamtest.Client {
	tb.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(8<<10),
		// Windows of fixed size: without the PINGs by which gRPC measures the connection at each batch, and which the daemon
		// would have to answer.
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.WaitForReady(true)}}
}

// follower counts what it gets, and measures how late it comes.
type follower struct {
	late []time.Duration
	mu   sync.Mutex
}

// run follows until ctx ends. With a game, it measures.
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
			// PLAYER_DIFF moves by one a tick: x says which tick it was.
			if x := lastX(raw.Bytes); x > 0 {
				f.mu.Lock()
				f.late = append(f.late, now.Sub(g.written(int(x)-1)))
				f.mu.Unlock()
			}
		}
	}
}

// lastX is the x of a response's last event, 0 where it has none. Clients share the machine with the daemon: to decode all
// of what each of them gets would slow down what is measured.
func lastX(response []byte) int32 {
	message := response
	for _, number := range []protowire.Number{
		3, // StreamEventsResponse.batch
		3, // EventBatch.teehistorian
		1, // EventList.events
		2, // Event.player_diff
	} {
		message, _ = field(message, number)
	}
	var diff teehistorianv1.PlayerDiff
	if err := proto.Unmarshal(message, &diff); err != nil {
		return 0
	}
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

// BenchmarkLatency measures from the append of a tick to its arrival at a client, at 50 appends a second.
func BenchmarkLatency(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		g := newGame(b, filepath.Join(dir, "live.teehistorian"))
		addr, _ := daemon(b, dir)
		ctx, cancel := context.WithCancel(context.Background())
		var f follower
		ready := make(chan struct{})
		go f.run(ctx, clientOf(b, addr), &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}, g, func() { close(ready) })
		<-ready
		playing, stop := context.WithTimeout(ctx, 10*time.Second)
		g.play(playing, b)
		stop()
		cancel()
		b.ReportMetric(ms(f.percentile(0.5)), "p50-ms")
		b.ReportMetric(ms(f.percentile(0.99)), "p99-ms")
		b.ReportMetric(float64(len(f.late)), "appends")
	}
}

// BenchmarkFollowers measures what followers of a full server cost the daemon: one, and a hundred, on connections of their
// own or on shared ones; and what they cost when they let events wait for a batch.
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
				b.ReportMetric(ms(percentile(late, 0.5)), "p50-ms")
				b.ReportMetric(ms(percentile(late, 0.99)), "p99-ms")
			}
		})
	}
}

// bareProgram is a server that does nothing for its followers but write.
const bareProgram = "bare"

// bareBytes is what a tick of a full server takes on the wire, about.
const bareBytes = 1330

// bare listens at an address, waits for a number of connections, and writes to each of them 50 times a second, each time
// from a goroutine of the connection's own that it wakes. It stops when it is killed.
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

// BenchmarkBare measures what the network costs of a hundred followers on connections of their own: less than this cannot
// be had.
func BenchmarkBare(b *testing.B) {
	const n = 100
	for b.Loop() {
		program, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		addr := freeAddr(b)
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

// followers has n clients follow a game on some connections, beside some who never read, and returns which part of a core
// the daemon used, and how late the ticks came to the others.
func followers(b *testing.B, req *replaydv1.StreamEventsRequest, n, connections, stalled int) (core float64, late []time.Duration) {
	b.Helper()
	dir := b.TempDir()
	g := newGame(b, filepath.Join(dir, "live.teehistorian"))
	addr, p := daemon(b, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clients := make([]streamtest.Client, connections)
	for i := range clients {
		clients[i] = clientOf(b, addr)
	}
	all := make([]*follower, n)
	var ready, done sync.WaitGroup
	for i := range all {
		all[i] = new(follower)
		ready.Add(1)
		done.Go(func() {
			all[i].run(ctx, clients[i%connections], req, g, ready.Done)
		})
	}
	for range stalled {
		if _, err := clientOf(b, addr).Open(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	ready.Wait()
	playing, stop := context.WithTimeout(ctx, time.Second)
	g.play(playing, b)
	stop()
	for _, f := range all {
		f.mu.Lock()
		f.late = nil
		f.mu.Unlock()
	}
	before, began := p.cpu(b), time.Now()
	playing, stop = context.WithTimeout(ctx, 8*time.Second)
	g.play(playing, b)
	stop()
	core = float64(p.cpu(b)-before) / float64(time.Since(began))
	time.Sleep(100 * time.Millisecond)
	cancel()
	done.Wait()
	for _, f := range all {
		late = append(late, f.late...)
	}
	return core, late
}

// BenchmarkStalled measures how late ticks come to 99 clients, with and without one that never reads.
func BenchmarkStalled(b *testing.B) {
	req := &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}
	for _, stalled := range []int{0, 1} {
		b.Run(strconv.Itoa(stalled), func(b *testing.B) {
			for b.Loop() {
				_, late := followers(b, req, 99, 99, stalled)
				b.ReportMetric(ms(percentile(late, 0.5)), "p50-ms")
				b.ReportMetric(ms(percentile(late, 0.99)), "p99-ms")
			}
		})
	}
}

// BenchmarkThousand measures the memory that each of a thousand followers on connections of their own costs, and how many
// events they get while a full server plays.
func BenchmarkThousand(b *testing.B) {
	const n = 1000
	for b.Loop() {
		dir := b.TempDir()
		g := newGame(b, filepath.Join(dir, "live.teehistorian"))
		addr, p := daemon(b, dir)
		ctx, cancel := context.WithCancel(context.Background())
		empty, _ := p.memory(b)
		all := make([]*follower, n)
		var ready, done sync.WaitGroup
		for i := range all {
			all[i] = new(follower)
			ready.Add(1)
			done.Go(func() {
				all[i].run(ctx, clientOf(b, addr), &replaydv1.StreamEventsRequest{Replay: "live/live.teehistorian", Follow: true}, nil, ready.Done)
			})
		}
		ready.Wait()
		time.Sleep(time.Second)
		full, _ := p.memory(b)
		before, began := p.cpu(b), time.Now()
		playing, stop := context.WithTimeout(ctx, 5*time.Second)
		g.play(playing, b)
		stop()
		core := float64(p.cpu(b)-before) / float64(time.Since(began))
		busy, _ := p.memory(b)
		cancel()
		done.Wait()
		b.ReportMetric(float64(full-empty)/n/1024, "KiB-each-idle")
		b.ReportMetric(float64(busy-empty)/n/1024, "KiB-each-busy")
		b.ReportMetric(float64(len(g.at))*players*n/5/1e6, "Mevents/s")
		b.ReportMetric(100*core, "%core")
	}
}

// BenchmarkIdle measures the daemon following a thousand files that nobody writes to and ten full servers: how long it
// takes until all followers have caught up, and what it costs while only the idle ones are there.
func BenchmarkIdle(b *testing.B) {
	const idle, active = 1000, 10
	for b.Loop() {
		dir := b.TempDir()
		var games []*game
		for i := range idle + active {
			sub := filepath.Join(dir, fmt.Sprintf("server%d", i)) // where it is the newest, and may grow
			if err := os.MkdirAll(sub, 0o750); err != nil {
				b.Fatal(err)
			}
			g := newGame(b, filepath.Join(sub, "live.teehistorian"))
			g.step(b)
			if i >= idle {
				games = append(games, g)
			} else {
				_ = g.file.Close()
			}
		}
		began := time.Now()
		addr, p := daemon(b, dir)
		started := time.Since(began)
		ctx, cancel := context.WithCancel(context.Background())
		var ready, done sync.WaitGroup
		client := clientOf(b, addr)
		for i := range idle + active {
			if i%200 == 0 {
				client = clientOf(b, addr)
			}
			c := client
			ready.Add(1)
			done.Go(func() {
				new(follower).run(ctx, c, &replaydv1.StreamEventsRequest{
					Replay: fmt.Sprintf("live/server%d/live.teehistorian", i), Follow: true,
				}, nil, ready.Done)
			})
		}
		ready.Wait()
		following := time.Since(began)
		time.Sleep(80 * time.Second) // files that changed a minute ago or less are looked at more often
		before := p.cpu(b)
		time.Sleep(20 * time.Second)
		quiet := float64(p.cpu(b)-before) / float64(20*time.Second)
		playing, stop := context.WithTimeout(ctx, 5*time.Second)
		var wg sync.WaitGroup
		before = p.cpu(b)
		for _, g := range games {
			wg.Go(func() { g.play(playing, b) })
		}
		wg.Wait()
		stop()
		busy := float64(p.cpu(b)-before) / float64(5*time.Second)
		rss, _ := p.memory(b)
		cancel()
		done.Wait()
		b.ReportMetric(ms(started), "start-ms")
		b.ReportMetric(ms(following), "all-following-ms")
		b.ReportMetric(100*quiet, "%core-idle")
		b.ReportMetric(100*busy, "%core-10-active")
		b.ReportMetric(float64(rss)/(1<<20), "MiB")
	}
}

// BenchmarkFile measures a whole file from the disk through the daemon to a client that counts bytes.
func BenchmarkFile(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "long.teehistorian")
	size := repeat(b, path, 64<<20)
	addr, p := daemon(b, dir)
	client := clientOf(b, addr)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client.Conn = conn
	events, received := uint64(0), int64(0)
	own := ownCPU()
	before := p.cpu(b)
	b.SetBytes(size)
	for b.Loop() {
		s, err := client.Open(context.Background(), &replaydv1.StreamEventsRequest{Replay: "live/long.teehistorian", MaxBatchEvents: 4096})
		if err != nil {
			b.Fatal(err)
		}
		var last []byte
		for {
			var raw rawcodec.Message
			if err := s.RecvMsg(&raw); err != nil {
				if err != io.EOF { //nolint:errorlint // as gRPC returns it
					b.Fatal(err)
				}
				break
			}
			received += int64(len(raw.Bytes))
			last = raw.Bytes
		}
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(last, &r); err != nil || r.GetEnd() == nil {
			b.Fatal("no end", err)
		}
		events += r.GetEnd().GetEventsSent()
	}
	cpu := p.cpu(b) - before
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(events), "daemon-ns/event")
	b.ReportMetric(float64((ownCPU()-own).Nanoseconds())/float64(events), "client-ns/event")
	b.ReportMetric(float64(received)/float64(events), "bytes/event")
	_, peak := p.memory(b)
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// ownCPU is the time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// repeat makes a recording of about that many bytes by repeating a sample's records.
func repeat(tb testing.TB, path string, size int64) int64 {
	tb.Helper()
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "finished",
		"4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		tb.Fatal(err)
	}
	header := 16 + 1 + bytes.IndexByte(sample[16:], 0)
	body := bytes.Repeat(sample[header:len(sample)-1], 100)
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	written := int64(header) + 1
	_, err = file.Write(sample[:header])
	for ; err == nil && written < size; written += int64(len(body)) {
		_, err = file.Write(body)
	}
	if err == nil {
		_, err = file.Write(sample[len(sample)-1:])
	}
	if err != nil {
		tb.Fatal(err)
	}
	return written
}

// BenchmarkCat prints a file of 1 GB and measures the memory that takes. The file is made in a temporary directory.
func BenchmarkCat(b *testing.B) {
	path := filepath.Join(b.TempDir(), "huge.teehistorian")
	size := repeat(b, path, 1<<30)
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"proto", "json"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				cmd := exec.Command(program)
				cmd.Args = []string{"replayd", "cat", "--format", format, path}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				if !ok {
					b.Skip("no resource usage here")
				}
				b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
				b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
			}
		})
	}
}
