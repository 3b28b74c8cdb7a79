package ship_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/ship"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/watch"
)

// begin starts a Shipper of a directory. end stops it, and waits.
func begin(t *testing.T, conn *nats.Conn, dir string, change func(*ship.Options)) (s *ship.Shipper, end func()) {
	t.Helper()
	return beginWith(t, conn, dir, change, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

// beginWith is like begin, and passes the error of the Shipper on.
func beginWith(
	t *testing.T, conn *nats.Conn, dir string, change func(*ship.Options), ended func(error),
) (s *ship.Shipper, end func()) {
	t.Helper()
	w, err := watch.New(watch.Options{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	o := ship.Options{
		Dir: dir, Source: "s1", Watcher: w, Log: slog.New(slog.DiscardHandler), Connected: conn.IsConnected,
		Open: func(ctx context.Context) (*shipment.Stream, error) {
			return shipment.Open(ctx, conn, shipment.Options{})
		},
		HasEnd: teehistorian.Ended, Ended: 10 * time.Millisecond, Absent: 50 * time.Millisecond, Rescan: 100 * time.Millisecond, Lease: 300 * time.Millisecond,
	}
	if change != nil {
		change(&o)
	}
	if s, err = ship.New(o); err != nil {
		t.Fatal(err)
	}
	return s, shipmenttest.Begin(t, func(ctx context.Context) { ended(s.Run(ctx)) }, w.Close)
}

// last returns the last message of a file, or an empty one.
func last(t *testing.T, conn *nats.Conn, path string) shipment.Stored {
	t.Helper()
	return shipmenttest.Last(t, conn, "s1", path)
}

func arrived(t *testing.T, conn *nats.Conn, path string, size int64) {
	t.Helper()
	shipmenttest.Until(t, path, func() bool { m := last(t, conn, path); return m.End() == size })
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestGrow: files of any name are shipped as they grow, also in directories that are made later, with the time of their last write.
func TestGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	want := map[string][]byte{}
	for i, name := range []string{"a.teehistorian", "odd * > name.%41 ü.dem", "sub/dir/b", "large"} {
		want["s1/"+name] = noise(100+i*200_000, uint64(i))
		if i < 2 {
			write(t, filepath.Join(dir, name), want["s1/"+name])
		}
	}
	write(t, filepath.Join(dir, ".hidden"), []byte("x"))
	write(t, dir+"/.git/config", []byte("x"))
	write(t, dir+"/not-\xff-text", []byte("x"))
	write(t, filepath.Join(dir, "old"), []byte("x"))
	ago := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "old"), ago, ago); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	s, end := begin(t, conn, dir, nil)
	arrived(t, conn, "a.teehistorian", 100)
	write(t, dir+"/sub/dir/b", want["s1/sub/dir/b"])
	big := want["s1/large"]
	for len(big) > 0 {
		n := min(len(big), 50_000)
		shipmenttest.Append(t, filepath.Join(dir, "large"), big[:n])
		big = big[n:]
	}
	for name := range want {
		arrived(t, conn, name[3:], int64(len(want[name])))
	}
	end()
	got := shipmenttest.Contents(t, conn)
	for name, b := range want {
		if !bytes.Equal(got[name].Bytes, b) || got[name].Begun != 1 {
			t.Errorf("%s: %d bytes, begun %d times", name, len(got[name].Bytes), got[name].Begun)
		}
		stat, err := os.Stat(filepath.Join(dir, name[3:]))
		if err != nil || !got[name].Message.Modified.Equal(stat.ModTime()) {
			t.Error(name, got[name].Message.Modified, err)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	if n := s.Figures(); n.Bytes != 100+200_100+400_100+600_100 || n.Failures > 0 {
		t.Errorf("%+v", n)
	}
}

// TestKilled: shippers that are killed, a second one that waits for the first, and a NATS that restarts, while a file grows: nothing is
// lost, and nothing is there twice. A file whose beginning the stream has is shipped on also if it was last written to long ago.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	data := noise(4_000_000, 3)
	path := filepath.Join(dir, "a")
	written := 0
	grow := func(n int) {
		n = min(n, len(data)-written)
		shipmenttest.Append(t, path, data[written:written+n])
		written += n
	}
	grow(10)
	for i := range 6 {
		one, endOne := begin(t, shipmenttest.Connect(t, server.URL), dir, nil)
		two, endTwo := begin(t, shipmenttest.Connect(t, server.URL), dir, nil)
		for range 10 {
			grow(20_000)
			time.Sleep(time.Millisecond)
		}
		if i%4 == 1 {
			server.Stop()
			grow(5_000)
			server.Start(t)
		}
		if i%2 == 1 {
			arrived(t, conn, "a", int64(written))
		}
		if one.Figures().Messages > 0 && two.Figures().Messages > 0 {
			t.Error("two shippers of one directory shipped at once")
		}
		endOne()
		if i%3 == 2 {
			grow(1_000)
			arrived(t, conn, "a", int64(written))
		}
		endTwo()
	}
	grow(len(data))
	ago := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(path, ago, ago); err != nil {
		t.Fatal(err)
	}
	begin(t, conn, dir, nil)
	arrived(t, conn, "a", int64(len(data)))
	got := shipmenttest.Contents(t, conn)["s1/a"]
	if !bytes.Equal(got.Bytes, data) || got.Begun != 1 {
		t.Errorf("%d bytes of %d, begun %d times", len(got.Bytes), len(data), got.Begun)
	}
}

// TestReplaced: a file that was cut, overwritten or exchanged, while it was followed or while nobody looked, is another one.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	path := filepath.Join(dir, "a")
	first, second, third := noise(30_000, 1), noise(20_000, 2), noise(300_000, 3)
	generations := map[shipment.Generation]bool{}
	expect := func(what string, b []byte) {
		t.Helper()
		arrived(t, conn, "a", int64(len(b)))
		shipmenttest.Until(t, what+": what was there before has left the stream", func() bool { return shipmenttest.Contents(t, conn)["s1/a"].Begun == 1 })
		got := shipmenttest.Contents(t, conn)["s1/a"]
		if !bytes.Equal(got.Bytes, b) {
			t.Fatalf("%s: %d bytes of %d, or other ones", what, len(got.Bytes), len(b))
		}
		if generations[got.Message.Generation] {
			t.Errorf("%s: the same generation", what)
		}
		generations[got.Message.Generation] = true
	}
	write(t, path, first)
	_, end := begin(t, conn, dir, nil)
	expect("first", first)
	write(t, path, second)
	expect("overwritten", second)
	write(t, path+".new", third)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	expect("exchanged", third)
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	expect("cut", third[:1000])
	end()
	write(t, path, second)
	_, end = begin(t, conn, dir, nil)
	expect("overwritten while nobody looked", second)
	end()
	// The first bytes are the same, and the last ones differ.
	edited := bytes.Clone(second)
	edited[len(edited)-1] ^= 1
	write(t, path, append(edited, 1))
	begin(t, conn, dir, nil)
	expect("edited while nobody looked", append(edited, 1))
}

// TestLost: a stream that has lost everything gets everything again, and readers can go on: the file is the same.
func TestLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	path := filepath.Join(dir, "a")
	data := noise(600_000, 1)
	write(t, path, data[:400_000])
	begin(t, conn, dir, nil)
	arrived(t, conn, "a", 400_000)
	was := last(t, conn, "a").Generation
	server.Stop()
	server.Wipe(t)
	server.Start(t)
	shipmenttest.Open(t, conn)
	shipmenttest.Append(t, path, data[400_000:])
	arrived(t, conn, "a", 600_000)
	got := shipmenttest.Contents(t, conn)["s1/a"]
	if !bytes.Equal(got.Bytes, data) || got.Message.Generation != was {
		t.Errorf("%d bytes of generation %s, was %s", len(got.Bytes), got.Message.Generation, was)
	}
}

// TestRemoved: a file that is gone leaves the stream, also if it went while nobody looked. A directory that cannot be read is not empty.
func TestRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	for _, name := range []string{"a", "sub/b", "c"} {
		write(t, filepath.Join(dir, name), []byte("content of "+name))
	}
	_, end := begin(t, conn, dir, nil)
	for _, name := range []string{"a", "sub/b", "c"} {
		arrived(t, conn, name, int64(len("content of "+name)))
	}
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "removed", func() bool { return last(t, conn, "sub/b").Kind == shipment.Removed })
	end()
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	_, end = begin(t, conn, dir, nil)
	shipmenttest.Until(t, "removed while nobody looked", func() bool { return last(t, conn, "a").Kind == shipment.Removed })
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // six times as long as it may be gone
	if m := last(t, conn, "c"); m.Kind != shipment.Bytes {
		t.Error("a directory that cannot be read has lost a file:", m.Kind)
	}
	end()
	if got := shipmenttest.Contents(t, conn); got["s1/a"].Messages != 1 || got["s1/sub/b"].Messages != 1 {
		t.Errorf("messages of files that are gone were not purged: %+v", got)
	}
}

