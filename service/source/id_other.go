//go:build !unix

package source

import "io/fs"

// Identify knows no numbers on this system; os.SameFile compares files where it matters.
func Identify(fs.FileInfo) ID { return ID{} }
