package stream_test

import (
	"testing"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// leaver counts in left how often it was left.
type leaver struct {
	codec.Reader
	left *int
}

func (l leaver) Leave() { *l.left++ }

// TestLeave: a stream leaves its reader when it has ended.
func TestLeave(t *testing.T) {
	c := config(recording(t, 1<<10))
	open, left := c.Replay.Open, 0
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := open(o)
		return leaver{r, &left}, err
	})
	if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
		f.Free()
		if left > 0 {
			t.Error("the reader is left before the end")
		}
		return nil
	}); err != nil || left != 1 {
		t.Errorf("left %d times, %v", left, err)
	}
}

// TestLeaveTables: the tables of a stream that has ended are those of a later one.
func TestLeaveTables(t *testing.T) {
	met := map[*table.Set]bool{}
	for range 20 {
		c := tables(t, recording(t, 1<<10), []string{"player_diff"}, nil, arrowipc.Encoder{})
		open := c.Replay.Open
		c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
			met[o.Tables] = true
			return open(o)
		})
		if err := stream.Run(t.Context(), c, func(f *frame.Frame) error { f.Free(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(met) == 20 {
		t.Error("each stream had tables of its own")
	}
}
