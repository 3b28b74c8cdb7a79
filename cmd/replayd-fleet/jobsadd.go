package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/work"
	"github.com/replayd/replayd/internal/natsconn"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

type jobsAddCmd struct {
	queueFlags
	command.TableSelection

	Replay         []string `arg:"" help:"Files, directories, or s3://BUCKET/PATH of objects or of all objects below. Workers must know them by the same paths."`
	Tenant         string   `help:"Whose jobs they are: tenants take turns. 1 to 32 letters, digits, _ or -." default:"default"`
	Priority       string   `help:"high, normal or low." enum:"high,normal,low" default:"normal" env:"-"`
	Format         string   `help:"The format of the tables." enum:"parquet,arrow,csv,jsonl" default:"parquet" env:"-"`
	ResolvePlayers bool     `help:"Add the name, clan, team and role of each client to teehistorian events."`
	Again          bool     `help:"Also export what is there already, and what was queued before."`
	Watch          bool     `help:"Go on, and queue the new and changed objects of buckets. How often they are listed is the parameter refresh of their URLs, 5m without it."`
	Wait           bool     `help:"Wait until the jobs are over. The exit code is that of a failed job."`
}

// Validate rejects flags that do not go together.
func (c *jobsAddCmd) Validate() error {
	for _, name := range c.Replay {
		switch {
		case c.Watch && !bucket.Is(name):
			return errors.New("--watch is for s3:// only: a file of a directory may still be written")
		case c.Watch && c.Wait:
			return errors.New("--watch never ends, so --wait cannot")
		}
		if bucket.Is(name) {
			if _, err := bucket.Parse(name); err != nil { // without the URL, which may have secrets
				return err
			}
		}
	}
	return c.queueFlags.Validate()
}

// adding collects jobs and adds them in batches.
type adding struct {
	q         *queue.Queue
	template  queue.Job
	batch     []queue.Job
	seen      map[string]bool // with --watch: tags of added jobs
	ids       map[string]bool // with --wait: IDs of added jobs
	added     int
	known     int
	failed    error // the first file that cannot be read
	note      func(string)
	remember  bool
	collectID bool
}

func (a *adding) add(ctx context.Context, name, tag string, size int64) error {
	if a.remember {
		if a.seen[tag] {
			return nil
		}
		a.seen[tag] = true
	}
	job := a.template
	job.Source, job.Tag, job.Size, job.Added = name, tag, size, time.Now().UTC()
	if err := job.Check(); err != nil {
		a.note(printable(name) + ": " + err.Error())
		return nil //nolint:nilerr // the others are added
	}
	if a.batch = append(a.batch, job); len(a.batch) >= queue.MaxAdd {
		return a.flush(ctx)
	}
	return nil
}

func (a *adding) flush(ctx context.Context) error {
	if len(a.batch) == 0 {
		return nil
	}
	results, err := a.q.Add(ctx, a.batch)
	if err != nil {
		return unreachableError{natsconn.Explain(err)}
	}
	a.batch = a.batch[:0]
	for _, r := range results {
		if r.New {
			a.added++
		} else {
			a.known++
		}
		if a.collectID {
			a.ids[r.ID] = true
		}
	}
	return nil
}

