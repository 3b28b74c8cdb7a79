package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/subscription"
)

// drainRetry is the retry delay that clients are given when the server shuts down or its disk is full.
const drainRetry = 2 * time.Second

// notImplemented returns the error of a request with a field that this server does not support.
func notImplemented(field, problem string) *fault.Error {
	return &fault.Error{
		Code: codes.Unimplemented, Reason: replaydv1.ErrorReason_ERROR_REASON_NOT_IMPLEMENTED, Message: field + ": " + problem,
	}
}

// internal returns the error that clients get for an incident.
func internal(incident string) *fault.Error {
	return &fault.Error{
		Code: codes.Internal, Reason: replaydv1.ErrorReason_ERROR_REASON_INTERNAL,
		Message: fmt.Sprintf("internal error; incident %s in the server's log", incident),
		Meta:    map[string]string{"incident": incident},
	}
}

// statusOf converts the error of a call to a status; replay is the name that the client asked for. The text of an unexpected
// error is not sent to clients: unexpected logs it and returns the name of the incident.
func statusOf(err error, replay string, unexpected func(error) string) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known.GRPCStatus().Err()
	}
	if _, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok { // of another part of the daemon, or of gRPC itself
		return err
	}
	if f := faultOf(err, replay); f != nil {
		return f.GRPCStatus().Err()
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return status.FromContextError(ended).Err()
		}
	}
	f := internal(unexpected(err))
	if replay != "" {
		f.Meta["replay"] = fault.Shorten(replay)
	}
	return f.GRPCStatus().Err()
}

// faultOf returns the fault for an error of the packages below, nil for an unexpected one.
func faultOf(err error, replay string) *fault.Error {
	if errors.Is(err, catalog.ErrOutside) || errors.Is(err, source.ErrIrregular) {
		err = catalog.NotFound(replay) // do not reveal what lies outside the roots
	}
	if field, ok := errors.AsType[*filter.FieldError](err); ok {
		return fault.BadRequest(field.Field, field.Problem)
	}
	if field := fieldOf(err); field != "" {
		return fault.BadRequest(field, err.Error())
	}
	f := &fault.Error{Meta: map[string]string{}, Message: err.Error()}
	if replay != "" {
		f.Meta["replay"] = fault.Shorten(replay)
	}
	if streamed, ok := errors.AsType[*stream.Error](err); ok && len(streamed.Cursor) > 0 {
		f.Details = append(f.Details, protoadapt.MessageV1Of(&replaydv1.ResumeInfo{Cursor: streamed.Cursor}))
	}
	if decoding, ok := errors.AsType[*decoders.Error](err); ok {
		f.Meta["format"] = decoding.Format.String()
		f.Meta["offset"] = strconv.FormatInt(decoding.Offset, 10)
		if decoding.Tick != decoders.NoTick {
			f.Meta["tick"] = strconv.Itoa(int(decoding.Tick))
		}
	}
	if refused, ok := errors.AsType[*admission.RefusedError](err); ok {
		f.Code, f.Reason = codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
		if refused.Resource == admission.Streams {
			f.Reason = replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS
		}
		f.Message = refused.Error()
		if refused.Never {
			f.Code, f.Reason = codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE
			return f
		}
		f.Details = append(f.Details, &errdetails.RetryInfo{RetryDelay: durationpb.New(refused.Retry)})
		return f
	}
	if facts, ok := errors.AsType[*stream.FactsError](err); ok {
		f.Code, f.Reason = codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_FACTS_VERSION
		f.Meta["facts_version"] = strconv.FormatUint(uint64(facts.Cursor), 10)
		return f
	}
	if unrecognized(err) {
		f.Code, f.Reason = codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT
		return f
	}
	for _, known := range causes {
		if errors.Is(err, known.err) {
			f.Code, f.Reason = known.code, known.reason
			if known.retry {
				f.Details = append(f.Details, &errdetails.RetryInfo{RetryDelay: durationpb.New(drainRetry)})
			}
			return f
		}
	}
	return nil
}

