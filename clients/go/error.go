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

// Error is the error of a failed call, as reported by the daemon or by gRPC.
type Error struct {
	// Code is the gRPC status code.
	Code codes.Code
	// Reason is the daemon's more specific reason. It is unspecified if the error does not come from the daemon, for example
	// if the daemon could not be reached or the connection broke.
	Reason replaydv1.ErrorReason
	// Message is the text for people.
	Message string
	// Metadata holds details of the reason: "replay", "format", "offset" (bytes), "tick", "incident".
	Metadata map[string]string
	// Fields are the invalid fields of the request, as the daemon names them.
	Fields []Field
	// Cursor is the cursor after the last event of a stream that failed. It is nil if no event was sent.
	Cursor []byte

	after     time.Duration // the least time that the daemon asks the client to wait before retrying
	explained bool          // the daemon sent a reason, perhaps one that this client does not know
	silent    bool          // no response arrived in time, so the connection is considered dead
	err       error
}

// Field is an invalid field of a request.
type Field struct {
	// Name is its path, such as "include[0].kinds[0]".
	Name string
	// Problem describes why it is invalid.
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

// Unwrap returns the error of gRPC, of the context or of the uploaded reader that made the call fail.
func (e *Error) Unwrap() error { return e.err }

// Is makes an error with code Canceled or DeadlineExceeded match context.Canceled or context.DeadlineExceeded. The daemon has
// the deadline of the call too, and may report that it has passed before the client's context does.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == codes.Canceled
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	}
	return false
}

// GRPCStatus returns the gRPC status of the error, for status.FromError and status.Code.
func (e *Error) GRPCStatus() *status.Status {
	if s, ok := status.FromError(e.err); ok && s != nil {
		return s
	}
	return status.New(e.Code, e.Message)
}

// ReasonOf returns the reason of an error from this package or from gRPC. It returns ERROR_REASON_UNSPECIFIED for other errors.
func ReasonOf(err error) replaydv1.ErrorReason {
	if _, ok := status.FromError(err); !ok {
		return replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED
	}
	return explain(err).Reason
}

// ErrSequence reports missing or repeated events: the daemon's sequence numbers differ from the expected ones.
var ErrSequence = errors.New("replayd: events are not in sequence")

const (
	errorDomain  = "replayd.dev"
	reasonPrefix = "ERROR_REASON_"
)

func reasonName(r replaydv1.ErrorReason) string { return r.String()[len(reasonPrefix):] }

// explain converts an error from gRPC to an Error.
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
				e.Metadata, e.explained = d.GetMetadata(), true
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