// Run adds jobs.
func (c *jobsAddCmd) Run(ctx context.Context, con command.Console) error {
	req := &replaydv1.StreamEventsRequest{ResolvePlayers: c.ResolvePlayers}
	if err := c.Apply(req); err != nil {
		return err
	}
	text, err := protojson.Marshal(req)
	if err != nil {
		return err
	}
	q, stop, err := c.connect(ctx, "jobs add")
	if err != nil {
		return err
	}
	defer stop()
	a := &adding{
		q: q, seen: map[string]bool{}, ids: map[string]bool{}, remember: c.Watch, collectID: c.Wait,
		template: queue.Job{Tenant: c.Tenant, Priority: queue.Priority(c.Priority), Format: c.Format, Request: json.RawMessage(text), Again: c.Again},
		note:     func(text string) { _, _ = fmt.Fprintln(con.Err, name+":", text) },
	}
	for {
		before := a.added + a.known
		next := time.Duration(0)
		for _, name := range c.Replay {
			every, err := a.walk(ctx, name)
			if err == nil {
				err = a.flush(ctx)
			}
			switch {
			case err != nil && (!c.Watch || ctx.Err() != nil):
				return err
			case err != nil: // a store or NATS that is away comes back
				a.note(command.Message(err))
				clear(a.seen)
				a.batch = a.batch[:0]
			}
			if next == 0 || every > 0 && every < next {
				next = every
			}
		}
		if n := a.added + a.known; !c.Watch || n > before {
			if _, err := fmt.Fprintf(con.Out, "%d jobs queued, %d known before\n", a.added, a.known); err != nil {
				return err
			}
		}
		if !c.Watch {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(next, time.Second)):
		}
	}
	if c.Wait {
		return errors.Join(a.wait(ctx, con), a.failed)
	}
	return a.failed
}

// walk adds jobs for a name. It returns how often to list a bucket.
func (a *adding) walk(ctx context.Context, name string) (time.Duration, error) {
	if bucket.Is(name) {
		return a.objects(ctx, name)
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return 0, err
	}
	stat, err := os.Stat(dir)
	if err != nil {
		return 0, command.Absent(err)
	}
	if !stat.IsDir() {
		return 0, a.file(ctx, dir)
	}
	return 0, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return a.file(ctx, path)
	})
}

func (a *adding) file(ctx context.Context, path string) error {
	sum, size, err := command.SumOf(path)
	if err == nil && sum == "" {
		err = command.Usage(errors.New("it is not a regular file"))
	}
	if err != nil {
		a.note(printable(path) + ": " + command.Message(err))
		if a.failed == nil {
			a.failed = command.Absent(err)
		}
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.add(ctx, path, work.SumTag+sum, size)
}

func (a *adding) objects(ctx context.Context, url string) (time.Duration, error) {
	at, err := bucket.Parse(url)
	if err != nil {
		return 0, command.Usage(err)
	}
	dir, base := cutLast(at.Path)
	whole := at
	at.Path = dir
	if base != "" { // is it an object?
		store, err := bucket.Open(ctx, at, bucket.Options{})
		if err != nil {
			return whole.Refresh, err
		}
		found, err := store.Look(ctx, base)
		if !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return whole.Refresh, err
			}
			name := store.String() + "/" + base
			return whole.Refresh, a.add(ctx, name, work.ObjectTag(name, found.Tag), found.Size)
		}
	}
	store, err := bucket.Open(ctx, whole, bucket.Options{})
	if err != nil {
		return whole.Refresh, err
	}
	n := 0
	err = store.Walk(ctx, ".", func(f bucket.Found) error {
		n++
		name := store.String() + "/" + f.Path
		return a.add(ctx, name, work.ObjectTag(name, f.Tag), f.Size)
	})
	if err == nil && n == 0 && !a.remember {
		return whole.Refresh, command.NotFound(fmt.Errorf("%s: nothing is there", store))
	}
	return whole.Refresh, err
}

// wait waits until the jobs are over, and shows the progress on a terminal.
func (a *adding) wait(ctx context.Context, con command.Console) error {
	all, failed := len(a.ids), 0
	var why *queue.Record
	bar := command.NewBar(con.Err, all)
	if all == 0 {
		return nil
	}
	err := a.q.Each(ctx, true, nil, func(r *queue.Record) bool {
		if !a.ids[r.ID] || !r.State.Over() {
			return true
		}
		delete(a.ids, r.ID)
		if r.State != queue.Done {
			if failed++; why == nil {
				why = r
			}
		}
		bar.Show(all-len(a.ids), failed)
		return len(a.ids) > 0
	})
	bar.Done()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(con.Out, "%d jobs done, %d not\n", all-failed, failed); err != nil || why == nil {
		return err
	}
	return jobError{why}
}

// jobError is the failure of a job that jobs add has waited for.
type jobError struct{ *queue.Record }

func (e jobError) Error() string {
	return printable(e.Job.Source) + ": " + string(e.State) + ": " + failureText(e.Record)
}
