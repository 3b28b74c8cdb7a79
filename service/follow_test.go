package service_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/streamtest"
	"github.com/replayd/replayd/service/watch"
)

// TestFollow follows recordings while they are written, by inotify and by polling: from the first byte, in the middle,
// from now on, through filters, and with several at once.
func TestFollow(t *testing.T) {
	for _, mode := range []watch.Mode{watch.Inotify, watch.Poll} {
		for i, path := range recordings(t) {
			data := read(t, path)
			if len(data) > 100_000 {
				continue
			}
			t.Run(mode.String()+"/"+filepath.Base(path), func(t *testing.T) {
				dir := t.TempDir()
				watcher, err := watch.New(watch.Options{Mode: mode, Interval: 20 * time.Millisecond, Quick: time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				d := start(t, dir, func(c *service.Config) { c.Watcher = watcher })
				t.Cleanup(func() { _ = watcher.Close() })
				w := create(t, dir, "live.teehistorian")
				var all []*following
				var reqs []*replaydv1.StreamEventsRequest
				for filtering, filters := range filterings {
					if filtering == "nothing" {
						continue // a filter that lets nothing through gives nothing to wait for
					}
					req := proto.CloneOf(filters)
					req.Replay, req.Follow = name("live.teehistorian"), true
					reqs = append(reqs, req)
					all = append(all, follow(t, d, req))
				}
				w.chunks(data[:len(data)/2], uint64(i), len(data)/20, 2*time.Millisecond)
				for _, req := range slices.Clone(reqs)[:3] {
					reqs = append(reqs, req)
					all = append(all, follow(t, d, req))
				}
				w.chunks(data[len(data)/2:], uint64(i), len(data)/20, 2*time.Millisecond)
				if finished := data[len(data)-1] == 0x00; !finished || offlineBytes(t, data, nil).End == replaydv1.EndReason_END_REASON_TRUNCATED {
					for _, f := range all { // a stream that has not opened the file yet would not find it
						f.await(t, "start", func(r *replaydv1.StreamEventsResponse) bool { return r.GetStart() != nil })
					}
					if err := os.Remove(filepath.Join(dir, "live.teehistorian")); err != nil {
						t.Fatal(err)
					}
				}
				for i, f := range all {
					want := offlineBytes(t, data, reqs[i])
					if want.End == replaydv1.EndReason_END_REASON_TRUNCATED {
						want.End = replaydv1.EndReason_END_REASON_REMOVED
					}
					check(t, f.history(), []streamtest.Replay{want}, streamtest.Options{})
				}
			})
		}
	}
}

// TestFollowNow starts at the current end. The stream has the state, then new events, and facts of what began before.
func TestFollowNow(t *testing.T) {
	dir := t.TempDir()
	data := read(t, finishedSample)
	d := start(t, dir)
	for i, half := range []int{len(data) / 2, len(data) / 2, len(data) * 3 / 4, len(data) * 3 / 4, len(data) - 2, len(data) - 2} {
		req := proto.CloneOf(filterings[[]string{"all", "with facts"}[i%2]])
		whole := offlineBytes(t, data, req)
		w := create(t, dir, "live.teehistorian")
		w.write(data[:half])
		before := len(offlineBytes(t, data[:half], req).Events)
		req.Replay, req.Follow = name("live.teehistorian"), true
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}, WithState: true}
		f := follow(t, d, req)
		f.caughtUp(t)
		w.chunks(data[half:], 1, 200, time.Millisecond)
		h := f.history()
		check(t, h, []streamtest.Replay{whole}, streamtest.Options{From: before, State: true})
		if err := os.Remove(filepath.Join(dir, "live.teehistorian")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFollowLastEvents starts with the last events and continues live.
func TestFollowLastEvents(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	data := read(t, finishedSample)
	d := start(t, dir)
	w := create(t, dir, "live.teehistorian")
	half := len(data) / 2
	w.write(data[:half])
	before := len(offlineBytes(t, data[:half], nil).Events)
	f := follow(t, d, &replaydv1.StreamEventsRequest{
		Replay: name("live.teehistorian"), Follow: true, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 10}},
	})
	f.caughtUp(t)
	w.chunks(data[half:], 1, 200, time.Millisecond)
	check(t, f.history(), []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{From: before - 10})
}

// TestBatchDelay: a stream with a batch delay gets all events in few batches.
func TestBatchDelay(t *testing.T) {
	const delay = 100 * time.Millisecond
	dir := t.TempDir()
	data := read(t, finishedSample)
	d := start(t, dir)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:len(data)/2])
	f := follow(t, d, &replaydv1.StreamEventsRequest{
		Replay: name("live.teehistorian"), Follow: true, MaxBatchDelay: durationpb.New(delay),
	})
	f.caughtUp(t)
	began := time.Now()
	for rest := data[len(data)/2:]; len(rest) > 0; rest = rest[min(100, len(rest)):] {
		w.write(rest[:min(100, len(rest))])
		time.Sleep(5 * time.Millisecond)
	}
	h := f.history()
	periods := int(time.Since(began)/delay) + 1
	check(t, h, []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
	batches := 0
	for _, r := range f.seen {
		if r.GetBatch() != nil {
			batches++
		}
	}
	// One batch for the existing events, one for each period, and the batches that were full earlier.
	if most := 1 + periods + len(offlineBytes(t, data, nil).Events)/512; batches > most {
		t.Errorf("%d batches in %d periods, %d at most", batches, periods, most)
	}
}

