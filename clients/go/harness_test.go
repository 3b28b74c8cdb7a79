package replayd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	replayd "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDaemon{m}) }

// exampleAddr is where a daemon with the samples is for the examples, which have no testing.TB.
var exampleAddr string

// withDaemon runs the tests while there is one.
type withDaemon struct{ *testing.M }

// Run implements goleak.TestingM.
func (m withDaemon) Run() int {
	d := daemontest.New(root, samples)
	if err := d.Start(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "no daemon for the examples:", err)
		return 1
	}
	defer func() { _ = d.Kill() }()
	exampleAddr = d.Addr
	return m.M.Run()
}

// root is the alias of the directory that the tests' daemons serve.
const root = "root"

// daemon is a daemon in this process whose errors fail the test.
type daemon struct {
	tb   testing.TB
	addr string
	real *daemontest.Daemon
}

// serve starts a daemon on a directory.
func serve(tb testing.TB, dir string) *daemon {
	tb.Helper()
	return serveAs(tb, root, dir)
}

// serveAs starts a daemon on a directory that has another alias.
func serveAs(tb testing.TB, alias, dir string) *daemon {
	tb.Helper()
	d := &daemon{tb: tb, real: daemontest.New(alias, dir)}
	d.start()
	if tb.Failed() {
		tb.FailNow()
	}
	tb.Cleanup(d.kill)
	d.addr = d.real.Addr
	return d
}

// start starts the daemon, at its previous address if it was started before.
func (d *daemon) start() { d.check(d.real.Start()) }

// stop drains the daemon.
func (d *daemon) stop() { d.check(d.real.Stop()) }

// kill resets the daemon's connections and then stops it.
func (d *daemon) kill() { d.check(d.real.Kill()) }

func (d *daemon) check(err error) {
	if err != nil {
		d.tb.Error(err)
	}
}

// connect makes a client of the daemon that does not wait long.
func (d *daemon) connect(opts ...replayd.Option) *replayd.Client {
	d.tb.Helper()
	retry := replayd.WithRetry(replayd.Retry{Initial: 10 * time.Millisecond, Max: 100 * time.Millisecond})
	client, err := replayd.Dial(d.addr, append([]replayd.Option{retry}, opts...)...)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.tb.Cleanup(func() { _ = client.Close() })
	return client
}

// soon returns a context that bounds how long a test waits.
func soon(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// samples is the directory of the repository's sample replays.
var samples = filepath.Join("..", "..", "testdata")

// stream returns a request for a replay.
func stream(name string) *replaydv1.StreamEventsRequest {
	return &replaydv1.StreamEventsRequest{Replay: root + "/" + name}
}

const (
	finished = "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"
	killed   = "teehistorian/killed/d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"
)

// lines returns the events of an iterator as JSON.
func lines(tb testing.TB, events func(func(replayd.Event, error) bool)) []string {
	tb.Helper()
	var all []string
	for e, err := range events {
		if err != nil {
			tb.Fatalf("after %d events: %v", len(all), err)
		}
		all = append(all, e.String())
	}
	return all
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// newDaemon returns a daemon that keeps its index in a file.
func newDaemon(dir, index string) *daemontest.Daemon {
	d := daemontest.New(root, dir)
	d.Index = index
	return d
}
