// Package workdir has directories for a process's drafts, which other processes remove when it is gone.
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/replayd/replayd/internal/hostos"
)

// Dir is a directory for the drafts of one process. It is locked by a file beside it. The lock ends with the process, however that
// ends, so that another one can remove the directory.
type Dir struct {
	parent, path string
	lock         *os.File
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

const (
	lockSuffix = ".lock"
	dirPrefix  = "work-"
)

// New makes a directory for this process below parent, and parent itself if it is missing. It removes the directories of
// processes that no longer run.
func New(parent string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(parent), 0o755); err != nil { //nolint:gosec // others may read results beside it
		return nil, err
	}
	d := &Dir{parent: parent}
	var err error
	for range 100 { // others that begin or end now may remove a directory that is not locked yet
		if err = d.make(); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	d.Sweep()
	return d, nil
}

// make makes and locks the directory. It returns fs.ErrNotExist if another process has removed it meanwhile.
func (d *Dir) make() error {
	if err := os.Mkdir(d.parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := ours(d.parent); err != nil {
		return err
	}
	lock, err := os.CreateTemp(d.parent, dirPrefix+"*"+lockSuffix)
	if err != nil {
		return err
	}
	if err = claim(lock); err == nil {
		_, err = os.Stat(lock.Name())
	}
	path := strings.TrimSuffix(lock.Name(), lockSuffix)
	if err == nil { // nobody removes it from now on
		if err = os.Mkdir(path, 0o700); err != nil {
			_ = os.Remove(lock.Name())
		}
	}
	if err != nil {
		_ = lock.Close()
		return err
	}
	d.lock, d.path = lock, path
	return nil
}

// ours returns an error if a directory belongs to another user, who could change its contents.
func ours(dir string) error {
	stat, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !stat.IsDir() || hostos.Others(stat) {
		return fmt.Errorf("%s is another user's", dir)
	}
	return nil
}

// claim locks a file without waiting. It returns fs.ErrNotExist if another process has the lock, which then removes the file.
func claim(f *os.File) error {
	err := hostos.Lock(f)
	if errors.Is(err, hostos.ErrLocked) {
		return fs.ErrNotExist
	}
	return err
}

// Sweep removes the directories of processes that are gone.
func (d *Dir) Sweep() {
	entries, _ := os.ReadDir(d.parent)
	for _, entry := range entries {
		name := filepath.Join(d.parent, entry.Name())
		if !strings.HasPrefix(entry.Name(), dirPrefix) || !strings.HasSuffix(name, lockSuffix) || name == d.lock.Name() {
			continue
		}
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			continue
		}
		if claim(f) == nil {
			_ = os.RemoveAll(strings.TrimSuffix(name, lockSuffix))
			hostos.RemoveLocked(f)
			continue
		}
		_ = f.Close()
	}
}

// Close removes the directory, and its parent if nothing else is in it.
func (d *Dir) Close() {
	d.Sweep()
	_ = os.RemoveAll(d.path)
	hostos.RemoveLocked(d.lock)
	_ = os.Remove(d.parent)
}

// Keep returns a directory below parent that no other process uses, and which stays when done is called. The last process with
// the same name had the same directory, unless it is still running.
func Keep(parent, name string) (dir string, done func(), err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	for n := 1; ; n++ {
		dir = filepath.Join(parent, name+"-"+strconv.Itoa(n))
		lock, err := os.OpenFile(filepath.Clean(dir+lockSuffix), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return "", nil, err
		}
		if err = claim(lock); err == nil {
			if err = os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
				err = ours(dir)
			}
		}
		if err == nil {
			return dir, func() { _ = lock.Close() }, nil
		}
		_ = lock.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
}
