// Package testdata holds the sample replays: all of our own making, and bundled into the command, so that there is
// something to look at right after it was built.
package testdata

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// samples is the sample replays, in one folder for each format.
//
//go:embed datafile dem/*.dem sc2replay/*.SC2Replay teehistorian
var samples embed.FS

// made is when the samples were made: their files are unpacked with this time, so that they do not look live.
var made = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)

// Unpack writes the samples below a directory, which must exist.
func Unpack(dir string) error {
	if err := os.CopyFS(dir, samples); err != nil {
		return err
	}
	return fs.WalkDir(samples, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), made, made)
	})
}
