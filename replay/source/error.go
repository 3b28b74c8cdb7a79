package source

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/replayd/replayd/decoders"
)

// Errors of names that are not files.
var (
	// ErrDirectory: it is a directory.
	ErrDirectory = errors.New("is a directory")
	// ErrIrregular: it is a device, a pipe, a socket or the like.
	ErrIrregular = errors.New("is not a regular file")
)

// Errors of an open file that can no longer be followed. Bytes read before stay valid.
var (
	// ErrShrunk: the file is shorter than it was. Its former bytes can no longer be read.
	ErrShrunk = errors.New("the file shrank")
	// ErrOverwritten: the file shrank and was rewritten: its first bytes have changed.
	ErrOverwritten = fmt.Errorf("%w and was written anew", ErrShrunk)
	// ErrReplaced: another file has its name now. The bytes that it had before can still be read.
	ErrReplaced = errors.New("the file was replaced")
	// ErrRemoved: no file has its name now. The bytes that it had before can still be read.
	ErrRemoved = errors.New("the file was removed")
)

// ErrIO means that the operating system failed to read, for example because of a bad disk or a network file system whose
// server is gone.
// The error that wraps ErrIO also wraps the cause, such as syscall.EIO or syscall.ESTALE.
var ErrIO = errors.New("reading failed")

// ErrStore means that a store of objects does not answer, or answers nonsense. It is an ErrIO; trying again later may help.
var ErrStore = fmt.Errorf("%w: the store", ErrIO)

// ioError wraps an error of the operating system in ErrIO. It drops the path, which clients must not see.
func ioError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("%w: %w", ErrIO, err)
}

// Damage returns why the contents of a replay could not be read to their end: TRUNCATED, CORRUPT, UNSUPPORTED or LIMIT. It is empty if err
// is nil, or says nothing about the contents.
func Damage(err error) (reason string) {
	for _, other := range []error{ErrDirectory, ErrRemoved, ErrReplaced, ErrStore} {
		if errors.Is(err, other) {
			return ""
		}
	}
	for _, known := range []struct {
		err    error
		reason string
	}{
		{decoders.ErrTruncated, "TRUNCATED"},
		{decoders.ErrCorrupt, "CORRUPT"},
		{decoders.ErrUnsupported, "UNSUPPORTED"},
		{decoders.ErrLimit, "LIMIT"},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return ""
}
