package source

import (
	"io/fs"
	"syscall"
)

// changed returns when a file's contents or its other times were last changed, which no program can set.
func changed(stat fs.FileInfo) int64 {
	if s, ok := stat.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}
