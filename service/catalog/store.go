package catalog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// Store holds the files of a root: a directory of the file system or, for example, a part of a bucket of objects. Package bucket
// has the latter.
//
// Paths are relative to the root, with forward slashes; "." is the root itself. Other paths are valid names without hidden
// elements, unless Options.Verbatim is set. Errors wrap fs.ErrNotExist, fs.ErrPermission, an error of package source, or an error
// of the operating system. They must not contain credentials. Methods may be called concurrently.
type Store interface {
	// String describes the store to the operator, without credentials.
	String() string
	// Stat returns the attributes of a file or a directory.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// Open opens a regular file. Reads may fail once ctx has ended.
	Open(ctx context.Context, path string) (source.Handle, error)
	// ReadDir calls each for the entries of a directory, in no order, and returns the attributes of the directory itself. It
	// returns ErrNotDirectory for a file. Entries are regular files and directories, and links to regular files.
	ReadDir(ctx context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error)
	// Path returns the place of a file or a directory in the file system, for a subscription of a watch.Watcher. It is empty
	// where there is none; then nothing in the store grows.
	Path(path string) string
	// Every returns the interval at which to list directories again, 0 if their changes are noticed.
	Every() time.Duration
}

// directory is a directory of the file system as a Store. It opens the directory for each call.
type directory string

// String implements Store.
func (d directory) String() string { return string(d) }

// Every implements Store.
func (d directory) Every() time.Duration { return 0 }

// Path implements Store. Links are not resolved.
func (d directory) Path(path string) string {
	return filepath.Join(string(d), filepath.FromSlash(path))
}

// Stat implements Store.
func (d directory) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	return root.Stat(path)
}

// Open implements Store.
func (d directory) Open(_ context.Context, path string) (source.Handle, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	// Opening a device can have effects, so it is not even tried. Another file may take the name between stat and open:
	// therefore source.New checks again, and O_NONBLOCK keeps open from waiting for the other end of a pipe.
	stat, err := root.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case stat.IsDir():
		return nil, source.ErrDirectory
	case !stat.Mode().IsRegular():
		return nil, source.ErrIrregular
	}
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

// ReadDir implements Store.
func (d directory) ReadDir(ctx context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	below, err := openDir(root, path)
	if err != nil {
		return nil, err
	}
	defer below.Close() //nolint:errcheck // nothing was written
	self, err := below.Stat(".")
	if err != nil {
		return nil, err
	}
	return self, readDir(ctx, below, func(e fs.DirEntry) {
		if !listed(e.Name()) || !e.IsDir() && !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0 {
			return
		}
		// os.Root has the attributes of each entry, but not of files that links lead to.
		look := e.Info
		if e.Type()&fs.ModeSymlink != 0 {
			look = func() (fs.FileInfo, error) { return below.Stat(e.Name()) }
		}
		stat, err := look()
		if err != nil || stat.IsDir() != e.IsDir() { // a link to a directory
			return
		}
		each(stat)
	})
}

// openDir opens a directory below a root as an os.Root. It does not wait if a pipe has the name instead.
func openDir(root *os.Root, rel string) (*os.Root, error) {
	stat, err := root.Stat(rel)
	switch {
	case err != nil:
		return nil, err
	case !stat.IsDir():
		return nil, ErrNotDirectory
	}
	return root.OpenRoot(rel)
}

// readDir calls each for the entries of a directory, in no order. It never holds all of them.
func readDir(ctx context.Context, dir *os.Root, each func(fs.DirEntry)) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := file.ReadDir(512)
		for _, e := range entries {
			each(e)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Directory returns a directory of the file system as a Store.
func Directory(path string) Store { return directory(path) }
