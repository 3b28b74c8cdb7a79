//go:build unix

package hostos

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Lock locks a file, or a directory, for this process without waiting. The lock ends when f is closed, and with the process. It
// returns ErrLocked if another process has the lock, and other errors on file systems without locks.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// RemoveLocked removes a locked file and closes it, so that no other process can lock it meanwhile.
func RemoveLocked(f *os.File) {
	_ = os.Remove(f.Name())
	_ = f.Close()
}

// Others reports whether a file belongs to another user than the one who runs this process.
func Others(stat fs.FileInfo) bool {
	owner, ok := stat.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) != os.Geteuid()
}

// Free returns how many bytes this process may still write to the file system of dir. known is false if the system does not say.
func Free(dir string) (bytes int64, known bool) {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return 0, false
	}
	return int64(uint64(stat.Bavail) * uint64(stat.Bsize)), true //nolint:unconvert // the types differ between systems
}

// Full reports whether err says that a disk, or the user's share of it, is full.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Descriptors returns how many files this process may have open, 0 if there is no such limit.
func Descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}

// WithMode calls create, which makes files, and lets nobody do more with them than mode says, from their first moment on. Other
// goroutines must not make files meanwhile.
func WithMode(mode fs.FileMode, create func()) {
	old := syscall.Umask(int(^mode & fs.ModePerm))
	defer syscall.Umask(old)
	create()
}
