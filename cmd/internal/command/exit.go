package command

import (
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/tiles"
	"github.com/replayd/replayd/replay/verify"
	"github.com/replayd/replayd/service/catalog"
)

// Exit codes, for scripts.
const (
	ExitOK        = 0
	ExitFailed    = 1   // anything else
	ExitUsage     = 2   // the command line, or the request made from it, is invalid
	ExitNotFound  = 3   // no such replay
	ExitCorrupt   = 4   // the replay is damaged, or of a format that is not supported
	ExitTruncated = 5   // the file ends early, and --strict was given or its format needs all of it
	ExitLost      = 6   // the daemon or the store is unreachable, stopped or is overloaded; retrying may help
	ExitBroken    = 7   // verify: the recording contradicts the game's rules
	ExitUnproven  = 8   // verify: not all ticks are proven
	ExitCancelled = 130 // interrupted
)

// exitCode returns the exit code of an error from a local decoder or from a daemon.
func exitCode(err error) int {
	for _, known := range []struct {
		err  error
		code int
	}{
		{catalog.ErrNotFound, ExitNotFound},
		{catalog.ErrAlias, ExitUsage},
		{source.ErrDirectory, ExitUsage},
		{source.ErrRemoved, ExitNotFound},
		{source.ErrReplaced, ExitLost},
		{source.ErrStore, ExitLost},
		{decoders.ErrTruncated, ExitTruncated},
		{decoders.ErrCorrupt, ExitCorrupt},
		{decoders.ErrUnsupported, ExitCorrupt},
		{decoders.ErrLimit, ExitCorrupt},
		{physics.ErrMap, ExitCorrupt},
		{tiles.ErrNoMap, ExitNotFound},
		{verify.ErrOtherMap, ExitUsage},
		{errBroken, ExitBroken},
		{errUnproven, ExitUnproven},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*filter.FieldError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[absentError](err); ok {
		return ExitNotFound
	}
	if e, ok := errors.AsType[export.DamagedError](err); ok {
		return ReasonExit(e.Reason)
	}
	if code, ok := statusExit(err); ok {
		return code
	}
	return ExitFailed
}

// ReasonExit returns the exit code with which export ends for a reason of damage, or of a job's failure.
func ReasonExit(reason string) int {
	switch reason {
	case "CORRUPT", "UNSUPPORTED", "LIMIT":
		return ExitCorrupt
	case "TRUNCATED":
		return ExitTruncated
	case "NOT_FOUND":
		return ExitNotFound
	case "INVALID_REQUEST":
		return ExitUsage
	}
	return ExitFailed
}

// absentError reports that the file or directory that a command reads does not exist.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// NotFound returns an error whose exit code says that what a command reads does not exist.
func NotFound(err error) error { return absentError{err} }

// usageError reports that a command line is invalid although the parser accepts it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage returns an error whose exit code says that a command line is invalid although the parser accepts it.
func Usage(err error) error { return usageError{err} }
