package command

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/internal/testlog"
)

// TestNotify: the daemon notifies systemd when it serves, which is not before it can be called, and when it stops.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	addr := commandtest.FreeAddr(t)
	cmd := program(t, "serve", "--listen", addr)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	receive := func() string {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 256)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := receive(); got != "READY=1" {
		t.Errorf("got %q, want READY=1", got)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("the daemon notified that it is ready, but: %v", err)
	}
	_ = conn.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := receive(); got != "STOPPING=1" {
		t.Errorf("got %q, want STOPPING=1", got)
	}
}

// TestSocketActivation checks that the daemon serves sockets passed by systemd, and knows that only this machine reaches them: it
// warns of nothing, and refuses requests for the names of other hosts.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	addr, metrics, debug := commandtest.FreeAddr(t), commandtest.FreeAddr(t), commandtest.FreeAddr(t)
	cmd := exec.Command(activate, "--listen="+addr, "--listen="+metrics, "--listen="+debug, "--fdname=grpc:metrics:debug", build(t), "serve",
		"--listen", "systemd:grpc", "--metrics-listen", "systemd:metrics", "--debug-listen", "systemd:debug", "--web-listen", "none")
	var log testlog.Log
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		out, err := released(t, "health", "--addr", addr).Output()
		if err == nil && strings.Contains(string(out), "SERVING") {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%v: %s", err, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, url := range []string{"http://" + metrics + "/metrics", "http://" + debug + "/debug/pprof/"} {
		for host, want := range map[string]int{"localhost": http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s for the host %s: %s", url, host, resp.Status)
			}
		}
	}
	if strings.Contains(log.String(), "without authentication") {
		t.Errorf("the daemon warns of sockets that only this machine reaches: %s", &log)
	}
}

// TestUnit checks that the systemd units are valid, and that they restrict the daemon and the server of the queue well.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, name := range []string{"replayd.service", "replayd-nats.service"} {
		unit := filepath.Join(t.TempDir(), name)
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		here := regexp.MustCompile(`/usr/bin/replayd(-nats)?`).ReplaceAllString(string(text), "/bin/true") // verify requires that the program exists
		if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), name) {
			t.Errorf("%v: %s", err, out)
		}
		// The exposure in tenths: 30 is "OK".
		if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=30", unit).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
