package service_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/latest"
)

// stuck is a directory whose files cannot be opened, or whose lists do not come, from a time on and until it is released.
type stuck struct {
	catalog.Store

	lists   bool
	from    chan struct{} // closed when it gets stuck
	waits   chan struct{} // gets a value when a call waits
	release chan struct{}
}

func (s *stuck) wait() {
	select {
	case <-s.from:
	default:
		return
	}
	select {
	case s.waits <- struct{}{}:
	default:
	}
	<-s.release
}

func (s *stuck) Open(ctx context.Context, path string) (source.Handle, error) {
	if !s.lists {
		s.wait()
	}
	return s.Store.Open(ctx, path)
}

func (s *stuck) ReadDir(ctx context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	if s.lists {
		s.wait()
	}
	return s.Store.ReadDir(ctx, path, each)
}

// TestWatchStateStuck: games in a root that does not answer, before the call or during it, delay nobody else's.
func TestWatchStateStuck(t *testing.T) {
	for what, of := range map[string]struct{ lists, early bool }{"lists": {true, true}, "files": {false, false}, "files from the beginning": {false, true}} {
		t.Run(what, func(t *testing.T) {
			dir, other := t.TempDir(), t.TempDir()
			root := &stuck{catalog.Directory(other), of.lists, make(chan struct{}), make(chan struct{}, 1), make(chan struct{})}
			if of.early {
				close(root.from)
			}
			for i := range 5 {
				write(t, filepath.Join(other, fmt.Sprint(i, ".teehistorian")), gameOf{number: 10 + i, server: fmt.Sprint(i), killed: true, start: time.Now()}.data(t))
			}
			d := start(t, dir, func(c *service.Config) {
				var err error
				if c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Dir: dir}, {Alias: stored, Store: root}}, catalog.Options{}); err != nil {
					t.Fatal(err)
				}
				c.Turns = admission.NewTurns(1)
			})
			t.Cleanup(func() { close(root.release) }) // before the daemon ends, which waits for it
			if !of.early {
				list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{})
				if err != nil || len(list.GetReplays()) != 5 {
					t.Fatal(list, err)
				}
				close(root.from)
			}
			data := gameOf{number: 1, server: "s", start: time.Now()}.data(t)
			file := create(t, dir, "game.teehistorian")
			file.write(data[:len(data)/2])
			ctx, cancel := context.WithCancel(timeout(t))
			w := scoreboardOf(ctx, t, d, &replaydv1.WatchStateRequest{})
			<-root.waits
			is := func(of *replaydv1.WatchedReplay) bool {
				return of.GetDescription().GetName() == name("game.teehistorian")
			}
			tick := w.until("the game in the other root", func(of *replaydv1.WatchedReplay) bool { return is(of) && of.Tick != nil }).GetTick()
			file.write(data[len(data)/2:])
			w.until("its end", func(of *replaydv1.WatchedReplay) bool { return is(of) && of.GetTick() > tick && of.GetEnd() != 0 })
			cancel()
			if _, err := w.calls.Recv(); status.Code(err) != codes.Canceled {
				t.Errorf("the call ends with %v", err)
			}
		})
	}
}

// moving is a directory in which a file is renamed when it is to be opened, once it is told so.
type moving struct {
	catalog.Store

	from, to string
	now      chan func() // what to do between that and the answer
}

func (m *moving) Open(ctx context.Context, path string) (source.Handle, error) {
	if filepath.Base(path) == filepath.Base(m.from) {
		select {
		case then := <-m.now:
			if err := os.Rename(m.from, m.to); err != nil {
				return nil, err
			}
			then()
		default:
		}
	}
	return m.Store.Open(ctx, path)
}

// TestWatchStateMoved: a game whose file gets another name before it is opened is watched, whether its new name is known before or after.
func TestWatchStateMoved(t *testing.T) {
	for what, early := range map[string]bool{"before": true, "after": false} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			root := &moving{catalog.Directory(dir), filepath.Join(dir, "new.teehistorian"), filepath.Join(dir, "game.teehistorian"), make(chan func(), 1)}
			write(t, root.from, gameOf{number: 1, server: "s", killed: true, start: time.Now()}.data(t))
			d := start(t, dir, func(c *service.Config) {
				var err error
				if c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Store: root}}, catalog.Options{}); err != nil {
					t.Fatal(err)
				}
			})
			ctx := timeout(t)
			seen := func(as string) {
				for ctx.Err() == nil {
					list, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{})
					if err == nil && len(list.GetReplays()) == 1 && list.GetReplays()[0].GetName() == name(as) {
						return
					}
				}
			}
			seen("new.teehistorian")
			root.now <- func() {
				if early {
					seen("game.teehistorian")
					time.Sleep(4 * latest.MinInterval)
				}
			}
			w := scoreboardOf(ctx, t, d, &replaydv1.WatchStateRequest{Interval: durationpb.New(latest.MinInterval)})
			w.until("the game", func(of *replaydv1.WatchedReplay) bool {
				if of.GetFailure() != nil || of.GetEnd() != 0 {
					t.Error(of)
				}
				return of.GetDescription().GetName() == name("game.teehistorian") && of.Tick != nil
			})
		})
	}
}
