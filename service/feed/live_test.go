package feed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/teehistorian"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// growing is a file in memory that grows when the test says so.
type growing struct {
	changed chan struct{} // for whoever follows it

	mu   sync.Mutex
	cond *sync.Cond
	data []byte
	dry  int // the length at which a reader last found nothing more
	lost error
}

func grow(data []byte) *growing {
	g := &growing{changed: make(chan struct{}, 1), data: slices.Clone(data), dry: -1}
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

// append appends bytes and tells.
func (g *growing) append(b []byte) {
	g.mu.Lock()
	g.data = append(g.data, b...)
	g.mu.Unlock()
	g.signal()
}

// drained waits until a reader has read all that is there.
func (g *growing) drained() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.dry < len(g.data) {
		g.cond.Wait()
	}
}

// end says that nothing more will come.
func (g *growing) end(err error) {
	g.mu.Lock()
	g.lost = err
	g.mu.Unlock()
	g.signal()
}

func (g *growing) open(o codec.Options) (codec.Reader, error) {
	return teehistorian.Codec.Open(source.Input{At: g, Size: 0}, o)
}

func (g *growing) feed() *feed.Feed {
	return feed.Start(feed.Config{Open: g.open, Changed: g.changed, Look: g.look})
}

// alone follows the file without a feed.
type alone struct{ *growing }

func (a alone) Changed() <-chan struct{} { return a.changed }
func (a alone) Look() (int64, error)     { return a.look() }

// patience is how long a test may take before it has failed: long, for a loaded machine is no failure.
const patience = 5 * time.Minute

// subscriber is a stream that runs.
type subscriber struct {
	req     *replaydv1.StreamEventsRequest
	gate    func()            // called before each response is taken
	network chan *frame.Frame // where frames wait to be written after they were sent; nil writes at once
	line    sync.Mutex        // the network writes by it: whoever locks it stalls the client
	drain   chan struct{}     // closed when the server shuts down

	mu      sync.Mutex
	cond    *sync.Cond
	session streamtest.Session
	done    chan struct{}
}

func subscriberOf(req *replaydv1.StreamEventsRequest) *subscriber {
	s := &subscriber{req: req, done: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// run streams from a follower by a reader.
func (s *subscriber) run(
	ctx context.Context, t testing.TB, f stream.Follower, open func(codec.Options) (codec.Reader, error),
) {
	t.Helper()
	only, err := filter.Compile(&teehistorian.Codec.Filters, s.req.GetInclude(), s.req.GetExclude())
	if err != nil {
		t.Fatal(err)
	}
	c := stream.Config{
		Replay: &stream.Replay{
			Codec: &teehistorian.Codec, Info: new(replaydv1.Replay), Filter: only, Open: open, Follower: f, Live: true,
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
	s.run(ctx, t, sub, func(o codec.Options) (codec.Reader, error) { return sub.Open(g.open, o) })
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

// state waits until the subscriber was told of that state.
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

// response waits for the response of that number.
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
	if os.Getenv("CORPUS") != "all" { // what is large takes long: see docs/testing.md
		files = slices.DeleteFunc(files, func(path string) bool { return len(read(tb, path)) > 1<<20 })
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
		r.End = replaydv1.EndReason_END_REASON_REMOVED // that is how the tests say that nothing more comes
	}
	return r
}

// live writes a file in parts and has it followed by several subscribers through one feed, and by one alone. Between two
// parts, steps waits for readers.
func live(t *testing.T, data []byte, first int, parts func(g *growing)) {
	t.Helper()
	liveOf(t, data, wanted(t, data), first, parts)
}

// wanted is what the subscribers of requests are to get.
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

// TestTornByByte writes each small recording one byte at a time; each byte is looked at before the next one comes.
func TestTornByByte(t *testing.T) {
	for _, path := range recordings(t) {
		data := read(t, path)
		if len(data) > 20_000 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			parts := func(g *growing) {
				for i := range data {
					g.drained()
					g.append(data[i : i+1])
				}
			}
			live(t, data, 0, parts)
			liveAlone(t, data, 0, parts)
		})
	}
}

// TestTornInChunks writes each recording in chunks of random sizes.
func TestTornInChunks(t *testing.T) {
	for i, path := range recordings(t) {
		data := read(t, path)
		if streamtest.Race && len(data) > 300_000 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			parts := func(g *growing) {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				for rest := data; len(rest) > 0; {
					n := min(1+random.IntN(max(300, len(data)/200)), len(rest))
					if random.IntN(2) == 0 {
						g.drained()
					}
					g.append(rest[:n])
					rest = rest[n:]
				}
			}
			live(t, data, 0, parts)
			liveAlone(t, data, 0, parts)
		})
	}
}

// TestTornAnywhere splits recordings in two: the smallest at every byte, the others at some.
func TestTornAnywhere(t *testing.T) {
	for _, path := range recordings(t) {
		data := read(t, path)
		step := 1
		switch {
		case len(data) > 20_000:
			step = len(data)/7 + 1
		case len(data) > 4500:
			step = 211
		}
		if streamtest.Race {
			step *= 13
		}
		if streamtest.Race && len(data) > 300_000 {
			continue // it finds nothing more in large ones
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := wanted(t, data)[:2]
			header := 16 + slices.Index(data[16:], 0) // torn by byte above
			for at := header; at <= len(data); at += step {
				liveOf(t, data, want, at, func(g *growing) {
					g.drained()
					g.append(data[at:])
				})
			}
		})
	}
}

