package catalog_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// elsewhere is a store of files that are in no file system. It counts the questions.
type elsewhere struct {
	fstest.MapFS
	every    time.Duration
	replaced int // how many times a file has been replaced when it is read first
	opened   int
}

func (s *elsewhere) String() string       { return "elsewhere" }
func (s *elsewhere) Path(string) string   { return "" }
func (s *elsewhere) Every() time.Duration { return s.every }
func (s *elsewhere) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	return s.MapFS.Stat(path)
}

func (s *elsewhere) Open(_ context.Context, path string) (source.Handle, error) {
	s.opened++
	f, err := s.MapFS.Open(path)
	if err != nil {
		return nil, err
	}
	s.replaced--
	return held{f, s.replaced >= 0}, nil
}

func (s *elsewhere) ReadDir(_ context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	entries, err := s.MapFS.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if stat, err := e.Info(); err == nil {
			each(stat)
		}
	}
	return s.MapFS.Stat(path)
}

// held is a file of elsewhere. It is a source.Waiter, whose errors say what has happened.
type held struct {
	fs.File
	replaced bool
}

func (h held) OnWait(func(<-chan struct{}) error) {}

func (h held) ReadAt(b []byte, at int64) (int, error) {
	if h.replaced {
		return 0, source.ErrReplaced
	}
	return h.File.(io.ReaderAt).ReadAt(b, at)
}

// TestStore: a root may be in no file system. Nothing beside its files is asked for; a file that is replaced while it is opened is opened again.
func TestStore(t *testing.T) {
	t.Parallel()
	s := &elsewhere{every: time.Minute, MapFS: fstest.MapFS{
		"d/a.bin": {Data: []byte(teehistorian)}, "d/.a.bin.over": {Data: []byte("why")}, "d/.a.bin.previous": {Data: []byte("x:1")}, "d/.over": {Data: []byte("all")},
	}}
	c, err := catalog.New([]catalog.Root{{Alias: "far", Store: s}, {Alias: "here", Dir: t.TempDir()}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Roots(); r[0].Dir != "" || r[0].Every() != time.Minute || r[0].Place() != "" || r[0].Sources() || len(c.Missing()) != 0 {
		t.Errorf("%+v, of which is missing: %v", r[0], c.Missing())
	}
	for name, want := range map[string]bool{"far": false, "far/d": false, "here": true, "here/none": true, "nowhere": true} {
		if c.Grows(name) != want {
			t.Errorf("what is in %s grows: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"far": true, "far/d": true, "far/d/a.bin": false} {
		if dir, err := c.IsDir(name); err != nil || dir != want {
			t.Errorf("%s is a directory: %v, %v", name, dir, err)
		}
	}
	if dir, err := c.IsDir("far/none"); dir || !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("what is not there is a directory: %v, %v", dir, err)
	}
	if over := c.Over(t.Context(), "far/d/a.bin") + c.OverIn(t.Context(), "far/d") + c.Previous(t.Context(), "far/d/a.bin"); over != "" || s.opened > 0 {
		t.Errorf("%d questions, and the answer %q", s.opened, over)
	}
	for replaced, want := range map[int]error{0: nil, 2: nil, 3: source.ErrReplaced, 9: source.ErrReplaced} {
		s.opened, s.replaced = 0, replaced
		f, err := c.Open("far/d/a.bin")
		if !errors.Is(err, want) || s.opened != min(replaced, 2)+1 {
			t.Errorf("replaced %d times: %v after %d attempts", replaced, err, s.opened)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}

// TestDirectories: a directory that is read says which it is, and when it was changed; and no descriptor is left open.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"d/a.bin": teehistorian, "pipe/": ""})
	stat, err := os.Stat(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, map[string]string{"r": dir})
	before := descriptors(t)
	for range 50 {
		d, err := c.ReadDir(t.Context(), "r/d")
		if err != nil || d.ID != source.Identify(stat) || !d.Modified.Equal(stat.ModTime()) {
			t.Fatalf("%+v, %v", d, err)
		}
		f, err := c.Open("r/d/a.bin")
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		_, _, _ = c.Look("r/d")
		_, _ = c.Open("r/pipe")
		_ = c.Missing()
	}
	if now := descriptors(t); now > before+10 {
		t.Errorf("%d descriptors are open, %d before", now, before)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}
