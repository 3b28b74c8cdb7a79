package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/ship"
	"github.com/replayd/replayd/internal/natsconn"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	codec "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"
	"github.com/replayd/replayd/service/watch"
)

// fleet is a directory that is shipped to NATS, and daemons that serve it from there.
type fleet struct {
	t       *testing.T
	dir     string
	url     string // of NATS, with the stream
	addrs   []string
	root    string // what the daemons serve
	archive ship.Archive

	natsDir string
	nats    *exec.Cmd
	ship    func() // ends the shipper
	daemons []*exec.Cmd
}

func newFleet(t *testing.T, daemons int) *fleet {
	build(t) // now, so that no deadline includes it
	natsCommand(t, "", "")
	f := &fleet{t: t, dir: t.TempDir(), natsDir: t.TempDir(), url: "nats://" + commandtest.FreeAddr(t), daemons: make([]*exec.Cmd, daemons)}
	f.root = f.url + "?server=" + commandtest.FreeAddr(t) // where nobody is
	for range daemons {
		f.addrs = append(f.addrs, commandtest.FreeAddr(t))
	}
	t.Cleanup(func() {
		f.stopShip()
		f.stopNATS()
		for i := range f.daemons {
			f.stopDaemon(i)
		}
	})
	return f
}

func (f *fleet) startNATS() { f.nats = startNATS(f.t, f.url, f.natsDir) }

func (f *fleet) stopNATS() {
	if f.nats != nil {
		commandtest.Kill(f.t, f.nats)
		f.nats = nil
	}
}

func (f *fleet) startDaemon(i int) {
	f.t.Helper()
	cmd := exec.Command(build(f.t))
	cmd.Args = []string{name, "serve", "--listen", f.addrs[i], "--web-listen", "none", "--root", "live=" + f.root, "--log-level", "error", "--live-dir",
		filepath.Join(f.natsDir, "live")}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.daemons[i] = cmd
}

func (f *fleet) stopDaemon(i int) {
	if f.daemons[i] != nil {
		commandtest.Kill(f.t, f.daemons[i])
		f.daemons[i] = nil
	}
}

// startShip starts a shipper. What it does is on its own disk and in NATS, so that ending it at any moment is like killing it; the program
// itself is killed by the tests of cmd/replayd-ship.
func (f *fleet) startShip(change func(*ship.Options)) {
	f.t.Helper()
	conn, err := natsconn.Connect(f.url, "test", natsconn.Credentials{}, nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		f.t.Fatal(err)
	}
	w, err := watch.New(watch.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	o := ship.Options{
		Dir: f.dir, Source: "s1", Watcher: w, Log: slog.New(slog.DiscardHandler), Connected: conn.IsConnected, Archive: f.archive,
		HasEnd: teehistorian.Ended,
		Open: func(ctx context.Context) (*shipment.Stream, error) {
			return shipment.Open(ctx, conn, shipment.Options{})
		},
	}
	if change != nil {
		change(&o)
	}
	s, err := ship.New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	f.ship = func() { cancel(); conn.Close(); <-ended; _ = w.Close() }
}

func (f *fleet) stopShip() {
	if f.ship != nil {
		f.ship()
		f.ship = nil
	}
}

// follow follows until the replay ends. Whenever a call breaks, it goes on at the next daemon. got counts responses.
func (f *fleet) follow(ctx context.Context, first int, req *replaydv1.StreamEventsRequest, got *atomic.Int64) (h streamtest.History) {
	for n := first; ctx.Err() == nil; n++ {
		conn, err := grpc.NewClient(f.addrs[n%len(f.addrs)], grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}, MinConnectTimeout: time.Second}))
		if err != nil {
			return append(h, streamtest.Session{Err: err})
		}
		s := streamtest.Client{Conn: conn}.Raw(ctx, streamtest.Resumed(req, h), func([]byte) bool {
			got.Add(1)
			return true
		})
		_ = conn.Close()
		s.Cut = s.Err != nil
		if s.Err != nil && len(s.Responses) == 0 {
			if code := status.Code(s.Err); code != codes.Unavailable && ctx.Err() == nil {
				f.t.Errorf("a daemon that is there or not answered %v", s.Err)
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		h = append(h, s)
		if s.Err == nil && h.End().GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			return h
		}
	}
	return h
}

// ready waits until a daemon serves a replay.
func (f *fleet) ready(i int, name string) *replaydv1.Replay {
	f.t.Helper()
	c, err := client.Dial(f.addrs[i], client.WithInsecure())
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r, err := c.Replay(f.t.Context(), name)
		if err == nil {
			return r
		}
		if time.Now().After(deadline) {
			f.t.Fatal(name, err)
		}
	}
}

func appendFile(t *testing.T, path string, data []byte) {
	t.Helper()
	h, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Write(data)
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
}

