package latest

import (
	"context"
	"time"

	"github.com/replayd/replayd/service/frame"
)

// RunCall runs a call that watches some boards, and nothing else.
func RunCall(ctx context.Context, group *Boards, boards []*Board, interval time.Duration, send func([]byte)) error {
	c := &call{Watch: Watch{Boards: group, Interval: interval, Heartbeat: time.Hour}, changed: make(chan struct{})}
	c.send = func(f *frame.Frame) error {
		b := f.Buffer()
		send(b.ReadOnlyData())
		b.Free()
		return nil
	}
	for _, b := range boards {
		c.order = append(c.order, &game{board: &b.board})
	}
	return c.run(ctx)
}