// TestFollowLoss: the stream ends with the right reason when its file shrinks, is replaced or is removed.
func TestFollowLoss(t *testing.T) {
	data := read(t, killedSample)
	for what, test := range map[string]struct {
		remove func(t *testing.T, path string)
		want   replaydv1.EndReason
	}{
		"shrunk": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 3000); err != nil {
				t.Fatal(err)
			}
		}, replaydv1.EndReason_END_REASON_SHRUNK},
		"written anew": {func(t *testing.T, path string) {
			write(t, path, read(t, finishedSample)[:4000])
		}, replaydv1.EndReason_END_REASON_SHRUNK},
		"written over by a longer one": {func(t *testing.T, path string) {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.Write(read(t, finishedSample)); err != nil {
				t.Fatal(err)
			}
		}, replaydv1.EndReason_END_REASON_SHRUNK},
		"replaced": {func(t *testing.T, path string) {
			write(t, path+".new", read(t, finishedSample))
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, replaydv1.EndReason_END_REASON_REPLACED},
		"removed": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, replaydv1.EndReason_END_REASON_REMOVED},
		"moved away": {func(t *testing.T, path string) {
			if err := os.Rename(path, filepath.Join(t.TempDir(), "elsewhere")); err != nil {
				t.Fatal(err)
			}
		}, replaydv1.EndReason_END_REASON_REMOVED},
	} {
		for how, req := range map[string]*replaydv1.StreamEventsRequest{
			"alone":           {},
			"with successors": {FollowSuccessors: true},
			"as columns":      {Encoding: replaydv1.Encoding_ENCODING_ARROW},
			"strictly":        {Strict: true},
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "live.teehistorian")
				write(t, path, data)
				d := start(t, dir)
				req.Replay, req.Follow = name("live.teehistorian"), true
				f := follow(t, d, req)
				f.caughtUp(t)
				test.remove(t, path)
				want := offlineBytes(t, data, nil)
				want.End = test.want
				check(t, f.history(), []streamtest.Replay{want}, streamtest.Options{})
			})
		}
	}
}

