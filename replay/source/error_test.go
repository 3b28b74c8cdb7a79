package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/replayd/replayd/decoders"
)

// fakeHandle is an open file that fails by script.
type fakeHandle struct {
	*os.File
	short   bool // reads return less than asked
	readErr error
	statErr error
}

func (h *fakeHandle) ReadAt(p []byte, offset int64) (int, error) {
	if h.readErr != nil {
		return 0, &fs.PathError{Op: "read", Path: "/secret", Err: h.readErr}
	}
	if h.short && len(p) > 3 {
		n, err := h.File.ReadAt(p[:3], offset)
		return n, err
	}
	return h.File.ReadAt(p, offset)
}

func (h *fakeHandle) Stat() (fs.FileInfo, error) {
	if h.statErr != nil {
		return nil, &fs.PathError{Op: "stat", Path: "/secret", Err: h.statErr}
	}
	return h.File.Stat()
}

func TestFailuresOfReadingAreTyped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	want := []byte("\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1 and so on")
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHandle{File: file, short: true}
	var thereErr error
	f, err := New(h, Origin{Name: "a", Stat: func() (fs.FileInfo, error) {
		if thereErr != nil {
			return nil, thereErr
		}
		return os.Stat(path)
	}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if f.Info().Format != decoders.Teehistorian {
		t.Error("short reads hide the format")
	}
	r, _ := f.Input().From(0)
	if got, err := io.ReadAll(io.LimitReader(r, int64(len(want)))); err != nil || !bytes.Equal(got, want) {
		t.Errorf("short reads: %q, %v", got, err)
	}
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ESTALE} {
		typed := func(where string, err error) {
			if !errors.Is(err, ErrIO) || !errors.Is(err, errno) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %v: %v", where, errno, err)
			}
		}
		h.readErr = errno
		_, err := f.Input().At.ReadAt(make([]byte, 10), 0)
		typed("read", err)
		h.readErr, h.statErr, thereErr = nil, errno, fs.ErrNotExist
		typed("stat", f.Check())
		h.statErr, thereErr = nil, errno
		typed("stat by name", f.Check())
		thereErr = nil
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		h.readErr = errno
		_, err = New(&fakeHandle{File: file, readErr: errno}, Origin{}, Limits{})
		typed("open", err)
		if file, err = os.Open(path); err != nil { // New closed it
			t.Fatal(err)
		}
		h.File, h.readErr = file, nil
	}
}
