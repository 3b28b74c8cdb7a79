//go:build unix

package source

import (
	"io/fs"
	"syscall"
)

// Identify returns a file's device and inode.
func Identify(stat fs.FileInfo) ID {
	if s, ok := stat.Sys().(*syscall.Stat_t); ok {
		return ID{Device: uint64(s.Dev), Inode: uint64(s.Ino)} //nolint:unconvert // int32 on some systems
	}
	return ID{}
}
