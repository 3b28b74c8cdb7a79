package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/replayd/replayd/replay/source"
)

// Each error that this package returns wraps one of these errors, or ErrDirectory, ErrIrregular or ErrIO of package source, or
// a *decoders.Error, or a context's error.
var (
	// ErrName: no replay can have that name.
	ErrName = errors.New("is not a valid replay name")
	// ErrNotFound: there is no such root, directory or file.
	ErrNotFound = errors.New("not found")
	// ErrOutside: the path leads out of the roots. It may exist or not.
	ErrOutside = errors.New("lies outside the roots")
	// ErrDenied: the daemon may not read it.
	ErrDenied = errors.New("may not be read by the server")
	// ErrNotDirectory: it is no directory.
	ErrNotDirectory = errors.New("is not a directory")
	// ErrToken: the page token is invalid, or is of another directory or other formats.
	ErrToken = errors.New("is not a page token of this list")
)

// explain converts an error of os.Root. It leaves out the operating system's path, because clients see these errors.
func explain(name string, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.Is(err, source.ErrIO), errors.Is(err, source.ErrReplaced), errors.Is(err, ErrNotDirectory),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// They are typed already.
	case errors.Is(err, fs.ErrNotExist):
		err = ErrNotFound
	case errors.Is(err, fs.ErrPermission):
		err = ErrDenied
	case errors.Is(err, syscall.ENOTDIR):
		// Some element before the last is a file.
		err = ErrNotFound
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		err = ErrNotFound
	case errors.Is(err, syscall.ENXIO):
		// A socket, or a device without a driver.
		err = source.ErrIrregular
	case errors.As(err, &errno):
		err = fmt.Errorf("%w: %w", source.ErrIO, errno)
	default:
		// os.Root refused the path. Its error is not one of the operating system, and is not exported.
		err = ErrOutside
	}
	return named(name, err)
}

// ErrAlias means that the alias of a root is invalid, or another root has it.
var ErrAlias = errors.New("root alias")

// named adds the name to an error.
func named(name string, err error) error { return fmt.Errorf("%q: %w", name, err) }

// NotFound returns the error of a name that does not exist, for callers that looked it up elsewhere.
func NotFound(name string) error { return named(name, ErrNotFound) }

// NotDirectory returns the error of a name that is not a directory.
func NotDirectory(name string) error { return named(name, ErrNotDirectory) }

// IsDirectory returns the error of a name that is a directory instead of a file.
func IsDirectory(name string) error { return named(name, source.ErrDirectory) }
