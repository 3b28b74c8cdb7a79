// Package commandtest has what tests of the programs share: the test binary as a program, built programs, and clients of daemons.
package commandtest

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	"github.com/replayd/replayd/internal/freeport"
	"github.com/replayd/replayd/service/streamtest"
)

// Patience is how long scripts wait for the daemon. It is long, so that a slow machine does not fail the tests.
const Patience = 2 * time.Minute

// Programs use memory as they do elsewhere, whatever make test has for the tests themselves.
func init() { _ = os.Unsetenv("GOGC") }

// FreeAddr returns an address to listen on, which no other test takes.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Build returns the path of the program of a package. It builds the program once, without the race detector: a test binary built
// with that takes long to start and to read a file again. TestMain calls RemoveBuilt.
func Build(t *testing.T, pkg, name string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "replayd-test-") //nolint:usetesting // other tests use it, too
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	program := filepath.Join(built.dir, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command("go", "build", "-pgo=off", "-ldflags=-w", "-trimpath", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// built holds the directory of the built programs.
var built struct {
	sync.Mutex

	dir string
}

// RemoveBuilt removes the programs that Build has built.
func RemoveBuilt() {
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
}

// Self returns a command that runs the test binary as a program. The first argument is the program's name.
func Self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = args
	cmd.Stderr = os.Stderr
	return cmd
}

// Start starts a command.
func Start(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Kill kills a command, and waits until it has ended.
func Kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // the error is "signal: killed"
}

// Scrape returns the metrics that are served at an address.
func Scrape(t *testing.T, addr string) string {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ClientOf returns a client of a daemon.
func ClientOf(tb testing.TB, addr string) streamtest.Client {
	tb.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(8<<10),
		// With windows of a fixed size, gRPC does not send a PING for each batch to measure the connection. The daemon would have
		// to answer each PING.
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.WaitForReady(true)}}
}

// AppendSteadily writes a file as a busy game server does, until stop is closed; then it writes the finish.
func AppendSteadily(t *testing.T, path string, sample []byte, stop <-chan struct{}, written chan<- []byte) {
	file, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close() //nolint:errcheck // a test reads the file
	header, round := teetest.Parts(sample)
	finish := sample[len(sample)-1:]
	var data []byte
	put := func(b []byte) {
		if _, err := file.Write(b); err != nil {
			t.Error(err)
		}
		data = append(data, b...)
	}
	put(header)
	random := rand.New(rand.NewPCG(1, 1))
	for rest := round; ; time.Sleep(5 * time.Millisecond) {
		k := min(1+random.IntN(500), len(rest))
		put(rest[:k])
		if rest = rest[k:]; len(rest) > 0 {
			continue
		}
		rest = round
		select {
		case <-stop:
			put(finish)
			written <- data
			return
		default:
		}
	}
}

// ReadSample returns a sample of a finished game. root is the path of the repository.
func ReadSample(t *testing.T, root string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "testdata", "teehistorian", "finished",
		"4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// WriteFile writes a file.
func WriteFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
