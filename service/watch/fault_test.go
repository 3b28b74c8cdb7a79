package watch

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestAnOverflowWakesEverybody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		w := sys.watcher(t, Options{})
		a, b := subscribe(t, w, "/d/a"), subscribe(t, w, "/e/b")
		sys.errs <- fsnotify.ErrEventOverflow
		if !fired(a) || !fired(b) {
			t.Error("somebody was not woken")
		}
		if n := w.Stats().Overflows; n != 1 {
			t.Errorf("%d overflows counted", n)
		}
		sys.errs <- errors.New("something else")
		if !fired(a) || !fired(b) {
			t.Error("somebody was not woken by another error")
		}
	})
}

func TestEventsReachWhomTheyConcern(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d", fakeStat{dir: true})
		sys.set("/d/a", fakeStat{})
		w := sys.watcher(t, Options{})
		a, a2, d := subscribe(t, w, "/d/a"), subscribe(t, w, "/d/a"), subscribe(t, w, "/d")
		for _, c := range []struct {
			event     fsnotify.Event
			file, dir bool
		}{
			{fsnotify.Event{Name: "/d/a", Op: fsnotify.Write}, true, false},
			{fsnotify.Event{Name: "/d/b", Op: fsnotify.Write}, false, false},
			{fsnotify.Event{Name: "/d/b", Op: fsnotify.Create}, false, true},
			{fsnotify.Event{Name: "/d/b", Op: fsnotify.Write}, false, true}, // its first bytes
			{fsnotify.Event{Name: "/d/b", Op: fsnotify.Write}, false, false},
			{fsnotify.Event{Name: "/d/a", Op: fsnotify.Remove}, true, true},
			{fsnotify.Event{}, false, false}, // the event of a watch that was removed meanwhile
		} {
			sys.events <- c.event
			if fired(a) != c.file || fired(a2) != c.file || fired(d) != c.dir {
				t.Errorf("%v reached others", c.event)
			}
		}
		if s := w.Stats(); s != (Stats{Targets: 2, Directories: 1}) {
			t.Errorf("%+v", s)
		}
		a.Close()
		d.Close()
		a2.Close()
		if s := w.Stats(); s != (Stats{}) || sys.isWatched("/d") {
			t.Errorf("left behind: %+v", s)
		}
	})
}

func TestWhatIsNotToldIsFoundByPolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d/a", fakeStat{size: 1})
		w := sys.watcher(t, Options{})
		a := subscribe(t, w, "/d/a")
		for size := int64(2); size < 5; size++ {
			time.Sleep(time.Minute)
			if fired(a) {
				t.Fatal("fired for nothing")
			}
			sys.set("/d/a", fakeStat{size: size})
			time.Sleep(500 * time.Millisecond)
			if !fired(a) {
				t.Fatal("not found within an interval")
			}
		}
		sys.set("/d/a", fakeStat{err: syscall.EIO})
		time.Sleep(500 * time.Millisecond)
		if !fired(a) {
			t.Error("a failure was not found")
		}
	})
}

func TestALimitOnWatchesMakesPolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d", fakeStat{dir: true})
		sys.set("/d/a", fakeStat{size: 1})
		sys.failAdd(syscall.ENOSPC)
		var log bytes.Buffer
		w := sys.watcher(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		a := subscribe(t, w, "/d/a")
		if s := w.Stats(); s != (Stats{Targets: 1, Polled: 1}) {
			t.Errorf("%+v", s)
		}
		// An active file is polled often.
		for size := int64(2); size < 100; size++ {
			sys.set("/d/a", fakeStat{size: size})
			time.Sleep(15 * time.Millisecond)
			if !fired(a) {
				t.Fatal("not found quickly")
			}
		}
		// Watches are available again.
		sys.failAdd(nil)
		time.Sleep(2*rewatch + time.Second)
		if s := w.Stats(); s != (Stats{Targets: 1, Directories: 1}) {
			t.Errorf("%+v", s)
		}
		if !fired(a) {
			t.Error("what happened before the watch may be missed")
		}
		_ = w.Close()
		if n := strings.Count(log.String(), "max_user_watches"); n != 1 {
			t.Errorf("warned %d times: %s", n, &log)
		}
	})
}

func TestInotifyModeDoesNotFallBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.failAdd(syscall.ENOSPC)
		w := sys.watcher(t, Options{Mode: Inotify})
		if _, err := w.Subscribe("/d/a"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		if s := w.Stats(); s != (Stats{}) {
			t.Errorf("left behind: %+v", s)
		}
		none := sys.system()
		none.notifier = func() (notifier, error) { return nil, syscall.EMFILE }
		if _, err := newWatcher(Options{Mode: Inotify}, none); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("got %v", err)
		}
		auto, err := newWatcher(Options{}, none)
		if err != nil {
			t.Fatal(err)
		}
		defer auto.Close()
		sys.set("/d/a", fakeStat{size: 1})
		a := subscribe(t, auto, "/d/a")
		sys.set("/d/a", fakeStat{size: 2})
		time.Sleep(15 * time.Millisecond)
		if !fired(a) {
			t.Error("not polled")
		}
	})
}

func TestARemoteFileSystemIsPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.isRemote = true
		w := sys.watcher(t, Options{})
		subscribe(t, w, "/d/a")
		if sys.isWatched("/d") || w.Stats().Polled != 1 {
			t.Error("it is watched")
		}
		subscribe(t, sys2(t), "/d/a")
	})
}

// sys2 is a watcher that must use inotify on a remote file system.
func sys2(t *testing.T) *Watcher {
	t.Helper()
	sys := newFakeSystem()
	sys.isRemote = true
	return sys.watcher(t, Options{Mode: Inotify})
}

func TestAReplacedDirectoryIsWatchedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d", fakeStat{dir: true, inode: 1})
		w := sys.watcher(t, Options{})
		d := subscribe(t, w, "/d")
		time.Sleep(2 * settling)
		if !fired(d) {
			t.Error("a file that was new and empty before may have got its first bytes")
		}
		time.Sleep(2 * safety)
		if fired(d) {
			t.Error("fired for nothing")
		}
		sys.set("/d", fakeStat{dir: true, inode: 2})
		time.Sleep(safety)
		if !fired(d) || !sys.isWatched("/d") {
			t.Error("not seen")
		}
		// It is removed, and the notifier reports it.
		sys.events <- fsnotify.Event{Name: "/d", Op: fsnotify.Remove}
		if !fired(d) || w.Stats().Directories != 0 {
			t.Error("not seen going")
		}
		time.Sleep(2 * rewatch)
		if w.Stats().Directories != 1 {
			t.Error("not watched again")
		}
	})
}

// A new entry may be empty at first, which changes its directory, and gets its first bytes later, which does not.
func TestAPolledDirectoryFiresForAWhileAfterAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d", fakeStat{dir: true})
		d := subscribe(t, sys.watcher(t, Options{Mode: Poll}), "/d")
		time.Sleep(time.Minute)
		fired(d)
		sys.set("/d", fakeStat{dir: true, size: 1})
		for began := time.Now(); time.Since(began) < settling; {
			time.Sleep(time.Second)
			if !fired(d) {
				t.Fatalf("not %v after a change", time.Since(began))
			}
		}
		time.Sleep(settling)
		fired(d)
		time.Sleep(settling)
		if fired(d) {
			t.Error("it fires for ever")
		}
	})
}

func TestIdleFilesCostLittle(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]int{Auto: 4, Poll: 120} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sys := newFakeSystem()
				w := sys.watcher(t, Options{Mode: mode})
				for i := range 1000 {
					sys.set(fmt.Sprint("/d/", i), fakeStat{})
					subscribe(t, w, fmt.Sprint("/d/", i))
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				sys.looked("/d/0")
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := sys.looked("/d/0"); n < want-1 || n > want+1 {
					t.Errorf("an idle file was looked at %d times a minute, want %d", n, want)
				}
			})
		})
	}
}

func TestALostDirectoryLeavesNoFileUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		sys.set("/d", fakeStat{dir: true, inode: 1})
		sys.set("/d/a", fakeStat{size: 1})
		w := sys.watcher(t, Options{})
		a := subscribe(t, w, "/d/a")
		time.Sleep(time.Hour) // it is polled seldom now
		sys.failAdd(syscall.ENOSPC)
		sys.events <- fsnotify.Event{Name: "/d", Op: fsnotify.Rename}
		if !fired(a) {
			t.Error("no notification")
		}
		time.Sleep(time.Hour) // no more notifications, for long enough
		if fired(a) {
			t.Fatal("fired for nothing")
		}
		sys.set("/d/a", fakeStat{size: 2})
		time.Sleep(500 * time.Millisecond)
		if !fired(a) {
			t.Error("not polled")
		}
	})
}

// TestALinkThatLeadsElsewhereIsFound uses real files, because the operating system resolves links, and no fake time.
func TestALinkThatLeadsElsewhereIsFound(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(data, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link, next := filepath.Join(dir, "link"), filepath.Join(dir, "next")
	if err := os.Symlink(filepath.Join(data, "a"), link); err != nil {
		t.Skip(err)
	}
	w, err := New(Options{Interval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err := w.Subscribe(link)
	if err != nil {
		t.Fatal(err)
	}
	<-s.C
	w.mu.Lock()
	s.target.changed = -time.Hour // it has been idle for long
	period, wanted := s.target.period(w, w.since())
	w.mu.Unlock()
	if period != rewatch || !wanted {
		t.Errorf("a link is looked at each %v, wanted %v", period, wanted)
	}
	if err := os.Symlink(filepath.Join(data, "b"), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, link); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.C:
	case <-time.After(time.Minute):
		t.Error("not found")
	}
}

// TestAHungFileSystemHoldsBackOnlyItself checks other file systems while one hangs. The notifier reports changes there at once,
// polling finds them soon, and paths there can be subscribed to and closed.
func TestAHungFileSystemHoldsBackOnlyItself(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Auto, Poll} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sys := newFakeSystem()
				for i, dir := range []string{"/net/a", "/local"} {
					sys.set(dir, fakeStat{dir: true, inode: uint64(100 + i)})
					for k, name := range []string{"x", "y", "z"} {
						sys.set(dir+"/"+name, fakeStat{size: 1, inode: uint64(10*i + k)})
					}
				}
				var log bytes.Buffer
				w := sys.watcher(t, Options{Mode: mode, Log: slog.New(slog.NewTextHandler(&log, nil))})
				x, y, local := subscribe(t, w, "/net/a/x"), subscribe(t, w, "/net/a/y"), subscribe(t, w, "/local/x")
				time.Sleep(time.Minute)
				release := sys.hang("/net/a")
				time.Sleep(3 * time.Second)
				if n := sys.inHang(); n != 1 {
					t.Errorf("%d looks hang", n)
				}
				if mode == Auto {
					sys.events <- fsnotify.Event{Name: "/local/x", Op: fsnotify.Write}
					if !fired(local) {
						t.Error("no notification")
					}
				}
				for size := int64(2); size < 10; size++ {
					sys.set("/local/x", fakeStat{size: size})
					time.Sleep(500 * time.Millisecond)
					if !fired(local) {
						t.Error("not found")
					}
				}
				subscribe(t, w, "/local/y").Close()
				x.Close() // its file system hangs
				time.Sleep(time.Hour)
				if n := sys.inHang(); n != 1 {
					t.Errorf("%d looks hang after an hour", n)
				}
				sys.set("/net/a/y", fakeStat{size: 2})
				release()
				time.Sleep(time.Second)
				if !fired(y) {
					t.Error("not found when it answered again")
				}
				y.Close()
				local.Close()
				if s := w.Stats(); s != (Stats{}) {
					t.Errorf("left behind: %+v", s)
				}
				_ = w.Close()
				if n := strings.Count(log.String(), "does not answer"); n != 1 {
					t.Errorf("said %d times: %s", n, &log)
				}
			})
		})
	}
}

