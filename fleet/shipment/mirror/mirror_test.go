package mirror_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/mirror"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
	"github.com/replayd/replayd/internal/testlog"
	"github.com/replayd/replayd/replay/source"
)

// begin starts a Mirror. end stops it, and waits.
func begin(t *testing.T, conn *nats.Conn, change func(*mirror.Options)) (m *mirror.Mirror, end func()) {
	t.Helper()
	o := mirror.Options{
		Dir: t.TempDir(), Name: "nats://test", Log: slog.New(slog.DiscardHandler),
		Open: func(ctx context.Context) (*shipment.Stream, error) {
			return shipment.Open(ctx, conn, shipment.Options{Existing: true})
		},
	}
	if change != nil {
		change(&o)
	}
	m, err := mirror.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, shipmenttest.Begin(t, m.Run, m.Close)
}

// sender appends messages to a subject.
type sender struct {
	t          *testing.T
	s          *shipment.Stream
	subject    string
	generation shipment.Generation
	last, told uint64
	length     int64
	all        []byte
}

func send(t *testing.T, s *shipment.Stream, from, path string) *sender {
	t.Helper()
	subject, err := shipment.Subject(s.Name(), from, path)
	if err != nil {
		t.Fatal(err)
	}
	return &sender{t: t, s: s, subject: subject}
}

// generations counts those of all senders.
var generations atomic.Uint64

func (s *sender) begin(b string) *sender {
	s.generation, s.length, s.all = shipment.NewGeneration([]byte(b), generations.Add(1)), 0, nil
	return s.add(b)
}

func (s *sender) add(b string) *sender {
	s.put(shipment.Message{Kind: shipment.Bytes, Generation: s.generation, Offset: s.length, Modified: time.Now(), Data: []byte(b)})
	s.length += int64(len(b))
	s.all = append(s.all, b...)
	return s
}

func (s *sender) tell(kind shipment.Kind) *sender {
	s.t.Helper()
	var err error
	m := &shipment.Message{Kind: kind, Generation: s.generation, Offset: s.length, Modified: time.Now(), Sum: sha256.Sum256(s.all)}
	if s.told, err = s.s.Append(s.t.Context(), s.subject, shipment.State, m, s.told); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *sender) put(m shipment.Message) {
	s.t.Helper()
	var err error
	if s.last, err = s.s.Append(s.t.Context(), s.subject, shipment.Tail, &m, s.last); err != nil {
		s.t.Fatal(err)
	}
}

// pack puts all bytes into the body, and cuts the tail.
func (s *sender) pack() *sender {
	s.t.Helper()
	last, err := s.s.Append(s.t.Context(), s.subject, shipment.Body, &shipment.Message{
		Kind: shipment.Bytes, Generation: s.generation, Modified: time.Now(), Data: s.all,
	}, 0)
	if err == nil {
		err = s.s.Cut(s.t.Context(), s.subject, last)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.last = 0
	return s
}

// content returns what a Mirror has of a file, or the error.
func content(m *mirror.Mirror, name string) (string, error) {
	h, err := m.Open(context.Background(), name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	if stat, err := h.Stat(); err != nil {
		return "", err
	} else if w, _ := source.WriterOf(h, source.Identify(stat)); w != source.Elsewhere {
		return "", fmt.Errorf("the writer of a copy is said to be %v", w)
	}
	b, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<30))
	return string(b), err
}

func has(t *testing.T, m *mirror.Mirror, name, want string) {
	t.Helper()
	shipmenttest.Until(t, name+" has "+want, func() bool { b, err := content(m, name); return err == nil && b == want })
}

// names returns the names of all files of a Mirror.
func names(t *testing.T, m *mirror.Mirror) (all []string) {
	t.Helper()
	var walk func(dir string)
	walk = func(dir string) {
		if _, err := m.ReadDir(t.Context(), dir, func(stat fs.FileInfo) {
			p := filepath.Join(dir, stat.Name())
			if stat.IsDir() {
				walk(p)
				return
			}
			all = append(all, p)
		}); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was removed just now
			t.Error(dir, err)
		}
	}
	walk(".")
	slices.Sort(all)
	return all
}

