package feed_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// weather stalls a subscriber's network again and again, mostly for a moment.
func weather(s *subscriber, random *rand.Rand) {
	for {
		select {
		case <-s.done:
			return
		default:
		}
		bad := time.Millisecond
		if random.IntN(20) == 0 {
			bad = 50 * time.Millisecond
		}
		s.line.Lock()
		time.Sleep(time.Duration(random.Int64N(int64(bad))))
		s.line.Unlock()
		time.Sleep(time.Duration(random.Int64N(int64(5 * time.Millisecond))))
	}
}

// TestWeather checks the guarantees over various networks, with subscribers that join and leave, for each way in which a game
// is written and ends. No push happens while a network still has frames to write.
func TestWeather(t *testing.T) {
	t.Parallel()
	for i, end := range []string{"finished", "removed", "shrunk", "drained", "stopped"} {
		for seed := range uint64(2) {
			t.Run(end+" "+strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				round(t, rand.New(rand.NewPCG(seed, uint64(i))), end)
			})
		}
	}
}

// round runs subscribers of a game until it ends in one of the ways of TestWeather.
func round(t *testing.T, random *rand.Rand, end string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data := sample(t, 60_000)
	if end != "finished" {
		data = data[:len(data)-1]
	}
	g := grow(data[:random.IntN(6000)])
	f := g.feed()
	defer f.Stop()

	subs := append(requests(),
		subscriberOf(&replaydv1.StreamEventsRequest{MaxBatchDelay: durationpb.New(10 * time.Millisecond)}),
		subscriberOf(&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Players: []int32{1000}}}}),
		subscriberOf(&replaydv1.StreamEventsRequest{}))
	leaver, leaves := subs[len(subs)-1], random.IntN(len(data))
	leaverContext, leave := context.WithCancel(ctx)
	defer leave()
	drain := make(chan struct{})
	enter := func(s *subscriber) {
		s.req.HeartbeatInterval = durationpb.New(time.Millisecond)
		s.network, s.drain = make(chan *frame.Frame, 1), drain
		s.gate = func() {
			if pushed() && len(s.network) > 0 {
				t.Errorf("%v: a push waits for the network", s.req)
			}
		}
		its := ctx
		if s == leaver {
			its = leaverContext
		}
		s.follow(its, t, f, g)
		go weather(s, rand.New(rand.NewPCG(random.Uint64(), 0)))
	}

	cut := len(data) // the place of the ends that come before the game's own
	if end != "finished" && end != "removed" {
		cut = random.IntN(len(data))
	}
	waiting := subs
	for at := len(g.data); at < cut; {
		if len(waiting) > 0 && random.IntN(20) == 0 {
			enter(waiting[0])
			waiting = waiting[1:]
		}
		n := min(1+random.IntN(300), cut-at)
		g.append(data[at : at+n])
		if at += n; at > leaves {
			leave()
		}
		switch random.IntN(30) {
		case 0:
			time.Sleep(20 * time.Millisecond)
		case 1, 2, 3:
			g.drained()
		default:
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Millisecond))))
		}
	}
	for _, s := range waiting {
		enter(s)
	}
	switch end {
	case "removed":
		g.end(source.ErrRemoved)
	case "shrunk":
		g.end(source.ErrShrunk)
	case "drained":
		close(drain)
	case "stopped":
		f.Stop()
	}

	for _, s := range subs {
		want, o := offline(t, data, s.req), streamtest.Options{Incomplete: cut < len(data) || s == leaver}
		h := s.history()
		if end == "shrunk" && h.End().GetReason() == replaydv1.EndReason_END_REASON_SHRUNK {
			events, err := h.Events()
			if err != nil {
				t.Fatal(err)
			}
			want.Events = want.Events[:min(len(events), len(want.Events))]
			want.End = replaydv1.EndReason_END_REASON_SHRUNK
		}
		if err := streamtest.Check(h, []streamtest.Replay{want}, o); err != nil {
			t.Errorf("%v: %v", s.req, err)
		}
		switch err := h[0].Err; {
		case err == nil:
		case errors.Is(err, context.Canceled) && (s == leaver || end == "stopped"):
		case errors.Is(err, stream.ErrDraining) && end == "drained" && len(h[0].Responses) == 0:
		default:
			t.Errorf("%v: ended by %v", s.req, err)
		}
	}
}
