package work

import (
	"context"

	"github.com/replayd/replayd/fleet/export"
)

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
