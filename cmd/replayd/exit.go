package main

import (
	"errors"
	"io/fs"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/source"
)

// Exit codes, for scripts.
const (
	exitOK        = 0
	exitFailed    = 1   // anything else
	exitUsage     = 2   // the command line, or a request made from it, makes no sense
	exitNotFound  = 3   // no such replay
	exitCorrupt   = 4   // the replay cannot be read on, or not at all
	exitTruncated = 5   // the file simply stops, and --strict was given or it cannot be read as it is
	exitLost      = 6   // the daemon cannot be reached, went away or has no room; trying again may help
	exitCancelled = 130 // interrupted
)

// exitCode is what an error means to a script, wherever it comes from: the decoders here, or a daemon.
func exitCode(err error) int {
	for _, known := range []struct {
		err  error
		code int
	}{
		{catalog.ErrNotFound, exitNotFound},
		{catalog.ErrAlias, exitUsage},
		{source.ErrDirectory, exitUsage},
		{decoders.ErrTruncated, exitTruncated},
		{decoders.ErrCorrupt, exitCorrupt},
		{decoders.ErrUnsupported, exitCorrupt},
		{decoders.ErrLimit, exitCorrupt},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*filter.FieldError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[absentError](err); ok {
		return exitNotFound
	}
	s, ok := status.FromError(err)
	if !ok {
		return exitFailed
	}
	if explained, ok := errors.AsType[explainedError](err); ok && explained.final && s.Code() == codes.Unavailable {
		return exitFailed
	}
	if client.Transient(err) {
		return exitLost
	}
	switch s.Code() {
	case codes.NotFound:
		return exitNotFound
	case codes.DataLoss:
		if reasonOf(s) == "TRUNCATED" {
			return exitTruncated
		}
		return exitCorrupt
	case codes.Unimplemented:
		return exitCorrupt
	case codes.InvalidArgument:
		if reasonOf(s) == "UNKNOWN_FORMAT" {
			return exitCorrupt
		}
		return exitUsage
	default:
		return exitFailed
	}
}

// absentError says that the file or directory that a command is to read is not there.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// absent marks an error of opening what a command is to read.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return absentError{err}
	}
	return err
}

// usageError is a command line that the parser accepts and that makes no sense all the same.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// reasonOf is the reason of a status' ErrorInfo, or empty.
func reasonOf(s *status.Status) string {
	for _, d := range s.Details() {
		if info, ok := d.(interface{ GetReason() string }); ok {
			return info.GetReason()
		}
	}
	return ""
}

// message is an error as a person wants to read it: of a status, also one that was wrapped on its way, only what it says.
func message(err error) string {
	type statusError interface {
		error
		GRPCStatus() *status.Status
	}
	if explained, ok := errors.AsType[explainedError](err); ok {
		return explained.text
	}
	if s, ok := errors.AsType[statusError](err); ok {
		return byFlags(s.GRPCStatus().Message())
	}
	return byFlags(err.Error())
}
