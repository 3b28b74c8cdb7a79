package feed_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// TestTornByByte writes each small recording one byte at a time. Each byte is read before the next one is written.
func TestTornByByte(t *testing.T) {
	for _, path := range recordings(t) {
		data := read(t, path)
		if len(data) > 20_000 || streamtest.Race && len(data) > 6_000 {
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

// TestFacts: subscribers of a feed with facts, which began in the middle of the file, get those of the whole, each those that it selects.
func TestFacts(t *testing.T) {
	data := sample(t, 60_000)
	facts := streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN)[1]
	low, high := int32(500), int32(4000)
	var subs []*subscriber
	for _, include := range [][]*replaydv1.EventFilter{
		{{}, facts}, {facts}, {{Kinds: []string{"fact_session"}}}, {{Kinds: []string{"join"}}, {Kinds: facts.GetKinds(), Players: []int32{1}}},
		{{Kinds: facts.GetKinds(), Ticks: &replaydv1.TickRange{Min: &low, Max: &high}}},
	} {
		subs = append(subs, subscriberOf(&replaydv1.StreamEventsRequest{Include: include, MaxBatchEvents: 5}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	everything, err := filter.WithFacts(&teehistorian.Codec.Filters)
	if err != nil {
		t.Fatal(err)
	}
	g := grow(data[:len(data)/3])
	f := feed.Start(feed.Config{Open: g.open, Options: codec.Options{Filter: everything}, Changed: g.changed, Look: g.look})
	defer f.Stop()
	for _, s := range subs {
		s.network = make(chan *frame.Frame, 1)
		s.follow(ctx, t, f, g)
	}
	for rest := data[len(g.data):]; len(rest) > 0; {
		g.drained()
		n := min(700, len(rest))
		g.append(rest[:n])
		rest = rest[n:]
	}
	g.end(source.ErrRemoved)
	for _, s := range subs {
		want := offline(t, data, s.req)
		if err := streamtest.Check(s.history(), []streamtest.Replay{want}, streamtest.Options{}); err != nil || len(want.Events) < 5 {
			t.Errorf("%v: %v, %d events", s.req, err, len(want.Events))
		}
	}
}

// TestTornInChunks writes each recording in chunks of random sizes.
func TestTornInChunks(t *testing.T) {
	for i, path := range recordings(t) {
		data := read(t, path)
		if streamtest.Race && len(data) > 100_000 {
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
		if streamtest.Race && len(data) > 100_000 {
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

// TestShrunk checks that every subscriber receives the reason if the file shrinks or is lost in another way.
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

// faulty is a reader that panics, or fails, after the header.
type faulty struct {
	codec.Reader
	fault func() error
}

func (r faulty) Fill(*codec.Batch) error { return r.fault() }

// TestFaultInFeed checks that a fault in the feed ends its subscribers with an error, and nothing else.
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
