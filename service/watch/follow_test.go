package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/watch"
)

// teehistorianMagic is the beginning of every replay of that format.
const teehistorianMagic = "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1"

// TestFollow runs the scripts of testdata/follow, each in a directory of its own and in each mode. The commands:
//
//	write FILE TEXT, append FILE TEXT, overwrite FILE TEXT, truncate FILE SIZE
//	rename FILE FILE, remove FILE, removeall DIR, mkdir DIR, link TARGET LINK
//	follow FILE     read the file from here on
//	got TEXT        exactly this is read next
//	format NAME     its format is now this
//	ends REASON     the next wait for more ends with this error
//	watch PATH      subscribe to it
//	fires           the subscription fires
//
// The text TEEHISTORIAN is replaced by the first bytes of that format.
func TestFollow(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/follow/*.script")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		for _, mode := range []watch.Mode{watch.Auto, watch.Inotify, watch.Poll} {
			name := strings.TrimSuffix(filepath.Base(script), ".script") + "/" + mode.String()
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(script)
				if err != nil {
					t.Fatal(err)
				}
				w, err := watch.New(watch.Options{Mode: mode, Interval: 30 * time.Millisecond, Quick: 5 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				run := followScript{dir: t.TempDir(), w: w}
				defer run.close()
				for i, line := range strings.Split(string(text), "\n") {
					if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
						continue
					}
					if err := run.line(t.Context(), strings.Fields(line)); err != nil {
						t.Fatalf("%s:%d: %s: %v", script, i+1, line, err)
					}
				}
			})
		}
	}
}

// tail waits for a file to grow, like a follower.
type tail struct {
	file *source.File
	sub  *watch.Subscription
}

func follow(w *watch.Watcher, f *source.File) (*tail, error) {
	sub, err := w.Subscribe(f.Path())
	if err != nil {
		return nil, err
	}
	return &tail{f, sub}, nil
}

// wait waits until the file has more bytes than were read, and then returns nil. Otherwise it returns the error of File.Check
// or of ctx. A file that was removed or replaced is first read to its end.
func (t *tail) wait(ctx context.Context, read int64) error {
	for {
		err := t.file.Check()
		more := t.file.Info().Size > read
		switch {
		case more && (err == nil || errors.Is(err, source.ErrRemoved) || errors.Is(err, source.ErrReplaced)):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.sub.C:
		}
	}
}

func (t *tail) close() { t.sub.Close() }

// followScript runs the lines of a script.
type followScript struct {
	dir  string
	w    *watch.Watcher
	file *source.File
	tail *tail
	sub  *watch.Subscription
	read int64
}

func (s *followScript) close() {
	if s.tail != nil {
		s.tail.close()
		_ = s.file.Close()
	}
	if s.sub != nil {
		s.sub.Close()
		s.sub.Close() // closing twice is allowed
	}
}

func (s *followScript) line(ctx context.Context, f []string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // long, because a loaded machine is no failure
	defer cancel()
	f = append(f, "", "")
	path := filepath.Join(s.dir, f[1])
	text := strings.ReplaceAll(f[2], "TEEHISTORIAN", teehistorianMagic)
	switch f[0] {
	case "write":
		return os.WriteFile(path, []byte(text), 0o600)
	case "append", "overwrite":
		flags := os.O_WRONLY | os.O_APPEND
		if f[0] == "overwrite" {
			flags = os.O_WRONLY | os.O_TRUNC
		}
		file, err := os.OpenFile(path, flags, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString(text)
		return errors.Join(err, file.Close())
	case "truncate":
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		return os.Truncate(path, size)
	case "rename":
		return os.Rename(path, filepath.Join(s.dir, f[2]))
	case "remove":
		return os.Remove(path)
	case "removeall":
		return os.RemoveAll(path)
	case "mkdir":
		return os.Mkdir(path, 0o700)
	case "link":
		return os.Symlink(f[1], filepath.Join(s.dir, f[2]))
	}
	return s.observe(ctx, f[0], path, f[1])
}

func (s *followScript) observe(ctx context.Context, command, path, arg string) (err error) {
	switch command {
	case "follow":
		if s.file, err = source.OpenLocal(path, source.Limits{}); err != nil {
			return err
		}
		s.tail, err = follow(s.w, s.file)
		return err
	case "got":
		want := strings.ReplaceAll(arg, "TEEHISTORIAN", teehistorianMagic)
		return s.got(ctx, want)
	case "format":
		if err := s.file.Check(); err != nil {
			return err
		}
		if got := s.file.Info().Format.String(); got != arg {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	case "ends":
		want := map[string]error{
			"removed": source.ErrRemoved, "replaced": source.ErrReplaced, "shrunk": source.ErrShrunk, "overwritten": source.ErrOverwritten,
		}[arg]
		if err := s.tail.wait(ctx, s.read); want == nil || !errors.Is(err, want) {
			return fmt.Errorf("it ends with %w", err)
		}
		return nil
	case "watch":
		if s.sub, err = s.w.Subscribe(path); err != nil {
			return err
		}
		<-s.sub.C // C holds a value from the start
		return nil
	case "fires":
		select {
		case <-s.sub.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("no such command")
}

// got reads the next bytes and compares them with the text.
func (s *followScript) got(ctx context.Context, want string) error {
	buf := make([]byte, len(want)+1)
	n := 0
	for n < len(want) {
		if err := s.tail.wait(ctx, s.read); err != nil {
			return fmt.Errorf("%w after %q", err, buf[:n])
		}
		m, err := s.file.Input().At.ReadAt(buf[n:], s.read)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		n += m
		s.read += int64(m)
	}
	if string(buf[:n]) != want {
		return fmt.Errorf("got %q", buf[:n])
	}
	return nil
}

func TestWatchersAndSubscriptionsAreClosedInAnyOrder(t *testing.T) {
	t.Parallel()
	w, err := watch.New(watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sub, err := w.Subscribe("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	sub.Close()
	if _, err := w.Subscribe("x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("subscribed to a closed watcher: %v", err)
	}
}

// BenchmarkWake measures the time from an append to a file until a waiting follower has read it. There are 50 appends a
// second, as from a game server.
func BenchmarkWake(b *testing.B) {
	for _, mode := range []watch.Mode{watch.Inotify, watch.Poll} {
		b.Run(mode.String(), func(b *testing.B) {
			w, err := watch.New(watch.Options{Mode: mode})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			path := filepath.Join(b.TempDir(), "a")
			if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
				b.Fatal(err)
			}
			f, err := source.OpenLocal(path, source.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			tail, err := follow(w, f)
			if err != nil {
				b.Fatal(err)
			}
			defer tail.close()
			out, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer out.Close()

			var wg sync.WaitGroup
			woken := make(chan time.Time)
			wg.Go(func() {
				defer close(woken)
				for read := int64(100); read < int64(100+b.N); read++ {
					if err := tail.wait(b.Context(), read); err != nil {
						b.Error(err)
						return
					}
					woken <- time.Now()
				}
			})
			var took []time.Duration
			for range b.N {
				time.Sleep(20 * time.Millisecond)
				start := time.Now()
				if _, err := out.WriteString("x"); err != nil {
					b.Fatal(err)
				}
				took = append(took, (<-woken).Sub(start))
			}
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}
