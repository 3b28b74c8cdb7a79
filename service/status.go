package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// errorDomain is the domain of every ErrorInfo of this service.
const errorDomain = "replayd.dev"

// drainRetry is when a client should try again that met a server shutting down.
const drainRetry = 2 * time.Second

// fault is an error on its way to becoming a status.
type fault struct {
	code    codes.Code
	reason  replaydv1.ErrorReason
	message string
	meta    map[string]string
	details []protoadapt.MessageV1
}

// maxMessage is how long the text of a status may become, in bytes. It travels in the trailers, twice in some cases, of
// which clients take 8 KiB by default.
const maxMessage = 2000

// shorten cuts a text that quotes what a client sent.
func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "..."
}

func (f *fault) status() error {
	f.message = shorten(f.message)
	info := &errdetails.ErrorInfo{
		Reason:   strings.TrimPrefix(f.reason.String(), "ERROR_REASON_"),
		Domain:   errorDomain,
		Metadata: f.meta,
	}
	s, err := status.New(f.code, f.message).WithDetails(append([]protoadapt.MessageV1{info}, f.details...)...)
	if err != nil { // a detail that cannot be marshalled; the code and the message are what matters
		return status.Error(f.code, f.message)
	}
	return s.Err()
}

// badRequest is the status for a request of which a field is wrong.
func badRequest(field, problem string) error {
	problem = shorten(problem)
	f := fault{
		code: codes.InvalidArgument, reason: replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST,
		message: field + ": " + problem,
	}
	f.details = append(f.details, &errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: problem}},
	})
	return f.status()
}

// notImplemented is the status for a field of a request that asks for what is not there yet.
func notImplemented(field, problem string) error {
	f := fault{
		code: codes.Unimplemented, reason: replaydv1.ErrorReason_ERROR_REASON_NOT_IMPLEMENTED, message: field + ": " + problem,
	}
	return f.status()
}

// statusOf turns an error of the packages below into a status; replay is what the client asked for. Errors that have
// none of the known causes are not told to the client: unexpected logs them and returns what to call the incident.
func statusOf(err error, replay string, unexpected func(error) string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, catalog.ErrOutside) || errors.Is(err, source.ErrIrregular) {
		err = catalog.NotFound(replay) // what lies outside is nobody's business, nor that something does
	}
	f := fault{meta: map[string]string{}, message: err.Error()}
	if replay != "" {
		f.meta["replay"] = shorten(replay)
	}
	if streamed, ok := errors.AsType[*stream.Error](err); ok && len(streamed.Cursor) > 0 {
		f.details = append(f.details, protoadapt.MessageV1Of(&replaydv1.ResumeInfo{Cursor: streamed.Cursor}))
	}
	if field, ok := errors.AsType[*filter.FieldError](err); ok {
		return badRequest(field.Field, field.Problem)
	}
	if decoding, ok := errors.AsType[*decoders.Error](err); ok {
		f.meta["format"] = decoding.Format.String()
		f.meta["offset"] = strconv.FormatInt(decoding.Offset, 10)
		if decoding.Tick != decoders.NoTick {
			f.meta["tick"] = strconv.Itoa(int(decoding.Tick))
		}
	}
	if _, isStatus := status.FromError(err); isStatus {
		return err
	}
	if field := fieldOf(err); field != "" {
		return badRequest(field, err.Error())
	}
	if refused, ok := errors.AsType[*admission.RefusedError](err); ok {
		f.code, f.reason = codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
		if refused.Resource == admission.Streams {
			f.reason = replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS
		}
		f.message = refused.Error()
		f.details = append(f.details, &errdetails.RetryInfo{RetryDelay: durationpb.New(refused.Retry)})
		return f.status()
	}
	if unrecognized(err) {
		f.code, f.reason = codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT
		return f.status()
	}
	for _, known := range causes {
		if errors.Is(err, known.err) {
			f.code, f.reason = known.code, known.reason
			if f.reason == replaydv1.ErrorReason_ERROR_REASON_DRAINING || errors.Is(err, source.ErrFull) {
				f.details = append(f.details, &errdetails.RetryInfo{RetryDelay: durationpb.New(drainRetry)})
			}
			return f.status()
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return status.FromContextError(context.Canceled).Err()
	case errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	incident := unexpected(err)
	f.code, f.reason = codes.Internal, replaydv1.ErrorReason_ERROR_REASON_INTERNAL
	f.message = fmt.Sprintf("internal error; incident %s in the server's log", incident)
	f.meta["incident"] = incident
	return f.status()
}

// fieldOf is the field of the request that an error is about, or empty.
func fieldOf(err error) string {
	name := errors.Is(err, catalog.ErrName) || errors.Is(err, source.ErrDirectory)
	_, ofDirectory := errors.AsType[directoryError](err)
	switch {
	case errors.Is(err, catalog.ErrNotDirectory), name && ofDirectory:
		return "directory"
	case name:
		return "replay"
	case errors.Is(err, catalog.ErrToken):
		return "page_token"
	}
	return ""
}

// directoryError is an error about the directory that a request names, where it could also be about a replay.
type directoryError struct{ error }

func (e directoryError) Unwrap() error { return e.error }

// maxName is how long a name may be, in bytes: what operating systems allow for paths.
const maxName = 4096

// checkName refuses names that cannot be of anything, before they are looked for.
func checkName(field, name string) error {
	switch {
	case name == "":
		return badRequest(field, "is missing")
	case len(name) > maxName:
		return badRequest(field, fmt.Sprintf("is longer than %d bytes", maxName))
	}
	return nil
}

// unrecognized tells whether a file is of no format that is known.
func unrecognized(err error) bool {
	decoding, ok := errors.AsType[*decoders.Error](err)
	return ok && decoding.Format == decoders.Unknown && errors.Is(err, decoders.ErrUnsupported)
}

// causes maps what can go wrong to what clients are told. The first that an error is decides.
var causes = []struct {
	err    error
	code   codes.Code
	reason replaydv1.ErrorReason
}{
	{catalog.ErrNotFound, codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND},
	{source.ErrIO, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO},
	{catalog.ErrDenied, codes.PermissionDenied, replaydv1.ErrorReason_ERROR_REASON_OUTSIDE_ROOT},
	{cursor.ErrInvalid, codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST},
	{cursor.ErrVersion, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH},
	{stream.ErrCursorReplay, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH},
	{stream.ErrCursorChanged, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH},
	{stream.ErrCursorRange, codes.OutOfRange, replaydv1.ErrorReason_ERROR_REASON_CURSOR_BEYOND_END},
	{source.ErrShrunk, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO},
	{source.ErrRemoved, codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND},
	{source.ErrReplaced, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO},
	{index.ErrBehind, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW},
	{stream.ErrTooSlow, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW},
	{stream.ErrDraining, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_DRAINING},
	{source.ErrFull, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED},
	{errStalled, codes.DeadlineExceeded, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW},
	{decoders.ErrUnsupported, codes.Unimplemented, replaydv1.ErrorReason_ERROR_REASON_UNSUPPORTED_VERSION},
	{decoders.ErrLimit, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED},
	{decoders.ErrCorrupt, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_CORRUPT},
	{decoders.ErrTruncated, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_TRUNCATED},
}
