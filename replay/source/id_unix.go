//go:build unix

package source

import (
	"io/fs"
	"syscall"
)

// Identify returns a file's device and inode, or the ID of an Object.
func Identify(stat fs.FileInfo) ID {
	switch s := stat.Sys().(type) {
	case *syscall.Stat_t:
		return ID{Device: uint64(s.Dev), Inode: uint64(s.Ino)} //nolint:unconvert // int32 on some systems
	case Object:
		return s.Contents
	}
	return ID{}
}
