package feed_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// pushed tells whether its caller was called in the goroutine of a feed.
func pushed() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, "feed.(*Feed).publish") {
			return true
		}
	}
	return false
}

// follow lets a subscriber follow a feed, and waits until it has caught up.
func follow(ctx context.Context, t *testing.T, f *feed.Feed, g *growing, s *subscriber) {
	t.Helper()
	sub := f.Subscribe()
	t.Cleanup(sub.Close)
	s.run(ctx, t, sub, func(o encode.Options) (encode.Reader, error) { return sub.Open(g.open, o) })
	s.state(t, replaydv1.State_STATE_CAUGHT_UP)
}

// TestPush: whoever has sent everything is sent to in the feed's goroutine, whatever the filter, and gets what the file has.
func TestPush(t *testing.T) {
	data := sample(t, 20_000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g := grow(data[:6000])
	f := g.feed()
	defer f.Stop()
	subs := requests()[:3] // the last one has all that it asked for
	pushes := make([]atomic.Int64, len(subs))
	for i, s := range subs {
		s.network = make(chan *frame.Frame, 1)
		s.gate = func() {
			if pushed() {
				pushes[i].Add(1)
			}
		}
		follow(ctx, t, f, g, s)
	}
	for part := range slices.Chunk(data[6000:], 20) {
		g.append(part)
		g.drained()
		time.Sleep(time.Millisecond) // for the networks
	}
	g.end(source.ErrRemoved)
	for i, s := range subs {
		if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{}); err != nil {
			t.Errorf("%v: %v", s.req, err)
		}
		if n := pushes[i].Load(); n < 10 {
			t.Errorf("%v: %d of %d responses were pushed", s.req, n, s.received())
		}
	}
}

// TestPushNotHeavy: whoever has a filter that takes long is not waited for by others: its own goroutine applies it.
func TestPushNotHeavy(t *testing.T) {
	data := sample(t, 20_000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g := grow(data[:6000])
	f := g.feed()
	defer f.Stop()
	others := &replaydv1.EventFilter{Players: slices.Repeat([]int32{1000}, 1000)}
	s := subscriberOf(&replaydv1.StreamEventsRequest{Exclude: slices.Repeat([]*replaydv1.EventFilter{others}, 60)})
	var pushes atomic.Int64
	s.network = make(chan *frame.Frame, 1)
	s.gate = func() {
		if pushed() {
			pushes.Add(1)
		}
	}
	follow(ctx, t, f, g, s)
	for part := range slices.Chunk(data[6000:], 100) {
		g.append(part)
		g.drained()
		time.Sleep(time.Millisecond) // for the network
	}
	if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{}); err != nil {
		t.Error(err)
	}
	if n := pushes.Load(); n > 0 {
		t.Errorf("%d of %d responses were pushed", n, s.received())
	}
}

// TestPushNotToStalled: a client that reads no more, so that sending to it blocks at last, holds nobody back.
func TestPushNotToStalled(t *testing.T) {
	data := sample(t, 20_000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g := grow(data[:6000])
	f := g.feed()
	defer f.Stop()
	subs := requests()[:2]
	stalled, other := subs[0], subs[1]
	for _, s := range subs {
		s.network = make(chan *frame.Frame, 1)
		follow(ctx, t, f, g, s)
	}
	stalled.line.Lock()
	for part := range slices.Chunk(data[6000:], 100) {
		g.append(part)
		time.Sleep(time.Millisecond) // the feed may be stuck
	}
	g.end(source.ErrRemoved)
	h := other.history()
	stalled.line.Unlock()
	for _, s := range subs {
		if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{}); err != nil {
			t.Errorf("%v: %v", s.req, err)
		}
	}
	if h[0].Err != nil {
		t.Errorf("the other one ended by %v", h[0].Err)
	}
}

