package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/replayd/replayd/fleet/bucket"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
)

// openLocal opens the file at path, or in as the standard input if path is "-", or the object of an s3:// URL.
func openLocal(ctx context.Context, in io.Reader, path string) (*source.File, error) {
	switch {
	case path == "-":
		return source.FromReader(in, path, source.Limits{})
	case bucket.Is(path):
		file, err := openObject(ctx, path)
		if errors.Is(err, source.ErrDirectory) {
			return nil, usageError{errors.New("it is a directory of the bucket: replayd ls lists its replays")}
		}
		return file, err
	}
	file, err := source.OpenLocal(path, source.Limits{})
	if errors.Is(err, source.ErrDirectory) {
		return nil, fmt.Errorf("%s %w: replayd ls lists its replays, replayd cat --follow follows the newest", path, err)
	}
	return file, absent(err)
}

// local lists the replays below a local directory.
func (c *lsCmd) local(ctx context.Context, each func(*replaydv1.Replay) error) error {
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	root := catalog.Root{Alias: "local", Dir: dir}
	if bucket.Is(dir) {
		store, err := openBucket(ctx, dir, bucket.Options{})
		if err != nil {
			return err
		}
		root.Dir, root.Store = "", store
	} else if stat, err := os.Stat(dir); err != nil {
		return absent(err)
	} else if !stat.IsDir() {
		return usageError{fmt.Errorf("%s %w", dir, catalog.ErrNotDirectory)}
	}
	cat, err := catalog.New([]catalog.Root{root}, catalog.Options{Limits: source.Limits{}})
	if err != nil {
		return err
	}
	server, err := service.NewServer(service.Config{Catalog: cat, Version: version})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	for token := ""; ; {
		page, err := server.ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: "local", PageToken: token, PageSize: 1000})
		if err != nil {
			return err
		}
		for _, r := range page.GetReplays() {
			rel := strings.TrimPrefix(r.GetName(), "local/")
			if root.Store != nil {
				r.Name = root.Store.String() + "/" + rel
			} else {
				r.Name = filepath.Join(dir, filepath.FromSlash(rel)) // a path that the other commands accept
			}
			if err := each(r); err != nil {
				return err
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			return nil
		}
	}
}
