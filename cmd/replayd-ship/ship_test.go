package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
	"github.com/replayd/replayd/internal/freeport"
)

// start starts the program.
func start(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "REPLAYD_SHIP_TEST_RUN=1")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func kill(cmd *exec.Cmd, with os.Signal) error {
	_ = cmd.Process.Signal(with)
	return cmd.Wait()
}

// arrived waits until the stream has the whole file.
func arrived(t *testing.T, conn *nats.Conn, path string, size int64) {
	t.Helper()
	shipmenttest.Until(t, path+" arrives", func() bool { m := shipmenttest.Last(t, conn, "s1", path); return m.End() == size })
}

// TestKilled: the program is killed, and NATS is, while files grow. It begins while NATS is away.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	shipmenttest.Open(t, conn)
	args := []string{dir, "--to", server.URL, "--source", "s1"}
	want := map[string][]byte{}
	more := func() {
		for i := range 5 {
			name := "g" + strconv.Itoa(i)
			b := make([]byte, rand.IntN(60_000))
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			want[name] = append(want[name], b...)
			shipmenttest.Append(t, filepath.Join(dir, name), b)
		}
	}
	more()
	server.Stop()
	for i := range 6 {
		cmd := start(t, os.Args[0], args...)
		if i == 0 {
			time.Sleep(50 * time.Millisecond)
			server.Start(t)
		}
		for range 1 + rand.IntN(8) {
			more()
			time.Sleep(time.Millisecond * time.Duration(rand.IntN(20)))
		}
		_ = kill(cmd, syscall.SIGKILL)
	}
	cmd := start(t, os.Args[0], args...)
	more() // so that it has begun when everything is there
	for name, b := range want {
		arrived(t, conn, name, int64(len(b)))
	}
	if err := kill(cmd, syscall.SIGTERM); err != nil {
		t.Error("it was asked to end:", err)
	}
	got := shipmenttest.Contents(t, conn)
	for name, b := range want {
		if c := got["s1/"+name]; !bytes.Equal(c.Bytes, b) || c.Begun != 1 {
			t.Errorf("%s: %d bytes of %d, begun %d times", name, len(c.Bytes), len(b), c.Begun)
		}
	}
}

// TestRefused: what cannot be done is refused, and no secret is repeated.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--to", nil},
		{"--to", []string{dir}},
		{"want nats://", []string{dir, "--to", "nats://user:secret@host"}},
		{"want nats://", []string{dir, "--to", "https://secret"}},
		{"no parameters", []string{dir, "--to", "nats://host/s?secret=1"}},
		{"stream's name", []string{dir, "--to", "nats://host/a.b"}},
		{"source's name", []string{dir, "--to", "nats://host", "--source", "a.b"}},
		{"--bucket", []string{dir, "--to", "nats://host", "--bucket", "s3://key:secret@bucket"}},
		{"--replicas", []string{dir, "--to", "nats://host", "--replicas", "6"}},
		{"--quiet", []string{dir, "--to", "nats://host", "--quiet", "0s"}},
		{"--batch", []string{dir, "--to", "nats://host", "--batch", "2s"}},
		{"--max-age", []string{dir, "--to", "nats://host", "--max-age", "-1s"}},
		{"together", []string{dir, "--to", "nats://host", "--nats-cert", os.Args[0]}},
		{"no such file", []string{filepath.Join(dir, "none"), "--to", "nats://host"}},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), c.says) || strings.Contains(errs.String(), "secret") {
			t.Errorf("%v: %d: %s", c.args, code, &errs)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--version"}, &out, &out); code != exitOK || !strings.HasPrefix(out.String(), "replayd-ship ") {
		t.Error(code, out.String())
	}
}

