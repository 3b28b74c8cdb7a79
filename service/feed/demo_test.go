package feed_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/streamtest"
)

// demoRequests select entities by class and field, events by type, and by what is in them. Batches are small, too.
func demoRequests() (all []*replaydv1.StreamEventsRequest) {
	of := func(f *replaydv1.DemFilter, kinds ...string) []*replaydv1.EventFilter {
		return []*replaydv1.EventFilter{{Kinds: kinds, Dem: f}}
	}
	low := int32(20)
	for _, req := range []*replaydv1.StreamEventsRequest{
		{},
		{Include: of(nil, "game_event", "combat_log", "chat")},
		{Include: of(&replaydv1.DemFilter{Classes: []string{"*P*"}})},
		{Include: of(&replaydv1.DemFilter{Fields: []string{"*m_i*", "*health*"}}), Exclude: of(&replaydv1.DemFilter{Fields: []string{"*e"}})},
		{Exclude: []*replaydv1.EventFilter{{Kinds: []string{"tick", "string_table_entry"}}, {Kinds: []string{"entity_updated"}, Dem: &replaydv1.DemFilter{Classes: []string{"*a*"}}}}},
		{Include: of(&replaydv1.DemFilter{Types: []string{"userinfo", "player_death", "COMBAT_LOG_TYPE_DAMAGE"}})},
		{Include: []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Min: &low}}}},
		{Include: of(nil, "entity_updated"), Where: "index % 2 == 0"},
	} {
		small := proto.CloneOf(req)
		small.MaxBatchEvents = 7
		all = append(all, req, small)
	}
	return all
}

func demos(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	names := []string{"sample", "cs2", "deadlock", "dota", "round", "teamfight"}
	if streamtest.Race { // contents are compared without it
		names = names[:4]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { f(t, read(t, filepath.Join("..", "..", "testdata", "dem", name+".dem"))) })
	}
}

// followDemo follows a demo with all requests.
func followDemo(ctx context.Context, t *testing.T, g *growing, reqs []*replaydv1.StreamEventsRequest) (subs []*subscriber, end func()) {
	t.Helper()
	f := g.feed()
	for i, req := range reqs {
		s := subscriberOf(req)
		s.codec = &dem.Codec
		if i%3 > 0 {
			s.network = make(chan *frame.Frame, 1) // the feed pushes
		}
		s.follow(ctx, t, f, g)
		subs = append(subs, s)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for _, s := range subs {
			<-s.done
		}
		g.leave() // the demo's own end was read
	})
	return subs, func() { all.Wait(); f.Stop() }
}

// TestDemo: followers of a demo that is written in parts receive what they would decode themselves, whatever they select.
func TestDemo(t *testing.T) {
	demos(t, func(t *testing.T, data []byte) {
		reqs := demoRequests()
		var want []streamtest.Replay
		for _, req := range reqs {
			want = append(want, decodedAlone(t, data, req))
		}
		for seed := range uint64(3) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			random := rand.New(rand.NewPCG(seed, 1))
			g := growAs(&dem.Codec, data[:random.IntN(len(data))])
			subs, end := followDemo(ctx, t, g, reqs)
			for rest := data[len(g.data):]; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(1+len(data)/int(2+8*seed)))
				g.append(rest[:n])
				if rest = rest[n:]; random.IntN(2) > 0 {
					g.drained()
				}
			}
			g.end(source.ErrRemoved)
			for i, s := range subs {
				if err := streamtest.Check(s.history(), want[i:i+1], streamtest.Options{}); err != nil {
					t.Errorf("seed %d, %v: %v", seed, s.req, err)
				}
			}
			end()
			cancel()
		}
	})
}

// decodedAlone is what a follower of a demo gets without a feed.
func decodedAlone(t *testing.T, data []byte, req *replaydv1.StreamEventsRequest) streamtest.Replay {
	t.Helper()
	g := growAs(&dem.Codec, data)
	replay, err := streamtest.Offline(&dem.Codec, source.Input{At: g, Size: int64(len(data))}, req.GetInclude(), req.GetExclude())
	if err != nil {
		t.Fatal(err)
	}
	if replay.End == replaydv1.EndReason_END_REASON_TRUNCATED {
		replay.End = replaydv1.EndReason_END_REASON_REMOVED // that is how the tests end a file
	}
	if req.GetWhere() == "" {
		return replay
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g.end(source.ErrRemoved)
	s := subscriberOf(req)
	s.codec = &dem.Codec
	s.run(ctx, t, alone{g}, g.open)
	if replay.Events, err = s.history().Events(); err != nil {
		t.Fatal(err)
	}
	replay.At = nil
	return replay
}

// TestDemoOnce: what is appended to a demo is read and decoded once for all followers.
func TestDemoOnce(t *testing.T) {
	demos(t, func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var reqs []*replaydv1.StreamEventsRequest
		for range 6 {
			reqs = append(reqs, demoRequests()...)
		}
		first := len(data) / 2
		g := growAs(&dem.Codec, data[:first])
		subs, end := followDemo(ctx, t, g, reqs)
		defer end()
		for _, s := range subs {
			s.state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
		}
		read := g.bytes.Load()
		for rest := data[first:]; len(rest) > 0; {
			n := min(len(rest), 1+len(data)/20)
			g.append(rest[:n])
			g.drained()
			rest = rest[n:]
		}
		g.end(source.ErrRemoved)
		for _, s := range subs {
			<-s.done
		}
		if n := g.bytes.Load() - read; n != int64(len(data)-first) {
			t.Errorf("%d bytes were read of %d that were appended, by %d followers", n, len(data)-first, len(subs))
		}
		if n := g.opened.Load(); n != int64(1+len(subs)) {
			t.Errorf("%d readers of %d followers", n, len(subs))
		}
	})
}

// TestDemoAlone: a lone follower is served by its own decoder, and no feed decodes beside it before there is a second one.
func TestDemoAlone(t *testing.T) {
	demos(t, func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		third := len(data) / 3
		g := growAs(&dem.Codec, data[:third])
		f := g.feed()
		follow := func() *subscriber {
			s := subscriberOf(demoRequests()[0])
			s.codec = &dem.Codec
			s.follow(ctx, t, f, g)
			s.state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
			return s
		}
		first := follow()
		g.append(data[third : 2*third])
		g.drained()
		if n := g.opened.Load(); n != 1 {
			t.Errorf("%d readers of one follower", n)
		}
		second := follow()
		g.append(data[2*third:])
		g.end(source.ErrRemoved)
		<-first.done
		<-second.done
		g.leave()
		f.Stop()
		if n := g.opened.Load(); n != 3 {
			t.Errorf("%d readers of two followers and a feed", n)
		}
	})
}
