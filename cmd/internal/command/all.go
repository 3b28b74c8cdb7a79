package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// subscription returns the request for the events of all replays.
func (c *catCmd) subscription() (*replaydv1.SubscribeEventsRequest, error) {
	for name, given := range map[string]bool{
		"--tick": c.Tick != nil, "--last": c.Last != nil, "--now": c.Now, "--follow-successors": c.FollowSuccessors,
		"--next-in-directory": c.NextInDirectory, "--format " + c.Format: c.Format != "auto" && c.Format != "json" && c.Format != "jsonl",
	} {
		if given {
			return nil, usageError{errors.New(name + " is not possible with --all")}
		}
	}
	if c.Addr == "" {
		return nil, usageError{errors.New("--all asks a daemon: add --addr")}
	}
	options := &replaydv1.StreamEventsRequest{Strict: c.Strict, ResolvePlayers: c.ResolvePlayers}
	c.Apply(options)
	if c.WithState {
		options.Start = &replaydv1.Start{WithState: true}
	}
	req := &replaydv1.SubscribeEventsRequest{
		Directory: strings.TrimRight(c.Replay, "/"), Options: options, Subscription: c.Subscription,
	}
	if c.Cursor != "" {
		at, err := cursor.ParseText(c.Cursor)
		if err != nil {
			return nil, usageError{fmt.Errorf("--cursor %w", err)}
		}
		req.Token = at
	}
	return req, nil
}

// all prints the events of all replays as lines of JSON with the name of the replay, until it is interrupted.
func (c *catCmd) all(ctx context.Context, con Console) error {
	req, err := c.subscription()
	if err != nil {
		return err
	}
	daemon, err := c.Dial(client.WithRetry(client.Retry{GiveUpAfter: -1}))
	if err != nil {
		return err
	}
	defer func() { _ = daemon.Close() }()
	if _, err := daemon.Info(ctx); err != nil { // later, a daemon that is not there is waited for
		return c.Explain(err)
	}
	out := bufio.NewWriterSize(con.Out, 64<<10)
	s := streaming{cursor: req.GetToken()}
	var line []byte
	var acknowledged time.Time
	for r, err := range daemon.Subscribe(ctx, req) {
		if err != nil && c.Subscription != "" && len(s.cursor) > 0 && c.acknowledge(ctx, daemon, s.cursor) == nil {
			return c.Explain(err) // the same command goes on
		}
		if err != nil {
			return s.resumable(ctx, true, c.Explain(err))
		}
		if f := r.Failure; f != nil {
			_, _ = fmt.Fprintf(con.Err, "replayd: %s: %s\n", f.GetName(), f.GetMessage())
		}
		if r.Batch != nil {
			name := eventjson.AppendString([]byte(`{"replay":`), []byte(r.Replay.GetName()))
			for event, err := range r.Batch.Events() {
				if err != nil {
					return err
				}
				start := len(name)
				if line, err = event.AppendJSON(append(line[:0], name...)); err != nil {
					return err
				}
				line[start] = ',' // in place of the event's own brace
				if _, err := out.Write(append(line, '\n')); err != nil {
					return err
				}
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		s.cursor = append(s.cursor[:0], r.Token...)
		if c.Subscription != "" && time.Since(acknowledged) > time.Second {
			if err := c.acknowledge(ctx, daemon, s.cursor); err != nil && !client.Transient(err) && ctx.Err() == nil {
				return c.Explain(err)
			}
			acknowledged = time.Now()
		}
	}
	return nil
}

// acknowledge notes what was printed of a named subscription, also after an interruption.
func (c *catCmd) acknowledge(ctx context.Context, daemon *client.Client, token []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return daemon.Acknowledge(ctx, c.Subscription, token)
}
