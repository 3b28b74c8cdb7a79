package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/replayd/replayd/internal/hostos"
)

// Place is where the tables go. Names are relative paths with forward slashes. If nothing has the name, errors wrap
// fs.ErrNotExist.
type Place interface {
	// Drafts returns the directory for the draft of a file, which must exist.
	Drafts(name string) (string, error)
	// Put moves or copies a finished draft to its name: as a whole, or not at all. It replaces a file of that name.
	Put(ctx context.Context, name, draft string) error
	// Version identifies the file that has a name; empty if there is none.
	Version(ctx context.Context, name string) (string, error)
	// Commit puts a manifest like Put. If the present manifest is not of the given version, or one of the files that the new one
	// names is missing or has another size, it changes nothing and returns an error that wraps ErrMoved. A Place whose names
	// contain attempts, so that nobody else removes these files, need not look for them.
	Commit(ctx context.Context, name, draft, version string, files map[string]int64) error
	// Prune removes those of the given files that the manifest does not name.
	Prune(ctx context.Context, manifest string, names []string) error
	// Read returns the contents of a file, up to most bytes; a longer file is an error.
	Read(ctx context.Context, name string, most int64) ([]byte, error)
	// Size returns the size of a file, in bytes.
	Size(ctx context.Context, name string) (int64, error)
	// Sync returns once the named files survive a loss of power.
	Sync(names []string) error
	// Remove removes a file. A missing file is no error.
	Remove(ctx context.Context, name string) error
}

// ErrMoved means that another writer has changed the manifest.
var ErrMoved = errors.New("another export has been finished meanwhile")

// While returns a Place whose Put, Commit, Prune, Remove and Sync return held's error once held returns one, and change nothing.
// A change that has begun may still take effect, unless its context ends.
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

// Commit implements Place.
func (w *while) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	if err := w.held(); err != nil {
		return fmt.Errorf("committing %s: %w", name, err)
	}
	return w.Place.Commit(ctx, name, draft, version, files)
}

// Prune implements Place.
func (w *while) Prune(ctx context.Context, manifest string, names []string) error {
	if err := w.held(); err != nil {
		return fmt.Errorf("removing %d files: %w", len(names), err)
	}
	return w.Place.Prune(ctx, manifest, names)
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

// Dir is a directory as a Place. The first write makes it.
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
	return dir, os.MkdirAll(dir, 0o755) //nolint:gosec // others may read exported files
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

// Version implements Place.
func (d Dir) Version(_ context.Context, name string) (string, error) {
	b, err := os.ReadFile(d.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// locked calls f while no other process commits a manifest or prunes in the manifest's directory. File systems without locks do
// not prevent that.
func (d Dir) locked(ctx context.Context, manifest string, f func() error) error {
	at := filepath.Dir(d.at(manifest))
	if err := os.MkdirAll(at, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	lock, err := os.Open(filepath.Clean(at))
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	for n := 0; ; n++ {
		if err := hostos.Lock(lock); !errors.Is(err, hostos.ErrLocked) {
			return f()
		}
		if n == 1000 { // the other process has stalled
			return fmt.Errorf("%s is locked: %w", at, ErrMoved)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Commit implements Place.
func (d Dir) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	return d.locked(ctx, name, func() error {
		now, err := d.Version(ctx, name)
		if err != nil {
			return err
		}
		if now != version {
			return fmt.Errorf("replacing %s: %w", name, ErrMoved)
		}
		for file, size := range files {
			if n, err := d.Size(ctx, file); err != nil || n != size {
				return fmt.Errorf("%s was removed: %w", file, ErrMoved)
			}
		}
		return d.Put(ctx, name, draft)
	})
}

// Prune implements Place.
func (d Dir) Prune(ctx context.Context, manifest string, names []string) error {
	return d.locked(ctx, manifest, func() error {
		b, err := d.Read(ctx, manifest, maxManifest)
		if err != nil {
			return err
		}
		return prune(ctx, d, b, names)
	})
}

// prune removes those of the given files that a manifest does not name.
func prune(ctx context.Context, place Place, manifest []byte, names []string) error {
	var m struct {
		Files map[string]int64 `json:"files"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	for _, name := range names {
		if _, named := m.Files[name]; named {
			continue
		}
		if err := place.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
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
