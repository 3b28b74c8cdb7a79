package source

import (
	"io/fs"
	"time"
)

// Object describes a file that never changes, such as an object of a bucket: other contents are another Object, with another
// ID. It is an fs.FileInfo, and what Handle.Stat returns for such a file.
type Object struct {
	Base    string // the last element of the name
	Bytes   int64
	Written time.Time
	Dir     bool
	// Contents identifies the contents together with the place where they lie.
	Contents ID
}

var _ fs.FileInfo = Object{}

// Name implements fs.FileInfo.
func (o Object) Name() string { return o.Base }

// Size implements fs.FileInfo.
func (o Object) Size() int64 { return o.Bytes }

// Mode implements fs.FileInfo.
func (o Object) Mode() fs.FileMode {
	if o.Dir {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

// ModTime implements fs.FileInfo.
func (o Object) ModTime() time.Time { return o.Written }

// IsDir implements fs.FileInfo.
func (o Object) IsDir() bool { return o.Dir }

// Sys implements fs.FileInfo. It returns the Object.
func (o Object) Sys() any { return o }

// IsObject reports whether a file never changes.
func IsObject(stat fs.FileInfo) bool {
	_, ok := stat.Sys().(Object)
	return ok
}

// Waiter is a Handle whose reads may wait for a network.
type Waiter interface {
	// OnWait makes each read that has to wait call f with a channel that is closed when the bytes are there. The read fails with
	// the error of f, unless that is nil. OnWait is called before the first read of the one goroutine that reads.
	OnWait(f func(ready <-chan struct{}) error)
}

// Coster is a Handle that holds memory.
type Coster interface {
	// Cost returns an upper bound of the memory, in bytes.
	Cost() int64
}

// OnWait is Waiter.OnWait of the file's Handle. It does nothing for other Handles.
func (f *File) OnWait(wait func(ready <-chan struct{}) error) {
	if w, ok := f.handle.(Waiter); ok {
		w.OnWait(wait)
	}
}

// Waits reports whether reads of the file may wait for a network.
func (f *File) Waits() bool {
	_, ok := f.handle.(Waiter)
	return ok
}

// Cost returns an upper bound of the memory that the file's Handle holds, in bytes. It is 0 for a file of the file system.
func (f *File) Cost() int64 {
	if c, ok := f.handle.(Coster); ok {
		return c.Cost()
	}
	return 0
}
