package replayd_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	replayd "github.com/replayd/replayd/clients/go"
)

// TestKill9 follows a growing file of a daemon that runs in another process and is killed with SIGKILL.
func TestKill9(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the daemon")
	}
	program := filepath.Join(t.TempDir(), "replayd")
	if out, err := exec.CommandContext(soon(t), "go", "build", "-pgo=off", "-ldflags=-w", "-trimpath", "-o", program, "../../cmd/replayd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := lines(t, serve(t, samples).connect().Events(soon(t), stream(finished)))
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	dir := t.TempDir()
	path := filepath.Join(dir, "live.teehistorian")
	if err := os.WriteFile(path, whole[:len(whole)/10], 0o600); err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	launch := func() *exec.Cmd {
		cmd := exec.Command(program, "serve", "--listen", addr, "--root", root+"="+dir, "--log-level", "error")
		if err := cmd.Start(); err != nil {
			t.Error(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"
	}

	client, err := replayd.Dial(addr, replayd.WithRetry(replayd.Retry{Initial: 10 * time.Millisecond, Max: 100 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := stream("live.teehistorian")
	req.Follow, req.MaxBatchEvents = true, 16
	s := client.Stream(soon(t), req)
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan struct{})
	defer close(done)
	wg.Go(func() {
		daemon := launch()
		defer func() { kill(daemon) }()
		const steps = 60
		for i := 7; i <= steps; i++ {
			time.Sleep(50 * time.Millisecond)
			write(t, path, whole[:len(whole)*i/steps])
			if i%10 == 0 && i < steps {
				kill(daemon)
				daemon = launch()
			}
		}
		<-done
	})
	if got := lines(t, s.Events()); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; or they differ", len(got), len(want))
	}
	t.Logf("%d events over %d reconnects", len(want), s.Reconnects())
}
