package main

import (
	"context"
	"path/filepath"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/source"
)

// local lists the replays below a directory of this machine.
func (c *lsCmd) local(ctx context.Context, each func(*replaydv1.Replay) error) error {
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	cat, err := catalog.New([]catalog.Root{{Alias: "local", Dir: dir}}, catalog.Options{Limits: source.Limits{}})
	if err != nil {
		return err
	}
	server := service.NewServer(service.Config{Catalog: cat, Version: version})
	return pages(func(token string) (*replaydv1.ListReplaysResponse, error) {
		return server.ListReplays(ctx, &replaydv1.ListReplaysRequest{PageToken: token, PageSize: 1000})
	}, func(r *replaydv1.Replay) error {
		rel, err := filepath.Rel("local", filepath.FromSlash(r.GetName()))
		if err != nil {
			return err
		}
		r.Name = filepath.Join(dir, rel) // a path that the other commands take
		return each(r)
	})
}
