package feed_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// pushed reports whether its caller was called in the goroutine of a feed.
func pushed() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, "feed.(*Feed).push") {
			return true
		}
	}
	return false
}

// begun is how many bytes of a recording are present before the tests of pushing begin.
const begun = 6000

// game is a recording that is being written, with a feed that reads it.
type game struct {
	*growing

	ctx  context.Context //nolint:containedctx // a test's
	all  []byte          // the finished recording
	feed *feed.Feed
}

// startGame begins a game.
func startGame(t *testing.T, all []byte) *game {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	g := grow(all[:begun])
	f := g.feed()
	t.Cleanup(f.Stop)
	return &game{g, ctx, all, f}
}

// enter lets a subscriber follow over a network and catch up. It returns how many responses were pushed to it.
func (g *game) enter(t *testing.T, s *subscriber) *atomic.Int64 {
	t.Helper()
	pushes := new(atomic.Int64)
	s.network = make(chan *frame.Frame, 1)
	gate := s.gate
	s.gate = func() {
		if pushed() {
			pushes.Add(1)
		}
		if gate != nil {
			gate()
		}
	}
	s.follow(g.ctx, t, g.feed, g.growing)
	s.state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
	return pushes
}

// play writes bytes in parts of a given size. Before each part it waits until the one before was read, and then a moment.
func (g *game) play(b []byte, size int) {
	for part := range slices.Chunk(b, size) {
		g.append(part)
		g.drained()
		time.Sleep(time.Millisecond)
	}
}

// check compares the events of a subscriber with the whole game.
func (g *game) check(t *testing.T, s *subscriber, o streamtest.Options) streamtest.History {
	t.Helper()
	h := s.history()
	if err := streamtest.Check(h, []streamtest.Replay{offline(t, g.all, s.req)}, o); err != nil {
		t.Errorf("%v: %v", s.req, err)
	}
	return h
}

// TestPush checks that the feed's goroutine sends to a stream that has sent everything, with any filter, and that the client
// receives the events of the file.
func TestPush(t *testing.T) {
	g := startGame(t, sample(t, 100_000))
	subs := requests()[:3] // the last one is complete already
	pushes := make([]*atomic.Int64, len(subs))
	for i, s := range subs {
		pushes[i] = g.enter(t, s)
	}
	few := func(n *atomic.Int64) bool { return n.Load() < 10 }
	at := begun // on a loaded machine a stream may not be waiting when the next part is written
	for ; slices.ContainsFunc(pushes, few) && at+20 < len(g.all); at += 20 {
		g.play(g.all[at:at+20], 20)
	}
	g.append(g.all[at:])
	g.end(source.ErrRemoved)
	for i, s := range subs {
		g.check(t, s, streamtest.Options{})
		if few(pushes[i]) {
			t.Errorf("%v: %d of %d responses were pushed", s.req, pushes[i].Load(), s.received())
		}
	}
}

// TestPushDelay checks when events of a game are pushed to a stream that lets them wait for 40 ms. Ticks come every 20 ms, up to 4 ms
// early or late: every second one is sent at once, with the one before it. Events that nothing follows wait for 40 ms.
func TestPushDelay(t *testing.T) {
	all := sample(t, 20_000)
	synctest.Test(t, func(t *testing.T) {
		const delay = 40 * time.Millisecond
		g := startGame(t, all)
		s := subscriberOf(&replaydv1.StreamEventsRequest{MaxBatchDelay: durationpb.New(delay)})
		var mu sync.Mutex
		var at []time.Time // of each response
		sentAt := func() []time.Time {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(at)
		}
		s.gate = func() {
			mu.Lock()
			defer mu.Unlock()
			switch at = append(at, time.Now()); len(at) {
			case 1: // so that the transport is known to take messages over
				s.line.Lock()
			case 2:
				s.line.Unlock()
			}
		}
		pushes := g.enter(t, s)
		synctest.Wait()
		before, began := len(sentAt()), time.Now()
		var ticks []time.Time
		rest := all[begun:]
		grow := func(after time.Duration) {
			time.Sleep(time.Until(began.Add(after)))
			ticks = append(ticks, time.Now())
			g.append(rest[:60])
			rest = rest[60:]
		}
		for i := range 40 {
			grow(time.Duration(20*i+[]int{0, 4, -4, -2, 3, -4, 2}[i%7]) * time.Millisecond)
		}
		synctest.Wait()
		sent := sentAt()[before:]
		for i, when := range sent[:min(20, len(sent))] {
			if when != ticks[2*i] {
				t.Errorf("batch %d was sent after %v, want %v", i, when.Sub(began), ticks[2*i].Sub(began))
			}
		}
		if len(sent) != 20 || pushes.Load() != 20 {
			t.Errorf("%d batches, %d pushed", len(sent), pushes.Load())
		}
		time.Sleep(time.Second)
		sent = sentAt()[before:]
		if last := sent[len(sent)-1]; len(sent) != 21 || last != ticks[39].Add(delay) {
			t.Errorf("the last tick is sent after %v, in %d batches", last.Sub(ticks[39]), len(sent))
		}
		g.append(rest)
		g.end(source.ErrRemoved)
		g.check(t, s, streamtest.Options{})
	})
}

