//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"

	"github.com/replayd/replayd/e2e/ddnet"
)

// crashes returns how often servers are killed: CRASHES times, or 3.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CRASHES")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CRASHES: %q", text)
	}
	return n
}

// successors is a client that notes which games a stream goes on with, and what it says of the writer while it waits.
type successors struct {
	mu     sync.Mutex
	games  []string // names of files
	writer replaydv1.Writer
	end    error
}

// followGames follows a game and its successors.
func followGames(ctx context.Context, t *testing.T, d *daemon, replay string) *successors {
	t.Helper()
	s := &successors{}
	stream, err := d.client().StreamEvents(ctx, &replaydv1.StreamEventsRequest{Replay: replay, Follow: true, FollowSuccessors: true})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			r, err := stream.Recv()
			s.mu.Lock()
			if err != nil {
				s.end = err
				s.mu.Unlock()
				return
			}
			if next := r.GetFollowStatus().GetSuccessor(); next != nil {
				s.games = append(s.games, filepath.Base(next.GetName()))
			}
			if w := r.GetFollowStatus().GetWaiting(); w != nil {
				s.writer = w.GetWriter()
			}
			s.mu.Unlock()
		}
	}()
	return s
}

// until waits for a condition, for a limit.
func (s *successors) until(limit time.Duration, is func(s *successors) bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		ok := is(s)
		s.mu.Unlock()
		if ok || time.Now().After(deadline) {
			return ok
		}
	}
}

// patience is how long a test waits for the next game. The promise is 2 s on a machine that has nothing else to do: the test logs the
// longest wait.
const patience = 30 * time.Second

// server is a game server that is killed and started again, with its follower.
type server struct {
	cfg      ddnet.Config
	srv      *ddnet.Server
	first    int // the game in its log with which the follower began
	follower *successors
}

// newest returns the file of the newest game.
func (s *server) newest() string {
	games := s.srv.Games()
	return filepath.Base(games[len(games)-1].Recording)
}

// own returns the files of all games behind the one with which the follower began.
func (s *server) own() (files []string) {
	for _, g := range s.srv.Games()[s.first+1:] {
		files = append(files, filepath.Base(g.Recording))
	}
	return files
}

// crash kills the server and starts it again. It returns how long the follower needed from then on to get the next game.
func (s *server) crash(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	if err := s.srv.Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.srv, err = ddnet.Start(ctx, s.cfg); err != nil {
		t.Fatal(err)
	}
	begun, want := time.Now(), s.own()
	if !s.follower.until(patience, func(f *successors) bool { return len(f.games) >= len(want) }) {
		s.follower.mu.Lock()
		defer s.follower.mu.Unlock()
		t.Fatalf("no next game: followed %v of %v, writer %v, %v", s.follower.games, want, s.follower.writer, s.follower.end)
	}
	return time.Since(begun)
}

// check compares the games that were followed with those of the server's log.
func (s *server) check(t *testing.T) {
	t.Helper()
	s.follower.mu.Lock()
	defer s.follower.mu.Unlock()
	if want := s.own(); !slices.Equal(s.follower.games, want) || s.follower.end != nil {
		t.Errorf("followed %v, want %v; %v", s.follower.games, want, s.follower.end)
	}
}

// TestCrash kills servers with SIGKILL and starts them again: one server, and two of one name and port that write into one directory. Empty
// ones, which write nothing for as long as they live, and one with players. Each follower gets the next game of its server, and no other.
func TestCrash(t *testing.T) {
	t.Parallel()
	program, err := ddnet.Install(t.Context())
	if err != nil {
		t.Skip(err)
	}
	kills := crashes(t)
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout+time.Duration(kills)*10*time.Second)
			defer cancel()
			shared := t.TempDir()
			d := startDaemon(t, shared)
			var all []*server
			for i := range n {
				dir := t.TempDir()
				if err := os.Symlink(shared, filepath.Join(dir, "teehistorian")); err != nil {
					t.Fatal(err)
				}
				s := &server{cfg: ddnet.Config{Program: program, Dir: dir, Name: "one of many", Port: 48301 + n, Host: fmt.Sprintf("127.0.0.%d", 2+i)}}
				if s.srv, err = ddnet.Start(ctx, s.cfg); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.srv.Kill() })
				all = append(all, s)
			}
			for _, s := range all {
				replay := d.name(s.newest())
				for !exists(ctx, d, replay) {
					time.Sleep(10 * time.Millisecond)
				}
				s.follower = followGames(ctx, t, d, replay)
			}
			bots, err := all[0].srv.Bots(ctx)
			if err == nil {
				err = bots.Run(ctx, "alice join\nbob join\n* wander on\nsleep 2s")
			}
			if err != nil {
				t.Logf("bots: %v", err)
			}
			random, longest := rand.New(rand.NewPCG(uint64(kills), uint64(n))), time.Duration(0)
			for i := range kills {
				s := all[random.IntN(n)]
				longest = max(longest, s.crash(ctx, t))
				if i == 0 {
					_ = bots.Close()
				}
			}
			for _, s := range all {
				want := len(s.own())
				s.follower.until(patience, func(f *successors) bool { return len(f.games) >= want })
				s.check(t)
			}
			t.Logf("%d kills of %d servers; the next game came %v after its server was there, at the latest", kills, n, longest)
		})
	}
}

// exists reports whether the daemon knows a replay by now.
func exists(ctx context.Context, d *daemon, replay string) bool {
	r, err := d.client().GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: replay})
	return err == nil && r.GetReplay().GetIdentity() != ""
}

// TestCrashFromBelow serves a FUSE mount of the directory into which the server writes: from there it is not known whether the server
// runs. So a follower waits for a server that was killed as for one that is silent, and says why.
func TestCrashFromBelow(t *testing.T) {
	bindfs, err := exec.LookPath("bindfs")
	if err != nil {
		t.Skip("bindfs is not installed")
	}
	ctx, srv, _ := start(t, ddnet.Config{})
	mount := t.TempDir()
	if out, err := exec.CommandContext(ctx, bindfs, "--no-allow-other", srv.TeehistorianDir(), mount).CombinedOutput(); err != nil {
		t.Skipf("bindfs: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("fusermount3", "-u", "-z", mount).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	d := startDaemon(t, mount)
	first := filepath.Base(srv.Games()[0].Recording)
	for !exists(ctx, d, d.name(first)) {
		time.Sleep(10 * time.Millisecond)
	}
	f := followGames(ctx, t, d, d.name(first))
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}
	program, err := ddnet.Install(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ddnet.Start(ctx, ddnet.Config{Program: program, Dir: filepath.Dir(srv.TeehistorianDir()), Port: srv.Port()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Kill() })
	if !f.until(patience, func(f *successors) bool { return f.writer == replaydv1.Writer_WRITER_UNKNOWN_ELSEWHERE }) {
		t.Error("the stream does not say that it cannot know")
	}
	time.Sleep(3 * time.Second)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.games) > 0 || f.end != nil {
		t.Errorf("it went on with %v, %v", f.games, f.end)
	}
}
