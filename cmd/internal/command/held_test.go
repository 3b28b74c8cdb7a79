package command

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/h2guard"
)

// TestHeldCalls has clients that begin calls by each protocol with no, a wrong and a good token, send all of a request but its last
// byte, as far as the daemon lets them, and hold it. Half of the requests are as long as requests may be, and half are longer. The memory
// of the process must stay within its bound, and the daemon must serve others meanwhile. With BUDGET set there are 1,500 calls at a time.
func TestHeldCalls(t *testing.T) {
	budget, limit, calls := int64(256<<20), int64(256<<20/5*6+64<<20), 200
	if os.Getenv(budgetVariable) != "" {
		budget, limit, calls = 512<<20, 614<<20, 1500
	}
	dir := t.TempDir()
	commandtest.WriteFile(t, filepath.Join(dir, "still.teehistorian"), commandtest.ReadSample(t, filepath.Join("..", "..", "..")))
	tokens := filepath.Join(t.TempDir(), "tokens")
	commandtest.WriteFile(t, tokens, []byte("good name=good\nother name=other\n"))
	c := &chaos{t: t, addr: commandtest.FreeAddr(t), web: commandtest.FreeAddr(t), metrics: commandtest.FreeAddr(t)}
	cmd := exec.Command(build(t), "serve", "--listen", c.addr, "--web-listen", c.web, "--metrics-listen", c.metrics, "--root", "r="+dir,
		"--token-file", tokens, "--max-memory", strconv.FormatInt(budget, 10), "--upload-timeout", "1h", "--log-level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for released(t, "health", "--addr", c.addr, "--token", "good").Run() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	p := process{cmd.Process.Pid}
	others := c.client("other")
	for way, address := range map[string]string{
		"application/json": c.web, "application/connect+json": c.web, "application/grpc-web": c.web, "application/grpc": c.addr,
	} {
		for _, token := range []string{"", "wrong", "good"} {
			calls := calls
			if token != "good" { // none of these is read
				calls /= 4
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*commandtest.Patience)
			answered := holdCalls(ctx, t, "http://"+address, way, token, calls)
			if s := others.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil); s.Err != nil {
				t.Errorf("%s, token %q: others are not served: %v", way, token, s.Err)
			}
			for end := time.Now().Add(commandtest.Patience); token != "good" && answered.Load() != int64(calls); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s, token %q: but %d of %d calls were answered at their headers", way, token, answered.Load(), calls)
				}
			}
			now, peak := p.memory(t)
			t.Logf("%s, token %q: %d of %d calls answered, %d MiB in memory, %d at most", way, token, answered.Load(), calls, now>>20, peak>>20)
			if peak > limit {
				t.Errorf("the process had %d MiB, more than %d", peak>>20, limit>>20)
			}
			cancel()
			for end := time.Now().Add(commandtest.Patience); c.figures()[`replayd_taken{resource="memory"}`] != 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("memory is still taken")
				}
			}
		}
	}
}

// holdCalls begins calls, 200 a connection, and holds each until ctx ends. It returns how many were answered meanwhile, when no more of
// the requests is sent.
func holdCalls(ctx context.Context, t *testing.T, url, contentType, token string, calls int) *atomic.Int64 {
	t.Helper()
	answered, written := new(atomic.Int64), new(atomic.Int64)
	var client *http.Client
	for i := range calls {
		if i%200 == 0 {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			t.Cleanup(transport.CloseIdleConnections)
			client = &http.Client{Transport: transport}
		}
		r, w := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/replayd.v1.ReplayService/GetReplay", r)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("TE", "trailers")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		go func() {
			size := 1 << 20
			if i%2 == 0 {
				size = h2guard.MaxRequest
			}
			body := make([]byte, 5+size-1)
			binary.BigEndian.PutUint32(body[1:], uint32(size))
			if contentType == "application/json" {
				body = bytes.Repeat([]byte(" "), size-1)
			}
			for len(body) > 0 {
				n := min(len(body), 8<<10)
				if _, err := w.Write(body[:n]); err != nil {
					return
				}
				body = body[n:]
				written.Add(int64(n))
			}
		}()
		go func() {
			resp, err := client.Do(req)
			if ctx.Err() != nil || err != nil {
				_ = r.Close()
				return
			}
			answered.Add(1)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			_ = r.Close()
		}()
	}
	last, same := int64(-1), 0
	for same < 4 && ctx.Err() == nil { // until no more is taken
		time.Sleep(100 * time.Millisecond)
		now := written.Load() + answered.Load()
		if now != last {
			same = 0
		}
		last, same = now, same+1
	}
	return answered
}
