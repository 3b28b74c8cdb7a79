package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/queue"
)

type jobsCmd struct {
	Add    jobsAddCmd    `cmd:"" help:"Queue replays to be exported."`
	Ls     jobsLsCmd     `cmd:"" help:"List jobs and what became of them."`
	Show   jobsShowCmd   `cmd:"" help:"Print all that is known of jobs, as JSON."`
	Cancel jobsCancelCmd `cmd:"" help:"Cancel jobs that are not done."`
	Retry  jobsRetryCmd  `cmd:"" help:"Queue failed or cancelled jobs again."`
}

// chosen holds flags that choose jobs.
type chosen struct {
	State  string `help:"Only jobs in this state: queued, running, done, failed or cancelled." enum:",queued,running,done,failed,cancelled" default:"" env:"-"`
	Tenant string `help:"Only jobs of this tenant." env:"-"`
	Reason string `help:"Only jobs that failed for this reason, such as CORRUPT." env:"-"`
}

func (c *chosen) match(r *queue.Record) bool {
	return (c.State == "" || string(r.State) == c.State) && (c.Tenant == "" || r.Job.Tenant == c.Tenant) && (c.Reason == "" || r.Reason == c.Reason)
}

func (c *chosen) any() bool { return c.State != "" || c.Tenant != "" || c.Reason != "" }

type jobsLsCmd struct {
	queueFlags
	chosen

	Count  bool   `help:"Print only how many jobs there are, by state and reason."`
	Format string `help:"table: for people. json: one job per line." enum:"table,json" default:"table" env:"-"`
}

// Run lists jobs: ID, state, priority, tenant, attempts, time of the last change, source, and why it failed.
func (c *jobsLsCmd) Run(ctx context.Context, con command.Console) error {
	q, stop, err := c.connect(ctx, "jobs")
	if err != nil {
		return err
	}
	defer stop()
	table := tabwriter.NewWriter(con.Out, 0, 0, 2, ' ', 0)
	counts := map[string]int{}
	var failed error
	err = q.Each(ctx, false, nil, func(r *queue.Record) bool {
		switch {
		case !c.match(r):
		case c.Count:
			counts[strings.TrimSpace(string(r.State)+"\t"+r.Reason)]++
		case c.Format == "json":
			failed = json.NewEncoder(con.Out).Encode(r)
		default:
			_, failed = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.ID, r.State, r.Job.Priority, r.Job.Tenant, r.Attempts,
				r.Changed.Format(time.RFC3339), printable(r.Job.Source), failureText(r))
		}
		return failed == nil
	})
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		_, failed = fmt.Fprintf(table, "%d\t%s\n", counts[key], key)
	}
	return errors.Join(err, failed, table.Flush())
}

// failureText describes the failure of a job in a few words.
func failureText(r *queue.Record) string {
	if r.Reason == "" {
		return ""
	}
	text := r.Reason
	if r.Offset != nil {
		text += fmt.Sprintf(" at byte %d", *r.Offset)
	}
	return text + ": " + printable(r.Detail)
}

// printable replaces characters that would disturb a terminal or a table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

type jobsShowCmd struct {
	queueFlags

	ID []string `arg:"" help:"IDs of jobs."`
}

// Run prints records.
func (c *jobsShowCmd) Run(ctx context.Context, con command.Console) error {
	return each(ctx, &c.queueFlags, c.ID, con.Out, func(q *queue.Queue, id string) error {
		r, err := q.Get(ctx, id)
		if err != nil {
			return err
		}
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(con.Out, "%s\n", b)
		return err
	})
}

type jobsCancelCmd struct {
	queueFlags
	chosen

	ID []string `arg:"" optional:"" help:"IDs of jobs. Default: all that --state, --tenant and --reason choose."`
}

// Run cancels jobs.
func (c *jobsCancelCmd) Run(ctx context.Context, con command.Console) error {
	return c.each(ctx, &c.queueFlags, c.ID, con, "cancelled", func(q *queue.Queue, id string) error { return q.Cancel(ctx, id) })
}

type jobsRetryCmd struct {
	queueFlags
	chosen

	ID []string `arg:"" optional:"" help:"IDs of jobs. Default: all that --state, --tenant and --reason choose."`
}

// Run queues jobs again.
func (c *jobsRetryCmd) Run(ctx context.Context, con command.Console) error {
	return c.each(ctx, &c.queueFlags, c.ID, con, "queued", func(q *queue.Queue, id string) error { return q.Retry(ctx, id) })
}

// each calls f for the named jobs, or for the chosen ones in a suitable state, and prints how many there were.
func (c *chosen) each(ctx context.Context, flags *queueFlags, ids []string, con command.Console, what string, f func(*queue.Queue, string) error) error {
	if len(ids) > 0 {
		if c.any() {
			return command.Usage(errors.New("either IDs, or --state, --tenant and --reason"))
		}
		return each(ctx, flags, ids, con.Out, f)
	}
	if !c.any() {
		return command.Usage(errors.New("which jobs? Give IDs, or --state, --tenant or --reason"))
	}
	q, stop, err := flags.connect(ctx, "jobs")
	if err != nil {
		return err
	}
	defer stop()
	err = q.Each(ctx, false, nil, func(r *queue.Record) bool {
		if c.match(r) {
			ids = append(ids, r.ID)
		}
		return true
	})
	n := 0
	for _, id := range ids {
		if err != nil {
			break
		}
		switch err = f(q, id); {
		case err == nil:
			n++
		case errors.Is(err, queue.ErrState), errors.Is(err, queue.ErrUnknown):
			err = nil
		}
	}
	_, printed := fmt.Fprintf(con.Out, "%d jobs %s\n", n, what)
	return cmp.Or(err, printed)
}

// each calls f for each ID. It continues after an error, and returns the first.
func each(ctx context.Context, flags *queueFlags, ids []string, _ io.Writer, f func(*queue.Queue, string) error) error {
	q, stop, err := flags.connect(ctx, "jobs")
	if err != nil {
		return err
	}
	defer stop()
	var first error
	for _, id := range ids {
		if err := f(q, id); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", printable(id), err)
		}
	}
	return first
}
