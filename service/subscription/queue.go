package subscription

import (
	"context"
	"sync"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/frame"
)

// item is what a replay has to tell: one of a response, a failure, and its end.
type item struct {
	of      *replay
	frame   *frame.Frame
	failure *replaydv1.SubscriptionFailure
	result  *result
}

// queue holds what the replays have to tell, in the order in which it was told, and at most one item of each.
type queue struct {
	mu    sync.Mutex
	items []item
	// more receives when there may be items.
	more chan struct{}
}

// put adds an item. It waits until the one before of the same replay was taken, which at once is true for a replay whose responses were
// all sent. It frees the item's frame if ctx ends before.
func (q *queue) put(ctx context.Context, i item) error {
	select {
	case i.of.room <- struct{}{}:
	case <-ctx.Done():
		if i.frame != nil {
			i.frame.Free()
		}
		return ctx.Err()
	}
	q.mu.Lock()
	q.items = append(q.items, i)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
	return nil
}

// take returns the oldest item, if there is one.
func (q *queue) take() (i item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return i, false
	}
	i = q.items[0]
	q.items[0] = item{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil
	}
	<-i.of.room
	return i, true
}