// TestGrow: files are there as they grow, with the times of their last writes, and leave with those beside the game server. Until all that
// is in the stream was read, the Store is not there.
func TestGrow(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "dir/a ü.teehistorian").begin("one").add(" two")
	release := make(chan struct{})
	m, end := begin(t, conn, func(o *mirror.Options) {
		open := o.Open
		o.Open = func(ctx context.Context) (*shipment.Stream, error) { <-release; return open(ctx) }
	})
	for _, err := range []error{
		func() error { _, err := m.Stat(t.Context(), "."); return err }(),
		func() error { _, err := m.Stat(t.Context(), "s1/none"); return err }(),
		func() error { _, err := m.Open(t.Context(), "s1/none"); return err }(),
		func() error { _, err := m.ReadDir(t.Context(), ".", func(fs.FileInfo) {}); return err }(),
	} {
		if !errors.Is(err, source.ErrStore) || errors.Is(err, fs.ErrNotExist) {
			t.Error("before everything was read:", err)
		}
	}
	close(release)
	has(t, m, "s1/dir/a ü.teehistorian", "one two")
	old := time.Now().Add(-3 * time.Hour).Truncate(time.Millisecond)
	a.put(shipment.Message{Kind: shipment.Bytes, Generation: a.generation, Offset: a.length, Modified: old, Data: []byte("!")})
	a.length++
	has(t, m, "s1/dir/a ü.teehistorian", "one two!")
	shipmenttest.Until(t, "the time of the last write", func() bool {
		stat, err := m.Stat(t.Context(), "s1/dir/a ü.teehistorian")
		return err == nil && stat.ModTime().Equal(old)
	})
	a.put(shipment.Message{Kind: shipment.Bytes, Generation: a.generation, Offset: a.length, Modified: time.Now().Add(time.Hour), Data: []byte("?")})
	a.length++
	has(t, m, "s1/dir/a ü.teehistorian", "one two!?")
	shipmenttest.Until(t, "a time that is not in the future", func() bool {
		stat, err := m.Stat(t.Context(), "s1/dir/a ü.teehistorian")
		return err == nil && time.Since(stat.ModTime()) >= 0 && time.Since(stat.ModTime()) < time.Minute
	})
	b := send(t, s, "s2", "b")
	b.put(shipment.Message{Kind: shipment.Bytes, Generation: shipment.NewGeneration([]byte("b"), 0), Modified: old, Data: []byte("b")})
	has(t, m, "s2/b", "b")
	if stat, err := m.Stat(t.Context(), "s2/b"); err != nil || !stat.ModTime().Equal(old) {
		t.Error("a new file has not the time of its last write:", err)
	}
	if got := names(t, m); !slices.Equal(got, []string{"s1/dir/a ü.teehistorian", "s2/b"}) {
		t.Error(got)
	}
	if _, err := m.Open(t.Context(), "s1/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	a.tell(shipment.Removed)
	shipmenttest.Until(t, "removed", func() bool { return slices.Equal(names(t, m), []string{"s2/b"}) })
	if n := m.Figures(); n.Bytes != 1 || n.Files != 1 || n.Ignored > 0 || !n.Ready {
		t.Errorf("%+v", n)
	}
	end()
	only, _ := begin(t, conn, func(o *mirror.Options) { o.Source = "s1" })
	shipmenttest.Until(t, "ready", func() bool { return only.Figures().Ready })
	if got := names(t, only); len(got) > 0 {
		t.Error("files of another source:", got)
	}
}

