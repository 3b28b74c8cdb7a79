package service_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/streamtest"
)

// TestStoreFails checks the statuses of calls when a store fails, before and in the middle of a stream, and that other roots do not
// notice.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyIn(t, dir, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	for _, c := range []struct {
		status           int
		code             string
		want, wantInside string
	}{
		{403, "AccessDenied", "PermissionDenied OUTSIDE_ROOT", "PermissionDenied OUTSIDE_ROOT"},
		{404, "NoSuchKey", "NotFound REPLAY_NOT_FOUND", ""},
		{416, "InvalidRange", "Unavailable IO", "Unavailable IO"},
		{503, "SlowDown", "Unavailable IO", "Unavailable IO"},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			recording(t, s, 4<<20)
			d := start(t, dir, storeOf(t, dir, s, quickly), func(c *service.Config) { c.SurveyBudget = 0 })
			if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil {
				t.Fatal(err)
			}
			refuse := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.URL.Query().Has("list-type") && c.status == 404 {
					next.ServeHTTP(w, r) // nothing below it
					return
				}
				buckettest.Refuse(w, c.status, c.code)
			}
			inside := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object, MaxBatchEvents: 100}, func(r *replaydv1.StreamEventsResponse) bool {
				if r.GetStart() != nil {
					s.Hook(refuse)
				}
				return true
			})
			if c.wantInside != "" && reasonOf(inside.Err) != c.wantInside {
				t.Error("in the middle:", inside.Err)
			}
			_, getErr := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: object})
			streamErr := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object}, nil).Err
			for _, err := range []error{getErr, streamErr} {
				if reasonOf(err) != c.want {
					t.Error(err)
				}
				if text := fmt.Sprint(err, status.Convert(err).Details()); strings.Contains(text, "of the store") || strings.Contains(text, buckettest.Name+"/") {
					t.Errorf("the answer is repeated: %s", text)
				}
				retry := strings.Contains(fmt.Sprint(status.Convert(err).Details()), "retry_delay")
				if retry != strings.HasPrefix(c.want, "Unavailable") {
					t.Errorf("a retry delay: %v; %v", retry, err)
				}
			}
			if got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")}, nil); got.Err != nil {
				t.Error("another root:", got.Err)
			}
		})
	}
	t.Run("from the beginning", func(t *testing.T) {
		s := buckettest.New(t)
		s.Hook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { buckettest.Refuse(w, 503, "SlowDown") })
		d := start(t, dir, storeOf(t, dir, s, quickly, "refresh", "1s"))
		if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored}); reasonOf(err) != "Unavailable IO" {
			t.Error("a list of what was never listed:", err)
		}
		if all, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil || len(all.GetReplays()) != 1 {
			t.Error("the other root:", all, err)
		}
		recording(t, s, 100_000)
		s.Hook(nil)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored})
			if err == nil && len(list.GetReplays()) == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the store is back, and not listed:", list, err)
			}
		}
	})
}

// TestStoreHangs checks that a stream that waits for a store sends heartbeats, ends at once when its client goes or the server
// drains, and takes no turn from others.
func TestStoreHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyIn(t, dir, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	s := buckettest.New(t)
	recording(t, s, 4<<20)
	turns := admission.NewTurns(1)
	o := bucket.Options{Attempts: 1, Silence: time.Hour, Budget: time.Hour}
	d := start(t, dir, storeOf(t, dir, s, o), func(c *service.Config) { c.SurveyBudget, c.Turns = 0, turns })
	if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil {
		t.Fatal(err)
	}
	var hanging atomic.Int64
	hang := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "bytes=0-65535" {
			next.ServeHTTP(w, r)
			return
		}
		hanging.Add(1)
		<-r.Context().Done()
	}
	s.Hook(hang)
	req := &replaydv1.StreamEventsRequest{Replay: object, HeartbeatInterval: durationpb.New(time.Second)}
	beats := 0
	ctx, cancel := context.WithCancel(timeout(t))
	got := d.Session(ctx, req, func(r *replaydv1.StreamEventsResponse) bool {
		if r.GetHeartbeat() != nil {
			beats++
		}
		if beats < 1 {
			return true
		}
		// Meanwhile the only turn is free.
		now := make(chan struct{})
		close(now)
		turn := turns.Take(now, nil, "other")
		if turn == nil {
			t.Error("a stream that waits for a store keeps its turn")
		} else {
			turns.Give(turn)
		}
		other := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")}, nil)
		if other.Err != nil {
			t.Error(other.Err)
		}
		return false
	})
	cancel()
	if beats != 1 {
		t.Fatal("no heartbeat:", got.Err)
	}
	var end *replaydv1.StreamEnd
	drained := make(chan streamtest.Session, 1)
	before := hanging.Load()
	go func() {
		drained <- d.Session(timeout(t), req, func(r *replaydv1.StreamEventsResponse) bool { end = r.GetEnd(); return true })
	}()
	for hanging.Load() == before {
		time.Sleep(time.Millisecond)
	}
	d.stop()
	got = <-drained
	if got.Err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
		t.Error(end, got.Err)
	}
	if _, err := (streamtest.History{got}).Events(); err != nil {
		t.Error(err)
	}
}

// TestOldListing checks that a list that was made before an object was looked up, and arrives after that, does not undo it.
func TestOldListing(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	recording(t, s, 50_000)
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, bucket.Options{}, "refresh", "1s"))
	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	watch, err := d.client.WatchReplays(ctx, &replaydv1.WatchReplaysRequest{Directory: stored})
	if err != nil {
		t.Fatal(err)
	}
	for initial := false; !initial; {
		resp, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		initial = resp.GetInitialDone()
	}
	made, release := make(chan struct{}), make(chan struct{})
	var lists atomic.Int64
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !r.URL.Query().Has("list-type") || lists.Add(1) > 1 {
			next.ServeHTTP(w, r)
			return
		}
		old := httptest.NewRecorder()
		next.ServeHTTP(old, r)
		close(made)
		<-release
		_, _ = w.Write(old.Body.Bytes())
	})
	<-made
	recordingAs(t, s, "p/late.teehistorian", 50_000)
	if _, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: stored + "/late.teehistorian"}); err != nil {
		t.Fatal(err)
	}
	close(release)
	for lists.Load() < 3 { // the old one was read, and another one
		time.Sleep(time.Millisecond)
	}
	recordingAs(t, s, "p/last.teehistorian", 50_000)
	for last := false; !last; {
		resp, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range resp.GetChanges() {
			last = last || c.GetReplay().GetName() == stored+"/last.teehistorian"
			if c.GetKind() == replaydv1.ChangeKind_CHANGE_KIND_REMOVED {
				t.Errorf("%s is removed", c.GetReplay().GetName())
			}
		}
	}
}
