package export

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
)

// CreateDraft creates the draft of a file of a place. The caller closes it, and removes it unless it was put.
func CreateDraft(to Place, name string) (*os.File, error) {
	dir, err := to.Drafts(name)
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "."+path.Base(name)+".*.part")
}

// CreateWaiting makes a file without a name beside the drafts of a file, for rows that wait. It disappears with the process, however that ends.
func CreateWaiting(to Place, name string) (*os.File, error) {
	dir, err := to.Drafts(name)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".waiting.*.part")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// PutBytes puts a small file.
func PutBytes(ctx context.Context, to Place, name string, b []byte) error {
	return withDraft(to, name, b, func(draft string) error { return to.Put(ctx, name, draft) })
}

// CommitBytes commits a small file: see [Place.Commit].
func CommitBytes(ctx context.Context, to Place, name string, b []byte, version string, files map[string]int64) error {
	return withDraft(to, name, b, func(draft string) error {
		err := to.Commit(ctx, name, draft, version, files)
		if errors.Is(err, ErrMoved) { // an attempt whose answer was lost may have put it
			if now, failed := to.Read(ctx, name, int64(len(b))); failed == nil && bytes.Equal(now, b) {
				return nil
			}
		}
		return err
	})
}

// withDraft calls a function with a draft that has some bytes.
func withDraft(to Place, name string, b []byte, put func(draft string) error) error {
	f, err := CreateDraft(to, name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // no effect after a rename
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return put(f.Name())
}