// archive is an Archive in memory.
type archive struct {
	mu      sync.Mutex
	objects map[string][]byte
	fail    error             // of Put
	spoil   func(b []byte)    // changes what is stored
	puts    map[string]int    // by path
	before  func(path string) // called by Put
}

func (a *archive) Put(_ context.Context, path string, body io.ReadSeeker, size int64) error {
	if a.before != nil {
		a.before(path)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return a.fail
	}
	b, err := io.ReadAll(body)
	if err != nil || int64(len(b)) != size {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	if a.spoil != nil {
		a.spoil(b)
	}
	if a.objects == nil {
		a.objects, a.puts = map[string][]byte{}, map[string]int{}
	}
	a.objects[path] = b
	a.puts[path]++
	return nil
}

type object struct {
	*bytes.Reader

	stat source.Object
}

func (o object) Stat() (fs.FileInfo, error) { return o.stat, nil }
func (object) Close() error                 { return nil }

func (a *archive) Open(_ context.Context, path string) (source.Handle, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, ok := a.objects[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return object{bytes.NewReader(b), source.Object{Bytes: int64(len(b))}}, nil
}

func (a *archive) get(path string) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[path]
}

func (a *archive) change(f func()) { a.mu.Lock(); defer a.mu.Unlock(); f() }

// TestArchive: a file that is over goes to the archive and leaves the stream: a game at its own end, others when they are quiet. What was
// archived is not shipped again, unless it grows. An archive that fails or has other bytes keeps the file in the stream.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	finished := sample(t, "finished")
	live := sample(t, "killed")
	a := &archive{fail: errors.New("no")}
	with := func(o *ship.Options) { o.Archive = a }
	write(t, dir+"/x/finished.teehistorian", finished)
	write(t, filepath.Join(dir, "live.teehistorian"), live)
	s, end := begin(t, conn, dir, with)
	shipmenttest.Until(t, "finished", func() bool { return last(t, conn, "x/finished.teehistorian").Kind == shipment.Finished })
	arrived(t, conn, "live.teehistorian", int64(len(live)))
	shipmenttest.Until(t, "a failure", func() bool { return s.Figures().Failures > 1 })
	a.change(func() { a.fail, a.spoil = nil, func(b []byte) { b[len(b)/2] ^= 1 } })
	shipmenttest.Until(t, "spoiled", func() bool { return len(a.get("s1/x/finished.teehistorian")) > 0 })
	failures := s.Figures().Failures
	shipmenttest.Until(t, "another failure", func() bool { return s.Figures().Failures > failures })
	if got := shipmenttest.Contents(t, conn)["s1/x/finished.teehistorian"]; !bytes.Equal(got.Bytes, finished) || got.Kind != shipment.Finished {
		t.Error("a file that is not in the archive has left the stream:", len(got.Bytes), got.Kind)
	}
	a.change(func() { a.spoil = nil })
	archived := func(path string) func() bool {
		return func() bool { return last(t, conn, path).Kind == shipment.Archived }
	}
	shipmenttest.Until(t, "archived", archived("x/finished.teehistorian"))
	shipmenttest.Until(t, "its bytes have left the stream", func() bool { return shipmenttest.Contents(t, conn)["s1/x/finished.teehistorian"].Messages == 1 })
	end()
	got := shipmenttest.Contents(t, conn)
	if c := got["s1/x/finished.teehistorian"]; c.Message.Sum != sha256.Sum256(finished) || c.Message.Offset != int64(len(finished)) {
		t.Errorf("archived: %d bytes, sum %x", c.Message.Offset, c.Message.Sum)
	}
	if c := got["s1/live.teehistorian"]; c.Kind != shipment.Bytes || !bytes.Equal(c.Bytes, live) {
		t.Error("a game without an end was finished:", c.Kind)
	}

	before := a.puts["s1/x/finished.teehistorian"]
	_, end = begin(t, conn, dir, func(o *ship.Options) { with(o); o.Quiet = time.Millisecond })
	shipmenttest.Until(t, "a quiet file", archived("live.teehistorian"))
	end()
	if n := a.puts["s1/x/finished.teehistorian"]; n != before {
		t.Error("written again:", n)
	}
	if !bytes.Equal(a.get("s1/live.teehistorian"), live) {
		t.Error("other bytes")
	}
	shipmenttest.Append(t, filepath.Join(dir, "live.teehistorian"), []byte("more"))
	begin(t, conn, dir, with)
	arrived(t, conn, "live.teehistorian", int64(len(live))+4)
	if c := shipmenttest.Contents(t, conn)["s1/live.teehistorian"]; c.Kind != shipment.Bytes || !bytes.Equal(c.Bytes, append(live, "more"...)) {
		t.Error(c.Kind, len(c.Bytes))
	}
}

