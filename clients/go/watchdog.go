package replayd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

// silentHeartbeats is the number of missed heartbeats after which a connection is considered dead.
const silentHeartbeats = 3

// The daemon's default and bounds of the heartbeat interval; see stream.proto.
const (
	defaultHeartbeat = 15 * time.Second
	minHeartbeat     = time.Second
	maxHeartbeat     = 5 * time.Minute
)

// silence returns how long a daemon may stay silent if the request asks for heartbeats at that interval.
func silence(interval *durationpb.Duration) time.Duration {
	d := interval.AsDuration()
	if d == 0 {
		d = defaultHeartbeat
	}
	return silentHeartbeats * min(max(d, minHeartbeat), maxHeartbeat)
}

// watchdog cancels a call if a receive takes too long. It runs only during a receive, so a slow reader does not trigger it.
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

// broken returns the Error of a failed call. It describes the cause of the context's cancellation, or else gRPC's error.
func broken(ctx context.Context, err error) *Error {
	cause := context.Cause(ctx)
	if cause == nil {
		return explain(err)
	}
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	code := codes.Canceled // cancelled by the caller's context or an error of the uploaded reader
	if errors.Is(cause, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return &Error{Code: code, Message: cause.Error(), err: cause}
}
