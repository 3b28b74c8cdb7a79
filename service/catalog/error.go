package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/replayd/replayd/service/source"
)

// Why there is no answer. Each error that this package returns wraps one of these, one of the source package's
// ErrDirectory, ErrIrregular and ErrIO, a *decoders.Error, or a context's error.
var (
	// ErrName: it is no name that a replay could have.
	ErrName = errors.New("is not a valid replay name")
	// ErrNotFound: there is no such root, directory or file.
	ErrNotFound = errors.New("not found")
	// ErrOutside: it lies outside the roots. That says nothing on whether it exists.
	ErrOutside = errors.New("lies outside the roots")
	// ErrDenied: the daemon may not read it.
	ErrDenied = errors.New("may not be read by the server")
	// ErrNotDirectory: it is no directory.
	ErrNotDirectory = errors.New("is not a directory")
	// ErrToken: the page token is none of this catalog, or of another directory or other formats.
	ErrToken = errors.New("is not a page token of this list")
)

// explain makes an error of os.Root one of ours. The operating system's paths are left out: clients see these errors.
func explain(name string, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
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
		// What os.Root itself refuses is not an error of the operating system. Its error has no name to match.
		err = ErrOutside
	}
	return named(name, err)
}

// ErrAlias says that something is no alias that a root could have, or that another root has it.
var ErrAlias = errors.New("root alias")

// named says which name an error is about.
func named(name string, err error) error { return fmt.Errorf("%q: %w", name, err) }

// NotFound is the error of a name that leads nowhere, for who has looked it up elsewhere.
func NotFound(name string) error { return named(name, ErrNotFound) }

// NotDirectory is the error of a name that should be a directory's.
func NotDirectory(name string) error { return named(name, ErrNotDirectory) }

// IsDirectory is the error of a directory's name that should be a file's.
func IsDirectory(name string) error { return named(name, source.ErrDirectory) }