// TestPushNotHeavy checks that a slow filter does not delay other subscribers, because the stream's own goroutine applies it.
func TestPushNotHeavy(t *testing.T) {
	g := startGame(t, sample(t, 20_000))
	others := &replaydv1.EventFilter{Players: slices.Repeat([]int32{1000}, 1000)}
	s := subscriberOf(&replaydv1.StreamEventsRequest{Exclude: slices.Repeat([]*replaydv1.EventFilter{others}, 60)})
	pushes := g.enter(t, s)
	g.play(g.all[begun:], 100)
	g.check(t, s, streamtest.Options{})
	if n := pushes.Load(); n > 0 {
		t.Errorf("%d of %d responses were pushed", n, s.received())
	}
}

// TestPushNotToStalled checks that a client that stops reading, so that sending to it blocks, does not delay others.
func TestPushNotToStalled(t *testing.T) {
	g := startGame(t, sample(t, 20_000))
	subs := requests()[:2]
	stalled, other := subs[0], subs[1]
	for _, s := range subs {
		g.enter(t, s)
	}
	stalled.line.Lock()
	for part := range slices.Chunk(g.all[begun:], 100) {
		g.append(part)
		time.Sleep(time.Millisecond) // the feed may be stuck
	}
	g.end(source.ErrRemoved)
	h := other.history()
	stalled.line.Unlock()
	for _, s := range subs {
		g.check(t, s, streamtest.Options{})
	}
	if h[0].Err != nil {
		t.Errorf("the other one ended by %v", h[0].Err)
	}
}

// TestPushThenBehind checks that a subscriber that was pushed to, stalls and falls behind is served like any other.
func TestPushThenBehind(t *testing.T) {
	data := sample(t, beyond)
	for slow, o := range map[replaydv1.SlowConsumer]streamtest.Options{
		replaydv1.SlowConsumer_SLOW_CONSUMER_CATCH_UP:   {},
		replaydv1.SlowConsumer_SLOW_CONSUMER_DROP:       {Gaps: true},
		replaydv1.SlowConsumer_SLOW_CONSUMER_DISCONNECT: {Incomplete: true},
	} {
		t.Run(slow.String(), func(t *testing.T) {
			g := startGame(t, data)
			s := subscriberOf(&replaydv1.StreamEventsRequest{SlowConsumer: slow})
			pushes := g.enter(t, s)
			at, rest := begun, len(data)-9000
			for ; pushes.Load() < 3; at += 20 {
				g.play(data[at:at+20], 20)
			}
			s.line.Lock()
			for ; at < 8000; at += 20 { // the stream's own goroutine sends these, until it waits for the network
				g.append(data[at : at+20])
				g.drained()
			}
			g.append(data[at:rest])
			g.drained()
			s.line.Unlock()
			for part := range slices.Chunk(data[rest:], 100) {
				g.append(part)
				time.Sleep(time.Millisecond)
			}
			h := g.check(t, s, o)
			names, missing := states(t, h)
			switch {
			case errors.Is(h[0].Err, stream.ErrTooSlow) != o.Incomplete:
				t.Errorf("ended by %v", h[0].Err)
			case (missing > 0) != o.Gaps:
				t.Errorf("%d events are missing", missing)
			case slices.Contains(names, "FOLLOW_STATE_FELL_BEHIND") != (!o.Gaps && !o.Incomplete):
				t.Errorf("states %q", names)
			}
		})
	}
}

// TestPushOfNothing checks that a client whose filter drops all events receives how far the file was read, even if the feed's
// goroutine fills its batches.
func TestPushOfNothing(t *testing.T) {
	g := startGame(t, sample(t, 20_000))
	s := subscriberOf(&replaydv1.StreamEventsRequest{
		Include: []*replaydv1.EventFilter{{Players: []int32{1000}}}, HeartbeatInterval: durationpb.New(time.Millisecond),
	})
	g.enter(t, s)
	before, end := g.all[:len(g.all)-1], g.all[len(g.all)-1:]
	g.play(before[begun:], 100)
	last := new(replaydv1.Heartbeat)
	for n := s.received(); last.GetBytesRead() < int64(len(before)); n++ {
		last = s.response(t, n).GetHeartbeat()
	}
	if last.GetTick() == 0 || last.GetBytesPresent() != last.GetBytesRead() {
		t.Errorf("the last heartbeat: %v", last)
	}
	g.append(end)
	g.check(t, s, streamtest.Options{})
}

// TestPushPanic checks that a fault of one stream does not end others, and that no cursor is past events that were not sent.
func TestPushPanic(t *testing.T) {
	g := startGame(t, sample(t, 20_000))
	subs := requests()[:2]
	subs[0].gate = func() {
		if pushed() {
			panic("oh no")
		}
	}
	for _, s := range subs {
		g.enter(t, s)
	}
	g.play(g.all[begun:], 100)
	g.end(source.ErrRemoved)
	for i, s := range subs {
		h := g.check(t, s, streamtest.Options{Incomplete: i == 0})
		if got := h[0].Err; (got != nil && strings.Contains(got.Error(), "oh no")) != (i == 0) {
			t.Errorf("%v: ended by %v", s.req, got)
		}
		if failed, ok := errors.AsType[*stream.Error](h[0].Err); ok && !bytes.Equal(failed.Cursor, h.Cursor()) {
			t.Errorf("%v: who goes on at the error's cursor misses what was not sent", s.req)
		}
	}
}