// TestTouched: once everything was read, the directory has changed for whoever watches it, also if there are no files.
func TestTouched(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	shipmenttest.Open(t, conn)
	old := time.Now().Add(-time.Hour)
	m, _ := begin(t, conn, func(o *mirror.Options) {
		if err := os.Chtimes(o.Dir, old, old); err != nil {
			t.Fatal(err)
		}
	})
	shipmenttest.Until(t, "touched", func() bool {
		stat, err := m.Stat(t.Context(), ".")
		return err == nil && time.Since(stat.ModTime()) < time.Minute
	})
}

// TestFinished: a finished file that differs from the one beside the game server is logged, and no other is.
func TestFinished(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	send(t, s, "s1", "same").begin("one").add(" two").tell(shipment.Finished)
	other := send(t, s, "s1", "other").begin("one")
	other.all = []byte("two")
	other.tell(shipment.Finished)
	var log testlog.Log
	m, _ := begin(t, conn, func(o *mirror.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	send(t, s, "s1", "next").begin("next")
	has(t, m, "s1/next", "next") // so the others were taken
	if strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "file=s1/other") != 1 {
		t.Error(log.String())
	}
}

// TestReplaced: another generation is another file, for whoever has the old one open.
func TestReplaced(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	a := send(t, shipmenttest.Open(t, conn), "s1", "a").begin("first")
	m, _ := begin(t, conn, nil)
	has(t, m, "s1/a", "first")
	h, err := m.Open(t.Context(), "s1/a")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	was, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	a.begin("second")
	has(t, m, "s1/a", "second")
	b := make([]byte, 10)
	if n, err := h.ReadAt(b, 0); string(b[:n]) != "first" || !errors.Is(err, io.EOF) {
		t.Errorf("%q %v", b[:n], err)
	}
	if is, err := m.Stat(t.Context(), "s1/a"); err != nil || os.SameFile(was, is) {
		t.Error("it is the same file", err)
	}
	if n := m.Figures(); n.Bytes != 6 || n.Files != 1 {
		t.Errorf("%+v", n)
	}
}

// TestHostile: what no sender writes changes nothing, and everything else goes on.
func TestHostile(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "a").begin("0123456789")
	dir := ""
	m, _ := begin(t, conn, func(o *mirror.Options) {
		dir = filepath.Join(o.Dir, "in")
		o.Dir = dir
		_ = os.Mkdir(dir, 0o700)
		o.MaxFiles, o.SourceFiles = 3, 3
	})
	has(t, m, "s1/a", "0123456789")
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(subject string, header map[string]string, data []byte) {
		t.Helper()
		msg := nats.NewMsg(subject + ".tail")
		msg.Data = data
		for k, v := range header {
			msg.Header.Set(k, v)
		}
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(subject, err)
		}
	}
	ours := func(offset string) map[string]string {
		return map[string]string{"Replayd-Kind": "bytes", "Replayd-File": string(a.generation), "Replayd-Offset": offset, "Replayd-Modified": "1"}
	}
	const other = "replayd.live.s1."
	ignored := 0
	for _, c := range []struct {
		subject string
		header  map[string]string
		data    []byte
	}{
		{a.subject, nil, []byte("not ours")},
		{a.subject, ours("11"), []byte("a hole")},
		{a.subject, ours("5"), []byte("xx")},           // other bytes than are there
		{a.subject, ours("8"), []byte("xx and more")},  // the same, and more
		{a.subject, ours("-1"), []byte("x")},           // no offset
		{a.subject, ours("99999999999999999999"), nil}, // no offset
		{a.subject, ours("10"), nil},                   // nothing
		{a.subject, ours("0010"), []byte("x")},         // not as a sender writes it
		{a.subject, map[string]string{"Replayd-Kind": "finished", "Replayd-File": string(a.generation), "Replayd-Offset": "10", "Replayd-Modified": "1"}, nil},
		{other + "%2E%2E%2F%2E%2E%2Fetc%2Fpasswd", ours("0"), []byte("x")},
		{other + "%2Ehidden", ours("0"), []byte("x")},
		{other + "%2Fetc%2Fpasswd", ours("0"), []byte("x")},
		{other + "a%2Fb", ours("0"), []byte("below a file")},
		{other + "a%00b", ours("0"), []byte("x")},
		{"replayd.live.%41.a", ours("0"), []byte("x")},
		{other + "long" + string(bytes.Repeat([]byte("x"), 300)), ours("0"), []byte("x")}, // no file system has it
		{other + "later", ours("5"), []byte("the beginning is missing")},
	} {
		raw(c.subject, c.header, c.data)
		ignored++
	}
	raw(a.subject, ours("4"), []byte("456")) // it is there already
	raw(a.subject, ours("8"), []byte("89ABC"))
	raw(a.subject, ours("13"), []byte("D"))
	has(t, m, "s1/a", "0123456789ABCD")
	if n := m.Figures(); int(n.Ignored) != ignored {
		t.Errorf("%d messages were ignored, want %d", n.Ignored, ignored)
	}
	if got := names(t, m); !slices.Equal(got, []string{"s1/a"}) {
		t.Error(got)
	}
	// More files than there may be.
	for _, name := range []string{"b", "c", "d", "e"} {
		send(t, s, "s1", name).begin(name)
	}
	has(t, m, "s1/c", "c")
	shipmenttest.Until(t, "left out", func() bool { n := m.Figures(); return n.Skipped == 2 && n.Behind == 1 && int(n.Ignored) == ignored })
	if got := names(t, m); !slices.Equal(got, []string{"s1/a", "s1/b", "s1/c"}) {
		t.Error(got)
	}
	// Nothing is beside the directory, and nothing else in it.
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
	if entries, err = os.ReadDir(filepath.Join(dir, "s1")); err != nil || len(entries) != 3 {
		t.Error(entries, err)
	}
}

