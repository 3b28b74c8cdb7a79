package source_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// localDir returns a directory of a file system on which leases count. It skips the test where there is none.
func localDir(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(dir, "writer") //nolint:usetesting // on each file system in turn
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		path := filepath.Join(dir, "probe")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if w, _ := writerOf(t, path); w == source.Absent {
			return dir
		}
	}
	t.Skip("no file system with leases")
	return ""
}

// writerOf asks for the writer of a file.
func writerOf(t *testing.T, path string) (source.Writer, time.Time) {
	t.Helper()
	h, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	stat, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return source.WriterOf(h, source.Identify(stat))
}

// TestWriter: a writer is there as long as its process lives, silent or not. A question keeps nobody from opening the file.
func TestWriter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("leases are of Linux")
	}
	path := filepath.Join(localDir(t), "game")
	server := exec.Command("sh", "-c", `exec 3>>"$0"; echo; exec sleep 60`, path)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has the file open
		t.Fatal(err)
	}
	for range 3 {
		if w, _ := writerOf(t, path); w != source.Present {
			t.Errorf("a silent writer: %v", w)
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	written := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path) // readers, such as other followers, do not matter
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	w, modified := writerOf(t, path)
	if w != source.Absent || !modified.Equal(written) {
		t.Errorf("after kill -9: %v, last written %v", w, modified)
	}
	// Whoever opens the file for writing would get EWOULDBLOCK if the lease were still there.
	h, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	stat, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := source.WriterOf(h, source.Identify(stat)); w != source.Absent {
		t.Error(w)
	}
	again, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("the lease was not released: %v", err)
	}
	defer again.Close()
	if w, _ := source.WriterOf(h, source.Identify(stat)); w != source.Present {
		t.Errorf("opened again: %v", w)
	}
}

// witness is a handle that knows its writer.
type witness struct {
	*os.File

	writer source.Writer
}

func (w witness) Writer() source.Writer { return w.writer }

// plainHandle is a handle that is no file of the file system.
type plainHandle struct{ source.Handle }

// TestWriterUnknown: where another machine may write, where the file is another one, and where nobody can know.
func TestWriterUnknown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	stat, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	id := source.Identify(stat)
	for _, known := range []source.Writer{source.Absent, source.Present, source.Forbidden} {
		if w, _ := source.WriterOf(witness{h, known}, id); w != known {
			t.Errorf("%v, want %v as the handle says", w, known)
		}
	}
	if w, _ := source.WriterOf(plainHandle{h}, id); w != source.Elsewhere {
		t.Errorf("no file of the file system: %v", w)
	}
	if w, _ := source.WriterOf(struct{ *os.File }{h}, id); w != source.Elsewhere {
		t.Errorf("a file of somebody else, such as a copy: %v", w)
	}
	if w, _ := source.WriterOf(h, source.ID{Device: id.Device, Inode: id.Inode + 1}); w != source.Elsewhere {
		t.Errorf("another file: %v", w)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if w, _ := writerOf(t, "/proc/self/status"); w != source.Elsewhere {
		t.Errorf("a file system that is not on the list: %v", w)
	}
}
