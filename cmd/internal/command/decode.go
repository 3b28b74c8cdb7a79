package command

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

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// localResponses answers a request without a daemon. It decodes a file, or in where the replay is "-", and calls each with the
// wire bytes of every response. The bytes are valid until each returns.
func localResponses(
	ctx context.Context, p Program, in io.Reader, req *replaydv1.StreamEventsRequest, reveal decoders.Secrets, each func([]byte) error,
) error {
	send := func(f *frame.Frame) error {
		defer f.Free()
		buf := f.Buffer()
		defer buf.Free()
		return each(buf.ReadOnlyData())
	}
	if req.GetFollow() {
		return localFollow(ctx, p, req, reveal, send)
	}
	file, err := openStreamed(ctx, p, in, req)
	if err != nil {
		return err
	}
	return service.StreamFile(ctx, file, req, localOf(p, req, reveal), send)
}

// localOf returns how the replay of a request is read without a daemon.
func localOf(p Program, req *replaydv1.StreamEventsRequest, reveal decoders.Secrets) service.Local {
	by := service.Local{Secrets: codec.Secrets{Reveal: reveal}, Version: Version(), Maps: p.maps}
	if object := p.Objects != nil && p.Objects.Is(req.GetReplay()); by.Maps == "" && req.GetReplay() != "-" && !object {
		by.Maps = filepath.Dir(req.GetReplay())
	}
	return by
}

// openStreamed is openLocal for the replay of a request.
func openStreamed(ctx context.Context, p Program, in io.Reader, req *replaydv1.StreamEventsRequest) (*source.File, error) {
	file, err := openLocal(ctx, p, in, req.GetReplay())
	if err != nil {
		return nil, err
	}
	if req.GetStart().GetLastEvents() > 0 && file.Info().Size < 0 { // finding the last events requires reading twice
		if err := file.Spool(ctx); err != nil {
			_ = file.Close()
			return nil, err
		}
	}
	return file, nil
}

// localFollow follows a file, or the newest file of a directory, with a server in this process that has no listener.
func localFollow(ctx context.Context, p Program, req *replaydv1.StreamEventsRequest, reveal decoders.Secrets, send stream.Send) error {
	if req.GetReplay() == "-" {
		return usageError{errors.New("--follow: the standard input cannot be followed; it is always read until it ends")}
	}
	switch object, err := p.objects(req.GetReplay()); {
	case err != nil:
		return err
	case object:
		return usageError{errors.New("--follow: an object in a bucket never grows; leave out --follow to read it")}
	}
	stat, err := os.Stat(req.GetReplay())
	if err != nil {
		return Absent(err)
	}
	if !stat.IsDir() && !stat.Mode().IsRegular() {
		return usageError{fmt.Errorf("--follow: %s %w", req.GetReplay(), source.ErrIrregular)}
	}
	// The root is the directory that holds the file itself, even if the path is a link in another directory.
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
		Catalog: cat, Watcher: watcher, Version: Version(), Secrets: codec.Secrets{Reveal: reveal}, Log: slog.New(slog.DiscardHandler),
		IndexDepth: 1, // files in directories below are not followed
	})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	req.Replay = path.Join(alias, base)
	return server.Stream(ctx, req, send)
}
