//go:build unix

package hostos_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/replayd/replayd/internal/hostos"
)

var full = []error{syscall.ENOSPC, syscall.EDQUOT}

// TestLockOfADirectory is for the commits of tables, which lock their directory.
func TestLockOfADirectory(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var dirs [2]*os.File
	for i := range dirs {
		f, err := os.Open(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		dirs[i] = f
	}
	if err := hostos.Lock(dirs[0]); err != nil {
		t.Fatal(err)
	}
	if err := hostos.Lock(dirs[1]); !errors.Is(err, hostos.ErrLocked) {
		t.Errorf("of a locked directory: %v, want ErrLocked", err)
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	own, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if hostos.Others(own) {
		t.Error("a file of this user is another's")
	}
	root, err := os.Stat("/")
	if err != nil {
		t.Fatal(err)
	}
	if want := os.Geteuid() != 0; hostos.Others(root) != want {
		t.Errorf("the file system's root is another's: %t, want %t", !want, want)
	}
}

// TestWithMode is not parallel: the mode is that of all files of the process.
func TestWithMode(t *testing.T) { //nolint:paralleltest // as said
	path := filepath.Join(t.TempDir(), "file")
	hostos.WithMode(0o640, func() {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Error(err)
		}
	})
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := stat.Mode().Perm(); got != 0o640 {
		t.Errorf("%v, want %v", got, fs.FileMode(0o640))
	}
}
