package feed_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/feed"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/streamtest"
)

// readerOf returns a subscriber's reader at its start.
func readerOf(t *testing.T, sub *feed.Subscription, g *growing, o codec.Options) *feed.Reader {
	t.Helper()
	r, err := sub.Open(g.open, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	if err := codectest.Seek(r); err != nil && !errors.Is(err, decoders.ErrMore) {
		t.Fatal(err)
	}
	return r
}

// catchUp fills a batch until there is no more for now, and calls a function whenever there may be.
func catchUp(t *testing.T, r *feed.Reader, b *codec.Batch, each func()) {
	t.Helper()
	for {
		switch err := r.Fill(b); {
		case errors.Is(err, decoders.ErrMore):
			return
		case err != nil && !errors.Is(err, codec.ErrYield):
			t.Fatal(err)
		}
		each()
	}
}

// TestShareThenMore: a batch that shares a segment, and its positions, goes on with the events of the next one.
func TestShareThenMore(t *testing.T) {
	data := sample(t, 20_000)
	g := grow(data[:10_000])
	f := g.feed()
	defer f.Stop()
	sub := f.Subscribe()
	defer sub.Close()
	sub.Sync(t.Context())
	r := readerOf(t, sub, g, codec.Options{})
	b := codec.Batch{MaxEvents: 16384, MaxBytes: 1 << 20}
	read := func() {
		t.Helper()
		catchUp(t, r, &b, func() {})
	}
	read()
	before := b.Count
	b.Reset()
	g.append(data[10_000:10_300])
	sub.Sync(t.Context())
	read()
	if b.Wire() == nil || b.Count == 0 {
		t.Fatalf("%d events, shared %v", b.Count, b.Shared())
	}
	first := b.Count
	g.append(data[10_300:10_600])
	sub.Sync(t.Context())
	read()
	want := offline(t, data, &replaydv1.StreamEventsRequest{}).At[before:][:b.Count]
	if got := codectest.Places(t, &b); b.Count == first || !slices.Equal(got, want) {
		t.Errorf("%d events of which %d were shared: %v, want %v", b.Count, first, got, want)
	}
}

// TestReaders: a reader that a subscriber opens leaves its earlier one as it is.
func TestReaders(t *testing.T) {
	g := grow(sample(t, 20_000))
	f := g.feed()
	defer f.Stop()
	sub := f.Subscribe()
	defer sub.Close()
	sub.Sync(t.Context())
	var at [2]decoders.Position
	var opened [2]*feed.Reader
	for i := range opened {
		r := readerOf(t, sub, g, codec.Options{Start: codec.Start{Now: i == 1}})
		at[i], opened[i] = r.Position(), r
	}
	if opened[0].Position() != at[0] || at[0] == at[1] {
		t.Errorf("the first is at %v and was at %v, the second is at %v", opened[0].Position(), at[0], at[1])
	}
}

// TestBatchesAreNotExceeded: segments without marks are delivered whole, and never more than a batch may have.
func TestBatchesAreNotExceeded(t *testing.T) {
	for _, most := range []int{10, 255, 256, 500} {
		data := sample(t, 40_000)
		g := grow(data[:10_000])
		f := g.feed()
		sub := f.Subscribe()
		sub.Sync(t.Context())
		b := codec.Batch{MaxEvents: most, MaxBytes: 1 << 20}
		read := func(r *feed.Reader) (all int) {
			for more := true; more; all += b.Count {
				b.Reset()
				err := r.Fill(&b)
				if more = !errors.Is(err, decoders.ErrMore); more && err != nil && !errors.Is(err, codec.ErrYield) || b.Count > most {
					t.Fatalf("%d events of at most %d, %v", b.Count, most, err)
				}
			}
			return all
		}
		r, all := readerOf(t, sub, g, codec.Options{Start: codec.Start{Now: true}}), 0
		end := 10_000
		for ; end+1500 <= len(data); end += 1500 {
			for _, part := range [][]byte{data[end : end+500], data[end+500 : end+1500]} {
				g.append(part)
				sub.Sync(t.Context())
			}
			all += read(r)
		}
		if want := len(offline(t, data[:end], nil).At) - len(offline(t, data[:10_000], nil).At); all != want {
			t.Errorf("%d events, want %d", all, want)
		}
		before := g.opened.Load()
		all = read(readerOf(t, sub, g, codec.Options{}))
		if want, n := len(offline(t, data[:end], nil).At), g.opened.Load()-before; all != want || n != 1 {
			t.Errorf("%d events, want %d; %d readers", all, want, n)
		}
		sub.Close()
		f.Stop()
	}
}

// marking is a reader that reports whether marks were kept.
type marking struct {
	codec.Reader
	kept   *atomic.Bool
	filled func()
}

func (r marking) Fill(b *codec.Batch) error {
	r.kept.Store(b.KeepMarks)
	r.filled()
	return r.Reader.Fill(b)
}

// TestMarksTooLate: a subscriber with a filter comes while events are decoded without marks. It reads these from the file, and is not told
// that it fell behind.
func TestMarksTooLate(t *testing.T) {
	data := sample(t, 20_000)
	g := grow(data[:10_000])
	var kept, hold atomic.Bool
	filling, goOn := make(chan struct{}), make(chan struct{})
	f := feed.Start(feed.Config{Open: func(o codec.Options) (codec.Reader, error) {
		r, err := g.open(o)
		return marking{r, &kept, func() {
			if hold.CompareAndSwap(true, false) {
				filling <- struct{}{}
				<-goOn
			}
		}}, err
	}, Changed: g.changed, Look: g.look})
	defer f.Stop()
	sub := f.Subscribe()
	defer sub.Close()
	sub.Sync(t.Context())
	moves, err := filter.Compile(&teehistorian.Codec.Filters, []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := readerOf(t, sub, g, codec.Options{Filter: moves, Start: codec.Start{Now: true}})
	hold.Store(true)
	g.append(data[10_000:10_500])
	<-filling
	var b codec.Batch
	read := func() {
		b = codec.Batch{MaxEvents: 10_000, MaxBytes: 1 << 20}
		catchUp(t, r, &b, func() {
			if r.Lagging() {
				t.Fatal("it is told that it fell behind")
			}
		})
	}
	req := &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}}
	from := len(offline(t, data[:10_000], req).At)
	check := func(end int) {
		t.Helper()
		want := offline(t, data[:end], req).At[from:]
		if got := codectest.Places(t, &b); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		from += len(want)
	}
	read()
	if b.Count > 0 {
		t.Fatalf("%d events before they were seen", b.Count)
	}
	goOn <- struct{}{}
	sub.Sync(t.Context())
	read()
	check(10_500)
	g.append(data[10_500:11_000])
	sub.Sync(t.Context())
	read()
	check(11_000)
	if !kept.Load() {
		t.Error("marks are not kept")
	}
	readerOf(t, sub, g, codec.Options{}) // which picks nothing
	g.append(data[11_000:11_500])
	sub.Sync(t.Context())
	if kept.Load() {
		t.Error("marks are kept for a reader that is left")
	}
	read()
	check(11_500)
}