// offline returns what a stream of a whole game must have.
func offline(t *testing.T, data []byte, req *replaydv1.StreamEventsRequest) streamtest.Replay {
	t.Helper()
	want, err := streamtest.Offline(&codec.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, req.GetInclude(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// TestLive: a game grows in a directory, is shipped to NATS, and is followed at two daemons, while the shipper, NATS and the daemons are
// killed. Each client gets each event once. LIVE_KILLS sets how often something is killed.
func TestLive(t *testing.T) {
	f := newFleet(t, 2)
	n := 6
	if text := os.Getenv("LIVE_KILLS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience+time.Duration(n)*5*time.Second)
	defer cancel()
	f.startNATS()
	f.startShip(nil)
	for i := range f.daemons {
		f.startDaemon(i)
	}
	path := filepath.Join(f.dir, "live.teehistorian")
	written, stop := make(chan []byte, 1), make(chan struct{})
	go commandtest.AppendSteadily(t, path, commandtest.ReadSample(t, filepath.Join("..", "..")), stop, written)
	f.ready(0, "live/s1/live.teehistorian")
	requests := []*replaydv1.StreamEventsRequest{
		{Replay: "live/s1/live.teehistorian", Follow: true},
		{Replay: "live/s1/live.teehistorian", Follow: true, MaxBatchEvents: 5},
		{Replay: "live/s1/live.teehistorian", Follow: true, Include: []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}},
	}
	histories := make([]streamtest.History, len(requests))
	got := make([]atomic.Int64, len(requests))
	var wg sync.WaitGroup
	for i, req := range requests {
		wg.Go(func() { histories[i] = f.follow(ctx, i, req, &got[i]) })
	}
	for k := range n {
		before := got[k%3].Load()
		for got[k%3].Load() == before && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		switch k % 4 {
		case 0:
			f.stopDaemon(k / 4 % 2)
			f.startDaemon(k / 4 % 2)
		case 1:
			f.stopShip()
			f.startShip(nil)
		case 2:
			f.stopNATS()
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
			f.startNATS()
		default:
			f.stopShip()
			f.stopNATS()
			f.stopDaemon(1)
			f.startDaemon(1)
			f.startNATS()
			f.startShip(nil)
		}
	}
	close(stop)
	data := <-written
	wg.Wait()
	sessions := 0
	for i, h := range histories {
		want := offline(t, data, requests[i])
		if err := streamtest.Check(h, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
			t.Errorf("%v:\n%v", requests[i], err)
		}
		sessions += len(h)
	}
	if sessions < 4 {
		t.Errorf("only %d sessions: nothing was cut", sessions)
	}
	t.Logf("%d kills, %d sessions of %d clients, %d bytes", n, sessions, len(histories), len(data))
	if one, two := f.ready(0, "live/s1/live.teehistorian"), f.ready(1, "live/s1/live.teehistorian"); one.GetIdentity() != two.GetIdentity() || one.GetName() != two.GetName() {
		t.Errorf("two daemons: %v, %v", one, two)
	}
}

// TestLiveAway: while NATS is away, what was shipped is served and followers wait. A daemon that starts meanwhile does not say that a replay
// does not exist. What is replaced beside the game server ends as replaced.
func TestLiveAway(t *testing.T) {
	f := newFleet(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience)
	defer cancel()
	f.startNATS()
	f.startShip(nil)
	f.startDaemon(0)
	sample := commandtest.ReadSample(t, filepath.Join("..", ".."))
	path := filepath.Join(f.dir, "a b.teehistorian")
	commandtest.WriteFile(t, path, sample[:len(sample)/2])
	const name = "live/s1/a b.teehistorian"
	f.ready(0, name)
	var got atomic.Int64
	followed := make(chan streamtest.History, 1)
	req := &replaydv1.StreamEventsRequest{Replay: name, Follow: true, MaxBatchEvents: 100}
	go func() { followed <- f.follow(ctx, 0, req, &got) }()
	for got.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	f.stopNATS()
	f.startDaemon(1)
	two, err := client.Dial(f.addrs[1], client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for try := 0; try < 3 && ctx.Err() == nil; {
		_, err := two.Service().GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name})
		if status.Code(err) != codes.Unavailable {
			t.Fatal("a daemon that does not have the stream yet:", err)
		}
		if strings.Contains(err.Error(), "live root") {
			try++
		}
		if _, err := two.Service().ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: "live"}); err == nil {
			t.Fatal("a list that may not have everything")
		}
		time.Sleep(time.Millisecond)
	}
	whole := commandtest.ClientOf(t, f.addrs[0]).Session(ctx, &replaydv1.StreamEventsRequest{Replay: name}, nil)
	if len(whole.Responses) < 2 || whole.Err != nil {
		t.Error("what is there is not served:", whole.Err)
	}
	appendFile(t, path, sample[len(sample)/2:])
	select {
	case h := <-followed:
		t.Fatal("it ended while NATS was away:", h.End())
	default:
	}
	f.startNATS()
	h := <-followed
	if err := streamtest.Check(h, []streamtest.Replay{offline(t, sample, req)}, streamtest.Options{}); err != nil || len(h) != 1 {
		t.Error(len(h), "sessions:", err)
	}
	f.ready(1, name)

	// Exchanged by another game.
	path = filepath.Join(f.dir, "b.teehistorian")
	commandtest.WriteFile(t, path, sample[:len(sample)/2])
	f.ready(0, "live/s1/b.teehistorian")
	got.Store(0)
	go func() {
		followed <- f.follow(ctx, 0, &replaydv1.StreamEventsRequest{Replay: "live/s1/b.teehistorian", Follow: true}, &got)
	}()
	for got.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	other := bytes.Replace(sample, []byte("4fa04b32"), []byte("4fa04b33"), 1)
	commandtest.WriteFile(t, path+".new", other[:len(other)/3])
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if h := <-followed; h.End().GetReason() != replaydv1.EndReason_END_REASON_REPLACED {
		t.Error(h.End())
	}
}

