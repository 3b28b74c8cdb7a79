package replayd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

// silentHeartbeats is how many heartbeats may be missed before a connection is taken for dead.
const silentHeartbeats = 3

// The daemon's default and bounds of the interval; see stream.proto.
const (
	defaultHeartbeat = 15 * time.Second
	minHeartbeat     = time.Second
	maxHeartbeat     = 5 * time.Minute
)

// silence returns how long a daemon may send nothing when it was asked for heartbeats at that interval.
func silence(interval *durationpb.Duration) time.Duration {
	d := interval.AsDuration()
	if d == 0 {
		d = defaultHeartbeat
	}
	return silentHeartbeats * min(max(d, minHeartbeat), maxHeartbeat)
}

// watchdog cancels a call when a receive takes too long. It runs during a receive only: a slow reader is no dead connection.
type watchdog struct {
	after time.Duration
	timer *time.Timer
}

func newWatchdog(after time.Duration, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{after: after}
	w.timer = time.AfterFunc(after, func() {
		cancel(&Error{Code: codes.Unavailable, Message: fmt.Sprintf("no response for %v", after), silent: true})
	})
	w.timer.Stop()
	return w
}

func (w *watchdog) start() { w.timer.Reset(w.after) }
func (w *watchdog) stop()  { w.timer.Stop() }

// broken returns the Error of a call that failed: for what cancelled its context, or else for gRPC's error.
func broken(ctx context.Context, err error) *Error {
	cause := context.Cause(ctx)
	if cause == nil {
		return explain(err)
	}
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	code := codes.Canceled // by the caller's context or reader
	if errors.Is(cause, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return &Error{Code: code, Message: cause.Error(), err: cause}
}
