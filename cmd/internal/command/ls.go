package command

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

type lsCmd struct {
	Target

	Format string `help:"table: for people. json: one Replay per line." enum:"table,json" default:"table" env:"-"`

	Dir string `arg:"" optional:"" help:"A directory, or with --addr ROOT or ROOT/PATH of the daemon. Default: the current directory, or all roots."`
}

// Run lists replays, one per line: format, size in bytes, modification time, state, name.
func (c *lsCmd) Run(ctx context.Context, con Console, p Program) error {
	table := tabwriter.NewWriter(con.Out, 0, 0, 2, ' ', 0)
	list := func(ctx context.Context, each func(*replaydv1.Replay) error) error { return c.local(ctx, p, each) }
	if c.Addr != "" {
		list = c.remote
	}
	err := list(ctx, func(r *replaydv1.Replay) error {
		if c.Format == "json" {
			line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(r)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(con.Out, "%s\n", line)
			return err
		}
		state := strings.ToLower(strings.TrimPrefix(r.GetState().String(), "REPLAY_STATE_"))
		if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED {
			state = ""
		}
		_, err := fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n",
			strings.ToLower(strings.TrimPrefix(r.GetFormat().String(), "FORMAT_")), r.GetSizeBytes(),
			r.GetModifyTime().AsTime().UTC().Format(time.RFC3339), state, r.GetName())
		return err
	})
	if flushed := table.Flush(); err == nil {
		err = flushed
	}
	return err
}

func (c *lsCmd) remote(ctx context.Context, each func(*replaydv1.Replay) error) error {
	return c.ask(func(daemon *client.Client) error {
		req := &replaydv1.ListReplaysRequest{Directory: Directory(c.Dir), PageSize: 1000}
		for replay, err := range daemon.Replays(ctx, req) {
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