// TestLost: a stream that was made anew is read again, and files that are sent again are the same files.
func TestLost(t *testing.T) {
	t.Parallel()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "a").begin("0123456789").add("x")
	m, _ := begin(t, conn, nil)
	has(t, m, "s1/a", "0123456789x")
	was, err := m.Stat(t.Context(), "s1/a")
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	server.Wipe(t)
	server.Start(t)
	has(t, m, "s1/a", "0123456789x") // it is there meanwhile
	again := send(t, shipmenttest.Open(t, conn), "s1", "a")
	again.generation = a.generation
	again.add("01234567").add("89x and more")
	has(t, m, "s1/a", "0123456789x and more")
	if is, err := m.Stat(t.Context(), "s1/a"); err != nil || !os.SameFile(was, is) {
		t.Error("it is another file", err)
	}
}

// archive is a catalog.Store in memory.
type archive struct {
	mu      sync.Mutex
	objects map[string]string // by path
	err     error
}

func (a *archive) set(path, content string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[path] = content
}

func (a *archive) fail(err error) { a.mu.Lock(); defer a.mu.Unlock(); a.err = err }

func (a *archive) String() string { return "s3://test" }

func (a *archive) Every() time.Duration { return 20 * time.Millisecond }

func (a *archive) Path(string) string { return "" }

func object(path, content string) source.Object {
	sum := sha256.Sum256([]byte(path + content))
	return source.Object{Base: filepath.Base(path), Bytes: int64(len(content)), Contents: source.ID{Device: 1, Inode: uint64(sum[0])<<8 | uint64(sum[1])}}
}

func (a *archive) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	content, ok := a.objects[path]
	switch {
	case a.err != nil:
		return nil, a.err
	case !ok:
		return nil, fs.ErrNotExist
	}
	return object(path, content), nil
}

type handle struct {
	*bytes.Reader

	stat fs.FileInfo
}

func (h handle) Stat() (fs.FileInfo, error) { return h.stat, nil }
func (handle) Close() error                 { return nil }

func (a *archive) Open(ctx context.Context, path string) (source.Handle, error) {
	stat, err := a.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return handle{bytes.NewReader([]byte(a.objects[path])), stat}, nil
}

