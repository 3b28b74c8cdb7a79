package replayd

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Retry configures how an interrupted stream is resumed. The zero value of each field means its default.
type Retry struct {
	// Initial is the delay before the first attempt. It doubles with each attempt. A random part of up to half is subtracted, so
	// that the clients of a daemon do not all reconnect at the same time. If the daemon asks for a delay (google.rpc.RetryInfo),
	// the delay is at least that. Default 100 ms.
	Initial time.Duration
	// Max is the longest delay between two attempts, even if the daemon asks for a longer one. Default 5 s.
	Max time.Duration
	// GiveUpAfter is how long to try without success. After that, the stream ends with the last error. Default 10 min. A
	// negative value means no limit.
	GiveUpAfter time.Duration
	// Never disables resuming: any error ends the stream.
	Never bool

	// OnBreak, if not nil, is called before each delay: when a stream that can be resumed is interrupted, and after each failed
	// attempt. If it returns false, the stream ends with the error. It runs on the goroutine that loops over the stream.
	OnBreak func(s *Stream, err *Error) (resume bool)
	// OnResume, if not nil, is called when the daemon has accepted to resume the stream, before the next response is yielded. It
	// runs on the same goroutine.
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

// delay returns how long to wait before the next attempt, after a number of failed ones. asked is the delay that the daemon asks
// for, or 0.
func (r Retry) delay(failures int, asked time.Duration) time.Duration {
	d := r.Max
	if failures < 30 {
		d = min(r.Max, r.Initial<<failures)
	}
	d -= rand.N(d/2 + 1) //nolint:gosec // jitter needs no secure random numbers
	return max(d, min(asked, r.Max))
}

// Transient reports whether a failed call to a daemon may succeed if it is retried. Only errors from this package or from gRPC
// can be transient.
func Transient(err error) bool {
	_, ok := status.FromError(err)
	return ok && explain(err).transient()
}

// transient reports whether retrying may help: the connection broke, or the daemon is restarting or overloaded. An error of the
// request or of the replay is permanent.
func (e *Error) transient() bool {
	switch e.Reason {
	case replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		if e.explained { // by a reason that this client does not know
			return e.Code == codes.Unavailable
		}
	case replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS:
		return true
	case replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return e.after > 0 // other callers will release the resource; without a delay the request is too long
	default:
		return e.Code == codes.Unavailable
	}
	switch e.Code { // a broken connection gives any of these codes, depending on where it broke
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.Internal, codes.Unknown:
		return true
	default:
		return false
	}
}
