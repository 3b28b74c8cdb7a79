package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/types/known/durationpb"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/publish"
	"github.com/replayd/replayd/internal/natsconn"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/scrape"
)

type publishCmd struct {
	command.Target
	command.Selection
	queueFlags
	command.LogFlags

	Replay []string `arg:"" optional:"" help:"Replays, or directories: ROOT or ROOT/PATH/. Default: all roots."`

	Stream         string        `help:"The stream in JetStream. It is made if it is not there." default:"replayd-events"`
	Subject        string        `help:"The first part of the subjects. Use another one for each selection of events." default:"replayd.events"`
	Encoding       string        `help:"The payload of messages. json: lines, as cat prints them. proto: StreamEventsResponse messages." enum:"json,proto" default:"json"`
	All            bool          `help:"Of directories, also publish replays that were finished before the stream was made."`
	ResolvePlayers bool          `help:"Add the name, clan, team and role of each client to teehistorian events."`
	MaxDelay       time.Duration `help:"How long an event may wait for others that share its message, 0s to 10s." default:"100ms"`
	Workers        int           `help:"How many replays that do not grow are published at the same time." default:"4" env:"-"`

	Metrics scrape.Flags `embed:""`
}

// Validate rejects invalid flags, before anything is opened.
func (c *publishCmd) Validate() error {
	switch {
	case c.Addr == "":
		return errors.New("needs a daemon: set --addr")
	case c.Workers < 1 || c.Workers > 1024:
		return errors.New("--workers: must be 1 to 1024")
	case c.MaxDelay < 0 || c.MaxDelay > 10*time.Second:
		return errors.New("--max-delay: must be 0s to 10s")
	}
	return errors.Join(c.Metrics.Check(), c.Target.Validate(), c.queueFlags.Validate())
}

// Run publishes until the replays have ended, or ctx ends.
func (c *publishCmd) Run(ctx context.Context, con command.Console) error {
	log := c.Logger(con)
	daemon, err := c.Dial(client.WithRetry(client.Retry{GiveUpAfter: -1}))
	if err != nil {
		return err
	}
	defer func() { _ = daemon.Close() }()
	conn, err := c.dial("publish", append(reports(ctx, log), nats.ReconnectBufSize(-1))...)
	if err != nil {
		return err
	}
	defer conn.Close()
	req := &replaydv1.StreamEventsRequest{ResolvePlayers: c.ResolvePlayers, MaxBatchDelay: durationpb.New(c.MaxDelay)}
	c.Apply(req)
	p, err := publish.Open(ctx, daemon, conn, publish.Options{
		Stream: c.Stream, Subject: c.Subject, Replicas: c.Replicas, Encoding: publish.Encoding(c.Encoding), Request: req, All: c.All,
		Workers: c.Workers, Log: log,
	})
	switch {
	case errors.Is(err, publish.ErrStream):
		return err
	case errors.Is(err, publish.ErrSubject):
		return command.Usage(err)
	case err != nil:
		return unreachableError{natsconn.Explain(err)}
	}
	health := func(context.Context) error { return publishing(&p.Stats, conn) }
	stop, err := c.Metrics.Serve(ctx, publishMetrics(&p.Stats, conn), health, log)
	if err != nil {
		return err
	}
	defer stop()
	return c.Explain(c.publish(ctx, p))
}

// reports logs the loss and the return of NATS.
func reports(ctx context.Context, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.WarnContext(ctx, "NATS is gone; waiting for it")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.InfoContext(ctx, "NATS is back") }),
	}
}

// publish publishes each replay and directory. A failure does not stop the others; publish returns the first one.
func (c *publishCmd) publish(ctx context.Context, p *publish.Publisher) error {
	what := c.Replay
	if len(what) == 0 {
		what = []string{""}
	}
	places := make(chan struct{}, publish.MaxGrowing)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	for _, name := range what {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			var err error
			if dir := command.Directory(name); dir != name || !strings.Contains(name, "/") {
				err = p.Directory(ctx, dir)
			} else {
				err = p.Replay(ctx, name)
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil && ctx.Err() == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return first
}
