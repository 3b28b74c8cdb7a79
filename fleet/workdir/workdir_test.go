package workdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/replayd/replayd/fleet/workdir"
)

// TestDir: processes that begin and end at the same time leave each other's directories alone, and what dead ones left goes.
func TestDir(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "a[1]", "work")
	dead := filepath.Join(parent, "work-1")
	if err := errors.Join(os.MkdirAll(dead, 0o700), os.WriteFile(dead+".lock", nil, 0o600), os.WriteFile(filepath.Join(dead, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				d, err := workdir.New(parent)
				if err != nil {
					t.Error(err)
					return
				}
				draft := filepath.Join(d.Path(), "draft")
				if err := os.WriteFile(draft, nil, 0o600); err != nil {
					t.Error(err)
				}
				d.Sweep()
				if err := os.Remove(draft); err != nil {
					t.Error("removed by another one:", err)
				}
				d.Close()
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(parent); !errors.Is(err, os.ErrNotExist) {
		t.Error("left behind:", err)
	}
	if stat, err := os.Stat(filepath.Dir(parent)); err != nil || stat.Mode().Perm()&0o500 != 0o500 {
		t.Error(stat, err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a directory away
	}
	if err := errors.Join(os.Mkdir(parent, 0o700), os.Chown(parent, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if d, err := workdir.New(parent); err == nil {
		t.Error("the directory of another user is used:", d.Path())
	}
}
