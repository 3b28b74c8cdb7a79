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
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// errorDomain is the domain of every ErrorInfo of this service.
const errorDomain = "replayd.dev"

// drainRetry is the retry delay that clients are given when the server shuts down or its disk is full.
const drainRetry = 2 * time.Second

// fault is an error with the status that clients get. It is the only such error of this package: faultOf makes one of an error
// of the packages below. Handlers return errors unchanged, and fail converts them.
type fault struct {
	code    codes.Code
	reason  replaydv1.ErrorReason
	message string
	meta    map[string]string
	details []protoadapt.MessageV1
}

// maxMessage limits the text of a status, in bytes. It is sent in the trailers, in some cases twice, and clients accept 8 KiB
// of trailers by default.
const maxMessage = 2000

// shorten cuts a text that quotes what a client sent.
func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "..."
}

// Error implements error.
func (f *fault) Error() string { return shorten(f.message) }

// GRPCStatus returns the status that clients get. status.FromError finds it.
func (f *fault) GRPCStatus() *status.Status {
	info := &errdetails.ErrorInfo{
		Reason:   strings.TrimPrefix(f.reason.String(), "ERROR_REASON_"),
		Domain:   errorDomain,
		Metadata: f.meta,
	}
	s := status.New(f.code, f.Error())
	detailed, err := s.WithDetails(append([]protoadapt.MessageV1{info}, f.details...)...)
	if err != nil { // a detail cannot be marshalled; send at least the code and the message
		return s
	}
	return detailed
}

// badRequest returns the error of a request with an invalid field.
func badRequest(field, problem string) *fault {
	problem = shorten(problem)
	return &fault{
		code: codes.InvalidArgument, reason: replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST,
		message: field + ": " + problem,
		details: []protoadapt.MessageV1{&errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: problem}},
		}},
	}
}

// notImplemented returns the error of a request with a field that this server does not support.
func notImplemented(field, problem string) *fault {
	return &fault{
		code: codes.Unimplemented, reason: replaydv1.ErrorReason_ERROR_REASON_NOT_IMPLEMENTED, message: field + ": " + problem,
	}
}

// internal returns the error that clients get for an incident.
func internal(incident string) *fault {
	return &fault{
		code: codes.Internal, reason: replaydv1.ErrorReason_ERROR_REASON_INTERNAL,
		message: fmt.Sprintf("internal error; incident %s in the server's log", incident),
		meta:    map[string]string{"incident": incident},
	}
}

// statusOf converts the error of a call to a status; replay is the name that the client asked for. The text of an unexpected
// error is not sent to clients: unexpected logs it and returns the name of the incident.
func statusOf(err error, replay string, unexpected func(error) string) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault](err); ok {
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
		f.meta["replay"] = shorten(replay)
	}
	return f.GRPCStatus().Err()
}

// faultOf returns the fault for an error of the packages below, nil for an unexpected one.
func faultOf(err error, replay string) *fault {
	if errors.Is(err, catalog.ErrOutside) || errors.Is(err, source.ErrIrregular) {
		err = catalog.NotFound(replay) // do not reveal what lies outside of the roots
	}
	if field, ok := errors.AsType[*filter.FieldError](err); ok {
		return badRequest(field.Field, field.Problem)
	}
	if field := fieldOf(err); field != "" {
		return badRequest(field, err.Error())
	}
	f := &fault{meta: map[string]string{}, message: err.Error()}
	if replay != "" {
		f.meta["replay"] = shorten(replay)
	}
	if streamed, ok := errors.AsType[*stream.Error](err); ok && len(streamed.Cursor) > 0 {
		f.details = append(f.details, protoadapt.MessageV1Of(&replaydv1.ResumeInfo{Cursor: streamed.Cursor}))
	}
	if decoding, ok := errors.AsType[*decoders.Error](err); ok {
		f.meta["format"] = decoding.Format.String()
		f.meta["offset"] = strconv.FormatInt(decoding.Offset, 10)
		if decoding.Tick != decoders.NoTick {
			f.meta["tick"] = strconv.Itoa(int(decoding.Tick))
		}
	}
	if refused, ok := errors.AsType[*admission.RefusedError](err); ok {
		f.code, f.reason = codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
		if refused.Resource == admission.Streams {
			f.reason = replaydv1.ErrorReason_ERROR_REASON_TOO_MANY_STREAMS
		}
		f.message = refused.Error()
		f.details = append(f.details, &errdetails.RetryInfo{RetryDelay: durationpb.New(refused.Retry)})
		return f
	}
	if unrecognized(err) {
		f.code, f.reason = codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT
		return f
	}
	for _, known := range causes {
		if errors.Is(err, known.err) {
			f.code, f.reason = known.code, known.reason
			if known.retry {
				f.details = append(f.details, &errdetails.RetryInfo{RetryDelay: durationpb.New(drainRetry)})
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
func checkName(field, name string) error {
	switch {
	case name == "":
		return badRequest(field, "is missing")
	case len(name) > maxName:
		return badRequest(field, fmt.Sprintf("is longer than %d bytes", maxName))
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
	{decoders.ErrUnsupported, codes.Unimplemented, replaydv1.ErrorReason_ERROR_REASON_UNSUPPORTED_VERSION, false},
	{decoders.ErrLimit, codes.ResourceExhausted, replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, false},
	{decoders.ErrCorrupt, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_CORRUPT, false},
	{decoders.ErrTruncated, codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_TRUNCATED, false},
}
