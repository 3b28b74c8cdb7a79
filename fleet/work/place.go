package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/workdir"
)

// bucketPlace makes a part of a bucket a place of tables.
type bucketPlace struct {
	*bucket.Bucket
	dir *workdir.Dir
}

// Drafts implements export.Place.
func (p bucketPlace) Drafts(string) (string, error) { return p.dir.Path(), nil }

// Put implements export.Place.
func (p bucketPlace) Put(ctx context.Context, name, draft string) error {
	return withDraft(draft, func(f *os.File, size int64) error { return p.Bucket.Put(ctx, name, f, size) })
}

// Prune implements export.Place. Names contain the attempt: nobody puts them again.
func (p bucketPlace) Prune(ctx context.Context, _ string, names []string) error {
	for _, name := range names {
		if err := p.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements export.Place. Nobody else removes an attempt's files.
func (p bucketPlace) Commit(ctx context.Context, name, draft, version string, _ map[string]int64) error {
	err := withDraft(draft, func(f *os.File, size int64) error { return p.Replace(ctx, name, f, size, version) })
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
func (p bucketPlace) Version(ctx context.Context, name string) (string, error) {
	found, err := p.Look(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return found.Tag, err
}

// Sync implements export.Place. A store keeps what it has acknowledged.
func (p bucketPlace) Sync([]string) error { return nil }

// Read implements export.Place.
func (p bucketPlace) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	return p.Get(ctx, name, most)
}

// Size implements export.Place.
func (p bucketPlace) Size(ctx context.Context, name string) (int64, error) {
	found, err := p.Look(ctx, name)
	return found.Size, err
}

// results is the place of a worker's results. Its errors are resultsErrors.
type results struct{ export.Place }

// resultsError means that results cannot be written. It says nothing about the job: the worker's credentials may have expired.
type resultsError struct{ error }

func (e resultsError) Unwrap() error { return e.error }

func ofResults(err error) error {
	if err == nil {
		return nil
	}
	return resultsError{err}
}

// Put implements export.Place.
func (r results) Put(ctx context.Context, name, draft string) error {
	return ofResults(r.Place.Put(ctx, name, draft))
}

// Commit implements export.Place.
func (r results) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	return ofResults(r.Place.Commit(ctx, name, draft, version, files))
}

// Prune implements export.Place.
func (r results) Prune(ctx context.Context, manifest string, names []string) error {
	return ofResults(r.Place.Prune(ctx, manifest, names))
}

// Version implements export.Place.
func (r results) Version(ctx context.Context, name string) (string, error) {
	version, err := r.Place.Version(ctx, name)
	return version, ofResults(err)
}

// Sync implements export.Place.
func (r results) Sync(names []string) error { return ofResults(r.Place.Sync(names)) }

// Remove implements export.Place.
func (r results) Remove(ctx context.Context, name string) error {
	return ofResults(r.Place.Remove(ctx, name))
}

// Read implements export.Place.
func (r results) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	b, err := r.Place.Read(ctx, name, most)
	return b, ofResults(err)
}

// Size implements export.Place.
func (r results) Size(ctx context.Context, name string) (int64, error) {
	n, err := r.Place.Size(ctx, name)
	return n, ofResults(err)
}
