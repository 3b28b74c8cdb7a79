//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/streamtest"

	"github.com/replayd/replayd/e2e/ddnet"
)

// process is a program that is killed and started again.
type process struct {
	program string
	args    []string
	cmd     *exec.Cmd
}

func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Stderr = t.Output()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// TestShip: a real game server with players, a shipper, a cluster of three NATS servers, two daemons and three clients. First nothing is killed,
// and it logs how long bytes take from the file to the clients. Then processes are killed at random, SHIP_KILLS times. The clients must
// receive each event once.
func TestShip(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("SHIP_KILLS"))
	if err != nil {
		t.Skip("SHIP_KILLS is not set")
	}
	ctx, srv, bots := start(t, ddnet.Config{})
	bin := t.TempDir()
	for name, pkg := range map[string]string{
		"replayd-fleet": "github.com/replayd/replayd/cmd/replayd-fleet", "replayd-ship": "github.com/replayd/replayd/cmd/replayd-ship",
		"nats-server": "github.com/nats-io/nats-server/v2",
	} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-pgo=off", "-trimpath", "-o", filepath.Join(bin, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var all []*process
	begin := func(program string, args ...string) *process {
		p := &process{program: filepath.Join(bin, program), args: args}
		p.start(t)
		t.Cleanup(p.kill)
		all = append(all, p)
		return p
	}
	var urls, routes []string
	for range 3 {
		urls, routes = append(urls, freeAddr(t)), append(routes, "nats://"+freeAddr(t))
	}
	for i, addr := range urls {
		_, port, _ := strings.Cut(addr, ":")
		begin("nats-server", "-a", "127.0.0.1", "-p", port, "-js", "-l", filepath.Join(bin, fmt.Sprint("nats.log", i)), "-sd", t.TempDir(), "-n", fmt.Sprint("n", i), "--cluster_name", "c", "--cluster", routes[i],
			"--routes", strings.Join(routes, ","))
	}
	place := "nats://" + strings.Join(urls, ",") + "/replayd-live"
	begin("replayd-ship", srv.TeehistorianDir(), "--to", place, "--source", "s1", "--replicas", "3", "--log-level", "error")
	var addrs []string
	for i := range 2 {
		addr := freeAddr(t)
		addrs = append(addrs, addr)
		begin("replayd-fleet", "serve", "--listen", addr, "--web-listen", "none", "--root", "live=nats://"+urls[i]+"/replayd-live?server="+urls[(i+1)%3]+"&server="+urls[(i+2)%3], "--live-dir", t.TempDir(), "--log-level", "error")
	}

	recording := srv.Games()[0].Recording
	w := &written{path: recording}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go w.watch(watching)
	req := &replaydv1.StreamEventsRequest{Replay: "live/s1/" + filepath.Base(recording), Follow: true, FollowSuccessors: true}
	clients := make([]*mover, 3)
	for i := range clients {
		clients[i] = &mover{addrs: addrs, first: i, done: make(chan streamtest.History, 1), written: w}
		clients[i].follow(ctx, req)
	}
	if err := bots.Run(ctx, "alice join\nbob join\n* wander on\nsleep 20s"); err != nil {
		t.Fatal(err)
	}
	stopWatching()
	for i, c := range clients {
		late := c.times()
		if len(late) == 0 {
			c.mu.Lock()
			t.Fatal("a client got nothing new:", c.events, c.failed)
		}
		t.Logf("client %d, nothing killed: %d responses, from the write to the client p50 %v, p99 %v, longest %v", i, len(late), late[len(late)/2],
			late[len(late)*99/100], late[len(late)-1])
	}

	played := make(chan error, 1)
	go func() {
		played <- bots.Run(ctx, "alice login "+ddnet.Password+"\nsleep 1s\nalice rcon change_map dm1\nsleep 3s\n"+strings.Repeat("bob say hello\nsleep 1s\n", kills))
	}()
	for range kills {
		p := all[rand.IntN(len(all))]
		p.kill()
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		p.start(t)
		time.Sleep(500 * time.Millisecond)
	}
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}
	var replays []streamtest.Replay
	total := 0
	for _, game := range srv.Games() {
		replays = append(replays, offline(t, game.Recording))
		total += len(replays[len(replays)-1].Events)
	}
	for i, c := range clients {
		history := c.stop(total)
		if err := streamtest.Check(history, replays, streamtest.Options{Incomplete: true}); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
		if events, err := history.Events(); err != nil || len(events) != total {
			t.Errorf("client %d: %d events of %d: %v", i, len(events), total, err)
		}
		t.Logf("client %d: %d events of %d games in %d sessions over %d kills", i, total, len(replays), len(history), kills)
	}
}

// written knows when a file had how many bytes.
type written struct {
	path string

	mu    sync.Mutex
	sizes []int64
	times []time.Time
}

// watch looks at the size of the file each millisecond.
func (w *written) watch(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		stat, err := os.Stat(w.path)
		if err != nil {
			continue
		}
		w.mu.Lock()
		if n := len(w.sizes); n == 0 || w.sizes[n-1] < stat.Size() {
			w.sizes, w.times = append(w.sizes, stat.Size()), append(w.times, time.Now())
		}
		w.mu.Unlock()
	}
}

// since returns how long ago the byte at an offset was written, and false for one that was there at the beginning, or is not there.
func (w *written) since(offset int64) (time.Duration, bool) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := slices.BinarySearch(w.sizes, offset)
	if i == 0 || i == len(w.sizes) {
		return 0, false
	}
	return now.Sub(w.times[i]), true
}

// mover is a client that goes on at the next daemon whenever a call breaks.
type mover struct {
	addrs   []string
	first   int
	written *written
	cancel  context.CancelFunc
	done    chan streamtest.History

	mu     sync.Mutex
	events int
	late   []time.Duration
	failed error // the last call that broke before its first response
}

func (m *mover) times() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(slices.Values(m.late))
}

func (m *mover) follow(ctx context.Context, req *replaydv1.StreamEventsRequest) {
	ctx, m.cancel = context.WithCancel(ctx)
	go func() {
		var history streamtest.History
		for n := m.first; ctx.Err() == nil; n++ {
			conn, err := grpc.NewClient(m.addrs[n%len(m.addrs)], grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				break
			}
			s := streamtest.Client{Conn: conn}.Raw(ctx, streamtest.Resumed(req, history), m.got)
			_ = conn.Close()
			if s.Err != nil && len(s.Responses) == 0 {
				m.mu.Lock()
				m.failed = s.Err
				m.mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				continue
			}
			s.Cut = s.Err != nil
			history = append(history, s)
			if !s.Cut {
				break
			}
		}
		m.done <- history
	}()
}

// got notes a response.
func (m *mover) got(raw []byte) bool {
	var r replaydv1.StreamEventsResponse
	if proto.Unmarshal(raw, &r) != nil || r.GetBatch() == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events += int(r.GetBatch().GetNextSequence() - r.GetBatch().GetFirstSequence())
	if c, err := cursor.Parse(r.GetCursor()); err == nil {
		if late, ok := m.written.since(c.Position.Offset); ok {
			m.late = append(m.late, late)
		}
	}
	return true
}

// stop waits until the client has all events, or for a minute.
func (m *mover) stop(events int) streamtest.History {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		m.mu.Lock()
		enough := m.events >= events
		m.mu.Unlock()
		if enough {
			break
		}
	}
	time.Sleep(time.Second) // a repeated event would arrive later
	m.cancel()
	return <-m.done
}
