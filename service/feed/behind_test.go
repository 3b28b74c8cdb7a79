package feed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// beyond is the size of a recording whose events are several times what a feed keeps.
const beyond = 1_600_000

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

// TestFallBehindAndCatchUp: nothing is lost, and there is a status.
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

// TestFallBehindWithState: behind a gap the state is sent again, as it is there.
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
				if !c.State || r.GetGap().GetToTick() != c.Tick {
					t.Errorf("%d more: the cursor of a gap up to tick %d is at tick %d; leads to the state: %t", more, r.GetGap().GetToTick(), c.Tick, c.State)
				}
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
		ends := at.Offset == int64(len(data)) // a slow machine drops up to the end, where nobody is left
		if want := stateAt(t, data, at); gaps == 0 || (len(want) == 0) != ends || !bytes.Equal(slices.Concat(told...), want) {
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
