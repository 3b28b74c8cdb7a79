package latest_test

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/latest"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// game is the file of a game that is being played, and the boards that read it.
type game struct {
	t       *testing.T
	boards  *latest.Boards
	watched *latest.Watched
	changed chan struct{}

	mu      sync.Mutex
	all     []byte // what will be written
	written int
	lost    error
	name    string
	refuses error // how the file cannot be opened
	opens   []time.Time
	open    int
}

func (g *game) Changed() <-chan struct{} { return g.changed }

func (g *game) Look() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.written), g.lost
}

func (g *game) Standing() stream.Standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return stream.Standing{Name: g.name}
}

// ReadAt implements io.ReaderAt.
func (g *game) ReadAt(p []byte, offset int64) (n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if offset < int64(g.written) {
		n = copy(p, g.all[offset:g.written])
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// opened opens the game for a board.
func (g *game) opened(_ context.Context, _ *access.Grant, req *replaydv1.StreamEventsRequest) (*stream.Replay, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opens = append(g.opens, time.Now()); g.refuses != nil {
		return nil, nil, g.refuses
	}
	if g.open++; !req.GetFollow() {
		g.t.Errorf("the board asks for %v", req)
	}
	replay := &stream.Replay{
		Codec: &teehistorian.Codec, Info: &replaydv1.Replay{Name: req.GetReplay()}, Follower: g, Present: int64(g.written),
		Opened: streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
			if !o.Start.Now {
				g.t.Error("the game is read from its beginning")
			}
			return teehistorian.Codec.Open(source.Input{At: g}, o)
		}),
	}
	var err error
	replay.Options.Filter, err = filter.Compile(&teehistorian.Codec.Filters, req.GetInclude(), nil)
	return replay, func() { g.mu.Lock(); g.open--; g.mu.Unlock() }, err
}

// change changes the game, and returns what a call learns of it.
func (g *game) change(f func()) *replaydv1.WatchedReplay {
	g.mu.Lock()
	f()
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
	time.Sleep(2 * time.Second) // longer than a state that no tick follows is unfinished
	return g.news()
}

func (g *game) news() *replaydv1.WatchedReplay {
	g.t.Helper()
	synctest.Wait()
	var r replaydv1.WatchStateResponse
	if err := proto.Unmarshal(g.watched.Take(), &r); err != nil {
		g.t.Fatal(err)
	}
	if len(r.GetReplays()) == 0 {
		return nil
	}
	return r.GetReplays()[0]
}

