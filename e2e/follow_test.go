//go:build e2e

package e2e

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"

	"github.com/replayd/replayd/e2e/ddnet"
)

// TestFollowLiveServer follows a server with players over a map change. The
// daemon is killed -9 again and again, and the server is killed in the end. The
// client must receive exactly the events of an offline decode of the files, none
// lost and none twice. The files must agree with the server's log.
func TestFollowLiveServer(t *testing.T) {
	t.Parallel()
	const kills = 20
	ctx, srv, bots := start(t, ddnet.Config{})
	d := startDaemon(t, srv.TeehistorianDir())
	client := follow(ctx, d, &replaydv1.StreamEventsRequest{
		Replay: d.replay(srv.Games()[0].Recording), Follow: true, FollowSuccessors: true,
	})

	played := make(chan error, 1)
	go func() {
		played <- bots.Run(ctx, `
			alice join
			bob join
			* wander on
			alice say hello
			sleep 3s
			bob emote 4
			alice login `+ddnet.Password+`
			sleep 1s
			alice rcon change_map dm1
			sleep 3s
			carol join
			carol wander on
			sleep 3s
			bob leave
			sleep 3s
		`)
	}()
	for range kills {
		time.Sleep(500 * time.Millisecond)
		d.restart(t)
	}
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}

	games := srv.Games()
	if len(games) != 2 {
		t.Fatalf("the log has %d games, want 2", len(games))
	}
	replays, total := make([]streamtest.Replay, len(games)), 0
	for i, game := range games {
		replays[i] = offline(t, game.Recording)
		total += len(replays[i].Events)
		if got, _ := decode(t, game.Recording); !cmp.Equal(game, got) {
			t.Errorf("game %d: log (-) and recording (+) differ:\n%s", i, cmp.Diff(game, got))
		}
	}
	history := client.stop(ctx, total)
	if err := streamtest.Check(history, replays, streamtest.Options{}); err != nil {
		t.Error(err)
	}
	t.Logf("%d events of %d games in %d sessions over %d kills", total, len(games), len(history), kills)
}

// follower is a client that resumes until stop is called.
type follower struct {
	received atomic.Int64 // the number of events
	cancel   context.CancelFunc
	done     chan streamtest.History
}

// follow starts a client. It resumes with only its last cursor.
func follow(ctx context.Context, d *daemon, req *replaydv1.StreamEventsRequest) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{cancel: cancel, done: make(chan streamtest.History, 1)}
	client := streamtest.Client{Conn: d.conn, Options: []grpc.CallOption{grpc.WaitForReady(true)}}
	go func() {
		var history streamtest.History
		for {
			session := client.Session(ctx, streamtest.Resumed(req, history), func(res *replaydv1.StreamEventsResponse) bool {
				if batch := res.GetBatch(); batch != nil {
					f.received.Add(int64(batch.GetNextSequence() - batch.GetFirstSequence()))
				}
				return true
			})
			// The daemon was killed or the test has ended; neither is a failure of the stream.
			session.Cut = status.Code(session.Err) == codes.Unavailable || ctx.Err() != nil
			history = append(history, session)
			if !session.Cut || ctx.Err() != nil {
				f.done <- history
				return
			}
		}
	}()
	return f
}

// stop waits until the client has received a number of events, or for a time
// limit. It returns the history of the client.
func (f *follower) stop(ctx context.Context, events int) streamtest.History {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for f.received.Load() < int64(events) && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // a repeated event would arrive later
	f.cancel()
	return <-f.done
}

// offline decodes a recording without the daemon.
func offline(t *testing.T, path string) streamtest.Replay {
	t.Helper()
	file, err := source.OpenLocal(path, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	replay, err := streamtest.Offline(&teehistorian.Codec, file.Input(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return replay
}
