package service_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/internal/testlog"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/streamtest"
	"github.com/replayd/replayd/service/watch"
)

// alias is the root of the tests' daemons.
const alias = "root"

// daemon is a daemon in this process, and a client of it.
type daemon struct {
	streamtest.Client

	dir    string
	conn   *grpc.ClientConn
	client replaydv1.ReplayServiceClient
	log    *testlog.Log
	meters *prometheus.Registry
	stop   func() // drains it; it is called at the end of the test in any case

	services func() map[string]grpc.ServiceInfo
	dial     func(context.Context) (net.Conn, error)
}

// start runs a daemon on a directory.
func start(tb testing.TB, dir string, change ...func(*service.Config)) *daemon {
	tb.Helper()
	return startWith(tb, dir, nil, 5*time.Second, change...)
}

// startWith is start, with a deadline for draining, and serves the web on a listener that is not nil.
func startWith(
	tb testing.TB, dir string, webListener net.Listener, deadline time.Duration, change ...func(*service.Config),
) *daemon {
	tb.Helper()
	d := &daemon{dir: dir, log: &testlog.Log{}, meters: prometheus.NewRegistry()}
	cat, err := catalog.New([]catalog.Root{{Alias: alias, Dir: dir}}, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	watcher, err := watch.New(watch.Options{Interval: 100 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	config := service.Config{
		Catalog: cat, Watcher: watcher, Version: "test", SurveyBudget: 1, Log: slog.New(slog.NewTextHandler(d.log, nil)),
	}
	for _, f := range change {
		f(&config)
	}
	server, err := service.NewServer(config)
	if err != nil {
		tb.Fatal(err)
	}
	running := service.NewDaemon(server, d.meters)
	d.services = running.Services
	var web *service.Web
	if webListener != nil {
		if web, err = running.NewWeb([]string{"https://example.org"}); err != nil {
			tb.Fatal(err)
		}
	}
	listener := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- running.Serve(ctx, listener, web, webListener, deadline) }()
	d.dial = listener.DialContext
	d.conn, err = grpc.NewClient("passthrough:///daemon",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		tb.Fatal(err)
	}
	d.Conn, d.client = d.conn, replaydv1.NewReplayServiceClient(d.conn)
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		_ = d.conn.Close()
		d.stop()
		_ = watcher.Close()
	})
	return d
}

// timeout returns a context that bounds the waiting of a test.
func timeout(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // enough for a slow machine
	tb.Cleanup(cancel)
	return ctx
}

// name returns the daemon's name of a file below its directory.
func name(elem ...string) string { return strings.Join(append([]string{alias}, elem...), "/") }

// offline decodes a file for comparison.
func offline(tb testing.TB, path string, req *replaydv1.StreamEventsRequest) streamtest.Replay {
	tb.Helper()
	file, err := source.OpenLocal(path, source.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	r, err := streamtest.Offline(codecOfFile(tb, file), file.Input(), req.GetInclude(), req.GetExclude())
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return r
}

func codecOfFile(tb testing.TB, file *source.File) *codec.Codec {
	tb.Helper()
	for _, c := range describe.Codecs() {
		if c.Format == file.Info().Format {
			return c
		}
	}
	tb.Fatalf("%s: format %v", file.Path(), file.Info().Format)
	return nil
}

// offlineBytes decodes the bytes of a teehistorian file.
func offlineBytes(tb testing.TB, data []byte, req *replaydv1.StreamEventsRequest) streamtest.Replay {
	tb.Helper()
	in := codectest.Input(data)
	r, err := streamtest.Offline(&teehistorian.Codec, in, req.GetInclude(), req.GetExclude())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// samples is the folder of the repository's sample replays.
func samples(elem ...string) string {
	return filepath.Join(append([]string{"..", "testdata"}, elem...)...)
}

// recordings returns the teehistorian files of the repository, and if the corpus exists every sixth of its files, or with CORPUS=all
// all of them.
func recordings(tb testing.TB) []string {
	tb.Helper()
	files := find(tb, samples("teehistorian"), ".teehistorian")
	if corpus := filepath.Join("..", "..", "shared", "corpus", "teehistorian"); exists(corpus) {
		for i, path := range find(tb, corpus, ".teehistorian") {
			if i%6 == 0 || wholeCorpus() {
				files = append(files, path)
			}
		}
	}
	largest := 1 << 20
	switch {
	case streamtest.Race: // the race detector finds nothing more in large files
		largest = 10_000
	case wholeCorpus():
		largest = math.MaxInt
	}
	return slices.DeleteFunc(files, func(path string) bool { return len(read(tb, path)) > largest })
}

// wholeCorpus reports whether CORPUS=all requests all files of the corpus. Otherwise tests use some files that do not take
// long.
func wholeCorpus() bool { return os.Getenv("CORPUS") == "all" }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func find(tb testing.TB, dir, suffix string) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, suffix) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// sameResponses reports whether two streams have the same bytes. What the daemon finds out of the replay while they run does not count.
func sameResponses(tb testing.TB, a, b [][]byte) bool {
	tb.Helper()
	return slices.EqualFunc(a, b, func(a, b []byte) bool {
		return bytes.Equal(a, b) || bytes.Equal(startWithoutKnown(tb, a), startWithoutKnown(tb, b))
	})
}

// startWithoutKnown returns a response without what a start has by what the daemon knows of the replay by then.
func startWithoutKnown(tb testing.TB, raw []byte) []byte {
	tb.Helper()
	var r replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(raw, &r); err != nil {
		tb.Fatal(err)
	}
	replay := r.GetStart().GetReplay()
	if replay == nil {
		return raw
	}
	withoutKnown(replay)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// withoutKnown clears what describe.AddKnown sets.
func withoutKnown(r *replaydv1.Replay) {
	r.State, r.LastTick, r.Duration, r.TicksPerSecond, r.Lineup = 0, nil, nil, nil, ""
}

// copyIn copies a file into a directory and returns its name there.
func copyIn(tb testing.TB, dir, path string) string {
	tb.Helper()
	write(tb, filepath.Join(dir, filepath.Base(path)), read(tb, path))
	return name(filepath.Base(path))
}

// check fails the test if a history breaks a promise of the API.
func check(tb testing.TB, h streamtest.History, replays []streamtest.Replay, o streamtest.Options) {
	tb.Helper()
	if err := streamtest.Check(h, replays, o); err != nil {
		for _, s := range h {
			if s.Err != nil {
				tb.Logf("a session ended by: %v", s.Err)
			}
		}
		tb.Error(err)
	}
}
