package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// gameOf describes a game of a server: the records of a sample with another header.
type gameOf struct {
	number, prev int // of the game's UUID; prev 0 is none
	server       string
	port         int
	start        time.Time
	uuids        []string
	killed       bool // it has no end
}

func uuidOf(number int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", number) }

func (g gameOf) file() string { return uuidOf(g.number) + ".teehistorian" }

// data returns the file.
func (g gameOf) data(tb testing.TB) []byte {
	tb.Helper()
	sample := read(tb, finishedSample)
	end := bytes.IndexByte(sample[16:], 0) + 16
	header := map[string]any{}
	if err := json.Unmarshal(sample[16:end], &header); err != nil {
		tb.Fatal(err)
	}
	header["game_uuid"], header["server_name"] = uuidOf(g.number), g.server
	header["server_port"] = fmt.Sprint(max(g.port, 8303))
	header["start_time"] = g.start.UTC().Format("2006-01-02T15:04:05-0700")
	if g.prev != 0 {
		header["prev_game_uuid"] = uuidOf(g.prev)
	}
	if g.uuids != nil {
		header["uuids"] = g.uuids
	}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	body := sample[end:]
	if g.killed {
		body = body[:len(body)-1]
	}
	return slices.Concat(sample[:16], text, body)
}

// waits blocks until a state WAITING for something arrives.
func (f *following) waits(t *testing.T, what replaydv1.WaitingFor, likely ...string) {
	t.Helper()
	f.await(t, fmt.Sprint("WAITING ", what, likely), func(r *replaydv1.StreamEventsResponse) bool {
		w := r.GetFollowStatus().GetWaiting()
		return w.GetWaitingFor() == what && slices.Equal(w.GetLikelySuccessors(), likely)
	})
}

func (f *following) succeeds(t *testing.T, g gameOf) {
	t.Helper()
	f.await(t, "successor "+g.file(), func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetFollowStatus().GetSuccessor().GetTeehistorian().GetGameUuid() == uuidOf(g.number)
	})
}

// TestTwoServers runs two servers of the same name and port in one directory. No follower of one server gets an end too early,
// or an event of the other server.
func TestTwoServers(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	now := time.Now().Add(-time.Minute)
	a := gameOf{number: 1, server: "ctf", start: now}
	b := gameOf{number: 2, server: "ctf", start: now.Add(10 * time.Second)}
	aData, bData := a.data(t), b.data(t)
	wa := create(t, dir, a.file())
	wa.write(aData[:len(aData)/2])
	alone := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true})
	strictly := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true, Strict: true})
	on := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true, FollowSuccessors: true})
	columns := follow(t, d, &replaydv1.StreamEventsRequest{
		Replay: name(a.file()), Follow: true, FollowSuccessors: true, Encoding: replaydv1.Encoding_ENCODING_ARROW, NarrowColumns: true,
	})
	for _, f := range []*following{alone, strictly, on, columns} {
		f.caughtUp(t)
	}
	wb := create(t, dir, b.file())
	wb.write(bData[:len(bData)/2])
	for _, f := range []*following{alone, strictly, on, columns} {
		f.waits(t, replaydv1.WaitingFor_WAITING_FOR_MORE, name(b.file()))
	}
	// The other server changes its map, which means nothing for this one.
	b2 := gameOf{number: 3, prev: 2, server: "ctf", start: now.Add(20 * time.Second)}
	wb.write(bData[len(bData)/2:])
	create(t, dir, b2.file()).write(b2.data(t))
	// A server is started again. Its file could as well be from this server.
	b3 := gameOf{number: 4, server: "ctf", start: time.Now()}
	create(t, dir, b3.file()).write(b3.data(t))
	wa.chunks(aData[len(aData)/2:], 1, 300, time.Millisecond)
	want := offlineBytes(t, aData, nil)
	check(t, alone.history(), []streamtest.Replay{want}, streamtest.Options{})
	check(t, strictly.history(), []streamtest.Replay{want}, streamtest.Options{})
	on.waits(t, replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR, name(b.file()), name(b3.file()))
	a2 := gameOf{number: 5, prev: 1, server: "ctf", start: time.Now()}
	create(t, dir, a2.file()).write(a2.data(t))
	for _, f := range []*following{on, columns} {
		f.succeeds(t, a2)
		f.gets(t, want, offlineBytes(t, a2.data(t), nil))
		f.cancel()
		check(t, f.history(), []streamtest.Replay{want, offlineBytes(t, a2.data(t), nil)}, streamtest.Options{})
	}
}

