//go:build e2e

package e2e

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"

	"github.com/replayd/replayd/e2e/ddnet"
)

// TestRenamedServer restarts a server under another name and port. A client that requires proof must not continue with the new
// recording. A client with the rule NEXT_IN_DIRECTORY must continue.
func TestRenamedServer(t *testing.T) {
	t.Parallel()
	ctx, srv, bots := start(t, ddnet.Config{Name: "before"})
	d := startDaemon(t, srv.TeehistorianDir())
	first := srv.Games()[0].Recording
	req := &replaydv1.StreamEventsRequest{Replay: d.replay(first), Follow: true, FollowSuccessors: true}
	proven := follow(ctx, d, req)
	vouched := proto.CloneOf(req)
	vouched.SuccessorRule = replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY
	next := follow(ctx, d, vouched)
	if err := bots.Run(ctx, "alice join\nalice wander on\nsleep 2s"); err != nil {
		t.Fatal(err)
	}
	if err := srv.Kill(); err != nil { // so the recording has no end, and there is no proof that it ended
		t.Fatal(err)
	}
	program, err := ddnet.Install(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ddnet.Start(ctx, ddnet.Config{Program: program, Dir: filepath.Dir(srv.TeehistorianDir()), Name: "after"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Kill() })
	games := again.Games()
	second := games[len(games)-1].Recording
	time.Sleep(2 * time.Second)
	if err := again.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	proven.cancel()
	next.cancel()
	replays := []streamtest.Replay{offline(t, first), offline(t, second)}
	if err := streamtest.Check(<-proven.done, replays[:1], streamtest.Options{}); err != nil {
		t.Errorf("by proof: %v", err)
	}
	history := <-next.done
	if err := streamtest.Check(history, replays, streamtest.Options{}); err != nil {
		t.Errorf("by the directory: %v", err)
	}
	if !says(t, history, func(r *replaydv1.StreamEventsResponse) bool { return r.GetFollowStatus().GetSuccessor() != nil }) {
		t.Error("nobody went on")
	}
}

// TestMovedFiles renames and moves the file that a server is writing, and compresses finished files. Meanwhile one client follows
// and another resumes with a cursor.
func TestMovedFiles(t *testing.T) {
	t.Parallel()
	ctx, srv, bots := start(t, ddnet.Config{})
	d := startDaemon(t, srv.TeehistorianDir())
	game := srv.Games()[0].Recording
	req := &replaydv1.StreamEventsRequest{Replay: d.replay(game), Follow: true}
	f := follow(ctx, d, req)
	if err := bots.Run(ctx, "alice join\nalice wander on\nsleep 2s"); err != nil {
		t.Fatal(err)
	}
	short, cut := context.WithTimeout(ctx, time.Second)
	left := streamtest.Client{Conn: d.conn}.Session(short, req, nil)
	cut()
	left.Cut = true
	path := game
	for _, to := range []string{"renamed.teehistorian", filepath.Join("archive", filepath.Base(game))} {
		moved := filepath.Join(srv.TeehistorianDir(), to)
		if err := os.MkdirAll(filepath.Dir(moved), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, moved); err != nil {
			t.Fatal(err)
		}
		path = moved
		if err := bots.Run(ctx, "sleep 2s"); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	want := offline(t, path)
	history := f.stop(ctx, len(want.Events))
	if err := streamtest.Check(history, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
		t.Errorf("moved under a follower: %v", err)
	}
	if !says(t, history, func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetFollowStatus().GetReplay() == d.name("archive", filepath.Base(game))
	}) {
		t.Error("no status says where the file lies")
	}
	zip(t, path)
	resumed := streamtest.Client{Conn: d.conn}.Session(ctx, streamtest.Resumed(&replaydv1.StreamEventsRequest{
		Replay: d.replay(game),
	}, streamtest.History{left}), nil)
	if err := streamtest.Check(streamtest.History{left, resumed}, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
		t.Errorf("a cursor of a file that was moved and compressed: %v", err)
	}
}

// says reports whether a history contains a matching response.
func says(t *testing.T, h streamtest.History, is func(*replaydv1.StreamEventsResponse) bool) bool {
	t.Helper()
	for _, session := range h {
		for _, raw := range session.Responses {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			if is(&r) {
				return true
			}
		}
	}
	return false
}

// zip compresses a file in place, as gzip(1) does.
func zip(t *testing.T, path string) {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, in); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