// TestMarks: marks are kept while a subscriber reads them: one that has a filter, or small batches. Others have the same events with and
// without, and none is told that it fell behind.
func TestMarks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		data := sample(t, 40_000)
		g := grow(data[:begun+random.IntN(4000)])
		var kept atomic.Bool
		f := feed.Start(feed.Config{Open: func(o codec.Options) (codec.Reader, error) {
			r, err := g.open(o)
			return marking{r, &kept, func() {}}, err
		}, Changed: g.changed, Look: g.look})
		type visitor struct {
			*subscriber
			leave func()
		}
		enter := func(req *replaydv1.StreamEventsRequest) visitor {
			s := subscriberOf(req)
			s.network = make(chan *frame.Frame, 1)
			sub := f.Subscribe()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			s.run(ctx, t, fed{sub}, func(o codec.Options) (codec.Reader, error) { return sub.Open(g.open, o) })
			go weather(s, rand.New(rand.NewPCG(random.Uint64(), 0)))
			return visitor{s, func() { cancel(); <-s.done; sub.Close() }}
		}
		write := func(n int) {
			for range n {
				size := min(1+random.IntN(200), len(data)-len(g.data))
				g.append(data[len(g.data) : len(g.data)+size])
				if random.IntN(2) == 0 {
					g.drained()
				}
				time.Sleep(time.Duration(random.Int64N(int64(time.Millisecond))))
			}
			g.drained()
		}
		probe := f.Subscribe()
		expect := func(want bool) {
			t.Helper()
			write(20)
			if probe.Sync(t.Context()); kept.Load() != want { // now the feed itself has read, and not only others
				t.Errorf("seed %d: marks are kept: %v", seed, !want)
			}
		}
		all := []visitor{enter(nil), enter(nil)}
		all[1].state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
		expect(false)
		for _, s := range requests()[1:3] {
			v := enter(s.req)
			v.state(t, replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP)
			expect(true)
			v.leave()
			expect(false)
			all = append(all, v)
		}
		all = append(all, enter(requests()[1].req), enter(nil))
		write(20)
		probe.Close()
		g.append(data[len(g.data):])
		g.end(source.ErrRemoved)
		for i, v := range all {
			h := v.history()
			if err := streamtest.Check(h, []streamtest.Replay{offline(t, data, v.req)}, streamtest.Options{Incomplete: i == 2 || i == 3}); err != nil {
				t.Errorf("seed %d: %v: %v", seed, v.req, err)
			}
			if names, _ := states(t, h); slices.Contains(names, "FOLLOW_STATE_FELL_BEHIND") {
				t.Errorf("seed %d: %v: states %q", seed, v.req, names)
			}
			v.leave()
		}
		if n := int(g.opened.Load()); n > 3*len(all) {
			t.Errorf("seed %d: %d readers for %d subscribers", seed, n, len(all))
		}
		f.Stop()
	}
}