// TestManual: the man page has each flag, and no others.
func TestManual(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "replayd-ship.1"))
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	run(t.Context(), []string{"--help"}, &help, &help)
	flags := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-h, )?--([a-z-]+)`).FindAllStringSubmatch(help.String(), -1) {
		flags[m[1]] = true
	}
	if len(flags) < 10 {
		t.Fatal(help.String())
	}
	for _, m := range regexp.MustCompile(`(?m)^\\fB\\-\\-([a-z\\-]+)\\fR`).FindAllStringSubmatch(string(text), -1) {
		name := strings.ReplaceAll(m[1], `\`, "")
		if !flags[name] {
			t.Errorf("there is no flag --%s", name)
		}
		delete(flags, name)
	}
	for name := range flags {
		t.Errorf("the man page does not have --%s", name)
	}
}

// TestMemory measures the program's memory with SHIP_FILES growing files, for SHIP_SECONDS, first behind by 5 MB each.
func TestMemory(t *testing.T) {
	files, _ := strconv.Atoi(os.Getenv("SHIP_FILES"))
	seconds, _ := strconv.Atoi(os.Getenv("SHIP_SECONDS"))
	if files == 0 || seconds == 0 {
		t.Skip("SHIP_FILES and SHIP_SECONDS are not set")
	}
	program := filepath.Join(t.TempDir(), "replayd-ship")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(text))
	}
	dir := t.TempDir()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	shipmenttest.Open(t, conn)
	sizes := make([]int64, files)
	block := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	for i := range sizes {
		shipmenttest.Append(t, filepath.Join(dir, fmt.Sprintf("g%03d", i)), block)
		sizes[i] = int64(len(block))
	}
	cmd := start(t, program, dir, "--to", server.URL, "--source", "s1")
	began := time.Now()
	for time.Since(began) < time.Duration(seconds)*time.Second {
		for i := range sizes {
			shipmenttest.Append(t, filepath.Join(dir, fmt.Sprintf("g%03d", i)), block[:200])
			sizes[i] += 200
		}
		time.Sleep(50 * time.Millisecond)
	}
	for i, size := range sizes {
		arrived(t, conn, fmt.Sprintf("g%03d", i), size)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_ = kill(cmd, syscall.SIGTERM)
	for line := range strings.SplitSeq(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Threads") {
			t.Log(line)
		}
		if kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "VmHWM:")), " kB")); err == nil && kib > 32<<10 {
			t.Errorf("%d KiB, more than 32 MiB", kib)
		}
	}
	usage := cmd.ProcessState
	t.Logf("%v of processor time in %v", usage.UserTime()+usage.SystemTime(), time.Since(began))
}

// TestMetrics: what a shipper does and waits for can be scraped, also while NATS is away, and is not silent in its log.
func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	shipmenttest.Append(t, filepath.Join(dir, "a"), []byte("a game"))
	server.Stop()
	log := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(os.Args[0], dir, "--to", server.URL+"?server="+addr, "--source", "s1", "--metrics-listen", addr)
	cmd.Env = append(os.Environ(), "REPLAYD_SHIP_TEST_RUN=1")
	cmd.Stderr = f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kill(cmd, syscall.SIGTERM) }()
	get := func(path string) string {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	shipmenttest.Until(t, "it says that NATS is away", func() bool { return strings.Contains(get("/healthz"), "NATS cannot be reached") })
	shipmenttest.Until(t, "its log says so", func() bool { b, _ := os.ReadFile(log); return strings.Contains(string(b), "nats=1") })
	if text := get("/metrics"); !strings.Contains(text, "replayd_ship_connected 0") {
		t.Error(text)
	}
	server.Start(t)
	arrived(t, conn, "a", 6)
	shipmenttest.Until(t, "it is well", func() bool { return get("/healthz") == "ok\n" })
	text := get("/metrics")
	for _, line := range []string{"replayd_ship_connected 1", "replayd_ship_bytes_total 6", `replayd_ship_waiting{for="room"} 0`, "replayd_ship_files 1"} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	// What the alerts and the dashboard name is there.
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "packaging", "prometheus", file))
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\breplayd_ship_[a-z_]+\b`).FindAllString(string(b), -1)
		if len(names) == 0 {
			t.Errorf("%s has nothing of shippers", file)
		}
		for _, name := range names {
			if !strings.Contains(text, name) {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
	}
}
