package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/terminal"
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
	Format string `short:"o" help:"table: for people. json, jsonl: one job per line. csv: a row for each. compact: a line for each, without titles, like a table that is not on a terminal." enum:"table,json,jsonl,compact,csv" default:"table" env:"-"`
}

// jobColumns are the columns of a list of jobs, and their names as CSV.
var (
	jobColumns = []terminal.Column{
		{Title: "ID"}, {Title: "STATE"}, {Title: "PRIORITY", Wide: true}, {Title: "TENANT", Wide: true, Most: 16}, {Title: "TRIES", Wide: true},
		{Title: "CHANGED", Wide: true}, {Title: "FAILURE", Most: 30}, {Title: "SOURCE"},
	}
	jobNames = []string{"id", "state", "priority", "tenant", "attempts", "changed", "source", "reason", "offset", "detail"}
)

// Run lists jobs: ID, state, priority, tenant, attempts, time of the last change, source, and why it failed.
func (c *jobsLsCmd) Run(ctx context.Context, con command.Console) error {
	q, stop, err := c.connect(ctx, "jobs")
	if err != nil {
		return err
	}
	defer stop()
	busy := command.NewBusy(con.Err, "reading the queue")
	defer busy.Done()
	out := busy.Over(con.Out)
	if c.Count {
		return c.counts(ctx, q, out)
	}
	add, flush := c.printer(con, out)
	var failed error
	err = q.Each(ctx, false, nil, func(r *queue.Record) bool {
		if c.match(r) {
			failed = add(r)
		}
		return failed == nil
	})
	return errors.Join(err, failed, flush())
}

// printer returns functions that print a job, and what waits to be printed with others.
func (c *jobsLsCmd) printer(con command.Console, out io.Writer) (add func(*queue.Record) error, flush func() error) {
	changed := func(r *queue.Record) string { return r.Changed.Format(time.RFC3339) }
	switch width, paint := command.Screen(con); {
	case c.Format == "json" || c.Format == "jsonl":
		return func(r *queue.Record) error { return json.NewEncoder(out).Encode(r) }, func() error { return nil }
	case c.Format == "csv":
		rows := csv.NewWriter(out)
		_ = rows.Write(jobNames) // the error sticks
		return func(r *queue.Record) error {
			offset := ""
			if r.Offset != nil {
				offset = strconv.FormatInt(*r.Offset, 10)
			}
			return rows.Write([]string{
				r.ID, string(r.State), string(r.Job.Priority), r.Job.Tenant, strconv.Itoa(r.Attempts), changed(r), r.Job.Source, r.Reason, offset, r.Detail,
			})
		}, func() error { rows.Flush(); return rows.Error() }
	case c.Format == "table" && width > 0:
		table := &terminal.Table{Out: out, Width: width, Paint: paint.Paint, Columns: jobColumns}
		return func(r *queue.Record) error {
			return table.Add(r.ID, string(r.State), string(r.Job.Priority), r.Job.Tenant, strconv.Itoa(r.Attempts), changed(r), failureText(r), r.Job.Source)
		}, table.Flush
	}
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	return func(r *queue.Record) error {
		_, err := fmt.Fprintf(lines, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.ID, r.State, r.Job.Priority, r.Job.Tenant, r.Attempts, changed(r),
			printable(r.Job.Source), failureText(r))
		return err
	}, lines.Flush
}

// counts prints how many jobs there are.
func (c *jobsLsCmd) counts(ctx context.Context, q *queue.Queue, out io.Writer) error {
	counts := map[string]int{}
	err := q.Each(ctx, false, nil, func(r *queue.Record) bool {
		if c.match(r) {
			counts[strings.TrimSpace(string(r.State)+"\t"+r.Reason)]++
		}
		return true
	})
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(table, "%d\t%s\n", counts[key], key) // Flush returns the error
	}
	return errors.Join(err, table.Flush())
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
