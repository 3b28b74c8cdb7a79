package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
)

type lsCmd struct {
	Target

	Format string `help:"table: for people, with maps and players. lines: format, size in bytes, time of the last change, state and name. json: one Replay per line. auto: a table on a terminal, else lines." enum:"auto,table,lines,json" default:"auto" env:"-"`

	Dir string `arg:"" optional:"" help:"A directory or a file, or with --addr ROOT or ROOT/PATH of the daemon. Default: the current directory, or all roots."`
}

// Run lists replays.
func (c *lsCmd) Run(ctx context.Context, con Console, p Program) error {
	width, paint := widthOf(con), newPainter(con)
	if c.Format == "auto" {
		c.Format = "lines"
		if width > 0 {
			c.Format = "table"
		}
	}
	busy := NewBusy(con.Err, "reading "+cmp.Or(c.Dir, "the replays"))
	defer busy.Done()
	con.Out = busy.Over(con.Out)
	list := func(ctx context.Context, each func(*replaydv1.Replay) error) error { return c.each(ctx, p, each) }
	switch c.Format {
	case "json":
		return list(ctx, func(r *replaydv1.Replay) error {
			line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(r)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(con.Out, "%s\n", line)
			return err
		})
	case "table":
		table := terminal.List{Out: con.Out, Width: cmp.Or(width, unknownWidth), Dim: paint.dim}
		err := list(ctx, table.Add)
		if flushed := table.Flush(); err == nil {
			err = flushed
		}
		return err
	}
	lines := tabwriter.NewWriter(con.Out, 0, 0, 2, ' ', 0)
	err := list(ctx, func(r *replaydv1.Replay) error {
		state := strings.ToLower(strings.TrimPrefix(r.GetState().String(), "REPLAY_STATE_"))
		if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED {
			state = ""
		}
		_, err := fmt.Fprintf(lines, "%s\t%d\t%s\t%s\t%s\n",
			strings.ToLower(strings.TrimPrefix(r.GetFormat().String(), "FORMAT_")), r.GetSizeBytes(),
			r.GetModifyTime().AsTime().UTC().Format(time.RFC3339), state, r.GetName())
		return err
	})
	if flushed := lines.Flush(); err == nil {
		err = flushed
	}
	return err
}

// unknownWidth is the number of columns of a table that is not printed to a terminal.
const unknownWidth = 160

// request returns the request for a page. A table has players, so headers are read for it.
func (c *lsCmd) request(directory string) *replaydv1.ListReplaysRequest {
	if c.Format == "table" {
		return &replaydv1.ListReplaysRequest{Directory: directory, PageSize: terminal.PageSize, View: replaydv1.ReplayView_REPLAY_VIEW_FULL}
	}
	return &replaydv1.ListReplaysRequest{Directory: directory, PageSize: 1000}
}

// each calls f for each replay.
func (c *lsCmd) each(ctx context.Context, p Program, f func(*replaydv1.Replay) error) error {
	if c.Addr != "" {
		return c.remote(ctx, f)
	}
	return c.local(ctx, p, f)
}

func (c *lsCmd) remote(ctx context.Context, each func(*replaydv1.Replay) error) error {
	return c.ask(func(daemon *client.Client) error {
		for replay, err := range daemon.Replays(ctx, c.request(Directory(c.Dir))) {
			if err != nil && says(err, catalog.ErrNotDirectory) { // it is a replay
				if replay, err = daemon.View(ctx, c.Dir, replaydv1.ReplayView_REPLAY_VIEW_FULL); err == nil {
					return each(replay)
				}
			}
			if err != nil {
				return err
			}
			if err := each(replay); err != nil {
				return err
			}
		}
		return nil
	})
}

// Directory returns the name of a directory without the trailing slash that shell completion adds.
func Directory(name string) string {
	if trimmed := strings.TrimRight(name, "/"); trimmed != "" {
		return trimmed
	}
	return name
}