// watch calls f with a game of which a part is written, and what a call learns of it at first. Then nothing of the game must be open.
func watch(t *testing.T, refuses error, f func(g *game, first *replaydv1.WatchedReplay)) {
	t.Helper()
	data := teetest.Repeat(decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"), 1<<16)
	in, err := teehistorian.Codec.Open(codectest.Input(data), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var info replaydv1.Replay
	if err := in.Header(&info); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := &game{t: t, changed: make(chan struct{}, 1), all: data, written: len(data) / 2, refuses: refuses}
		g.boards = latest.NewBoards(latest.Config{
			Open: g.opened, Resolves: func(decoders.Format) bool { return false },
			Turn: func(_ context.Context, f func() error) error { return f() },
			Explain: func(_ context.Context, err error, _ string) *replaydv1.SubscriptionFailure {
				failure := &replaydv1.SubscriptionFailure{Code: int32(codes.NotFound), Message: err.Error()}
				if err == io.ErrNoProgress { //nolint:errorlint // a test's own
					failure.Code = int32(codes.Unavailable)
				}
				return failure
			},
			Panicked: func(_ context.Context, p any, _ string) error { t.Error(p); return io.ErrUnexpectedEOF },
		})
		defer g.boards.Close()
		wish, err := latest.NewWish(nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		g.watched = g.boards.Join(&index.Entry{
			Info: source.Info{Name: "r/a"}, Facts: index.Facts{Identity: info.GetIdentity()},
		}, wish)
		f(g, g.news())
		g.watched.Leave(g.boards)
		if synctest.Wait(); g.open != 0 || g.boards.Count() != 0 {
			t.Errorf("%d files are open, %d games are watched", g.open, g.boards.Count())
		}
	})
}

// TestRead: a board has the state at the present end of a game, and then each later one. A new name of the file is told.
func TestRead(t *testing.T) {
	watch(t, nil, func(g *game, first *replaydv1.WatchedReplay) {
		if first.GetDescription().GetName() != "r/a" || first.GetTick() < 1 || len(first.GetTeehistorian().GetEvents()) == 0 {
			t.Errorf("at first: %v", first)
		}
		if again := g.news(); again != nil {
			t.Errorf("nothing happened, and it has %v", again)
		}
		tick := first.GetTick()
		for range 3 {
			now := g.change(func() { g.written += 1000 })
			if now.GetTick() <= tick || !now.GetUnfinished() || now.GetDescription() != nil {
				t.Errorf("after tick %d comes %v", tick, now)
			}
			tick = now.GetTick()
		}
		if moved := g.change(func() { g.name = "r/b" }); moved.GetDescription().GetName() != "r/b" {
			t.Errorf("with another name: %v", moved)
		}
		if ended := g.change(func() { g.written = len(g.all) }); ended.GetEnd() != replaydv1.EndReason_END_REASON_FINISHED || ended.GetTick() <= tick {
			t.Errorf("at the end: %v", ended)
		}
	})
}

// TestLost: why a game has no more is told. What was written before counts, unless the file has other bytes now.
func TestLost(t *testing.T) {
	for lost, want := range map[error]replaydv1.EndReason{
		source.ErrShrunk: replaydv1.EndReason_END_REASON_SHRUNK, source.ErrReplaced: replaydv1.EndReason_END_REASON_REPLACED,
		source.ErrRemoved: replaydv1.EndReason_END_REASON_REMOVED, stream.ErrSucceeded: replaydv1.EndReason_END_REASON_TRUNCATED,
	} {
		watch(t, nil, func(g *game, first *replaydv1.WatchedReplay) {
			end := g.change(func() { g.written, g.lost = g.written+1000, lost })
			read, cut := end.GetTick() > first.GetTick(), want == replaydv1.EndReason_END_REASON_TRUNCATED
			if end.GetEnd() != want || read == (want == replaydv1.EndReason_END_REASON_SHRUNK) || end.GetUnfinished() != cut {
				t.Errorf("%v: %v after tick %d", lost, end, first.GetTick())
			}
		})
	}
}

// TestLostEarly: a game that is removed before its header was whole ends, too.
func TestLostEarly(t *testing.T) {
	watch(t, io.ErrNoProgress, func(g *game, _ *replaydv1.WatchedReplay) {
		g.mu.Lock()
		g.written, g.refuses = 20, nil
		g.mu.Unlock()
		time.Sleep(time.Second)
		if waits := g.news(); waits != nil {
			t.Errorf("without a header: %v", waits)
		}
		if end := g.change(func() { g.lost = source.ErrRemoved }); end.GetEnd() != replaydv1.EndReason_END_REASON_REMOVED {
			t.Errorf("it is removed: %v", end)
		}
	})
}

// TestSilent: a game is left when nothing was written to it for long, however long it is watched.
func TestSilent(t *testing.T) {
	watch(t, nil, func(g *game, _ *replaydv1.WatchedReplay) {
		for range 5 {
			time.Sleep(latest.Quiet - 10*time.Second)
			if now := g.change(func() { g.written += 10 }); now.GetEnd() != 0 {
				t.Fatalf("it is written to, and has %v", now)
			}
		}
		time.Sleep(latest.Quiet - 10*time.Second)
		if now := g.news(); now.GetEnd() != 0 {
			t.Errorf("too early: %v", now)
		}
		time.Sleep(10 * time.Second)
		if now := g.news(); now.GetEnd() != replaydv1.EndReason_END_REASON_SILENT {
			t.Errorf("at last: %v", now)
		}
	})
}

// TestRefused: a game that cannot be read now is tried again, after longer and longer; others are not.
func TestRefused(t *testing.T) {
	watch(t, io.ErrNoProgress, func(g *game, first *replaydv1.WatchedReplay) {
		if failure := first.GetFailure(); !failure.GetRetried() || failure.GetMessage() != io.ErrNoProgress.Error() {
			t.Errorf("at first: %v", first)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		g.mu.Lock()
		var pauses []time.Duration
		for i, at := range g.opens[1:] {
			pauses = append(pauses, at.Sub(g.opens[i]))
		}
		g.refuses = nil
		g.mu.Unlock()
		if !slices.Equal(pauses, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}) {
			t.Errorf("it was tried after %v", pauses)
		}
		time.Sleep(time.Second)
		if now := g.news(); now.GetFailure() != nil || now.GetTick() < 1 {
			t.Errorf("then: %v", now)
		}
	})
	watch(t, io.ErrClosedPipe, func(g *game, first *replaydv1.WatchedReplay) {
		if time.Sleep(time.Hour); first.GetFailure().GetRetried() || len(g.opens) != 1 {
			t.Errorf("%v, tried %d times", first, len(g.opens))
		}
	})
}