// chainOf returns the recordings of one server over its map changes, in order.
func chainOf(t *testing.T) (paths []string, replays []streamtest.Replay) {
	t.Helper()
	type link struct {
		path, uuid, prev string
		started          time.Time
	}
	var links []link
	for _, path := range find(t, samples("teehistorian", "mapchange"), ".teehistorian") {
		in := source.Input{At: bytes.NewReader(read(t, path)), Size: int64(len(read(t, path)))}
		r, err := streamtest.Describe(&teehistorian.Codec, in)
		if err != nil {
			t.Fatal(err)
		}
		h := r.GetTeehistorian()
		links = append(links, link{path, h.GetGameUuid(), h.GetPrevGameUuid(), r.GetStartTime().AsTime()})
	}
	slices.SortFunc(links, func(a, b link) int { return a.started.Compare(b.started) })
	for _, l := range links {
		paths = append(paths, l.path)
		replays = append(replays, offlineBytes(t, read(t, l.path), nil))
	}
	return paths, replays
}

// TestFollowSuccessors follows a server through map changes. It does so with existing files and with files that appear, started
// by a file's name and by the directory, and resumed after every response.
func TestFollowSuccessors(t *testing.T) {
	paths, replays := chainOf(t)
	write1 := func(w *writer, data []byte, seed uint64) { w.chunks(data, seed, 500, time.Millisecond) }
	t.Run("live", func(t *testing.T) {
		dir := t.TempDir()
		d := start(t, dir)
		w := create(t, dir, filepath.Base(paths[0]))
		byName := follow(t, d, &replaydv1.StreamEventsRequest{
			Replay: name(filepath.Base(paths[0])), Follow: true, FollowSuccessors: true,
		})
		byDir := follow(t, d, &replaydv1.StreamEventsRequest{Replay: alias, Follow: true, FollowSuccessors: true})
		firstOnly := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name(filepath.Base(paths[0])), Follow: true})
		write1(w, read(t, paths[0]), 1)
		byDir.await(t, "start", func(*replaydv1.StreamEventsResponse) bool { return true })
		for i, path := range paths[1:] {
			w := create(t, dir, filepath.Base(path))
			write1(w, read(t, path), uint64(i))
		}
		check(t, firstOnly.history(), replays[:1], streamtest.Options{})
		for _, f := range []*following{byName, byDir} {
			last := replays[len(replays)-1].Identity
			f.await(t, "last replay", func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetFollowStatus().GetSuccessor().GetIdentity() == last
			})
			f.gets(t, replays...)
			f.cancel()
			check(t, f.history(), replays, streamtest.Options{})
		}
	})
	t.Run("resumed", func(t *testing.T) {
		dir := t.TempDir()
		for _, path := range paths {
			write(t, filepath.Join(dir, filepath.Base(path)), read(t, path))
		}
		d := start(t, dir)
		for _, first := range []string{name(filepath.Base(paths[0])), alias} {
			var h streamtest.History
			req := &replaydv1.StreamEventsRequest{Replay: first, Follow: true, FollowSuccessors: true, MaxBatchEvents: 40}
			if first == alias { // the newest is the last one: begin with a cursor of the first
				h = append(h, d.Session(timeout(t), &replaydv1.StreamEventsRequest{
					Replay: name(filepath.Base(paths[0])), Follow: true, FollowSuccessors: true, MaxBatchEvents: 40,
				}, func(*replaydv1.StreamEventsResponse) bool { return false }))
			}
			sent := uint64(0)
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
				// Each session is cancelled after its second response with content, or after a while without one.
				n := 0
				ctx, cancel := context.WithTimeout(timeout(t), 400*time.Millisecond)
				s := d.Session(ctx, streamtest.Resumed(req, h), func(r *replaydv1.StreamEventsResponse) bool {
					n++
					sent = max(sent, r.GetBatch().GetNextSequence())
					return n < 3
				})
				quiet := ctx.Err() != nil
				cancel()
				s.Cut = true
				h = append(h, s)
				if quiet && sent >= total(replays) {
					break
				}
			}
			check(t, h, replays, streamtest.Options{})
		}
	})
}