// TestArchivedOnce: a shipper that was killed after the object was written finds it.
func TestArchivedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(dir, "a"), []byte("content"))
	a := &archive{objects: map[string][]byte{"s1/a": []byte("content")}, puts: map[string]int{}}
	begin(t, conn, dir, func(o *ship.Options) { o.Archive, o.Quiet = a, time.Millisecond })
	shipmenttest.Until(t, "archived", func() bool { return last(t, conn, "a").Kind == shipment.Archived })
	if a.puts["s1/a"] != 0 {
		t.Error("written again")
	}
}

// TestSmall: many small writes take little more room than their bytes, and who begins to read finds few messages.
func TestSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s, _ := begin(t, conn, dir, nil)
	data := noise(100_000, 9)
	for at := 0; at < len(data); at += 200 {
		shipmenttest.Append(t, filepath.Join(dir, "a"), data[at:at+200])
		arrived(t, conn, "a", int64(at+200))
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), shipment.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	state := stream.CachedInfo().State
	if got := shipmenttest.Contents(t, conn)["s1/a"]; !bytes.Equal(got.Bytes, data) || got.Begun != 1 {
		t.Errorf("%d bytes, begun %d times", len(got.Bytes), got.Begun)
	}
	if s.Figures().Messages < 500 || state.Msgs > 100 || state.Bytes > 120_000 || s.Figures().Bytes != 100_000 {
		t.Errorf("%d messages were sent, of which the stream has %d with %d bytes", s.Figures().Messages, state.Msgs, state.Bytes)
	}
}