// TestRestart restarts a server. Its name and port identify it if no other server has them.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	a := gameOf{number: 1, server: "ctf", start: time.Now().Add(-time.Hour)}
	create(t, dir, a.file()).write(a.data(t))
	create(t, dir, "other.teehistorian").write(gameOf{number: 9, server: "dm", start: a.start.Add(-time.Minute)}.data(t))
	f := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(a.file()), Follow: true, FollowSuccessors: true})
	f.waits(t, replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR)
	next := gameOf{number: 2, server: "ctf", start: time.Now()}
	create(t, dir, next.file()).write(next.data(t))
	f.succeeds(t, next)
	renamed := gameOf{number: 3, server: "ctf (new)", start: time.Now().Add(time.Second)}
	create(t, dir, renamed.file()).write(renamed.data(t))
	f.waits(t, replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR, name(renamed.file()))
	f.cancel()
	check(t, f.history(), []streamtest.Replay{offlineBytes(t, a.data(t), nil), offlineBytes(t, next.data(t), nil)}, streamtest.Options{})
}

// lateBytes returns how many late bytes a daemon has logged. A write may be seen in parts.
func lateBytes(t *testing.T, d *daemon) (sum int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`had left .* bytes=(\d+)`).FindAllStringSubmatch(d.log.String(), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestNextInDirectory continues with the next file because the request vouches for it: after a crash, and under another name
// and port. Late bytes of the file that was left are counted and logged, and a cursor leads to them.
func TestNextInDirectory(t *testing.T) {
	for _, encoding := range []replaydv1.Encoding{replaydv1.Encoding_ENCODING_ROWS, replaydv1.Encoding_ENCODING_ARROW} {
		dir := t.TempDir()
		d := start(t, dir)
		a := gameOf{number: 1, server: "ctf", start: time.Now().Add(-time.Minute), killed: true}
		data := a.data(t)
		w := create(t, dir, a.file())
		w.write(data[:len(data)-500])
		req := &replaydv1.StreamEventsRequest{
			Replay: name(a.file()), Follow: true, FollowSuccessors: true, Encoding: encoding,
			SuccessorRule: replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY,
		}
		f := follow(t, d, req)
		f.caughtUp(t)
		b := gameOf{number: 2, server: "renamed", port: 8304, start: time.Now()}
		create(t, dir, b.file()).write(b.data(t))
		f.succeeds(t, b)
		f.gets(t, offlineBytes(t, data[:len(data)-500], nil), offlineBytes(t, b.data(t), nil))
		w.write(data[len(data)-500:])
		for deadline := time.Now().Add(time.Minute); lateBytes(t, d) != 500; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("nothing is said of late bytes:\n%s", d.log)
			}
		}
		if n, err := testutil.GatherAndCount(d.meters, "replayd_late_bytes_total"); n != 1 || err != nil {
			t.Error(n, err)
		}
		f.cancel()
		h := f.history()
		var last []byte // a cursor of the first game
		for _, r := range f.seen {
			if r.GetFollowStatus().GetSuccessor() != nil {
				break
			}
			last = r.GetCursor()
		}
		check(t, h, []streamtest.Replay{offlineBytes(t, data[:len(data)-500], nil), offlineBytes(t, b.data(t), nil)}, streamtest.Options{})
		g := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
			Replay: name(a.file()), Start: &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: last}},
		}, nil)
		before := len(offlineBytes(t, data[:len(data)-500], nil).Events)
		after := len(offlineBytes(t, data, nil).Events)
		if got := (streamtest.History{g}).End().GetEventsSent(); got != uint64(after-before) {
			t.Errorf("%d late events, want %d", got, after-before)
		}
	}
}

