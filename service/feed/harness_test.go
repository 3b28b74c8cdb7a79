package feed_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/where"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// growing is a file in memory that grows when the test appends to it.
type growing struct {
	codec   *codec.Codec
	changed chan struct{} // for the follower
	opened  atomic.Int64  // readers
	bytes   atomic.Int64  // that were read

	mu   sync.Mutex
	cond *sync.Cond
	data []byte
	dry  int  // the length at which a reader last found nothing more
	left bool // nobody reads any more
	lost error
}

func grow(data []byte) *growing { return growAs(&teehistorian.Codec, data) }

func growAs(c *codec.Codec, data []byte) *growing {
	g := &growing{codec: c, changed: make(chan struct{}, 1), data: slices.Clone(data), dry: -1}
	g.cond = sync.NewCond(&g.mu)
	return g
}

// ReadAt implements io.ReaderAt.
func (g *growing) ReadAt(p []byte, offset int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if offset >= int64(len(g.data)) {
		g.dry = len(g.data)
		g.cond.Broadcast()
		return 0, io.EOF
	}
	n := copy(p, g.data[offset:])
	g.bytes.Add(int64(n))
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (g *growing) look() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.data)), g.lost
}

func (g *growing) signal() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// append appends bytes and notifies the source.
func (g *growing) append(b []byte) {
	g.mu.Lock()
	g.data = append(g.data, b...)
	g.mu.Unlock()
	g.signal()
}

// drained waits until a reader has read all bytes present.
func (g *growing) drained() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.dry < len(g.data) && !g.left {
		g.cond.Wait()
	}
}

// leave ends waiting for readers.
func (g *growing) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = true
	g.cond.Broadcast()
}

// end ends the file: it will not grow any more.
func (g *growing) end(err error) {
	g.mu.Lock()
	g.lost = err
	g.mu.Unlock()
	g.signal()
}

func (g *growing) open(o codec.Options) (codec.Reader, error) {
	g.opened.Add(1)
	return g.codec.Open(source.Input{At: g, Size: 0}, o)
}

func (g *growing) feed() *feed.Feed {
	return feed.Start(feed.Config{Open: g.open, Selector: g.codec.Selector, Changed: g.changed, Look: g.look})
}

// alone follows the file without a feed.
type alone struct{ *growing }

func (a alone) Changed() <-chan struct{} { return a.changed }
func (a alone) Look() (int64, error)     { return a.look() }
func (alone) Standing() stream.Standing  { return stream.Standing{} }

// fed follows the file through a feed.
type fed struct{ *feed.Subscription }

func (fed) Standing() stream.Standing { return stream.Standing{} }

// patience is the time after which a test fails. It is long, because a loaded machine is no failure.
const patience = 5 * time.Minute

// subscriber is a running stream.
type subscriber struct {
	req     *replaydv1.StreamEventsRequest
	codec   *codec.Codec
	gate    func()            // called before each response is taken
	network chan *frame.Frame // frames that were sent but not written yet; nil writes at once
	line    sync.Mutex        // held while the network writes; locking it stalls the client
	drain   chan struct{}     // closed when the server shuts down

	mu      sync.Mutex
	cond    *sync.Cond
	session streamtest.Session
	done    chan struct{}
}

func subscriberOf(req *replaydv1.StreamEventsRequest) *subscriber {
	s := &subscriber{req: req, codec: &teehistorian.Codec, done: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// run streams from a follower with a reader.
func (s *subscriber) run(
	ctx context.Context, t testing.TB, f stream.Follower, open func(codec.Options) (codec.Reader, error),
) {
	t.Helper()
	only, err := filter.Compile(&s.codec.Filters, s.req.GetInclude(), s.req.GetExclude())
	if err != nil {
		t.Fatal(err)
	}
	options := codec.Options{Filter: only}
	if s.req.GetWhere() != "" {
		x, err := where.Compile(s.codec, only, s.req.GetWhere())
		if err != nil {
			t.Fatal(err)
		}
		options.Where = x
		if options.Filter, err = only.Only(&s.codec.Filters, x.May); err != nil {
			t.Fatal(err)
		}
	}
	c := stream.Config{
		Replay: &stream.Replay{
			Codec: s.codec, Info: new(replaydv1.Replay), Options: options, Opened: streamtest.Opened(open), Follower: f, Live: true,
		},
		Slow: s.req.GetSlowConsumer(), MaxEvents: 512, MaxDelay: s.req.GetMaxBatchDelay().AsDuration(), Heartbeat: time.Minute,
		Drain: s.drain, State: s.req.GetStart().GetWithState(),
	}
	if n := s.req.GetMaxBatchEvents(); n > 0 {
		c.MaxEvents = int(n)
	}
	if d := s.req.GetHeartbeatInterval(); d != nil {
		c.Heartbeat = d.AsDuration()
	}
	if s.req.GetStart().GetNow() != nil {
		c.Start.Now = true
	}
	go func() {
		defer close(s.done)
		var written sync.WaitGroup
		if s.network != nil {
			written.Go(func() {
				for f := range s.network {
					s.line.Lock()
					f.Free()
					s.line.Unlock()
				}
			})
			defer written.Wait()
			defer close(s.network)
		}
		err := stream.Run(ctx, c, s.send)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.session.Err = err
	}()
}

// follow streams from a feed of a file.
func (s *subscriber) follow(ctx context.Context, t testing.TB, f *feed.Feed, g *growing) {
	t.Helper()
	sub := f.Subscribe()
	t.Cleanup(sub.Close)
	s.run(ctx, t, fed{sub}, func(o codec.Options) (codec.Reader, error) { return sub.Open(g.open, o) })
}

func (s *subscriber) send(f *frame.Frame) error {
	if s.gate != nil {
		s.gate()
	}
	b := f.Buffer()
	raw := slices.Clone(b.ReadOnlyData())
	b.Free()
	if s.network != nil {
		s.network <- f
	} else {
		f.Free()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.Responses = append(s.session.Responses, raw)
	s.cond.Broadcast()
	return nil
}

// state waits until the subscriber received a status with the given state.
func (s *subscriber) state(t testing.TB, want replaydv1.FollowState) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(s.session.Responses); seen++ {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(s.session.Responses[seen], &r); err != nil {
				t.Fatal(err)
			}
			if r.GetFollowStatus().GetState() == want {
				return
			}
		}
		s.cond.Wait()
	}
}

func (s *subscriber) received() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.session.Responses)
}

