package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/work"
	"github.com/replayd/replayd/internal/natsconn"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/scrape"
)

type workCmd struct {
	queueFlags
	command.LogFlags
	scrape.Flags

	From      []string        `help:"A directory, or s3://BUCKET/PATH, below which jobs may name replays. Repeatable." placeholder:"DIR"`
	To        string          `help:"The directory, or s3://BUCKET/PATH, to write to." placeholder:"DIR" env:"-"`
	Staged    bool            `help:"Write one file for each replay, whose rows 'merge' adds to tables of many replays. Otherwise, and for jobs of another format than parquet, the tables of each replay are files of their own." default:"true" negatable:""`
	Maps      string          `help:"The directory with the maps of games, for jobs for kinds that need them, such as sample_character. Without it these fail." type:"existingdir" placeholder:"DIR"`
	Workers   int             `help:"How many jobs to do at the same time." default:"1"`
	Temp      string          `help:"The directory for drafts and objects being read. Default: within --to, or for a bucket the system's." placeholder:"DIR"`
	UntilDone bool            `help:"End when no job is queued or worked on."`
	MaxSize   int64           `help:"The maximum size of a replay, in bytes." default:"4294967296"`
	Inflated  int64           `help:"The maximum size of a compressed replay once inflated, in bytes." name:"max-inflated" default:"17179869184"`
	MaxTime   time.Duration   `help:"How long one replay may take." default:"1h"`
	Lease     time.Duration   `help:"After how long without a sign of life a job is another worker's, 1s to 1h. Tenants and priorities that have had a worker within a day keep theirs." default:"30s"`
	Reveal    command.Secrets `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot." placeholder:"NAMES" name:"reveal-secrets"`
}

// Validate rejects invalid flags, before anything is opened.
func (c *workCmd) Validate() error {
	for _, place := range append([]string{c.To}, c.From...) {
		if bucket.Is(place) {
			if _, err := bucket.Parse(place); err != nil { // without the URL, which may have secrets
				return fmt.Errorf("--from, --to: %w", err)
			}
		}
	}
	switch {
	case c.Workers < 1 || c.Workers > 1024:
		return errors.New("--workers: must be 1 to 1024")
	case c.To == "" || len(c.From) == 0:
		return errors.New("--from and --to are missing: where jobs may read and where results go")
	case c.MaxSize < 1 || c.Inflated < 1 || c.MaxTime <= 0:
		return errors.New("--max-size, --max-inflated and --max-time must be positive")
	case c.Lease < time.Second || c.Lease > time.Hour:
		return errors.New("--lease: must be 1s to 1h")
	}
	if err := c.Check(); err != nil {
		return err
	}
	return c.queueFlags.Validate()
}

// Run works until ctx ends.
func (c *workCmd) Run(ctx context.Context, con command.Console) error {
	log := c.Logger(con)
	debug.SetGCPercent(50) // as for an export
	waits := func(err error) { log.WarnContext(ctx, "NATS is not ready; waiting for it", "error", err) }
	q, stop, err := c.open(ctx, "work", queue.Options{Lease: c.Lease, Wait: electionWait, Waits: waits}, reports(ctx, log)...)
	if err != nil {
		return err
	}
	defer stop()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	healthy := func(ctx context.Context) error {
		if _, err := q.Lines(ctx); err != nil {
			log.DebugContext(ctx, "not healthy", "error", natsconn.Explain(err))
			return natsconn.Public(err)
		}
		return nil
	}
	serving, err := c.Serve(ctx, registry, healthy, log)
	if err != nil {
		return err
	}
	defer serving()
	w, err := work.New(ctx, q, work.Options{
		From: c.From, To: c.To, Temp: c.Temp, Workers: c.Workers, MaxSize: c.MaxSize, MaxInflated: c.Inflated, MaxTime: c.MaxTime, Staged: c.Staged,
		Secrets: codec.Secrets{Reveal: c.Reveal.Secrets}, Version: command.Version(), Maps: c.Maps, Log: log, Metrics: registry, Text: command.Message,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Run(ctx, c.UntilDone)
}

// electionWait is how long a worker that starts waits for servers that elect a leader. An election after a server's death takes 4
// to 9 s, and another one if the new leader dies, too.
const electionWait = time.Minute
