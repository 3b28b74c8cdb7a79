package hostos_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/internal/hostos"
)

// open opens a file as another process would: locks are of an open file.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := hostos.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := hostos.Lock(second); !errors.Is(err, hostos.ErrLocked) {
		t.Fatalf("of a locked file: %v, want ErrLocked", err)
	}
	if _, err := second.WriteString("who has no lock can write"); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := hostos.Lock(second); err != nil {
		t.Fatalf("after the lock has ended: %v", err)
	}
	hostos.RemoveLocked(second)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the removal: %v", err)
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	if free, known := hostos.Free(t.TempDir()); !known || free < 0 {
		t.Errorf("%d bytes, known: %t", free, known)
	}
	if free, known := hostos.Free(filepath.Join(t.TempDir(), "none")); known {
		t.Errorf("a missing directory has %d bytes", free)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	for _, err := range full {
		if !hostos.Full(&fs.PathError{Op: "write", Path: "a", Err: err}) {
			t.Errorf("%v is a full disk", err)
		}
	}
	for _, err := range []error{nil, fs.ErrNotExist, fs.ErrPermission, errors.New("disk full")} {
		if hostos.Full(err) {
			t.Errorf("%v is no full disk", err)
		}
	}
}
