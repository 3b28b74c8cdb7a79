package replayd_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDaemon{m}) }

// exampleAddr is where a daemon with the samples is for the examples, which have no testing.TB.
var exampleAddr string

// withDaemon runs the tests while there is one.
type withDaemon struct{ *testing.M }

// Run implements goleak.TestingM.
func (m withDaemon) Run() int {
	d := &daemon{dir: samples}
	if err := d.listen(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "no daemon for the examples:", err)
		return 1
	}
	defer func() { d.kill() }()
	exampleAddr = d.addr
	return m.M.Run()
}

// The root of the tests' daemons.
const root = "root"

// daemon is a real daemon in this process, on an address of its own, that can be stopped and started again there.
type daemon struct {
	tb   testing.TB
	addr string
	dir  string

	stop func() // drains it
	kill func() // ends it without a word to anybody: connections are cut before it notices
}

// serve starts a daemon on a directory.
func serve(tb testing.TB, dir string) *daemon {
	tb.Helper()
	d := &daemon{tb: tb, dir: dir}
	d.start()
	if tb.Failed() {
		tb.FailNow()
	}
	tb.Cleanup(func() { d.kill() })
	return d
}

// start starts the daemon, again at the address that it had.
func (d *daemon) start() {
	if err := d.listen(); err != nil {
		d.tb.Error(err)
	}
}

func (d *daemon) listen() error {
	cat, err := catalog.New([]catalog.Root{{Alias: root, Dir: d.dir}}, catalog.Options{})
	if err != nil {
		return err
	}
	watcher, err := watch.New(watch.Options{Interval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	inner, err := net.Listen("tcp", cmp.Or(d.addr, "127.0.0.1:0"))
	if err != nil {
		return errors.Join(err, watcher.Close())
	}
	d.addr = inner.Addr().String()
	listener := &cuttable{Listener: inner}
	server, err := service.NewServer(service.Config{
		Catalog: cat, Watcher: watcher, Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return errors.Join(err, watcher.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.NewDaemon(server, nil).Serve(ctx, listener, nil, nil, 5*time.Second) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			d.tb.Error(err)
		}
		_ = watcher.Close()
	})
	stop := d.stop
	d.kill = sync.OnceFunc(func() {
		listener.cut()
		stop()
	})
	return nil
}

// cuttable is a listener whose connections can be cut all at once.
type cuttable struct {
	net.Listener

	mu    sync.Mutex
	conns []*net.TCPConn
}

// Accept implements net.Listener.
func (l *cuttable) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns = append(l.conns, tcp)
	}
	return conn, err
}

// cut resets all connections and takes no more.
func (l *cuttable) cut() {
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
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

// soon bounds what a test waits for.
func soon(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// samples is the folder of the repository's sample replays.
var samples = filepath.Join("..", "..", "testdata")

// replays returns the names of the files below a directory that a test wants.
func replays(tb testing.TB, dir string, keep func(path string, size int64) bool) []string {
	tb.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || !keep(path, info.Size()) {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func isReplay(path string, _ int64) bool {
	for _, suffix := range []string{".teehistorian", ".teehistorian.gz", ".map", ".dem", ".SC2Replay"} {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

// stream asks for a replay.
func stream(name string) *replaydv1.StreamEventsRequest {
	return &replaydv1.StreamEventsRequest{Replay: root + "/" + name}
}

const (
	finished = "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"
	killed   = "teehistorian/killed/d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"
)

// lines are the events of an iterator as JSON.
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