// TestManyHungFileSystemsAreBounded checks that polling waits beyond some number of hanging calls, and that closing does not.
func TestManyHungFileSystemsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		w := sys.watcher(t, Options{Mode: Poll})
		const many = 2 * maxStuck
		for i := range many {
			path := fmt.Sprintf("/%d/a", i)
			sys.set(path, fakeStat{})
			subscribe(t, w, path)
		}
		time.Sleep(time.Minute)
		releases := make([]func(), many)
		for i := range many {
			releases[i] = sys.hang(fmt.Sprintf("/%d", i))
		}
		time.Sleep(time.Hour)
		if n := sys.inHang(); n != maxStuck+1 {
			t.Errorf("%d looks hang, want %d", n, maxStuck+1)
		}
		began := time.Now()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*patience {
			t.Errorf("closing took %v", took)
		}
		for _, release := range releases {
			release()
		}
		synctest.Wait()
		if n := sys.inHang(); n != 0 {
			t.Errorf("%d looks hang for ever", n)
		}
	})
}

func TestNothingSubscribedCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		w := sys.watcher(t, Options{Mode: Poll})
		subscribe(t, w, "/a").Close()
		time.Sleep(time.Minute)
		sys.looked("/a")
		time.Sleep(time.Hour)
		if n := sys.looked("/a"); n != 0 {
			t.Errorf("looked %d times", n)
		}
		a := subscribe(t, w, "/a") // and then polling begins again
		sys.set("/a", fakeStat{size: 1})
		time.Sleep(15 * time.Millisecond)
		if !fired(a) {
			t.Error("not seen")
		}
	})
}

// TestWhatIsLeftIsForgotten: neither moves of a subscription nor its end leave anything that is watched, nor a complaint.
func TestWhatIsLeftIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		sys := newFakeSystem()
		w := sys.watcher(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		began := time.Now()
		s, other := subscribe(t, w, "/d/a"), subscribe(t, w, "/e/b")
		for _, path := range []string{"/f/a", "/e/a", "/e/b", "/f/a", "/d/a"} {
			if err := s.Move(path); err != nil {
				t.Fatal(err)
			}
			if !fired(s) {
				t.Error("a subscription that is moved must fire")
			}
		}
		other.Close()
		if got := w.Stats(); got.Targets != 1 || got.Directories != 1 || len(w.dirs) != 1 {
			t.Errorf("one path is watched: %+v, %d directories are known", got, len(w.dirs))
		}
		s.Close()
		if got := w.Stats(); got != (Stats{}) || len(w.dirs) != 0 || log.Len() > 0 {
			t.Errorf("nothing is watched: %+v, %d directories are known; %s", got, len(w.dirs), &log)
		}
		for range 2 {
			time.Sleep(time.Hour)
			for _, dir := range []string{"/d", "/e", "/f"} {
				if n := sys.looked(dir); n != 0 && time.Since(began) > 90*time.Minute {
					t.Errorf("looked %d times at %s", n, dir)
				}
			}
		}
	})
}

func TestBusySubscribingDoesNotStarvePolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newFakeSystem()
		w := sys.watcher(t, Options{})
		a := subscribe(t, w, "/d/a")
		sys.set("/d/a", fakeStat{size: 1})
		for i := range 60 {
			time.Sleep(10 * time.Millisecond)
			subscribe(t, w, fmt.Sprint("/d/", i)).Close()
		}
		if !fired(a) {
			t.Error("not looked at for 600 ms")
		}
	})
}

// BenchmarkPoll measures one poll of 1,000 files. While they are idle, each second costs a twentieth of that.
func BenchmarkPoll(b *testing.B) {
	dir := b.TempDir()
	w, err := New(Options{Interval: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for i := range 1000 {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Subscribe(path); err != nil {
			b.Fatal(err)
		}
	}
	now := w.since()
	for b.Loop() {
		now += 2 * time.Hour
		w.round(w.poller, now)
	}
}