// TestLiveArchived: a game that is over moves from the stream to a bucket. Its name, its identity and cursors of it stay, whoever follows it
// notices nothing, and lists have it once.
func TestLiveArchived(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	store := buckettest.New(t)
	f := newFleet(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience)
	defer cancel()
	at, err := bucket.Parse(store.URL("games"))
	if err != nil {
		t.Fatal(err)
	}
	games, err := bucket.Open(ctx, at, bucket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.archive = games
	f.root += "&archive=" + url.QueryEscape(store.URL("games"))
	f.startNATS()
	options := func(o *ship.Options) { o.Ended = 300 * time.Millisecond }
	f.startShip(options)
	f.startDaemon(0)
	sample := commandtest.ReadSample(t, filepath.Join("..", ".."))
	path := filepath.Join(f.dir, "a.teehistorian")
	const name = "live/s1/a.teehistorian"
	commandtest.WriteFile(t, path, sample[:len(sample)/2])
	was := f.ready(0, name)
	var got atomic.Int64
	followed := make(chan streamtest.History, 1)
	req := &replaydv1.StreamEventsRequest{Replay: name, Follow: true, MaxBatchEvents: 50}
	go func() { followed <- f.follow(ctx, 0, req, &got) }()
	for got.Load() < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	appendFile(t, path, sample[len(sample)/2:])
	h := <-followed
	if err := streamtest.Check(h, []streamtest.Replay{offline(t, sample, req)}, streamtest.Options{}); err != nil || len(h) != 1 {
		t.Error(len(h), "sessions:", err)
	}
	c, err := client.Dial(f.addrs[0], client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// While it moves, it is there all the time.
	archived := func() bool {
		mirrored, _ := filepath.Glob(filepath.Join(f.natsDir, "live", "live-*", "s1", "*"))
		return len(mirrored) == 0
	}
	for done := false; !done; time.Sleep(5 * time.Millisecond) {
		done = archived()
		r, err := c.Replay(ctx, name)
		if err != nil || r.GetIdentity() != was.GetIdentity() {
			t.Fatal(r, err)
		}
		list, err := c.Service().ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: "live"})
		if err != nil || len(list.GetReplays()) != 1 || list.GetReplays()[0].GetName() != name {
			t.Fatal(list, err)
		}
	}
	if data, err := games.Get(ctx, "s1/a.teehistorian", 1<<30); err != nil || !bytes.Equal(data, sample) {
		t.Errorf("the bucket has %d bytes: %v", len(data), err)
	}
	// A cursor from before goes on in the bucket, also at a daemon that has never seen the game grow.
	cut := streamtest.History{commandtest.ClientOf(t, f.addrs[0]).Session(ctx, &replaydv1.StreamEventsRequest{Replay: name, MaxBatchEvents: 50},
		func(r *replaydv1.StreamEventsResponse) bool { return r.GetBatch() == nil })}
	cut[0].Cut = true
	f.stopDaemon(0)
	f.startDaemon(0)
	f.ready(0, name)
	whole := &replaydv1.StreamEventsRequest{Replay: name, MaxBatchEvents: 50}
	cut = append(cut, commandtest.ClientOf(t, f.addrs[0]).Session(ctx, streamtest.Resumed(whole, cut), nil))
	if err := streamtest.Check(cut, []streamtest.Replay{offline(t, sample, whole)}, streamtest.Options{}); err != nil {
		t.Error(err)
	}
}

// TestLiveRefused: URLs that cannot be served are refused, and no secret is repeated.
func TestLiveRefused(t *testing.T) {
	for _, root := range []string{
		"nats://127.0.0.1:4222/x", "live=nats://user:secret@host", "live=nats://host/a.b", "live=nats://host?secret=x", "live=nats://host/secret/x",
		"live=nats://host?source=a.secret", "live=nats://host?archive=https://secret", "live=nats://host?archive=s3://key:secret@bucket",
		"live=nats://host?max_bytes=secret", "live=nats://host?max_bytes=1", "live=nats://host?source=a&source=b", "live=tls://secret@host",
		"live=nats://host?server=secret@host", "live=nats://host?server=nats://secret",
	} {
		var out, errs bytes.Buffer
		code := newProgram().Run(t.Context(), []string{"serve", "--root", root}, command.Console{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != command.ExitUsage || strings.Contains(errs.String(), "secret") || !strings.Contains(errs.String(), "--root") {
			t.Errorf("%s: %d: %s", root, code, &errs)
		}
	}
}
