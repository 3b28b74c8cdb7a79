package service_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
)

// silent is a store that does not answer some calls until it is released, like a bucket behind a network that loses everything. It
// does not even heed the end of a call.
type silent struct {
	catalog.Store

	lists, opens bool // what it does not answer
	release      chan struct{}
}

func (s silent) Every() time.Duration { return time.Hour }

func (s silent) Path(string) string { return "" }

func (s silent) ReadDir(ctx context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	if s.lists {
		<-s.release
	}
	return s.Store.ReadDir(ctx, path, each)
}

func (s silent) Open(ctx context.Context, path string) (source.Handle, error) {
	if s.opens {
		<-s.release
	}
	return s.Store.Open(ctx, path)
}

// TestSilentRoot: a root that does not answer delays no request for another one, even where it may have the game's map and the game before,
// and belongs together with it.
func TestSilentRoot(t *testing.T) {
	sample := read(t, samples("datafile", "sample.map"))
	for what, store := range map[string]silent{
		"answers": {}, "does not list": {lists: true}, "does not open": {opens: true},
	} {
		t.Run(what, func(t *testing.T) {
			dir, other := t.TempDir(), t.TempDir()
			before := gameOf{number: 1, server: "s", start: time.Now().Add(-time.Hour), killed: true}
			after := gameOf{number: 2, prev: 1, server: "s", start: time.Now()}
			write(t, filepath.Join(dir, "game.teehistorian"), mapGame(sample))
			write(t, filepath.Join(dir, "after.teehistorian"), after.data(t))
			write(t, filepath.Join(other, "before.teehistorian"), before.data(t))
			write(t, filepath.Join(other, "a.map"), sample)
			store.Store, store.release = catalog.Directory(other), make(chan struct{})
			d := start(t, dir, func(c *service.Config) {
				var err error
				if c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Dir: dir}, {Alias: stored, Store: store}}, catalog.Options{}); err != nil {
					t.Fatal(err)
				}
				c.Lineages = oneLineage(t, alias, stored)
			})
			t.Cleanup(func() { close(store.release) }) // before the daemon ends, which waits for it
			for range 3 {
				for _, file := range []string{"game.teehistorian", "after.teehistorian"} {
					r, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name(file), View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS})
					if err != nil || r.GetReplay().GetName() != name(file) {
						t.Error(r, err)
					}
					s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
						Replay: name(file), ResolvePlayers: true, Start: &replaydv1.Start{WithState: true},
					}, nil)
					if s.Err != nil {
						t.Error(s.Err)
					}
				}
				list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: alias})
				if err != nil || len(list.GetReplays()) != 2 {
					t.Error(list, err)
				}
			}
			if what == "answers" { // so that the test tests something
				if got := mapOf(t, d, name("game.teehistorian"), stored+"/a.map"); got != stored+"/a.map" {
					t.Error("the map in the other root is not found:", got)
				}
			}
		})
	}
}