// TestMoved renames and moves a file while it is written and followed.
func TestMoved(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	g := gameOf{number: 1, server: "ctf", start: time.Now()}
	data := g.data(t)
	w := create(t, dir, g.file())
	w.write(data[:len(data)/3])
	var all []*following
	for _, req := range []*replaydv1.StreamEventsRequest{
		{}, {FollowSuccessors: true}, {Encoding: replaydv1.Encoding_ENCODING_ARROW}, {ResolvePlayers: true},
		{FollowSuccessors: true, SuccessorRule: replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY},
	} {
		req.Replay, req.Follow = name(g.file()), true
		all = append(all, follow(t, d, req))
	}
	to := func(elem ...string) {
		t.Helper()
		for _, f := range all {
			f.caughtUp(t)
		}
		path := filepath.Join(append([]string{dir}, elem...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.file.Name(), path); err != nil {
			t.Fatal(err)
		}
		for i, f := range all {
			f.await(t, fmt.Sprintf("MOVED of follower %d", i), func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetFollowStatus().GetReplay() == name(elem...)
			})
		}
		moved, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = moved.Close() })
		w.file = moved
	}
	to("renamed.teehistorian")
	w.write(data[len(data)/3 : len(data)/2])
	to("archive", "2026", g.file())
	w.write(data[len(data)/2:])
	next := gameOf{number: 2, prev: 1, server: "ctf", start: time.Now()}
	create(t, dir, next.file()).write(next.data(t))
	want := []streamtest.Replay{offlineBytes(t, data, nil), offlineBytes(t, next.data(t), nil)}
	for i, f := range all {
		switch i {
		case 1, 4:
			f.succeeds(t, next)
			f.gets(t, want...)
			f.cancel()
			check(t, f.history(), want, streamtest.Options{})
		case 3:
			f.history()
		default:
			check(t, f.history(), want[:1], streamtest.Options{})
		}
	}
}

