package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
)

type lsCmd struct {
	Target

	Format string `short:"o" help:"table: for people, with maps, players and results. csv: a row for each. json, jsonl: one Replay per line. compact, lines: format, size in bytes, time of the last change, state and name. auto: a table on a terminal, else lines." enum:"auto,table,json,jsonl,compact,csv,lines" default:"auto" env:"-"`

	Dir string `arg:"" optional:"" help:"A directory or a file, or with --addr ROOT or ROOT/PATH of the daemon. Default: the current directory, or all roots."`
}

// Run lists replays.
func (c *lsCmd) Run(ctx context.Context, con Console, p Program) error {
	width, paint := widthOf(con), newPainter(con)
	if c.Format == "auto" {
		c.Format = "compact"
		if width > 0 {
			c.Format = "table"
		}
	}
	busy := NewBusy(con.Err, "reading "+cmp.Or(c.Dir, "the replays"))
	defer busy.Done()
	add, flush := c.printer(busy.Over(con.Out), cmp.Or(width, unknownWidth), paint)
	return cmp.Or(c.each(ctx, p, add), flush())
}

// printer returns functions that print a replay, and what waits to be printed with others.
func (c *lsCmd) printer(out io.Writer, width int, paint terminal.Painter) (add func(*replaydv1.Replay) error, flush func() error) {
	switch c.Format {
	case "json", "jsonl":
		return func(r *replaydv1.Replay) error { return printLine(out, r) }, func() error { return nil }
	case "table":
		table := &terminal.List{Out: out, Width: width, Paint: paint.Paint}
		return table.Add, table.Flush
	case "csv":
		rows := newReplayRows(out)
		return rows.add, rows.flush
	}
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	return func(r *replaydv1.Replay) error {
		_, err := fmt.Fprintln(lines, replayLine(r))
		return err
	}, lines.Flush
}

// printLine prints a message as a line of JSON.
func printLine(out io.Writer, m proto.Message) error {
	line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}

// unknownWidth is the number of columns of a table that is not printed to a terminal.
const unknownWidth = 160

// played reports whether the output has players.
func (c *lsCmd) played() bool { return c.Format == "table" || c.Format == "csv" }

// request returns the request for a page. For players headers are read.
func (c *lsCmd) request(directory string) *replaydv1.ListReplaysRequest {
	if c.played() {
		return &replaydv1.ListReplaysRequest{Directory: directory, PageSize: terminal.PageSize, View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS}
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