// more waits until more than n responses were received.
func (s *subscriber) more(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.session.Responses) <= n {
		s.cond.Wait()
	}
}

// response waits for the response with the given number.
func (s *subscriber) response(t testing.TB, n int) *replaydv1.StreamEventsResponse {
	t.Helper()
	s.more(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := new(replaydv1.StreamEventsResponse)
	if err := proto.Unmarshal(s.session.Responses[n], r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *subscriber) history() streamtest.History {
	<-s.done
	return streamtest.History{s.session}
}

// requests are subscribers with several filters.
func requests() []*subscriber {
	low, high := int32(5), int32(40)
	var subs []*subscriber
	for _, req := range []*replaydv1.StreamEventsRequest{
		{},
		{Include: []*replaydv1.EventFilter{{Kinds: []string{"player_diff", "join"}}}, MaxBatchEvents: 3},
		{Exclude: []*replaydv1.EventFilter{{Kinds: []string{"tick"}}, {Players: []int32{0}}}},
		{Include: []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Min: &low, Max: &high}}}},
	} {
		subs = append(subs, subscriberOf(req))
	}
	return subs
}

// recordings returns every third recording of the samples and the corpus that is not large, or with CORPUS=all every one.
func recordings(tb testing.TB) []string {
	tb.Helper()
	var files []string
	for _, dir := range []string{
		filepath.Join("..", "..", "testdata", "teehistorian"), filepath.Join("..", "..", "..", "shared", "corpus", "teehistorian"),
	} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".teehistorian") {
				files = append(files, path)
			}
			return nil
		})
	}
	if len(files) == 0 {
		tb.Fatal("no recordings")
	}
	if os.Getenv("CORPUS") != "all" { // see docs/testing.md
		n := 0
		files = slices.DeleteFunc(files, func(path string) bool { n++; return n%3 > 0 || len(read(tb, path)) > 1<<20 })
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

func offline(tb testing.TB, data []byte, req *replaydv1.StreamEventsRequest) streamtest.Replay {
	tb.Helper()
	g := grow(data)
	r, err := streamtest.Offline(&teehistorian.Codec, source.Input{At: g, Size: int64(len(data))}, req.GetInclude(), req.GetExclude())
	if err != nil {
		tb.Fatal(err)
	}
	if r.End == replaydv1.EndReason_END_REASON_TRUNCATED {
		r.End = replaydv1.EndReason_END_REASON_REMOVED // that is how the tests end a file
	}
	return r
}

// live writes a file in parts while several subscribers follow it through one feed, and one follows it alone. Between two
// parts, steps waits for readers.
func live(t *testing.T, data []byte, first int, parts func(g *growing)) {
	t.Helper()
	liveOf(t, data, wanted(t, data), first, parts)
}

// wanted returns the events that the subscribers of requests must receive.
func wanted(t *testing.T, data []byte) (all []streamtest.Replay) {
	t.Helper()
	for _, s := range requests() {
		all = append(all, offline(t, data, s.req))
	}
	return all
}

func liveOf(t *testing.T, data []byte, want []streamtest.Replay, first int, parts func(g *growing)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g := grow(data[:first])
	f := g.feed()
	defer f.Stop()
	subs := requests()[:len(want)]
	for _, s := range subs {
		s.network = make(chan *frame.Frame, 1)
		s.follow(ctx, t, f, g)
	}
	parts(g)
	g.end(source.ErrRemoved)
	for i, s := range subs {
		if err := streamtest.Check(s.history(), want[i:i+1], streamtest.Options{}); err != nil {
			t.Fatalf("%v: %v", s.req, err)
		}
	}
}

func liveAlone(t *testing.T, data []byte, first int, parts func(g *growing)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, s := range requests()[:2] {
		g := grow(data[:first])
		s.run(ctx, t, alone{g}, g.open)
		parts(g)
		g.end(source.ErrRemoved)
		if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{}); err != nil {
			t.Fatalf("%v: %v", s.req, err)
		}
	}
}

// sample returns a finished recording, and a longer one with its records repeated.
func sample(tb testing.TB, size int) []byte {
	data := read(tb, filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	return teetest.Repeat(data, size)
}
