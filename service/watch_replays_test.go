package service_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/watch"
)

// watcher receives what WatchReplays sends, while the call waits.
type watcher struct {
	grpc.ServerStreamingServer[replaydv1.WatchReplaysResponse]

	ctx  context.Context //nolint:containedctx // a stream has one
	each func(*replaydv1.WatchReplaysResponse) error
}

func (w *watcher) Context() context.Context                            { return w.ctx }
func (w *watcher) Send(response *replaydv1.WatchReplaysResponse) error { return w.each(response) }

// TestWatchChangesOnly watches without the replays that exist at the start: the first list is empty, and what comes later is told.
func TestWatchChangesOnly(t *testing.T) {
	dir := t.TempDir()
	game := func(number int) {
		write(t, filepath.Join(dir, gameOf{number: number}.file()), gameOf{number: number}.data(t))
	}
	game(1)
	d := start(t, dir)
	d.searched(t)
	stream, err := d.client.WatchReplays(timeout(t), &replaydv1.WatchReplaysRequest{ChangesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || !first.GetInitialDone() || len(first.GetChanges()) > 0 {
		t.Fatalf("the first response is %v, %v", first, err)
	}
	game(2)
	for {
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.GetChanges() {
			if base := filepath.Base(c.GetReplay().GetName()); base != (gameOf{number: 2}).file() {
				t.Fatalf("a change of %s: %v", base, c.GetKind())
			}
			return
		}
	}
}

// TestWatchChangesOnlyOfNothing watches a directory that does not exist.
func TestWatchChangesOnlyOfNothing(t *testing.T) {
	d := start(t, t.TempDir())
	stream, err := d.client.WatchReplays(timeout(t), &replaydv1.WatchReplaysRequest{ChangesOnly: true, Directory: alias + "/none"})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.NotFound {
		t.Errorf("%v, want NOT_FOUND", err)
	}
}

// TestWatchGrownWhileListed: the second page of the first list has what became of a replay while the first one was sent. What it was before
// that is not sent behind it: no smaller size of one that has grown, and no removal of one that is there again.
func TestWatchGrownWhileListed(t *testing.T) {
	const page = 1000 // changes in a response
	sample := gameOf{number: 1, server: "ctf", start: time.Now()}.data(t)
	head := bytes.IndexByte(sample[16:], 0) + 17
	first, grown := head+100, head+500 // its sizes
	dir := t.TempDir()
	for i := range page + 1 { // two pages, of which the second has the new replay, too
		write(t, filepath.Join(dir, "many", fmt.Sprintf("%04d.teehistorian", i)), sample[:first])
	}
	cat, err := catalog.New([]catalog.Root{{Alias: alias, Dir: dir}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watcherOf, err := watch.New(watch.Options{Interval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer watcherOf.Close()
	server, err := service.NewServer(service.Config{Catalog: cat, Watcher: watcherOf, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	path, again := filepath.Join(dir, "zz", "game.teehistorian"), filepath.Join(dir, "zzz", "game.teehistorian")
	listed := func(path string, sizes ...int) { // waits until the index has the replays of a directory at their sizes
		for ctx.Err() == nil {
			list, err := server.ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: alias + "/" + filepath.Base(filepath.Dir(path))})
			if err == nil && slices.EqualFunc(list.GetReplays(), sizes, func(r *replaydv1.Replay, size int) bool { return r.GetSizeBytes() == int64(size) }) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	write(t, again, sample[:first])
	responses := 0
	done, there := false, false
	var sizes []int64
	err = server.WatchReplays(&replaydv1.WatchReplaysRequest{Directory: alias}, &watcher{ctx: ctx, each: func(r *replaydv1.WatchReplaysResponse) error {
		if responses++; responses == 1 {
			if r.GetInitialDone() || len(r.GetChanges()) != page {
				t.Errorf("the first response has %d changes, want a page of %d", len(r.GetChanges()), page)
			}
			write(t, path, sample[:first])
			listed(path, first)
			grow(t, path, sample[first:grown])
			listed(path, grown)
			if err := os.Remove(again); err != nil {
				t.Error(err)
			}
			listed(again)
			write(t, again, sample[:first])
			listed(again, first)
		}
		for _, c := range r.GetChanges() {
			switch c.GetReplay().GetName() {
			case alias + "/zzz/game.teehistorian":
				there = c.GetKind() != replaydv1.ChangeKind_CHANGE_KIND_REMOVED
			case alias + "/zz/game.teehistorian":
				sizes = append(sizes, c.GetReplay().GetSizeBytes())
				if added := c.GetKind() == replaydv1.ChangeKind_CHANGE_KIND_ADDED; added != (len(sizes) == 1) {
					t.Errorf("%v is change number %d of the replay", c.GetKind(), len(sizes))
				}
			case alias + "/zz/last.teehistorian":
				cancel()
			}
		}
		if r.GetInitialDone() && !done {
			done = true
			write(t, filepath.Join(dir, "zz", "last.teehistorian"), sample[:first])
		}
		return nil
	}})
	if !done || ctx.Err() == nil {
		t.Fatal(err)
	}
	if len(sizes) == 0 {
		t.Fatal("the replay was not sent")
	}
	if !there {
		t.Error("a replay seems to be removed that is there again")
	}
	for _, size := range sizes {
		if size != int64(grown) {
			t.Errorf("its sizes are %d, want %d alone", sizes, grown)
		}
	}
}

// grow appends to a file.
func grow(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
