package stream_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// laggingReader is behind from its third to its twelfth call of Fill. Every second call of Fill only yields.
type laggingReader struct {
	codec.Reader
	fills int
}

func (r *laggingReader) Lagging() bool { return r.fills >= 3 && r.fills < 12 }

func (r *laggingReader) Fill(b *codec.Batch) error {
	if r.fills++; r.fills%2 == 0 {
		return codec.ErrYield
	}
	return r.Reader.Fill(b)
}

// TestHeartbeatWhileDropping: while events are dropped, the cursors of heartbeats stay behind the last event that was sent. A
// client that resumes there gets what was dropped, of which it had no gap yet.
func TestHeartbeatWhileDropping(t *testing.T) {
	c := config(recording(t, 1<<18))
	c.Heartbeat = 1 // one is due whenever the stream looks
	c.Slow = replaydv1.SlowConsumer_SLOW_CONSUMER_DROP
	open := c.Replay.Open
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := open(o)
		return &laggingReader{Reader: r}, err
	})

	var responses []*replaydv1.StreamEventsResponse
	if err := stream.Run(context.Background(), c, func(f *frame.Frame) error {
		b := f.Buffer()
		defer f.Free()
		defer b.Free()
		resp := new(replaydv1.StreamEventsResponse)
		responses = append(responses, resp)
		return proto.Unmarshal(b.ReadOnlyData(), resp)
	}); err != nil {
		t.Fatal(err)
	}

	var sent []byte // the cursor behind the last batch
	heartbeats, gaps := 0, 0
	for _, resp := range responses {
		switch {
		case resp.GetBatch() != nil:
			sent, heartbeats = resp.GetCursor(), 0
		case resp.GetGap() != nil:
			gaps++
			if heartbeats == 0 {
				t.Error("no heartbeat came while events were dropped: the test shows nothing")
			}
			if bytes.Equal(resp.GetCursor(), sent) {
				t.Error("the gap's cursor is not behind what was dropped")
			}
		case resp.GetHeartbeat() != nil && gaps == 0:
			if heartbeats++; sent != nil && !bytes.Equal(resp.GetCursor(), sent) {
				t.Error("a heartbeat's cursor is behind events that were not sent")
			}
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps", gaps)
	}
}

// TestStateAfterGap: a client that wants the state gets it again behind a gap, also if it resumes there.
func TestStateAfterGap(t *testing.T) {
	c := config(recording(t, 1<<18))
	c.State, c.Slow = true, replaydv1.SlowConsumer_SLOW_CONSUMER_DROP
	open := c.Replay.Open
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := open(o)
		return &laggingReader{Reader: r}, err
	})
	gaps, again := 0, 0
	if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
		defer f.Free()
		switch at, err := cursor.Parse(f.Cursor()); {
		case err != nil:
			return err
		case f.Response().GetGap() != nil:
			if gaps++; !at.State {
				t.Error("who resumes at the gap gets no state")
			}
		case gaps == 1 && f.Response() == nil && again == 0:
			b := f.Buffer()
			defer b.Free()
			resp := new(replaydv1.StreamEventsResponse)
			if err := proto.Unmarshal(b.ReadOnlyData(), resp); err != nil {
				return err
			}
			if again++; !resp.GetState().GetComplete() {
				t.Errorf("behind the gap came %T", resp.GetResponse())
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if gaps != 1 || again != 1 {
		t.Errorf("%d gaps, %d states behind them", gaps, again)
	}
}

// TestEndWhileDropping: a replay that ends while a slow client's events are dropped ends with the gap, and then as any other.
func TestEndWhileDropping(t *testing.T) {
	c := config(recording(t, 1<<16))
	c.Slow = replaydv1.SlowConsumer_SLOW_CONSUMER_DROP
	open := c.Replay.Open
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := open(o)
		return &slowest{r}, err
	})
	var told []string
	if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
		defer f.Free()
		switch r := f.Response(); {
		case r.GetGap() != nil:
			told = append(told, "gap")
		case r.GetEnd() != nil:
			told = append(told, r.GetEnd().GetReason().String())
		}
		return nil
	}); err != nil || !slices.Equal(told, []string{"gap", "END_REASON_FINISHED"}) {
		t.Errorf("%q, %v", told, err)
	}
}

// slowest is a reader that is always behind.
type slowest struct{ codec.Reader }

func (*slowest) Lagging() bool { return true }