// TestHeartbeat: heartbeats report how far the file has been read to a client whose filter lets nothing through.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := read(t, killedSample)
	d := start(t, dir)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:5000])
	f := follow(t, d, &replaydv1.StreamEventsRequest{
		Replay: name("live.teehistorian"), Follow: true, HeartbeatInterval: durationpb.New(time.Millisecond), // clamped to 1 s
		Include: []*replaydv1.EventFilter{{Players: []int32{1000}}},
	})
	f.caughtUp(t)
	f.await(t, "heartbeat", func(r *replaydv1.StreamEventsResponse) bool { return r.GetHeartbeat() != nil })
	w.write(data[5000:])
	f.await(t, "heartbeat at the end", func(r *replaydv1.StreamEventsResponse) bool {
		h := r.GetHeartbeat()
		return h.GetBytesRead() == int64(len(data)) && h.GetBytesPresent() == int64(len(data)) && h.GetTick() > 0
	})
	f.cancel()
	want := offlineBytes(t, data, nil)
	want.Events = nil
	check(t, f.history(), []streamtest.Replay{want}, streamtest.Options{})
}

// TestDrain: a server that shuts down ends its streams with a cursor, from which another server continues. The health service
// reports the shutdown. New streams are refused with the time of a retry.
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	data := read(t, killedSample)
	first := start(t, dir)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:5000])
	req := &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}
	f := follow(t, first, req)
	f.caughtUp(t)
	waiting := follow(t, first, &replaydv1.StreamEventsRequest{Replay: alias + "/live.teehistorian", Follow: true,
		Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 1 << 30}}})
	time.Sleep(50 * time.Millisecond)
	first.stop()
	h := f.history()
	if got := h.End().GetReason(); got != replaydv1.EndReason_END_REASON_SERVER_DRAINING || h[0].Err != nil {
		t.Fatalf("end %v, error %v", got, h[0].Err)
	}
	if got, want := explainFailure(t, waiting.history()[0].Err), (failure{codes.Unavailable, "DRAINING", "", []string{"replay"}, true}); !got.equal(want) {
		t.Errorf("a stream that had not begun: got %+v, want %+v", got, want)
	}
	w.write(data[5000:])
	second := start(t, dir)
	g := follow(t, second, streamtest.Resumed(req, h))
	g.caughtUp(t)
	g.cancel()
	check(t, append(h, g.history()...), []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
}

// TestStalled: clients that stop reading do not delay other clients, with and without compression by gRPC.
func TestStalled(t *testing.T) {
	d := start(t, t.TempDir())
	besideStalled(t, d, func(ctx context.Context, req *replaydv1.StreamEventsRequest) {
		for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
			stalled, err := streamtest.Client{Conn: d.conn, Options: options}.Open(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			untilCaughtUp(t, func(r *replaydv1.StreamEventsResponse) error { return stalled.RecvMsg(r) })
		}
	})
}

// besideStalled follows a game to its end. Other clients, started by stall, catch up and then stop reading.
func besideStalled(t *testing.T, d *daemon, stall func(ctx context.Context, req *replaydv1.StreamEventsRequest)) {
	t.Helper()
	data := longRecording(t, finishedSample, 400_000)
	w := create(t, d.dir, "live.teehistorian")
	w.write(data[:6000])
	req := &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}
	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	stall(ctx, req)
	f := follow(t, d, req)
	f.caughtUp(t)
	w.chunks(data[6000:], 1, 1000, time.Millisecond)
	check(t, f.history(), []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
}

// untilCaughtUp receives responses until one reports that all existing events were sent.
func untilCaughtUp(t *testing.T, receive func(*replaydv1.StreamEventsResponse) error) {
	t.Helper()
	for r := new(replaydv1.StreamEventsResponse); r.GetFollowStatus().GetState() != replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP; {
		if err := receive(r); err != nil {
			t.Fatal(err)
		}
	}
}

// panicking is a reader of a decoder with a defect.
type panicking struct{ codec.Reader }

