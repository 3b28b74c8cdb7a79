package watch

import (
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// fakeSystem is a file system, and a notifier for it, that are driven by a script.
type fakeSystem struct {
	mu      sync.Mutex
	files   map[string]fakeStat
	looks   map[string]int
	watched map[string]bool
	addErr  error

	isRemote bool
	hangs    map[string]chan struct{} // by path: stat does not return until it is closed
	hanging  int
	events   chan fsnotify.Event
	errs     chan error
}

type fakeStat struct {
	size  int64
	inode uint64
	dir   bool
	err   error
}

func (s fakeStat) Name() string       { return "fake" }
func (s fakeStat) Size() int64        { return s.size }
func (s fakeStat) ModTime() time.Time { return time.Unix(s.size, 0) }
func (s fakeStat) IsDir() bool        { return s.dir }
func (s fakeStat) Sys() any           { return &syscall.Stat_t{Ino: s.inode} }
func (s fakeStat) Mode() fs.FileMode {
	if s.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

func newFakeSystem() *fakeSystem {
	return &fakeSystem{
		files: make(map[string]fakeStat), looks: make(map[string]int), watched: make(map[string]bool),
		hangs:  make(map[string]chan struct{}),
		events: make(chan fsnotify.Event), errs: make(chan error),
	}
}

// hang makes every stat of a path, or below it, wait until the returned function is called.
func (s *fakeSystem) hang(path string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	s.hangs[path] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hangs, path)
		close(c)
	}
}

// wait waits if a stat of a path hangs.
func (s *fakeSystem) wait(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, c := range s.hangs {
		if path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		s.hanging++
		s.mu.Unlock()
		<-c
		s.mu.Lock()
		s.hanging--
		return
	}
}

// inHang returns how many calls of stat hang.
func (s *fakeSystem) inHang() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hanging
}

func (s *fakeSystem) system() system {
	return system{
		stat:     s.stat,
		remote:   func(path string) bool { s.wait(path); return s.isRemote || strings.HasPrefix(path, "/net/") },
		notifier: func() (notifier, error) { return s, nil },
	}
}

func (s *fakeSystem) stat(path string) (fs.FileInfo, error) {
	s.wait(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks[path]++
	f, ok := s.files[path]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case f.err != nil:
		return nil, f.err
	}
	return f, nil
}

func (s *fakeSystem) set(path string, f fakeStat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = f
}

// looked returns how often stat was called for a path since the last call of looked.
func (s *fakeSystem) looked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.looks[path]
	s.looks[path] = 0
	return n
}

func (s *fakeSystem) Add(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addErr == nil {
		s.watched[dir] = true
	}
	return s.addErr
}

func (s *fakeSystem) Remove(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, dir)
	return nil
}

func (s *fakeSystem) isWatched(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[dir]
}

func (s *fakeSystem) failAdd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addErr = err
}

func (s *fakeSystem) channels() (<-chan fsnotify.Event, <-chan error) { return s.events, s.errs }

func (s *fakeSystem) Close() error {
	close(s.events)
	close(s.errs)
	return nil
}

// watcher starts a watcher on the fake and stops it when the test ends.
func (s *fakeSystem) watcher(t *testing.T, o Options) *Watcher {
	t.Helper()
	w, err := newWatcher(o, s.system())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// subscribe subscribes and receives the value that C holds from the start.
func subscribe(t *testing.T, w *Watcher, path string) *Subscription {
	t.Helper()
	s, err := w.Subscribe(path)
	if err != nil {
		t.Fatal(err)
	}
	if !fired(s) {
		t.Fatal("a subscription must fire at the start")
	}
	return s
}

func fired(s *Subscription) bool {
	synctest.Wait()
	select {
	case <-s.C:
		return true
	default:
		return false
	}
}
