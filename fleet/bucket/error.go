package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"syscall"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Error is a request that failed.
type Error struct {
	// Doing names the request: "listing", "reading", "looking up".
	Doing string
	// Status is the status of the answer, 0 if there was none.
	Status int
	// Code is the code that the store gave, such as SlowDown. It may be empty.
	Code string
	// Problem says what is wrong if there is no status.
	Problem string
	// Kind is fs.ErrNotExist, fs.ErrPermission, source.ErrReplaced or source.ErrStore. While an open object is read, the first two
	// are source.ErrRemoved and catalog.ErrDenied.
	Kind error
	// again reports whether trying again may help.
	again bool
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Kind.Error() + ": " + e.Doing
	switch {
	case e.Problem != "":
		return text + ": " + e.Problem
	case e.Code != "":
		return fmt.Sprintf("%s: status %d, %s", text, e.Status, e.Code)
	}
	return fmt.Sprintf("%s: status %d", text, e.Status)
}

// Unwrap returns the Kind.
func (e *Error) Unwrap() error { return e.Kind }

// broken returns the error for an answer that makes no sense.
func broken(doing, problem string) *Error {
	return &Error{Doing: doing, Problem: problem, Kind: source.ErrStore}
}

// codes are the codes that an error may repeat. A store could put anything into other codes, such as a part of the request's
// signature.
var codes = []string{
	"AccessDenied", "AllAccessDisabled", "AuthorizationHeaderMalformed", "BadRequest", "ExpiredToken", "Forbidden", "InternalError",
	"InvalidAccessKeyId", "InvalidArgument", "InvalidBucketName", "InvalidObjectState", "InvalidRange", "InvalidRequest", "InvalidToken",
	"MethodNotAllowed", "NoSuchBucket", "NoSuchKey", "NotFound", "NotImplemented", "PermanentRedirect", "PreconditionFailed",
	"RequestTimeTooSkewed", "RequestTimeout", "ServiceUnavailable", "SignatureDoesNotMatch", "SlowDown", "TemporaryRedirect",
	"TokenRefreshRequired", "TooManyRequests",
}

// errAnswer means that an answer is longer than any of its kind can be.
var errAnswer = errors.New("the answer is too long")

// errNoCredentials replaces the error of a provider of credentials, whose text may contain anything.
var errNoCredentials = errors.New("no credentials were found in the usual places")

// explain converts an error of the client. It is an *Error, or the error of ctx if that has ended.
func explain(ctx context.Context, doing string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &Error{Doing: doing, Kind: source.ErrStore}
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok && slices.Contains(codes, coded.ErrorCode()) {
		e.Code = coded.ErrorCode()
	}
	if answered, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		e.Status = answered.HTTPStatusCode()
	}
	switch {
	case errors.Is(err, errAnswer):
		e.Problem = errAnswer.Error()
	case errors.Is(err, errNoCredentials):
		e.Problem = errNoCredentials.Error()
	case e.Code == "NoSuchBucket":
		e.Problem = "there is no such bucket"
	case e.Code == "ExpiredToken", e.Code == "InvalidToken", e.Code == "TokenRefreshRequired":
		e.Kind = fs.ErrPermission
	case e.Status == http.StatusNotFound:
		e.Kind = fs.ErrNotExist
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		e.Kind = fs.ErrPermission
	case e.Status == http.StatusPreconditionFailed:
		e.Kind = source.ErrReplaced
	case e.Status == http.StatusRequestedRangeNotSatisfiable:
		e.Problem = "the object is shorter than the store says"
	case e.Status >= 300 && e.Status < 400:
		e.Problem = "the store sends elsewhere: is the region right?"
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests, e.Status >= 500:
		e.again = true
	case e.Status >= 400:
	default:
		e.Problem, e.again = problemOf(err), true
	}
	switch {
	case doing != reading:
	case errors.Is(e.Kind, fs.ErrNotExist):
		e.Kind = source.ErrRemoved
	case errors.Is(e.Kind, fs.ErrPermission):
		e.Kind = catalog.ErrDenied
	}
	return e
}

// silent is the problem of a store that sends nothing for too long.
const silent = "the store did not answer in time"

// problemOf describes a request without a usable answer. It repeats nothing of the error.
func problemOf(err error) string {
	timeout, isNet := errors.AsType[net.Error](err)
	_, isName := errors.AsType[*net.DNSError](err)
	switch {
	case isName:
		return "the store's host is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case isNet && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return silent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection broke"
	case isNet:
		return "the connection failed"
	}
	return "the answer is invalid"
}
