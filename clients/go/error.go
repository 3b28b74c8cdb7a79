package replayd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Error is why a call failed, as the daemon or gRPC reported it.
type Error struct {
	// Code is the gRPC status code.
	Code codes.Code
	// Reason says more exactly what is wrong. It is unspecified when the error is not the daemon's: when it could not be
	// reached, or the connection broke.
	Reason replaydv1.ErrorReason
	// Message is for people.
	Message string
	// Metadata is what the reason comes with: "replay", "format", "offset" (bytes), "tick", "incident".
	Metadata map[string]string
	// Fields are the fields of the request that are wrong, as the daemon names them.
	Fields []Field
	// Cursor is behind the last event of a stream that failed. It is nil when no event was sent.
	Cursor []byte

	after  time.Duration // how long the daemon asks to wait before the next try
	silent bool          // nothing came: the connection is taken for dead
	err    error
}

// Field is a field of a request that is wrong.
type Field struct {
	// Name is its path, such as "include[0].kinds[0]".
	Name string
	// Problem is what is wrong with it.
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	what := e.Code.String()
	if e.Reason != replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		what = reasonName(e.Reason)
	}
	return fmt.Sprintf("replayd: %s: %s", what, e.Message)
}

// Unwrap returns gRPC's error, or that of the context or the reader that made the call fail.
func (e *Error) Unwrap() error { return e.err }

// Is makes an error match context.Canceled or context.DeadlineExceeded by its code: the daemon knows the deadline of the
// call, and may be the first to report that it has passed.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == codes.Canceled
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	}
	return false
}

// GRPCStatus lets status.FromError and status.Code read the error.
func (e *Error) GRPCStatus() *status.Status {
	if s, ok := status.FromError(e.err); ok && s != nil {
		return s
	}
	return status.New(e.Code, e.Message)
}

// ReasonOf returns the reason of an error that this package or gRPC returned, and ERROR_REASON_UNSPECIFIED for any other.
func ReasonOf(err error) replaydv1.ErrorReason {
	if _, ok := status.FromError(err); !ok {
		return replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED
	}
	return explain(err).Reason
}

// ErrSequence says that events are missing or came twice: the daemon's sequence numbers are not those that the client
// expects. It points to a defect.
var ErrSequence = errors.New("replayd: events are not in sequence")

const (
	errorDomain  = "replayd.dev"
	reasonPrefix = "ERROR_REASON_"
)

func reasonName(r replaydv1.ErrorReason) string { return r.String()[len(reasonPrefix):] }

// explain returns the Error for an error that gRPC returned.
func explain(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	s := status.Convert(err)
	e := &Error{Code: s.Code(), Message: s.Message(), err: err}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == errorDomain {
				e.Reason = replaydv1.ErrorReason(replaydv1.ErrorReason_value[reasonPrefix+d.GetReason()])
				e.Metadata = d.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Field{v.GetField(), v.GetDescription()})
			}
		case *replaydv1.ResumeInfo:
			e.Cursor = d.GetCursor()
		case *errdetails.RetryInfo:
			e.after = d.GetRetryDelay().AsDuration()
		}
	}
	return e
}
