package service_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

// TestWatchGrownWhileListed adds a replay and lets it grow between two pages of the first list. The second page has it at its
// new size. It is not sent again as added, with the size that it had at first.
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
	path := filepath.Join(dir, "zz", "game.teehistorian")
	listed := func(size int) { // waits until the index has the replay at a size
		for ctx.Err() == nil {
			list, err := server.ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: alias + "/zz"})
			if err == nil && len(list.GetReplays()) == 1 && list.GetReplays()[0].GetSizeBytes() == int64(size) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	responses := 0
	done := false
	var sizes []int64
	err = server.WatchReplays(&replaydv1.WatchReplaysRequest{Directory: alias}, &watcher{ctx: ctx, each: func(r *replaydv1.WatchReplaysResponse) error {
		if responses++; responses == 1 {
			if r.GetInitialDone() || len(r.GetChanges()) != page {
				t.Errorf("the first response has %d changes, want a page of %d", len(r.GetChanges()), page)
			}
			write(t, path, sample[:first])
			listed(first)
			grow(t, path, sample[first:grown])
			listed(grown)
		}
		for _, c := range r.GetChanges() {
			switch c.GetReplay().GetName() {
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
