//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"

	"github.com/replayd/replayd/e2e/ddnet"
)

// rotateFor is the duration of TestTwoServers.
var rotateFor = flag.Duration("rotate-for", 30*time.Second, "how long to play on two servers of one name")

// twin is one of two servers that differ only in their address.
type twin struct {
	cfg  ddnet.Config
	srv  *ddnet.Server
	bots *ddnet.Bots
	maps int // number of map changes
}

// run starts or restarts the server.
func (w *twin) run(ctx context.Context, t *testing.T) {
	t.Helper()
	w.maps = 0
	var err error
	if w.srv, err = ddnet.Start(ctx, w.cfg); err != nil {
		t.Fatal(err)
	}
	if w.bots, err = w.srv.Bots(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.bots.Run(ctx, "one join\ntwo join\n* wander on"); err != nil {
		t.Logf("bots: %v", err) // a server that has just started may drop them; the other server records enough
	}
}

// TestTwoServers plays on two servers with the same name and port that record into one directory, as containers do. Maps
// change, and both servers are shut down and killed. A follower must not get an end too early, and must not get events of the
// other server.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	program, err := ddnet.Install(t.Context())
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout+*rotateFor)
	defer cancel()
	shared := t.TempDir()
	twins := make([]*twin, 2)
	for i := range twins {
		dir := t.TempDir()
		if err := os.Symlink(shared, filepath.Join(dir, "teehistorian")); err != nil {
			t.Fatal(err)
		}
		twins[i] = &twin{cfg: ddnet.Config{
			Program: program, Dir: dir, Name: "one of many", Port: 48304, Host: fmt.Sprintf("127.0.0.%d", 2+i),
		}}
		twins[i].run(ctx, t)
	}
	t.Cleanup(func() {
		for _, w := range twins {
			_ = w.srv.Kill()
			_ = w.bots.Close()
		}
	})
	d := startDaemon(t, shared)

	var followers []*follower
	var of []*twin
	followed, killed := map[string]bool{}, map[string]bool{}
	join := func() {
		for _, w := range twins {
			games := w.srv.Games()
			newest := filepath.Base(games[len(games)-1].Recording)
			if followed[newest] {
				continue
			}
			followed[newest] = true
			for _, req := range []*replaydv1.StreamEventsRequest{
				{Follow: true}, {Follow: true, FollowSuccessors: true},
			} {
				req.Replay = d.name(newest)
				followers = append(followers, follow(ctx, d, req))
				of = append(of, w)
			}
		}
	}
	join()
	random := rand.New(rand.NewPCG(1, 2))
	rotations := map[string]int{}
	for deadline := time.Now().Add(*rotateFor); time.Now().Before(deadline); {
		time.Sleep(time.Duration(1000+random.IntN(2500)) * time.Millisecond)
		w := twins[random.IntN(len(twins))]
		switch n := random.IntN(10); {
		case n < 6:
			rotations["changes of the map"]++
			w.maps++ // a server ignores a change to its current map
			if err := w.srv.ChangeMap(ctx, []string{ddnet.DefaultMap, "dm1", "LearnToPlay"}[w.maps%3]); err != nil {
				t.Fatal(err)
			}
		case n < 8:
			rotations["shutdowns"]++
			if err := w.srv.Stop(); err != nil {
				t.Fatal(err)
			}
			_ = w.bots.Close()
			w.run(ctx, t)
		default:
			rotations["kills"]++
			games := w.srv.Games()
			killed[filepath.Base(games[len(games)-1].Recording)] = true
			if err := w.srv.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = w.bots.Close()
			w.run(ctx, t)
		}
		join()
	}
	for _, w := range twins {
		if err := w.srv.Stop(); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(2 * time.Second)
	var wg sync.WaitGroup
	ended, events, moves := 0, 0, 0
	var mu sync.Mutex
	for i, f := range followers {
		wg.Go(func() {
			f.cancel()
			history := <-f.done
			mu.Lock()
			defer mu.Unlock()
			own := of[i].srv.Games()
			var replays []streamtest.Replay
			last := ""
			for _, session := range history {
				for _, raw := range session.Responses {
					var r replaydv1.StreamEventsResponse
					if err := proto.Unmarshal(raw, &r); err != nil {
						t.Error(err)
						return
					}
					replay := r.GetStart().GetReplay()
					if next := r.GetFollowStatus().GetSuccessor(); next != nil {
						replay = next
						moves++
					}
					if replay == nil {
						continue
					}
					last = filepath.Base(replay.GetName())
					path := filepath.Join(shared, last)
					if !slices.ContainsFunc(own, func(g ddnet.Game) bool { return filepath.Base(g.Recording) == filepath.Base(path) }) {
						t.Errorf("follower %d got a game of the other server: %s", i, path)
					}
					one := offline(t, path)
					events += len(one.Events)
					replays = append(replays, one)
				}
			}
			if end := history.End(); end != nil {
				ended++
				// That a killed server's game is over is certain once its next one is known, where the kernel says who writes.
				over := end.GetReason() == replaydv1.EndReason_END_REASON_TRUNCATED && killed[last]
				if end.GetReason() != replaydv1.EndReason_END_REASON_FINISHED && !over {
					t.Errorf("follower %d of %s ended by %v", i, last, end)
				}
			}
			if err := streamtest.Check(history, replays, streamtest.Options{}); err != nil {
				t.Errorf("follower %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	t.Logf("%v in %v: %d followers, %d successors, %d ends, %d events", rotations, *rotateFor, len(followers), moves, ended, events)
}
