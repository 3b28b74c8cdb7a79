//go:build e2e

package e2e

import (
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/replayd/replayd/internal/freeport"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// liveAlias is the root under which a daemon of these tests serves a server's recordings.
const liveAlias = "live"

// daemon is the program under test in its own process. It can be killed and
// started again at the same address.
type daemon struct {
	program, addr, dir string
	cmd                *exec.Cmd
	conn               *grpc.ClientConn
}

// startDaemon starts the program that `make build` has made, and serves dir. It ends with the test.
func startDaemon(t *testing.T, dir string) *daemon {
	t.Helper()
	program, err := filepath.Abs("../bin/replayd")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{program: program, addr: freeAddr(t), dir: dir}
	conn, err := grpc.NewClient(d.addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// A killed daemon restarts at once; gRPC's default delay is a second.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		t.Fatal(err)
	}
	d.conn = conn
	d.start(t)
	t.Cleanup(func() {
		_ = conn.Close()
		d.kill(t)
	})
	return d
}

// client calls the daemon. Calls wait while the daemon is being restarted.
func (d *daemon) client() replaydv1.ReplayServiceClient {
	return replaydv1.NewReplayServiceClient(d.conn)
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command(d.program, "serve", "--listen", d.addr, "--root", liveAlias+"="+d.dir, "--log-level", "warn")
	d.cmd.Stderr = t.Output()
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill ends the daemon with SIGKILL, so that it cannot end its streams.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if d.cmd == nil {
		return
	}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = d.cmd.Wait() // "signal: killed"
	d.cmd = nil
}

// restart kills the daemon and starts it again.
func (d *daemon) restart(t *testing.T) {
	t.Helper()
	d.kill(t)
	d.start(t)
}

// replay returns the daemon's name of a recording.
func (d *daemon) replay(file string) string {
	return liveAlias + "/" + filepath.Base(file)
}

// name returns the daemon's name of a file below the directory that it serves.
func (d *daemon) name(elem ...string) string {
	return path.Join(append([]string{liveAlias}, elem...)...)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