// TestBatch: what is written within a time is one message, and the first write after a pause waits for nothing.
func TestBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s, end := begin(t, conn, dir, func(o *ship.Options) { o.Batch = time.Hour })
	write(t, filepath.Join(dir, "a"), []byte("first"))
	arrived(t, conn, "a", 5)
	for range 5 {
		shipmenttest.Append(t, filepath.Join(dir, "a"), []byte(" more"))
		time.Sleep(60 * time.Millisecond) // longer than it takes to look at files
	}
	if n := s.Figures().Messages; n != 1 {
		t.Errorf("%d messages", n)
	}
	end()
	s, _ = begin(t, conn, dir, func(o *ship.Options) { o.Batch = time.Millisecond })
	arrived(t, conn, "a", 30)
	shipmenttest.Until(t, "the message counts, which was acknowledged", func() bool { return s.Figures().Messages == 1 })
}

// TestFullStream: games that are over leave a stream that is full of games that are not, by their files: unattended, and whatever the
// stream has of them. So it frees itself, and the others go on.
func TestFullStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	shipmenttest.Open(t, conn)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		stream, err := js.Stream(t.Context(), shipment.StreamName)
		if err == nil {
			c := stream.CachedInfo().Config
			c.MaxBytes = bytes
			_, err = js.UpdateStream(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	finished := sample(t, "finished")
	first := noise(10_000, 1)
	write(t, filepath.Join(dir, "first"), first)
	a := &archive{}
	s, _ := begin(t, conn, dir, func(o *ship.Options) { o.Archive = a })
	arrived(t, conn, "first", int64(len(first)))
	limit(11_000)
	write(t, filepath.Join(dir, "over.teehistorian"), finished) // nothing of it fits
	shipmenttest.Until(t, "archived without the stream", func() bool {
		return last(t, conn, "over.teehistorian").Kind == shipment.Archived && bytes.Equal(a.get("s1/over.teehistorian"), finished)
	})
	// The stream is full of a game that ends only now.
	second := noise(8_000, 2)
	write(t, filepath.Join(dir, "second"), second)
	shipmenttest.Until(t, "it waits, and says for what", func() bool { return s.Waiting()[ship.WaitsRoom] == 1 })
	ago := time.Now().Add(-2 * time.Hour) // quiet
	if err := os.Chtimes(filepath.Join(dir, "first"), ago, ago); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "archived from the disk", func() bool { return bytes.Equal(a.get("s1/first"), first) })
	arrived(t, conn, "second", int64(len(second)))
	shipmenttest.Until(t, "nothing waits", func() bool { return len(s.Waiting()) == 0 })
}

// TestForeign: what others have put into the subject of a file does no harm.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	shipmenttest.Open(t, conn)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := shipment.Subject(shipment.StreamName, "s1", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject+".tail", []byte("not ours")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a")
	write(t, path, []byte("content"))
	begin(t, conn, dir, nil)
	arrived(t, conn, "a", 7)
	if _, err := js.Publish(t.Context(), subject+".tail", []byte("not ours")); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Append(t, path, []byte(" and more"))
	arrived(t, conn, "a", 16)
	if got := shipmenttest.Contents(t, conn)["s1/a"]; string(got.Bytes) != "content and more" {
		t.Errorf("%q", got.Bytes)
	}
}

// TestNames: a source whose name cannot be in a subject is refused.
func TestNames(t *testing.T) {
	for _, name := range []string{"", "a.b", "a b", "*", ">", strings.Repeat("x", 65)} {
		if _, err := ship.New(ship.Options{Dir: t.TempDir(), Source: name}); !errors.Is(err, shipment.ErrSource) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// sample returns a game of testdata.
func sample(t *testing.T, kind string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "teehistorian", kind, "*.teehistorian"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}
