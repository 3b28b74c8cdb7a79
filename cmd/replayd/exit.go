package main

import (
	"errors"
	"io/fs"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/fleet/publish"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Exit codes, for scripts.
const (
	exitOK        = 0
	exitFailed    = 1   // anything else
	exitUsage     = 2   // the command line, or the request made from it, is invalid
	exitNotFound  = 3   // no such replay
	exitCorrupt   = 4   // the replay is damaged, or of a format that is not supported
	exitTruncated = 5   // the file ends early, and --strict was given or its format needs all of it
	exitLost      = 6   // the daemon or the store is unreachable, stopped or is overloaded; retrying may help
	exitCancelled = 130 // interrupted
)

// exitCode returns the exit code of an error from a local decoder or from a daemon.
func exitCode(err error) int {
	for _, known := range []struct {
		err  error
		code int
	}{
		{catalog.ErrNotFound, exitNotFound},
		{catalog.ErrAlias, exitUsage},
		{source.ErrDirectory, exitUsage},
		{source.ErrRemoved, exitNotFound},
		{queue.ErrUnknown, exitNotFound},
		{queue.ErrState, exitUsage},
		{publish.ErrSelection, exitUsage},
		{publish.ErrStream, exitUsage},
		{source.ErrReplaced, exitLost},
		{source.ErrStore, exitLost},
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
	if _, ok := errors.AsType[unreachableError](err); ok {
		return exitLost
	}
	if e, ok := errors.AsType[jobError](err); ok {
		return reasonExit(e.Reason)
	}
	if e, ok := errors.AsType[damagedError](err); ok {
		return reasonExit(e.Reason)
	}
	if code, ok := statusExit(err); ok {
		return code
	}
	return exitFailed
}

// absentError reports that the file or directory that a command reads does not exist.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// absent wraps err in an absentError if the file or directory does not exist.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return absentError{err}
	}
	return err
}

// usageError reports that a command line is invalid although the parser accepts it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }
