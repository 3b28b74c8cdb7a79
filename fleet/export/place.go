package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// Place is where tables are. Names are relative paths with forward slashes. Errors wrap fs.ErrNotExist where nothing has the name.
type Place interface {
	// Drafts returns the directory for the draft of a file, which must exist.
	Drafts(name string) (string, error)
	// Put moves or copies a finished draft to its name: as a whole, or not at all. What has the name is replaced.
	Put(ctx context.Context, name, draft string) error
	// Read returns what has a name, up to most bytes; more is an error.
	Read(ctx context.Context, name string, most int64) ([]byte, error)
	// Size returns the size of what has a name, in bytes.
	Size(ctx context.Context, name string) (int64, error)
	// Sync returns once what has these names survives a loss of power.
	Sync(names []string) error
	// Remove removes what has a name. It is no error if nothing has it.
	Remove(ctx context.Context, name string) error
}

// While returns a Place that changes nothing once held returns an error, which its Put, Remove and Sync return. What one of them has begun
// may still take effect, unless its context ends.
func While(held func() error, p Place) Place { return &while{p, held} }

type while struct {
	Place

	held func() error
}

// Put implements Place.
func (w *while) Put(ctx context.Context, name, draft string) error {
	if err := w.held(); err != nil {
		return fmt.Errorf("putting %s: %w", name, err)
	}
	return w.Place.Put(ctx, name, draft)
}

// Remove implements Place.
func (w *while) Remove(ctx context.Context, name string) error {
	if err := w.held(); err != nil {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	return w.Place.Remove(ctx, name)
}

// Sync implements Place.
func (w *while) Sync(names []string) error {
	if err := w.held(); err != nil {
		return fmt.Errorf("writing %d files through: %w", len(names), err)
	}
	return w.Place.Sync(names)
}

// Dir is a directory as a Place. It is made when it is written to.
type Dir struct {
	Path string
	// Temp is the directory of drafts, in the same file system. If it is empty, drafts are beside the files that they become.
	Temp string
}

func (d Dir) at(name string) string { return filepath.Join(d.Path, filepath.FromSlash(name)) }

// Drafts implements Place.
func (d Dir) Drafts(name string) (string, error) {
	if d.Temp != "" {
		return d.Temp, nil
	}
	dir := filepath.Dir(d.at(name))
	return dir, os.MkdirAll(dir, 0o755) //nolint:gosec // others may read what is exported
}

// Put implements Place.
func (d Dir) Put(_ context.Context, name, draft string) error {
	at := d.at(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if err := sync(draft); err != nil {
		return err
	}
	return os.Rename(draft, at)
}

// Sync implements Place. Files were synced by Put; their directories may be new, too.
func (d Dir) Sync(names []string) error {
	dirs := map[string]bool{filepath.Clean(d.Path): true}
	for _, name := range names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[d.at(dir)] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := sync(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// sync writes a file or a directory through to the disk.
func sync(name string) error {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Read implements Place.
func (d Dir) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	size, err := d.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return os.ReadFile(d.at(name))
}

// Size implements Place.
func (d Dir) Size(_ context.Context, name string) (int64, error) {
	stat, err := os.Stat(d.at(name))
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

// Remove implements Place.
func (d Dir) Remove(_ context.Context, name string) error {
	if err := os.Remove(d.at(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
