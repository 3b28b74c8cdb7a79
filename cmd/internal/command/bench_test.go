package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// These benchmarks run the program as a process of its own, so that its cost can be separated from what its clients
// cost. Those that follow a live file take as long as they take, whatever -benchtime says; use -benchtime 1x.

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

func daemon(tb testing.TB, dir string, flags ...string) (addr string, p process) {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	addr = commandtest.FreeAddr(tb)
	cmd := exec.Command(program)
	cmd.Args = append([]string{"replayd", "serve", "--listen", addr, "--root", "live=" + dir, "--log-level", "error", "--max-streams", "4096"}, flags...)
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
