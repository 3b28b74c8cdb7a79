package service_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/streamtest"
)

// close closes the file, as the kernel does for a process that was killed.
func (w *writer) close() {
	w.tb.Helper()
	if err := w.file.Close(); err != nil {
		w.tb.Error(err)
	}
}

// crashDir returns a directory of a file system with leases. It skips the test where there is none.
func crashDir(t *testing.T) string {
	t.Helper()
	for _, in := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(in, "crash") //nolint:usetesting // on each file system in turn
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		path := filepath.Join(dir, ".probe")
		write(t, path, nil)
		h, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		stat, err := h.Stat()
		if err != nil {
			t.Fatal(err)
		}
		w, _ := source.WriterOf(h, source.Identify(stat))
		_ = h.Close()
		if w == source.Absent {
			return dir
		}
	}
	t.Skip("no file system with leases")
	return ""
}

// writerSaid waits until a stream says what is known of the writer of its replay.
func (f *following) writerSaid(t *testing.T, want replaydv1.Writer) {
	t.Helper()
	f.await(t, want.String(), func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetFollowStatus().GetWaiting().GetWriter() == want
	})
}

// TestCrash: two servers of one name and port, silent ones, in one directory. One is killed and started again, then the other. Each
// follower gets the next game of its own server, and no event is missing, the last ones before the crash neither.
func TestCrash(t *testing.T) {
	dir := crashDir(t)
	d := start(t, dir)
	now := time.Now().Add(-time.Hour).Truncate(time.Second)
	game := func(number int, at time.Duration) gameOf {
		return gameOf{number: number, server: "ctf", start: now.Add(at), killed: true}
	}
	// begin writes a game but its end, as of a moment after it began.
	begin := func(g gameOf) (*writer, []byte) {
		data := g.data(t)
		w := create(t, dir, g.file())
		w.write(data)
		silent := g.start.Add(500 * time.Millisecond)
		if err := os.Chtimes(filepath.Join(dir, g.file()), silent, silent); err != nil {
			t.Fatal(err)
		}
		return w, data
	}
	a, x := game(1, 0), game(2, time.Minute)
	wa, aData := begin(a)
	wx, xData := begin(x)
	request := func(g gameOf) *replaydv1.StreamEventsRequest {
		return &replaydv1.StreamEventsRequest{Replay: name(g.file()), Follow: true, FollowSuccessors: true}
	}
	tables := request(a)
	tables.Encoding = replaydv1.Encoding_ENCODING_ARROW
	ofA := []*following{follow(t, d, request(a)), follow(t, d, tables)}
	ofX := follow(t, d, request(x))
	alone := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true})
	for _, f := range append(ofA, alone) {
		f.writerSaid(t, replaydv1.Writer_WRITER_PRESENT)
	}
	wx.close()
	y := game(3, 2*time.Minute)
	wy, yData := begin(y)
	ofX.succeeds(t, y)
	wa.close()
	b := game(4, 3*time.Minute)
	_, bData := begin(b)
	wantA := []streamtest.Replay{offlineBytes(t, aData, nil), offlineBytes(t, bData, nil)}
	for _, f := range ofA {
		f.succeeds(t, b)
		f.gets(t, wantA...)
		f.cancel()
		check(t, f.history(), wantA, streamtest.Options{})
	}
	last := alone.history()
	check(t, last, wantA[:1], streamtest.Options{})
	if end := last.End(); end.GetReason() != replaydv1.EndReason_END_REASON_TRUNCATED {
		t.Errorf("without follow_successors: %v", end)
	}
	// The second server is killed again. It is known whose place the next process takes, because all others run.
	wy.close()
	z := game(5, 4*time.Minute)
	_, zData := begin(z)
	ofX.succeeds(t, z)
	wantX := []streamtest.Replay{offlineBytes(t, xData, nil), offlineBytes(t, yData, nil), offlineBytes(t, zData, nil)}
	ofX.gets(t, wantX...)
	ofX.cancel()
	check(t, ofX.history(), wantX, streamtest.Options{})
}

// remote is a directory of which it is not known who writes to it.
type remote struct{ catalog.Store }

func (r remote) Open(ctx context.Context, path string) (source.Handle, error) {
	h, err := r.Store.Open(ctx, path)
	return struct{ source.Handle }{h}, err
}

// TestCrashUnknown: where it cannot be known who writes to a file, a stream waits, and says so.
func TestCrashUnknown(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir, func(c *service.Config) {
		var err error
		c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Store: remote{catalog.Directory(dir)}}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
	})
	a := gameOf{number: 1, server: "ctf", start: time.Now().Add(-time.Minute)}
	data := a.data(t)
	w := create(t, dir, a.file())
	w.write(data[:len(data)-1])
	f := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true, FollowSuccessors: true})
	f.caughtUp(t)
	b := gameOf{number: 2, server: "ctf", start: time.Now()}
	wb := create(t, dir, b.file())
	wb.write(b.data(t))
	f.writerSaid(t, replaydv1.Writer_WRITER_UNKNOWN_ELSEWHERE)
	w.write(data[len(data)-1:]) // it was silent, not dead
	want := []streamtest.Replay{offlineBytes(t, data, nil), offlineBytes(t, b.data(t), nil)}
	f.gets(t, want...)
	f.cancel()
	check(t, f.history(), want, streamtest.Options{})
}