// sample is a finished recording, and a longer one made of it by repeating its records.
func sample(tb testing.TB, size int) []byte {
	data := read(tb, filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	header := 16 + 1 + slices.Index(data[16:], 0)
	body := data[header : len(data)-1]
	long := slices.Clone(data[:header])
	for len(long) < size {
		long = append(long, body...)
	}
	return append(long, data[len(data)-1])
}

// beyond is the size of a recording whose events are several times what a feed keeps.
const beyond = 400_000

// behind lets a subscriber catch up, then holds it while the file grows by much more than a feed keeps, and then lets it
// go on. more is what is written after that.
func behind(t *testing.T, req *replaydv1.StreamEventsRequest, data []byte, more int) *subscriber {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	const begin = 6000
	g := grow(data[:begin])
	f := g.feed()
	t.Cleanup(f.Stop)
	s := subscriberOf(req)
	held, gate := make(chan struct{}, 1), make(chan struct{})
	var hold sync.Once
	caughtUp := make(chan struct{})
	s.gate = func() {
		select {
		case <-caughtUp:
			hold.Do(func() { held <- struct{}{}; <-gate })
		default:
		}
	}
	s.follow(ctx, t, f, g)
	s.state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
	for i := range 5 { // by now the feed serves it
		n := s.received()
		g.append(data[begin+i*200 : begin+(i+1)*200])
		s.more(n)
	}
	close(caughtUp)
	g.append(data[begin+1000 : begin+2000])
	<-held
	g.append(data[begin+2000 : len(data)-more])
	g.drained()
	close(gate)
	if more > 0 {
		if req.GetSlowConsumer() == replaydv1.SlowConsumer_SLOW_CONSUMER_CATCH_UP {
			s.state(t, replaydv1.FollowState_FOLLOW_STATE_FELL_BEHIND)
		}
		time.Sleep(20 * time.Millisecond)
		g.append(data[len(data)-more:])
	}
	g.end(source.ErrRemoved)
	<-s.done
	return s
}

func slowly(how replaydv1.SlowConsumer) *replaydv1.StreamEventsRequest {
	return &replaydv1.StreamEventsRequest{SlowConsumer: how}
}

func states(t *testing.T, h streamtest.History) (names []string, missing uint64) {
	t.Helper()
	for _, raw := range h[0].Responses {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if s := r.GetFollowStatus(); s != nil {
			names = append(names, s.GetState().String())
		}
		if g := r.GetGap(); g != nil {
			names = append(names, "gap")
			missing += g.GetNextSequence() - g.GetFirstSequence()
		}
	}
	return names, missing
}

// TestFallBehindAndCatchUp: nothing is lost, and the client is told.
func TestFallBehindAndCatchUp(t *testing.T) {
	data := sample(t, beyond)
	s := behind(t, slowly(replaydv1.SlowConsumer_SLOW_CONSUMER_CATCH_UP), data, 9000)
	if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, nil)}, streamtest.Options{}); err != nil {
		t.Fatal(err)
	}
	names, _ := states(t, s.history())
	want := []string{"FOLLOW_STATE_CAUGHT_UP", "FOLLOW_STATE_FELL_BEHIND", "FOLLOW_STATE_CAUGHT_UP"}
	if len(names) < 2 || !slices.Equal(names[:2], want[:2]) || len(names) > 3 {
		t.Errorf("states %q, want %q", names, want)
	}
}

// TestFallBehindAndDrop: one gap with the exact number of events, wherever the file ends.
func TestFallBehindAndDrop(t *testing.T) {
	data := sample(t, beyond)
	for _, more := range []int{9000, 0} { // bytes that come after the subscriber goes on
		s := behind(t, slowly(replaydv1.SlowConsumer_SLOW_CONSUMER_DROP), data, more)
		err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, nil)}, streamtest.Options{Gaps: true})
		if err != nil {
			t.Fatalf("%d more: %v", more, err)
		}
		if names, missing := states(t, s.history()); missing == 0 || !slices.Contains(names, "gap") {
			t.Errorf("%d more: %d events are missing, states %q", more, missing, names)
		}
	}
}

