package hostos

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file for this process without waiting. The lock ends when f is closed, and with the process. It returns ErrLocked if
// another process has the lock, and another error for a directory, which Windows does not lock.
func Lock(f *os.File) error {
	// The byte after the largest file: locked bytes cannot be read by others, and these nobody reads.
	place := windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<31 - 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// RemoveLocked closes a locked file and removes it: Windows removes no open file. Another process that has locked it meanwhile keeps it.
func RemoveLocked(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// Others returns false: a user's temporary directory is not shared on Windows, where files have lists of rights and not one owner.
func Others(fs.FileInfo) bool { return false }

// Free returns how many bytes this process may still write to the file system of dir. known is false if the system does not say.
func Free(dir string) (bytes int64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return 0, false
	}
	return int64(min(free, 1<<62)), true
}

// Full reports whether err says that a disk, or the user's share of it, is full.
func Full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// Descriptors returns 0: Windows has no such limit.
func Descriptors() int { return 0 }

// WithMode calls create. On Windows the rights of the directory in which it makes files decide.
func WithMode(_ fs.FileMode, create func()) { create() }
