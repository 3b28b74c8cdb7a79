package playcast_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/playcast/playcasttest"
	"github.com/replayd/replayd/service/streamtest"
)

// TestSuccessors: whoever follows a broadcast with its successors gets each event of each file once, in order, across a hole, a file that
// somebody removes, a relay that is started again, and another match. A demo that somebody puts beside them is none of them.
func TestSuccessors(t *testing.T) {
	const first = playcasttest.First
	root := t.TempDir()
	from, o := playcasttest.Talk(t, 30), newOrigin(t, filepath.Join(root, "tv"))
	d := daemontest.New("live", root)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	conn, err := grpc.NewClient(d.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()

	var open []*os.File // what is read at the end, also of the file that is removed
	begins := func(begin, end int) {
		t.Helper()
		var path string
		wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
			if len(labels) == 0 || !bytes.Equal(found[labels[len(labels)-1]], from.FileOf(t, labels[len(labels)-1], begin, end)) {
				return false
			}
			path = filepath.Join(o.dir, strings.TrimPrefix(labels[len(labels)-1], "replayd eu1 ")+".dem")
			return true
		})
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		open = append(open, f)
	}
	push := func(token string, begin, end int) {
		t.Helper()
		for n := begin; n < end; n++ {
			o.push(t, from, token, n)
		}
	}
	push("s1t1", first, first+4)
	begins(first, first+4)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, ended := make(chan *replaydv1.StreamEventsResponse, 1000), make(chan streamtest.Session, 1)
	go func() {
		ended <- streamtest.Client{Conn: conn}.Session(ctx, &replaydv1.StreamEventsRequest{
			Replay: "live/tv/eu1/" + filepath.Base(open[0].Name()), Follow: true, FollowSuccessors: true,
		}, func(r *replaydv1.StreamEventsResponse) bool {
			got <- r
			return true
		})
	}()
	await := func(what string, is func(*replaydv1.StreamEventsResponse) bool) {
		t.Helper()
		for {
			select {
			case r := <-got:
				if is(r) {
					return
				}
			case <-ctx.Done():
				t.Fatal("no " + what)
			}
		}
	}
	follows := func() {
		t.Helper()
		await("successor", func(r *replaydv1.StreamEventsResponse) bool { return r.GetFollowStatus().GetSuccessor() != nil })
	}
	if err := os.WriteFile(filepath.Join(root, "tv", "eu1", "0.dem"), from.FileOf(t, "other", first, first+4), 0o600); err != nil {
		t.Fatal(err)
	}
	push("s1t1", first+5, first+9) // one is lost
	begins(first+5, first+9)
	follows()
	if err := os.Remove(open[1].Name()); err != nil {
		t.Fatal(err)
	}
	push("s1t1", first+9, first+10) // the file begins with what the relay still has
	begins(first+5, first+10)
	follows()
	o.stop()
	o = newOrigin(t, filepath.Join(root, "tv"))
	push("s1t1", first+10, first+12)
	push("s1t2", first+12, first+30)
	begins(first+12, first+30)
	follows()
	await("last event", func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetFollowStatus().GetWaiting().GetWaitingFor() == replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR
	})
	cancel()
	session := <-ended
	session.Cut = true

	var want []streamtest.Replay
	for _, f := range open {
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		replay, err := streamtest.Offline(&dem.Codec, source.Input{At: f, Size: info.Size()}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, replay)
	}
	want[1].End = replaydv1.EndReason_END_REASON_REMOVED
	if err := streamtest.Check(streamtest.History{session}, want, streamtest.Options{}); err != nil {
		t.Error(err)
	}
}

// TestTold: a stream that follows a broadcast ends with what its relay has refused, whether or not it had begun, by its own decoder, by
// one that followers share, and among many replays.
func TestTold(t *testing.T) {
	root := t.TempDir()
	d := daemontest.New("live", root)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	conn, err := grpc.NewClient(d.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	const followers = 2
	caught, go_, ended := make(chan struct{}, followers), make(chan struct{}), make(chan streamtest.Session, followers)
	r := playcasttest.Talk(t, 20)
	r.Fault = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		if r.Newest < playcasttest.First+9 {
			return false
		}
		<-go_
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	follow := func(replay string) streamtest.Session {
		var once sync.Once
		return streamtest.Client{Conn: conn}.Session(ctx, &replaydv1.StreamEventsRequest{Replay: replay, Follow: true}, func(r *replaydv1.StreamEventsResponse) bool {
			if r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
				once.Do(func() { caught <- struct{}{} })
			}
			return true
		})
	}
	var match sync.WaitGroup
	defer match.Wait()
	match.Go(func() {
		if err := matchOf(t, r, filepath.Join(root, "final")).Run(ctx); err == nil {
			t.Error("it goes on")
		}
	})
	for range followers {
		go func() { ended <- follow("live/final") }()
	}
	for range followers {
		<-caught
	}
	all, err := replaydv1.NewReplayServiceClient(conn).SubscribeEvents(ctx, &replaydv1.SubscribeEventsRequest{Directory: "live"})
	if err != nil {
		t.Fatal(err)
	}
	told := func(is func(*replaydv1.StreamEventsResponse) bool) *replaydv1.StreamEventsResponse {
		for {
			if r, err := all.Recv(); err != nil {
				t.Fatal(err)
			} else if is(r.GetStreamed()) {
				return r.GetStreamed()
			}
		}
	}
	told(func(r *replaydv1.StreamEventsResponse) bool { return r.GetBatch() != nil })
	close(go_)
	for range followers {
		session := <-ended
		end := streamtest.History{session}.End()
		if session.Err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_TRUNCATED || !strings.Contains(end.GetDetail(), "403 Forbidden") {
			t.Error(end, session.Err)
		}
	}
	end := told(func(r *replaydv1.StreamEventsResponse) bool { return r.GetEnd() != nil }).GetEnd()
	if end.GetReason() != replaydv1.EndReason_END_REASON_TRUNCATED || !strings.Contains(end.GetDetail(), "403 Forbidden") {
		t.Error("a stream of many replays ends with", end)
	}

	never := playcasttest.New(t, 1)
	never.Change = func(at map[string]any) { at["protocol"] = 4 }
	if err := os.Mkdir(filepath.Join(root, "never"), 0o700); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- follow("live/never") }()
	if err := matchOf(t, never, filepath.Join(root, "never")).Run(ctx); err == nil {
		t.Error("it goes on")
	}
	if session := <-ended; status.Code(session.Err) != codes.NotFound || !strings.Contains(session.Err.Error(), "protocol 4") {
		t.Error(session.Err)
	}
}
