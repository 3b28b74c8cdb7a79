package command

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"
)

// killsVariable is the environment variable that sets the number of kills, such as 10000 for a long run.
const killsVariable = "KILLS"

func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(killsVariable)
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", killsVariable, err)
	}
	return n
}

// TestKill kills the daemon with SIGKILL at random moments, while a file grows and clients follow it. The clients resume from
// their last cursors. In total they must receive each event of the file exactly once.
func TestKill(t *testing.T) {
	n := kills(t)
	program := build(t)
	for ; n > 0 && !t.Failed(); n -= killsOfOne {
		killOften(t, program, min(n, killsOfOne))
	}
}

// killsOfOne is the number of kills per file. It is limited because a restarted daemon reads the whole file again.
const killsOfOne = 500

func killOften(t *testing.T, program string, n int) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "live.teehistorian")
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	addr := commandtest.FreeAddr(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+time.Duration(n)*time.Second)
	defer cancel()

	written := make(chan []byte, 1)
	stop := make(chan struct{})
	go commandtest.AppendSteadily(t, path, sample, stop, written)

	all := streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN) // with facts, and samples at the end
	requests := []*replaydv1.StreamEventsRequest{
		{Replay: "live/live.teehistorian", Follow: true},
		{Replay: "live", Follow: true, MaxBatchEvents: 5, Include: all[:2]},
		{Replay: "live/live.teehistorian", Follow: true, Include: all[1:2], Start: &replaydv1.Start{WithState: true}},
		{Replay: "live/live.teehistorian", Follow: true, Include: all},
	}
	histories := make([]streamtest.History, len(requests))
	got := make([]atomic.Int64, len(requests)) // responses
	var wg sync.WaitGroup
	for i, req := range requests {
		wg.Go(func() { histories[i] = followThroughKills(ctx, addr, req, &got[i]) })
	}

	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for k := range n {
		// Three of four kills wait until one client has received a response from the new daemon. They hit a stream however slow
		// the machine is. The other kills may hit the daemon while it starts.
		client := &got[k%len(requests)]
		before := client.Load()
		d := serve(t, program, addr, dir)
		for k%4 != 0 && client.Load() == before && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		commandtest.Kill(t, d)
	}
	d := serve(t, program, addr, dir)
	defer commandtest.Kill(t, d)
	close(stop)
	data := <-written
	wg.Wait()

	for i, h := range histories {
		in := source.Input{At: bytes.NewReader(data), Size: int64(len(data))}
		want, err := streamtest.Offline(&teehistorian.Codec, in, requests[i].GetInclude(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := streamtest.Check(h, []streamtest.Replay{want}, streamtest.Options{State: requests[i].GetStart().GetWithState()}); err != nil {
			t.Errorf("%v:\n%v", requests[i], err)
		}
		cut := 0
		for _, s := range h {
			if len(s.Responses) > 0 && s.Err != nil {
				cut++
			}
		}
		t.Logf("%d kills, %d of them during a stream; %d events, none missing, none repeated", n, cut, len(want.Events))
		if cut < n/5 {
			t.Errorf("only %d of %d kills hit a stream that had begun", cut, n)
		}
	}
}

// followThroughKills follows until the replay ends, and resumes whenever the daemon is killed. It counts responses in got.
func followThroughKills(
	ctx context.Context, addr string, req *replaydv1.StreamEventsRequest, got *atomic.Int64,
) (h streamtest.History) {
	for ctx.Err() == nil {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond},
				MinConnectTimeout: time.Second,
			}))
		if err != nil {
			return append(h, streamtest.Session{Err: err})
		}
		client := streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.WaitForReady(true)}}
		s := client.Raw(ctx, streamtest.Resumed(req, h), func([]byte) bool {
			got.Add(1)
			return true
		})
		_ = conn.Close()
		s.Cut = s.Err != nil
		h = append(h, s)
		if s.Err == nil && h.End().GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			return h
		}
	}
	return h
}

// serve starts the program as a daemon.
func serve(t *testing.T, program, addr, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Args = []string{"replayd", "serve", "--listen", addr, "--root", "live=" + dir, "--log-level", "error"}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}
