//go:build !unix

package source

import "io/fs"

// Identify returns the ID of an Object, and the zero ID of a file: this system has no inode numbers. Where it matters, os.SameFile
// compares files.
func Identify(stat fs.FileInfo) ID {
	if o, ok := stat.Sys().(Object); ok {
		return o.Contents
	}
	return ID{}
}
