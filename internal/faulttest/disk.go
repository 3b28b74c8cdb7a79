package faulttest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Disk is a file system in memory that can be full.
type Disk struct {
	// Dir is its mount point.
	Dir string

	size int64
}

// NewDisk mounts a disk of size bytes for the test. It returns nil if this process may not mount.
func NewDisk(t *testing.T, size int64) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), size: size}
	err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, "size="+strconv.FormatInt(size, 10))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *Disk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill takes all free space except some bytes.
func (d *Disk) Fill(t *testing.T, but int64) {
	t.Helper()
	f, err := os.Create(d.ballast())
	if errors.Is(err, syscall.ENOSPC) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close() //nolint:errcheck // the written bytes mean nothing
	b := make([]byte, 64<<10)
	for n := int64(0); n <= d.size && err == nil; n += int64(len(b)) {
		_, err = f.Write(b)
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		err = f.Truncate(max(at-but, 0))
	}
	if err != nil {
		t.Error(err)
	}
}

// Free frees the space that Fill took.
func (d *Disk) Free(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
