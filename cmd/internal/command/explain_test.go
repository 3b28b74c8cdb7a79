package command

import (
	"net"
	"os"
	"testing"
)

// TestNoTerminal checks that a device is not treated as a terminal for being a device.
func TestNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error(os.DevNull + " is treated as a terminal")
	}
}

func TestWithPort(t *testing.T) {
	for addr, want := range map[string]string{
		"host": "host:7171", "host:80": "host:80", "10.0.0.1": "10.0.0.1:7171", "::1": "[::1]:7171", "[::1]": "[::1]:7171",
		"[::1]:80": "[::1]:80", "unix:/run/replayd": "unix:/run/replayd", "dns:///host": "dns:///host",
	} {
		if got := withPort(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

func TestByFlags(t *testing.T) {
	for text, want := range map[string]string{
		"include[0].kinds[3]: unknown": "--kind: unknown", "exclude[0].kinds[0]: unknown": "--exclude-kind: unknown",
		"include[0].ticks: min 5 is after max 4": "--from-tick, --to-tick, --every: min 5 is after max 4",
		"last_events: must be 1":                 "--last: must be 1", "replay: is missing": "replay: is missing",
		"a file: cannot be read": "a file: cannot be read",
	} {
		if got := byFlags(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestOrFree: an address that a process has is replaced by a free port of the same host.
func TestOrFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if got := orFree(addr); got != "127.0.0.1:0" {
		t.Errorf("%s, which is in use: %s", addr, got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := orFree(addr); got != addr {
		t.Errorf("%s, which is free: %s", addr, got)
	}
}
