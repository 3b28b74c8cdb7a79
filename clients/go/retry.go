package replayd

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Retry says how a stream that broke is taken up again. The zero value of each field means its default.
type Retry struct {
	// Initial is how long to wait before the first try. It doubles with each try; up to half of it is left out at random,
	// so that the clients of a daemon do not all come back at once. Default 100 ms.
	Initial time.Duration
	// Max is how long to wait between two tries at most. Default 5 s.
	Max time.Duration
	// GiveUpAfter is how long to try without any success; then the stream ends with the last error. Default 10 min.
	GiveUpAfter time.Duration
	// Never turns it off: whatever breaks a stream ends it.
	Never bool
}

func (r Retry) withDefaults() Retry {
	if r.Initial <= 0 {
		r.Initial = 100 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 5 * time.Second
	}
	if r.GiveUpAfter <= 0 {
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

// Transient tells whether an error of a call to a daemon, as this package or gRPC returned it, may be cured by trying again.
// An error that is no gRPC status is not: it did not come from the call.
func Transient(err error) bool {
	_, ok := status.FromError(err)
	return ok && explain(err).transient()
}

// transient tells whether trying again may cure it: a connection that broke, a daemon that is restarting or has no room.
// What the daemon refuses for a reason of the request or of the replay stays refused.
func (e *Error) transient() bool {
	switch e.Reason {
	case replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED:
	case replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS:
		return true
	default:
		return e.Code == codes.Unavailable
	}
	switch e.Code { // what a connection that was cut looks like, depending on where
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.Internal, codes.Unknown:
		return true
	default:
		return false
	}
}