func (panicking) Fill(*codec.Batch) error { panic("a defect of the decoder") }

// TestPanic: a panic in a decoder ends only its stream, with an incident that is also in the log.
func TestPanic(t *testing.T) {
	defective := teehistorian.Codec
	defective.Open = func(in source.Input, o codec.Options) (codec.Reader, error) {
		r, err := teehistorian.Codec.Open(in, o)
		return panicking{r}, err
	}
	t.Cleanup(describe.SetCodecs(&defective)) // after the daemon's end, because it uses the codecs in the background
	dir := t.TempDir()
	replay := copyIn(t, dir, killedSample)
	d := start(t, dir, func(c *service.Config) { c.MaxStreams = 1 })
	for range 3 {
		for _, following := range []bool{false, true} {
			s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay, Follow: following}, nil)
			got := explainFailure(t, s.Err)
			if got.code != codes.Internal || got.reason != "INTERNAL" || !slices.Contains(got.meta, "incident") {
				t.Fatalf("got %+v", got)
			}
			if strings.Contains(s.Err.Error(), "a defect of the decoder") {
				t.Errorf("clients see what is for operators: %v", s.Err)
			}
			_, after, _ := strings.Cut(s.Err.Error(), "incident ")
			incident, _, _ := strings.Cut(after, " ")
			if log := d.log.String(); !strings.Contains(log, incident) || !strings.Contains(log, "a defect of the decoder") {
				t.Errorf("the log does not have incident %s:\n%s", incident, log)
			}
		}
	}
	if _, err := d.client.GetServerInfo(timeout(t), &replaydv1.GetServerInfoRequest{}); err != nil {
		t.Error(err)
	}
}

// TestDescriptors: streams close the files that they open.
func TestDescriptorsAreClosed(t *testing.T) {
	dir := t.TempDir()
	data := read(t, killedSample)
	write(t, filepath.Join(dir, "live.teehistorian"), data)
	d := start(t, dir)
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(fds)
	}
	round := func() {
		for _, req := range []*replaydv1.StreamEventsRequest{
			{Replay: name("live.teehistorian")},
			{Replay: name("live.teehistorian"), Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 5}}},
			{Replay: name("live.teehistorian"), Start: &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: cursorOf("x", decoders.Position{})}}},
		} {
			d.Session(timeout(t), req, nil)
		}
		f := follow(t, d, &replaydv1.StreamEventsRequest{Replay: alias, Follow: true, FollowSuccessors: true})
		f.caughtUp(t)
		f.cancel()
		f.history()
	}
	round()
	before := count()
	for range 20 {
		round()
	}
	for deadline := time.Now().Add(time.Minute); count() > before+1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d before", count(), before)
		}
	}
}

// TestComeAndGo: clients that leave at any moment, some while they stall, and resume at their cursors get each event once.
func TestComeAndGo(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	data := longRecording(t, finishedSample, 100_000)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:6000])
	want := []streamtest.Replay{offlineBytes(t, data, nil)}
	var clients sync.WaitGroup
	for seed := range uint64(10) {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			req := &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}
			var h streamtest.History
			for h.End() == nil && len(h) < 1000 {
				ctx, leave := context.WithCancel(timeout(t))
				patience := time.Duration(random.Int64N(int64(200 * time.Millisecond)))
				s := d.Raw(ctx, streamtest.Resumed(req, h), func([]byte) bool {
					if patience >= 0 { // counted from the first response, so that clients make progress on a slow machine
						time.AfterFunc(patience, leave)
						patience = -1
					}
					if random.IntN(100) == 0 {
						time.Sleep(50 * time.Millisecond)
					}
					return true
				})
				s.Cut = ctx.Err() != nil
				leave()
				h = append(h, s)
			}
			if err := streamtest.Check(h, want, streamtest.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	w.chunks(data[6000:], 1, 300, 4*time.Millisecond)
	clients.Wait()
}