// fieldOf returns the request field that caused an error, or an empty string.
func fieldOf(err error) string {
	name := errors.Is(err, catalog.ErrName) || errors.Is(err, source.ErrDirectory)
	_, ofDirectory := errors.AsType[directoryError](err)
	switch {
	case errors.Is(err, catalog.ErrNotDirectory), name && ofDirectory:
		return "directory"
	case name:
		return "replay"
	case errors.Is(err, subscription.ErrToken):
		return "token"
	case errors.Is(err, catalog.ErrToken):
		return "page_token"
	}
	return ""
}

// directoryError marks an error as caused by the request's directory field, not by its replay field.
type directoryError struct{ error }

func (e directoryError) Unwrap() error { return e.error }

// maxName limits the length of a name, in bytes, to what operating systems allow for paths.
const maxName = 4096

// checkName refuses names that no file can have.
func checkName(name string) error {
	switch {
	case name == "":
		return fault.BadRequest("replay", "is missing")
	case len(name) > maxName:
		return fault.BadRequest("replay", fmt.Sprintf("is longer than %d bytes", maxName))
	}
	return nil
}

// unrecognized reports whether an error says that a file is of no known format.
func unrecognized(err error) bool {
	decoding, ok := errors.AsType[*decoders.Error](err)
	return ok && decoding.Format == decoders.Unknown && errors.Is(err, decoders.ErrUnsupported)
}

// causes maps errors to the codes and reasons that clients get. The first entry that matches decides.
var causes = []struct {
	err    error
	code   codes.Code
	reason replaydv1.ErrorReason
	retry  bool // send the client a retry delay
}{
	{catalog.ErrNotFound, codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND, false},
	{source.ErrStore, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO, true},
	{source.ErrIO, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO, false},
	{catalog.ErrDenied, codes.PermissionDenied, replaydv1.ErrorReason_ERROR_REASON_OUTSIDE_ROOT, false},
	{cursor.ErrInvalid, codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST, false},
	{cursor.ErrVersion, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH, false},
	{stream.ErrCursorReplay, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH, false},
	{stream.ErrCursorChanged, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_CURSOR_MISMATCH, false},
	{stream.ErrCursorRange, codes.OutOfRange, replaydv1.ErrorReason_ERROR_REASON_CURSOR_BEYOND_END, false},
	{source.ErrShrunk, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO, false},
	{source.ErrRemoved, codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND, false},
	{source.ErrReplaced, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO, false},
	{index.ErrBehind, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW, false},
	{stream.ErrTooSlow, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW, false},
	{stream.ErrDraining, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_DRAINING, true},
	{source.ErrFull, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, true},
	{errLong, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, false},
	{errSilent, codes.DeadlineExceeded, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW, false},
	{errStalled, codes.DeadlineExceeded, replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW, false},
	{subscription.ErrOther, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOKEN_MISMATCH, false},
	{subscription.ErrConditions, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOKEN_MISMATCH, false},
	{subscription.ErrTaken, codes.Aborted, replaydv1.ErrorReason_ERROR_REASON_TAKEN_OVER, false},
	{subscription.ErrNoName, codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_SUBSCRIPTION_NOT_FOUND, false},
	{subscription.ErrNames, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, false},
	{subscription.ErrUnacknowledged, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, false},
	{subscription.ErrStored, codes.Unavailable, replaydv1.ErrorReason_ERROR_REASON_IO, true},
	{subscription.ErrFull, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, false},
	{decoders.ErrUnsupported, codes.Unimplemented, replaydv1.ErrorReason_ERROR_REASON_UNSUPPORTED_VERSION, false},
	{decoders.ErrLimit, codes.FailedPrecondition, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, false}, // RESOURCE_EXHAUSTED invites retries
	{decoders.ErrCorrupt, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_CORRUPT, false},
	{decoders.ErrTruncated, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_TRUNCATED, false},
}
