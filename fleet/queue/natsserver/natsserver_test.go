package natsserver_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/freeport"
)

// TestRun: the program refuses what it cannot do, above all to serve other machines, and serves until it is told to end.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "-no-sync", []string{"-h"}},
		{2, "-dir", nil},
		{2, "nothing but flags", []string{"-dir", dir, "more"}},
		{2, "-other", []string{"-dir", dir, "-other"}},
		{1, "127.0.0.1", []string{"-dir", dir, "-nats", "nats://0.0.0.0:4222"}},
		{1, "127.0.0.1", []string{"-dir", dir, "-nats", "nats://example.com:4222"}},
		{1, "want nats://", []string{"-dir", dir, "-nats", "tls://127.0.0.1:4222"}},
	} {
		var errs bytes.Buffer
		if code := natsserver.Run(t.Context(), c.args, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: %d, want %d: %s", c.args, code, c.code, &errs)
		}
	}

	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() { ended <- natsserver.Run(ctx, []string{"-dir", dir, "-nats", "nats://" + addr}, &errs) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Error(code, errs.String())
	}
}

// TestManual: the man page has each flag, and no others.
func TestManual(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "replayd-nats.1"))
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	natsserver.Run(t.Context(), []string{"-h"}, &help)
	flags := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ {2}-([a-z-]+)`).FindAllStringSubmatch(help.String(), -1) {
		flags[m[1]] = true
	}
	if len(flags) < 3 {
		t.Fatal(help.String())
	}
	for _, m := range regexp.MustCompile(`(?m)^\\fB\\-([a-z\\-]+)\\fR`).FindAllStringSubmatch(string(text), -1) {
		name := strings.ReplaceAll(m[1], `\`, "")
		if !flags[name] {
			t.Errorf("there is no flag -%s", name)
		}
		delete(flags, name)
	}
	for name := range flags {
		t.Errorf("the man page does not have -%s", name)
	}
}
