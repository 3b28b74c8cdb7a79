package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/workdir"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/describe"
)

type mergeCmd struct {
	command.LogFlags

	To    string        `arg:"" help:"The directory, or s3://BUCKET/PATH, to which exports were staged. The tables are there, too."`
	From  []string      `help:"A directory, or s3://BUCKET/PATH, of exports as Parquet whose replays are to be added, too, unless they are there already. Repeatable." placeholder:"DIR"`
	Every time.Duration `help:"Go on, and look this often. Each commit makes new files, so rarely is better. Default: once." placeholder:"DURATION"`
	Temp  string        `help:"The directory for drafts. Default: within the directory, or for a bucket the system's." placeholder:"DIR"`
	Size  int64         `help:"The size of the files of tables, in bytes." name:"file-size" default:"134217728"`
	Keep  time.Duration `help:"How long files stay that were rewritten, for queries that have begun before." default:"24h"`
	Lease time.Duration `help:"After how long without a sign of life another process may merge, 1s to 1h." default:"30s"`
}

// Validate rejects invalid flags, before anything is opened.
func (c *mergeCmd) Validate() error {
	for _, place := range append([]string{c.To}, c.From...) {
		if bucket.Is(place) {
			if _, err := bucket.Parse(place); err != nil { // without the URL, which may have secrets
				return err
			}
		}
	}
	switch {
	case c.Every < 0:
		return errors.New("--every: must not be negative")
	case c.Size < 1:
		return errors.New("--file-size: must be positive")
	case c.Keep <= 0:
		return errors.New("--keep: must be positive")
	case c.Lease < time.Second || c.Lease > time.Hour:
		return errors.New("--lease: must be 1s to 1h")
	}
	return nil
}

// Run merges what is staged.
func (c *mergeCmd) Run(ctx context.Context, con command.Console) error {
	places, done, err := c.places(ctx, append([]string{c.To}, c.From...))
	if err != nil {
		return err
	}
	defer done()
	log, from := c.Logger(con), places[1:]
	a := archive.New(places[0], archive.Options{FileBytes: c.Size, Keep: c.Keep, Lease: c.Lease, Log: log})
	for {
		r, err := a.Merge(ctx)
		for ; err == nil && len(from) > 0; from = from[1:] { // after what is staged, which is newer
			if _, err = a.Bring(ctx, from[0], known); err != nil {
				break
			}
			var more archive.Report
			more, err = a.Merge(ctx)
			r.Add(more)
		}
		if r != (archive.Report{}) || c.Every == 0 {
			_, printed := fmt.Fprintf(con.Out, "%d replays added in %d commits, %d staged files not needed, %d not readable, %d files of tables rewritten, %d unused files removed\n",
				r.Replays, r.Commits, r.Removed, r.Bad, r.Rewritten, r.Cleaned)
			err = errors.Join(err, printed)
		}
		if c.Every == 0 || ctx.Err() != nil {
			return err
		}
		if err != nil { // a store that is away comes back
			log.WarnContext(ctx, "not merged", "error", command.Message(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// known returns the table of a kind as this program writes it.
func known(format, kind string) *arrow.Schema {
	c := describe.Named(format)
	if c == nil {
		return nil
	}
	for i := range c.Tables.Kinds {
		if i > 0 && c.Tables.Kinds[i].Name == kind {
			return arrowipc.Schema(c.Tables.Layout(true), uint8(i))
		}
	}
	return nil
}

// places opens places. The caller calls done.
func (c *mergeCmd) places(ctx context.Context, names []string) (all []archive.Place, done func(), err error) {
	var opened []func()
	done = func() {
		for _, one := range opened {
			one()
		}
	}
	for _, name := range names {
		place, one, err := c.place(ctx, name)
		if err != nil {
			done()
			return nil, nil, err
		}
		all, opened = append(all, place), append(opened, one)
	}
	return all, done, nil
}

// place opens a place.
func (c *mergeCmd) place(ctx context.Context, name string) (archive.Place, func(), error) {
	if bucket.Is(name) {
		b, err := openBucket(ctx, name, bucket.Options{})
		if err != nil {
			return nil, nil, err
		}
		work, err := workdir.New(filepath.Join(cmp.Or(c.Temp, os.TempDir()), "replayd-work"))
		if err != nil {
			return nil, nil, err
		}
		return archive.Bucket{Bucket: b, Temp: work.Path()}, work.Close, nil
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	if stat, err := os.Stat(dir); err != nil || !stat.IsDir() {
		return nil, nil, command.NotFound(fmt.Errorf("%s is no directory", name))
	}
	work, err := workdir.New(filepath.Join(cmp.Or(c.Temp, dir), ".replayd-work"))
	if err != nil {
		return nil, nil, err
	}
	return archive.Dir{Dir: export.Dir{Path: dir, Temp: work.Path()}}, work.Close, nil
}
