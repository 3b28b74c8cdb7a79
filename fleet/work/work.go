// Package work does the jobs of a queue: it exports replays as tables. A [Worker] takes jobs, holds them by their leases, retries
// jobs that may succeed later, and removes the files that attempts have left.
package work

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/workdir"
	"github.com/replayd/replayd/internal/natsconn"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// Options configure a Worker. All but Temp, Secrets, Maps and Version are required.
type Options struct {
	// From lists directories, and URLs of buckets, below which jobs may name replays.
	From []string
	// To is the directory, or the URL of a bucket, to write to.
	To string
	// Temp is the directory for drafts and fetched objects. If it is empty, they lie within To or, if that is a bucket, in the
	// system's directory.
	Temp string
	// Staged stages the exports of jobs whose format is Parquet for an archive; see export.Options.
	Staged bool
	// Workers is how many jobs run at the same time.
	Workers int
	// MaxSize and MaxInflated limit the size of a replay, in bytes: of its file, and decompressed.
	MaxSize, MaxInflated int64
	// MaxTime is how long a job may take.
	MaxTime time.Duration
	// Secrets says what is redacted.
	Secrets codec.Secrets
	// Maps is the directory of the maps of games, for kinds that need them. Empty for none: jobs for such kinds fail.
	Maps string
	// Version is the program's version, for the start of streams.
	Version string
	// Log gets a line for each attempt.
	Log *slog.Logger
	// Metrics gets the metrics of the worker and of the queue.
	Metrics prometheus.Registerer
	// Text returns the text of an error for people.
	Text func(error) string
}

// Worker does jobs.
type Worker struct {
	o       Options
	q       *queue.Queue
	log     *slog.Logger
	metrics *metrics
	from    []origin
	to      export.Place
	dir     *workdir.Dir
}

// New opens the places that the options name. It sends no request to a bucket. The caller closes the Worker.
func New(ctx context.Context, q *queue.Queue, o Options) (*Worker, error) {
	w := &Worker{o: o, q: q, log: o.Log, metrics: newMetrics(o.Metrics, q)}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Close removes the drafts.
func (w *Worker) Close() { w.dir.Close() }

// Run does jobs until ctx ends, and then gives back unfinished ones. With untilDone it also ends when no job is queued or worked
// on.
func (w *Worker) Run(ctx context.Context, untilDone bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	taker, err := w.q.Taker(name())
	if err != nil {
		return err
	}
	defer taker.Close()
	var wg sync.WaitGroup
	wg.Go(func() { w.sweep(ctx) })
	for range w.o.Workers {
		wg.Go(func() { w.work(ctx, taker) })
	}
	w.wait(ctx, untilDone)
	cancel()
	wg.Wait()
	return nil
}

// wait returns when ctx ends and, with untilDone, when there are no jobs.
func (w *Worker) wait(ctx context.Context, untilDone bool) {
	for untilDone && ctx.Err() == nil {
		if lines, err := w.q.Lines(ctx); err == nil && len(lines) == 0 {
			return
		}
		pause(ctx, 200*time.Millisecond)
	}
	<-ctx.Done()
}

// name names this process in records.
func name() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano()%1_000_000, 36)
}

// open opens the places that the options name.
func (w *Worker) open(ctx context.Context) error {
	var account func(alias string) func(string, bool, int64)
	store := func(alias, url string) (*bucket.Bucket, error) {
		at, err := bucket.Parse(url)
		if err != nil {
			return nil, err
		}
		if account == nil {
			account = bucket.Metrics(w.o.Metrics)
		}
		return bucket.Open(ctx, at, bucket.Options{Account: account(alias)})
	}
	for _, place := range w.o.From {
		if !bucket.Is(place) {
			dir, err := filepath.Abs(place)
			if err != nil {
				return err
			}
			w.from = append(w.from, origin{dir: dir})
			continue
		}
		b, err := store("from", place)
		if err != nil {
			return err
		}
		w.from = append(w.from, origin{bucket: b, dir: b.String()})
	}
	var err error
	if bucket.Is(w.o.To) {
		b, err := store("to", w.o.To)
		if err != nil {
			return err
		}
		w.dir, err = workdir.New(filepath.Join(cmp.Or(w.o.Temp, os.TempDir()), "replayd-work"))
		w.to = results{archive.Bucket{Bucket: b, Temp: w.dir.Path()}}
		return err
	}
	// In the same file system; readers of hive partitions skip its name.
	if w.dir, err = workdir.New(filepath.Join(cmp.Or(w.o.Temp, w.o.To), ".replayd-work")); err != nil {
		return err
	}
	w.to = results{export.Dir{Path: w.o.To, Temp: w.dir.Path()}}
	return nil
}

// place returns the place of a job's results, usable while the worker holds the job.
func (w *Worker) place(job *queue.Taken) export.Place { return export.While(job.Held, w.to) }

// sweep removes the leftovers of dead processes, from time to time.
func (w *Worker) sweep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
			w.dir.Sweep()
		}
	}
}

// work does jobs one after the other, until ctx ends.
func (w *Worker) work(ctx context.Context, taker *queue.Taker) {
	for ctx.Err() == nil {
		job, err := taker.Take(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.log.WarnContext(ctx, "no job can be taken", "error", natsconn.Explain(err))
				pause(ctx, time.Second)
			}
			continue
		}
		w.do(ctx, job)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// limits returns the limits of sources.
func (w *Worker) limits() source.Limits { return source.Limits{Inflated: w.o.MaxInflated} }
