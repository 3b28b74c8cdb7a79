package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

type watchCmd struct {
	target

	Dir    string `arg:"" optional:"" help:"ROOT or ROOT/PATH. Default: all roots."`
	New    bool   `help:"Leave out what is there at first."`
	Format string `help:"table: a line for people. json: a ReplayChange a line." enum:"table,json" default:"table" env:"-"`
}

// Validate refuses to watch without a daemon.
func (c *watchCmd) Validate() error {
	if c.Addr == "" {
		return errors.New("needs a daemon: give its --addr")
	}
	return c.target.Validate()
}

// Run prints what becomes of the daemon's replays until it is interrupted.
func (c *watchCmd) Run(ctx context.Context, con console) error {
	paint := newPainter(con)
	return c.ask(ctx, func(ctx context.Context, client replaydv1.ReplayServiceClient) error {
		stream, err := client.WatchReplays(ctx, &replaydv1.WatchReplaysRequest{Directory: directory(c.Dir)})
		if err != nil {
			return err
		}
		for initial := true; ; {
			resp, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			for _, change := range resp.GetChanges() {
				if initial && c.New {
					continue
				}
				if err := c.print(con.out, paint, change); err != nil {
					return err
				}
			}
			initial = initial && !resp.GetInitialDone()
		}
	})
}

func (c *watchCmd) print(out io.Writer, paint painter, change *replaydv1.ReplayChange) error {
	if c.Format == "json" {
		line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(change)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	kind := strings.ToLower(strings.TrimPrefix(change.GetKind().String(), "CHANGE_KIND_"))
	line := paint.append(nil, dim, time.Now().Format(time.TimeOnly))
	line = append(line, ' ')
	line = paint.append(line, yellow, fmt.Sprintf("%-9s", kind))
	line = fmt.Appendf(line, "%12d %s\n", change.GetReplay().GetSizeBytes(), change.GetReplay().GetName())
	_, err := out.Write(line)
	return err
}
