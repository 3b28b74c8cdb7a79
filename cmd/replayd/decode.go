package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// localResponses calls each with the wire bytes of every response to the request, which it makes without a daemon: it
// decodes a file, or what it reads from in. The bytes are valid until each returns.
func localResponses(
	ctx context.Context, in io.Reader, req *replaydv1.StreamEventsRequest, reveal bool, each func([]byte) error,
) error {
	send := func(f *frame.Frame) error {
		defer f.Free()
		buf := f.Buffer()
		defer buf.Free()
		return each(buf.ReadOnlyData())
	}
	if req.GetFollow() {
		return localFollow(ctx, req, reveal, send)
	}
	file, err := openLocal(in, req.GetReplay())
	if err != nil {
		return err
	}
	if req.GetStart().GetLastEvents() > 0 && file.Info().Size < 0 { // finding the last events takes reading twice
		if err := file.Spool(ctx); err != nil {
			_ = file.Close()
			return err
		}
	}
	sub, err := service.Subscribe(ctx, file, req)
	if err != nil {
		_ = file.Close()
		return err
	}
	sub.Replay.RevealSecrets = reveal
	sub.Replay.Close = func() { _ = file.Close() }
	sub.Version = version
	return stream.Run(ctx, sub, send)
}

// localFollow follows a file, or the newest one of a directory, with a daemon of its own that nobody else can reach.
func localFollow(ctx context.Context, req *replaydv1.StreamEventsRequest, reveal bool, send stream.Send) error {
	if req.GetReplay() == "-" {
		return usageError{errors.New("--follow: the standard input is read until it ends anyway")}
	}
	stat, err := os.Stat(req.GetReplay())
	if err != nil {
		return absent(err)
	}
	if !stat.IsDir() && !stat.Mode().IsRegular() {
		return usageError{fmt.Errorf("--follow: %s %w", req.GetReplay(), source.ErrIrregular)}
	}
	// The file's own directory is the root, also where a link leads to the file from somewhere else.
	file, err := filepath.EvalSymlinks(req.GetReplay())
	if err != nil {
		return err
	}
	dir, base := filepath.Split(file)
	if stat.IsDir() {
		dir, base = file, ""
	}
	const alias = "local"
	roots := []catalog.Root{{Alias: alias, Dir: cmp.Or(dir, ".")}}
	cat, err := catalog.New(roots, catalog.Options{Verbatim: true})
	if err != nil {
		return err
	}
	watcher, err := watch.New(watch.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()
	server, err := service.NewServer(service.Config{
		Catalog: cat, Watcher: watcher, Version: version, RevealSecrets: reveal, Log: slog.New(slog.DiscardHandler),
		IndexDepth: 1, // what lies below is nobody's business here
	})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	req.Replay = path.Join(alias, base)
	return server.Stream(ctx, req, send)
}