// TestPushThenBehind: who was pushed to, stalls and falls behind is told and served as everybody is.
func TestPushThenBehind(t *testing.T) {
	data := sample(t, 400_000) // several times what a feed keeps, as events
	for slow, o := range map[replaydv1.SlowConsumer]streamtest.Options{
		replaydv1.SlowConsumer_SLOW_CONSUMER_CATCH_UP:   {},
		replaydv1.SlowConsumer_SLOW_CONSUMER_DROP:       {Gaps: true},
		replaydv1.SlowConsumer_SLOW_CONSUMER_DISCONNECT: {Incomplete: true},
	} {
		t.Run(slow.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			g := grow(data[:6000])
			f := g.feed()
			defer f.Stop()
			s := subscriberOf(&replaydv1.StreamEventsRequest{SlowConsumer: slow})
			var pushes atomic.Int64
			s.network = make(chan *frame.Frame, 1)
			s.gate = func() {
				if pushed() {
					pushes.Add(1)
				}
			}
			follow(ctx, t, f, g, s)
			at, rest := 6000, len(data)-9000
			for ; pushes.Load() < 3; at += 20 {
				g.append(data[at : at+20])
				g.drained()
				time.Sleep(time.Millisecond) // for the network
			}
			s.line.Lock()
			for ; at < 8000; at += 20 { // the stream's own goroutine sends these, until it waits for the network
				g.append(data[at : at+20])
				g.drained()
			}
			g.append(data[at:rest])
			g.drained()
			s.line.Unlock()
			for ; rest < len(data); rest += 100 {
				g.append(data[rest:min(rest+100, len(data))])
				time.Sleep(time.Millisecond)
			}
			h := s.history()
			if err := streamtest.Check(h, []streamtest.Replay{offline(t, data, nil)}, o); err != nil {
				t.Error(err)
			}
			names, missing := states(t, h)
			switch {
			case errors.Is(h[0].Err, stream.ErrTooSlow) != o.Incomplete:
				t.Errorf("ended by %v", h[0].Err)
			case (missing > 0) != o.Gaps:
				t.Errorf("%d events are missing", missing)
			case slices.Contains(names, "STATE_FELL_BEHIND") != (!o.Gaps && !o.Incomplete):
				t.Errorf("states %q", names)
			}
		})
	}
}

// TestPushOfNothing: a client whose filter lets nothing through learns how far the file has been read also where the feed
// fills for it.
func TestPushOfNothing(t *testing.T) {
	data := sample(t, 20_000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g := grow(data[:6000])
	f := g.feed()
	defer f.Stop()
	s := subscriberOf(&replaydv1.StreamEventsRequest{
		Include: []*replaydv1.EventFilter{{Players: []int32{1000}}}, HeartbeatInterval: durationpb.New(time.Millisecond),
	})
	s.network = make(chan *frame.Frame, 1)
	follow(ctx, t, f, g, s)
	for part := range slices.Chunk(data[6000:len(data)-1], 100) {
		g.append(part)
		g.drained()
	}
	last := new(replaydv1.Heartbeat)
	for n := s.received(); last.GetBytesRead() < int64(len(data)-1); n++ {
		last = s.response(t, n).GetHeartbeat()
	}
	if last.GetTick() == 0 || last.GetBytesPresent() != last.GetBytesRead() {
		t.Errorf("the last heartbeat: %v", last)
	}
	g.append(data[len(data)-1:])
	if err := streamtest.Check(s.history(), []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{}); err != nil {
		t.Error(err)
	}
}

// TestPushPanic: what goes wrong for one ends nobody else, and no cursor says that what was not sent was.
func TestPushPanic(t *testing.T) {
	data := sample(t, 20_000)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g := grow(data[:6000])
	f := g.feed()
	defer f.Stop()
	subs := requests()[:2]
	subs[0].gate = func() {
		if pushed() {
			panic("oh no")
		}
	}
	for _, s := range subs {
		s.network = make(chan *frame.Frame, 1)
		follow(ctx, t, f, g, s)
	}
	for part := range slices.Chunk(data[6000:], 100) {
		g.append(part)
		g.drained()
		time.Sleep(time.Millisecond) // for the networks
	}
	g.end(source.ErrRemoved)
	for i, s := range subs {
		h := s.history()
		err := streamtest.Check(h, []streamtest.Replay{offline(t, data, s.req)}, streamtest.Options{Incomplete: i == 0})
		if err != nil {
			t.Errorf("%v: %v", s.req, err)
		}
		if got := h[0].Err; (got != nil && strings.Contains(got.Error(), "oh no")) != (i == 0) {
			t.Errorf("%v: ended by %v", s.req, got)
		}
		if failed, ok := errors.AsType[*stream.Error](h[0].Err); ok && !bytes.Equal(failed.Cursor, h.Cursor()) {
			t.Errorf("%v: who goes on at the error's cursor misses what was not sent", s.req)
		}
	}
}
