package replayd

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Retry says how a stream that broke is resumed. The zero value of each field means its default.
type Retry struct {
	// Initial is the wait before the first try. It doubles with each try; up to half of it is left out at random, so that
	// the clients of a daemon do not all come back at once. Default 100 ms.
	Initial time.Duration
	// Max is the longest wait between two tries. Default 5 s.
	Max time.Duration
	// GiveUpAfter is how long to try without success; then the stream ends with the last error. Default 10 min. A negative
	// value means for ever.
	GiveUpAfter time.Duration
	// Never turns resuming off: whatever breaks a stream ends it.
	Never bool

	// OnBreak, if not nil, is called when a stream broke that would be resumed, and after each try that failed, before the
	// wait. The stream ends with the error when it returns false. It is called by the goroutine that loops over the stream.
	OnBreak func(s *Stream, err *Error) (resume bool)
	// OnResume, if not nil, is called when the daemon has accepted to resume a stream that broke, before its next response
	// is handed out.
	OnResume func(s *Stream)
}

func (r Retry) withDefaults() Retry {
	if r.Initial <= 0 {
		r.Initial = 100 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 5 * time.Second
	}
	if r.GiveUpAfter == 0 {
		r.GiveUpAfter = 10 * time.Minute
	}
	return r
}

// delay is how long to wait after that many failures.
func (r Retry) delay(failures int) time.Duration {
	d := r.Max
	if failures < 30 {
		d = min(r.Max, r.Initial<<failures)
	}
	return d - rand.N(d/2+1) //nolint:gosec // it only has to spread
}

// Transient reports whether a call to a daemon that failed may succeed when it is tried again. The error is one that this
// package or gRPC returned; any other is not transient.
func Transient(err error) bool {
	_, ok := status.FromError(err)
	return ok && explain(err).transient()
}

// transient reports whether trying again may help: the connection broke, or the daemon is restarting or has no room. What
// the daemon refuses because of the request or the replay stays refused.
func (e *Error) transient() bool {
	switch e.Reason {
	case replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED:
	case replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS:
		return true
	case replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return e.after > 0 // what others will give back; without a delay the replay itself is too large
	default:
		return e.Code == codes.Unavailable
	}
	switch e.Code { // the codes of a connection that was cut, depending on where
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.Internal, codes.Unknown:
		return true
	default:
		return false
	}
}
