package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
)

// Place is where an archive is.
type Place interface {
	export.Place
	// List calls each for every file below a directory, until each returns an error. Files whose path has an element that begins
	// with a point are left out. There may be no such directory.
	List(ctx context.Context, dir string, each func(File) error) error
	// Open opens a file for reading at any place.
	Open(ctx context.Context, name string) (io.ReaderAt, io.Closer, error)
	// URL returns the location of a file as engines read it.
	URL(name string) string
}

// File is a file of a Place.
type File struct {
	Name    string
	Size    int64
	Written time.Time
}

// Dir is a directory as a Place. The path is to be absolute, for that is what engines read.
type Dir struct{ export.Dir }

// List implements Place.
func (d Dir) List(ctx context.Context, dir string, each func(File) error) error {
	err := filepath.WalkDir(filepath.Join(d.Path, filepath.FromSlash(dir)), func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && path != d.Path:
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !e.Type().IsRegular():
			return ctx.Err()
		}
		stat, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.Path, path)
		if err != nil {
			return err
		}
		return each(File{filepath.ToSlash(rel), stat.Size(), stat.ModTime()})
	})
	return err
}

// Open implements Place.
func (d Dir) Open(_ context.Context, name string) (io.ReaderAt, io.Closer, error) {
	f, err := os.Open(filepath.Join(d.Path, filepath.FromSlash(name)))
	if err != nil {
		return nil, nil, err
	}
	return f, f, nil
}

// URL implements Place.
func (d Dir) URL(name string) string { return filepath.ToSlash(filepath.Join(d.Path, name)) }

// Bucket is a part of a bucket as a Place.
type Bucket struct {
	*bucket.Bucket

	// Temp is the directory of drafts.
	Temp string
}

// Drafts implements export.Place.
func (b Bucket) Drafts(string) (string, error) { return b.Temp, nil }

// Put implements export.Place.
func (b Bucket) Put(ctx context.Context, name, draft string) error {
	return withDraft(draft, func(f *os.File, size int64) error { return b.Bucket.Put(ctx, name, f, size) })
}

// Prune implements export.Place. Names contain the attempt: nobody puts them again.
func (b Bucket) Prune(ctx context.Context, _ string, names []string) error {
	for _, name := range names {
		if err := b.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements export.Place. Nobody else removes an attempt's files.
func (b Bucket) Commit(ctx context.Context, name, draft, version string, _ map[string]int64) error {
	err := withDraft(draft, func(f *os.File, size int64) error { return b.Replace(ctx, name, f, size, version) })
	if errors.Is(err, bucket.ErrConflict) {
		err = fmt.Errorf("%w: %w", export.ErrMoved, err)
	}
	return err
}

// withDraft calls a function with a draft and its size.
func withDraft(draft string, put func(f *os.File, size int64) error) error {
	f, err := os.Open(filepath.Clean(draft))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	return put(f, stat.Size())
}

// Version implements export.Place.
func (b Bucket) Version(ctx context.Context, name string) (string, error) {
	found, err := b.Look(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return found.Tag, err
}

// Sync implements export.Place. A store keeps what it has acknowledged.
func (Bucket) Sync([]string) error { return nil }

// Read implements export.Place.
func (b Bucket) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	return b.Get(ctx, name, most)
}

// Size implements export.Place.
func (b Bucket) Size(ctx context.Context, name string) (int64, error) {
	found, err := b.Look(ctx, name)
	return found.Size, err
}

// List implements Place.
func (b Bucket) List(ctx context.Context, dir string, each func(File) error) error {
	return b.Walk(ctx, dir, func(f bucket.Found) error { return each(File{f.Path, f.Size, f.Written}) })
}

// Open implements Place.
func (b Bucket) Open(ctx context.Context, name string) (io.ReaderAt, io.Closer, error) {
	h, err := b.Bucket.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return h, h, nil
}

// URL implements Place.
func (b Bucket) URL(name string) string { return b.String() + "/" + name }