// TestFallBehindWithState: behind a gap the state is told again, as it is there.
func TestFallBehindWithState(t *testing.T) {
	data := sample(t, beyond)
	for _, more := range []int{9000, 0} {
		req := slowly(replaydv1.SlowConsumer_SLOW_CONSUMER_DROP)
		req.Start = &replaydv1.Start{WithState: true}
		h := behind(t, req, data, more).history()
		err := streamtest.Check(h, []streamtest.Replay{offline(t, data, nil)}, streamtest.Options{Gaps: true, State: true})
		if err != nil {
			t.Fatalf("%d more: %v", more, err)
		}
		var told [][]byte // by part
		var at decoders.Position
		gaps := 0
		for _, raw := range h[0].Responses {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			c, err := cursor.Parse(r.GetCursor())
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case r.GetGap() != nil:
				gaps++
				told, at = nil, c.Position
			case r.GetState() != nil && gaps > 0:
				if c.Position != at {
					t.Errorf("%d more: the state is of %v, and the gap ends at %v", more, c.Position, at)
				}
				part, err := proto.Marshal(r.GetState().GetTeehistorian())
				if err != nil {
					t.Fatal(err)
				}
				told = append(told, part)
			}
		}
		if want := stateAt(t, data, at); gaps == 0 || len(want) == 0 || !bytes.Equal(slices.Concat(told...), want) {
			t.Errorf("%d more: behind %d gaps, at %v, the state is % x, want % x", more, gaps, at, slices.Concat(told...), want)
		}
	}
}

// stateAt returns the events that are the state at a position, which may be between the events of a record.
func stateAt(t *testing.T, data []byte, at decoders.Position) []byte {
	t.Helper()
	r, err := teehistorian.Codec.Open(source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, codec.Options{
		Start: codec.Start{Position: at}, State: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	for err = codec.ErrYield; errors.Is(err, codec.ErrYield); {
		err = r.Seek()
	}
	b := codec.Batch{MaxEvents: 1000, MaxBytes: 1 << 20}
	if err := r.(codec.Presenter).Present(&b); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return b.Events
}

// TestFallBehindAndDisconnect: the stream ends by an error whose cursor goes on.
func TestFallBehindAndDisconnect(t *testing.T) {
	data := sample(t, beyond)
	s := behind(t, slowly(replaydv1.SlowConsumer_SLOW_CONSUMER_DISCONNECT), data, 0)
	h := s.history()
	if !errors.Is(h[0].Err, stream.ErrTooSlow) {
		t.Fatalf("ended by %v", h[0].Err)
	}
	failed, ok := errors.AsType[*stream.Error](h[0].Err)
	if !ok || !bytes.Equal(failed.Cursor, h.Cursor()) {
		t.Errorf("the error has another cursor than the last response: %x, %x", failed.Cursor, h.Cursor())
	}
	if err := streamtest.Check(h, []streamtest.Replay{offline(t, data, nil)}, streamtest.Options{Incomplete: true}); err != nil {
		t.Error(err)
	}
}

// TestShrunk, and a file that is lost in other ways: every subscriber is told how.
func TestLost(t *testing.T) {
	data := sample(t, 5000)
	data = data[:len(data)-1] // without the finish
	for name, test := range map[string]struct {
		lost error
		want replaydv1.EndReason
	}{
		"shrunk":    {source.ErrShrunk, replaydv1.EndReason_END_REASON_SHRUNK},
		"replaced":  {source.ErrReplaced, replaydv1.EndReason_END_REASON_REPLACED},
		"removed":   {source.ErrRemoved, replaydv1.EndReason_END_REASON_REMOVED},
		"succeeded": {stream.ErrSucceeded, replaydv1.EndReason_END_REASON_TRUNCATED},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			g := grow(data)
			f := g.feed()
			defer f.Stop()
			subs := requests()
			for _, s := range subs {
				s.follow(ctx, t, f, g)
			}
			subs[0].state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
			subs[1].state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
			subs[2].state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
			g.end(test.lost)
			for _, s := range subs {
				want := offline(t, data, s.req)
				if want.End == replaydv1.EndReason_END_REASON_REMOVED {
					want.End = test.want
				}
				if err := streamtest.Check(s.history(), []streamtest.Replay{want}, streamtest.Options{}); err != nil {
					t.Errorf("%v: %v", s.req, err)
				}
			}
		})
	}
}

// faulty is a reader that panics, or fails, behind the header.
type faulty struct {
	codec.Reader
	fault func() error
}

func (r faulty) Fill(*codec.Batch) error { return r.fault() }

// TestFaultInFeed: what goes wrong in the feed ends its subscribers by an error, and nothing else.
func TestFaultInFeed(t *testing.T) {
	for name, fault := range map[string]func() error{
		"panic": func() error { panic("oh no") },
		"error": func() error { return errors.New("oh no") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			data := sample(t, 5000)
			g := grow(data[:8000])
			closed := make(chan struct{})
			f := feed.Start(feed.Config{
				Open: func(o codec.Options) (codec.Reader, error) {
					r, err := g.open(o)
					return faulty{r, fault}, err
				},
				Changed: g.changed, Look: g.look, Close: func() { close(closed) },
			})
			s := subscriberOf(new(replaydv1.StreamEventsRequest))
			s.follow(ctx, t, f, g)
			h := s.history()
			if h[0].Err == nil || !strings.Contains(h[0].Err.Error(), "oh no") {
				t.Errorf("ended by %v", h[0].Err)
			}
			if err := streamtest.Check(h, []streamtest.Replay{offline(t, data, nil)}, streamtest.Options{Incomplete: true}); err != nil {
				t.Error(err)
			}
			f.Stop()
			<-closed
			if !f.Stale() {
				t.Error("who comes now would share a feed that has failed")
			}
		})
	}
}
