package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

type watchCmd struct {
	Target

	Dir    string `arg:"" optional:"" help:"ROOT or ROOT/PATH. Default: all roots."`
	New    bool   `help:"Do not print the replays that exist at the start."`
	Format string `help:"table: for people. json: one ReplayChange per line." enum:"table,json" default:"table" env:"-"`
}

// Validate requires a daemon.
func (c *watchCmd) Validate() error {
	if c.Addr == "" {
		return errors.New("needs a daemon: set --addr")
	}
	return c.Target.Validate()
}

// Run prints changes to the daemon's replays until it is interrupted.
func (c *watchCmd) Run(ctx context.Context, con Console) error {
	paint := newPainter(con)
	return c.ask(func(daemon *client.Client) error {
		req := &replaydv1.WatchReplaysRequest{Directory: Directory(c.Dir)}
		for change, err := range daemon.Watch(ctx, req) {
			if err != nil {
				return err
			}
			if change.Initial && c.New {
				continue
			}
			if err := c.print(con.Out, paint, change); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *watchCmd) print(out io.Writer, paint terminal.Painter, change client.Change) error {
	if c.Format == "json" {
		line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(
			&replaydv1.ReplayChange{Kind: change.Kind, Replay: change.Replay})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	kind := strings.ToLower(strings.TrimPrefix(change.Kind.String(), "CHANGE_KIND_"))
	line := paint.Append(nil, terminal.Dim, time.Now().Format(time.TimeOnly))
	line = append(line, ' ')
	line = paint.Append(line, terminal.Yellow, fmt.Sprintf("%-9s", kind))
	line = fmt.Appendf(line, "%12d %s\n", change.Replay.GetSizeBytes(), change.Replay.GetName())
	_, err := out.Write(line)
	return err
}