func (a *archive) ReadDir(_ context.Context, dir string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, a.err
	}
	dirs := map[string]bool{}
	for p, content := range a.objects {
		for rel := p; rel != "."; rel = filepath.Dir(rel) {
			switch {
			case filepath.Dir(rel) != dir:
			case rel == p:
				each(object(p, content))
			default:
				dirs[filepath.Base(rel)] = true
			}
		}
	}
	for name := range dirs {
		each(source.Object{Base: name, Dir: true})
	}
	return source.Object{Base: filepath.Base(dir), Dir: true}, nil
}

// TestArchive: a file keeps its name when it moves from the stream to the archive. It is listed once all the time, and whoever has it open
// keeps the one of the mirror.
func TestArchive(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	store := &archive{objects: map[string]string{"s1/sub/old": "older", "other": "not below a source"}}
	a := send(t, s, "s1", "sub/a").begin("content")
	m, _ := begin(t, conn, func(o *mirror.Options) { o.Archive = store })
	has(t, m, "s1/sub/a", "content")
	has(t, m, "s1/sub/old", "older")
	want := []string{"s1/sub/a", "s1/sub/old"}
	shipmenttest.Until(t, "listed", func() bool { return slices.Equal(names(t, m), want) })
	store.set("s1/sub/a", "content")
	h, err := m.Open(t.Context(), "s1/sub/a")
	if err != nil {
		t.Fatal(err)
	}
	if m.Path("s1/sub/a") == "" || m.Path("s1/sub/old") != "" || m.Path("s1/sub") == "" {
		t.Error("paths:", m.Path("s1/sub/a"), m.Path("s1/sub/old"), m.Path("s1/sub"))
	}
	a.tell(shipment.Finished).tell(shipment.Archived)
	send(t, s, "s1", "next").begin("next")
	has(t, m, "s1/next", "next") // so the above was taken
	want = []string{"s1/next", "s1/sub/a", "s1/sub/old"}
	if stat, err := m.Stat(t.Context(), "s1/sub/a"); err != nil || source.IsObject(stat) {
		t.Error("it left the mirror while it was read", err)
	}
	if got := names(t, m); !slices.Equal(got, want) {
		t.Error(got)
	}
	_ = h.Close()
	shipmenttest.Until(t, "left the mirror", func() bool {
		if got := names(t, m); !slices.Equal(got, want) {
			t.Fatal("it is not listed, or twice:", got)
		}
		stat, err := m.Stat(t.Context(), "s1/sub/a")
		if err != nil {
			t.Fatal(err)
		}
		return source.IsObject(stat)
	})
	has(t, m, "s1/sub/a", "content")
	if m.Path("s1/sub/a") != "" {
		t.Error("an object has a path")
	}
	store.fail(source.ErrStore)
	if _, err := m.Open(t.Context(), "s1/none"); !errors.Is(err, source.ErrStore) {
		t.Error("an archive that does not answer:", err)
	}
	if stat, err := m.Stat(t.Context(), "s1/sub/a"); err != nil || !source.IsObject(stat) {
		t.Error("what was listed before is asked for again:", err)
	}
	has(t, m, "s1/next", "next")
	if got := names(t, m); !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestArchiveOther: a file stays in the mirror as long as the archive has another one.
func TestArchiveOther(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	store := &archive{objects: map[string]string{"s1/a": "shorter"}}
	send(t, s, "s1", "a").begin("longer content").tell(shipment.Finished).tell(shipment.Archived)
	m, _ := begin(t, conn, func(o *mirror.Options) { o.Archive = store })
	send(t, s, "s1", "b").begin("b")
	has(t, m, "s1/b", "b")
	time.Sleep(50 * time.Millisecond)
	has(t, m, "s1/a", "longer content")
	if got := names(t, m); !slices.Equal(got, []string{"s1/a", "s1/b"}) {
		t.Error(got)
	}
}