// response is one of a session.
func response(t *testing.T, s streamtest.Session, i int) *replaydv1.StreamEventsResponse {
	t.Helper()
	if i >= len(s.Responses) {
		t.Fatalf("%d responses, %v", len(s.Responses), s.Err)
	}
	r := new(replaydv1.StreamEventsResponse)
	if err := proto.Unmarshal(s.Responses[i], r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMovedCursor resumes every file of the corpus after it was renamed, moved and compressed.
func TestMovedCursor(t *testing.T) {
	streamtest.SkipLong(t)
	corpus := filepath.Join("..", "..", "shared", "corpus")
	if !exists(corpus) {
		t.Skip("no corpus")
	}
	var files []string
	for _, suffix := range []string{".teehistorian", ".map", ".dem", ".SC2Replay"} {
		found := find(t, corpus, suffix)
		if !wholeCorpus() { // some of each format
			found = slices.DeleteFunc(found, func(path string) bool { return len(read(t, path)) > 1<<20 })
			found = found[:min(len(found), 4)]
		}
		files = append(files, found...)
	}
	dir := t.TempDir()
	d := start(t, dir)
	resumed := 0
	for _, path := range files {
		data := read(t, path)
		base := filepath.Base(path)
		write(t, filepath.Join(dir, "in", base), data)
		req := &replaydv1.StreamEventsRequest{Replay: name("in", base), MaxBatchEvents: 64}
		whole := d.Session(timeout(t), req, nil)
		n := 0
		cut := d.Session(timeout(t), req, func(*replaydv1.StreamEventsResponse) bool { n++; return n < 3 })
		if whole.Err != nil || len(cut.Responses) < 2 {
			continue // a file that cannot be read, or too short to be cut
		}
		want := (streamtest.History{whole}).End().GetEventsSent()
		had := uint64(0)
		for i := range cut.Responses {
			if b := response(t, cut, i).GetBatch(); b != nil {
				had = b.GetNextSequence()
			}
		}
		for how, move := range map[string]func() (to string){
			"renamed": func() string { return filepath.Join("in", "renamed-"+base) },
			"moved":   func() string { return filepath.Join("archive", "deep", base) },
			"zipped":  func() string { return filepath.Join("archive", base+".gz") },
		} {
			to := filepath.Join(dir, move())
			if how == "zipped" {
				write(t, to, decodertest.Gzip(t, data))
			} else {
				write(t, to, data)
			}
			if err := os.Remove(filepath.Join(dir, "in", base)); err != nil {
				t.Fatal(err)
			}
			r := streamtest.Resumed(req, streamtest.History{cut})
			s := d.Session(timeout(t), r, nil)
			if got := (streamtest.History{s}).End().GetEventsSent(); s.Err != nil || got != want-had {
				t.Errorf("%s %s: %d events, want %d, %v", base, how, got, want-had, s.Err)
			}
			resumed++
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "in", base), data)
		}
		if err := os.Remove(filepath.Join(dir, "in", base)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, %d cursors resumed", len(files), resumed)
	if resumed == 0 {
		t.Error("nothing was tried")
	}
}

// TestMissingRoot follows and watches a root that does not exist yet.
func TestMissingRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "server", "teehistorian")
	d := start(t, dir)
	if r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: alias}); err != nil || len(r.GetReplays()) > 0 {
		t.Fatalf("%v, %v", r, err)
	}
	f := follow(t, d, &replaydv1.StreamEventsRequest{Replay: alias, Follow: true})
	changes, err := d.client.WatchReplays(timeout(t), &replaydv1.WatchReplaysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := changes.Recv(); err != nil || !first.GetInitialDone() || len(first.GetChanges()) > 0 {
		t.Fatalf("%v, %v", first, err)
	}
	time.Sleep(100 * time.Millisecond)
	g := gameOf{number: 1, server: "ctf", start: time.Now()}
	write(t, filepath.Join(dir, g.file()), g.data(t))
	check(t, f.history(), []streamtest.Replay{offlineBytes(t, g.data(t), nil)}, streamtest.Options{})
	for kinds := map[replaydv1.ChangeKind]bool{}; !kinds[replaydv1.ChangeKind_CHANGE_KIND_ADDED] || !kinds[replaydv1.ChangeKind_CHANGE_KIND_FINISHED]; {
		r, err := changes.Recv()
		if err != nil {
			t.Fatalf("%v, after %v", err, kinds)
		}
		for _, c := range r.GetChanges() {
			kinds[c.GetKind()] = true
		}
	}
}

// TestAnnounced: the start, the log and a metric report kinds of records that a header announces and this version does not
// know.
func TestAnnounced(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	g := gameOf{number: 1, server: "ctf", start: time.Now(), uuids: []string{"teehistorian-test@ddnet.tw", "teehistorian-next@ddnet.org"}}
	write(t, filepath.Join(dir, g.file()), g.data(t))
	for range 2 {
		s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name(g.file())}, nil)
		if got := response(t, s, 0).GetStart().GetReplay().GetTeehistorian().GetUnknownExtensions(); !slices.Equal(got, []string{"teehistorian-next@ddnet.org"}) {
			t.Errorf("the start says %q", got)
		}
	}
	if n := strings.Count(d.log.String(), "record=teehistorian-next@ddnet.org"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
	want := "# HELP replayd_unknown_records_announced_total Streams of replays whose header announces kinds of records that this version does not know.\n" +
		"# TYPE replayd_unknown_records_announced_total counter\nreplayd_unknown_records_announced_total 2\n"
	if err := testutil.GatherAndCompare(d.meters, strings.NewReader(want), "replayd_unknown_records_announced_total"); err != nil {
		t.Error(err)
	}
}
