package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNotify: the daemon notifies systemd when it serves, which is not before it can be called, and when it stops.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	addr := freeAddr(t)
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

// program returns a command that runs the test binary as the program.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"replayd"}, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestSocketActivation checks that the daemon serves a socket passed by systemd.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	if testing.Short() {
		t.Skip("it builds the program")
	}
	addr := freeAddr(t)
	cmd := exec.Command(activate, "--listen="+addr, "--fdname=grpc", build(t), "serve", "--listen", "systemd:grpc")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		out, err := program(t, "health", "--addr", addr).Output()
		if err == nil && strings.Contains(string(out), "SERVING") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%v: %s", err, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestUnit checks that the systemd unit is valid, and that it restricts the daemon well.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	unit := filepath.Join(t.TempDir(), "replayd.service")
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "replayd.service"))
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(text), "/usr/bin/replayd", "/bin/true") // verify requires that the program exists
	if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), "replayd.service") {
		t.Errorf("%v: %s", err, out)
	}
	// The exposure in tenths: 30 is "OK".
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=30", unit).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
