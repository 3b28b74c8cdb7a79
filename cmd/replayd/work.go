package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/replay/source"
)

type workCmd struct {
	queueFlags

	From      []string      `help:"A directory, or s3://BUCKET/PATH, below which jobs may name replays. Repeatable." placeholder:"DIR"`
	To        string        `help:"The directory, or s3://BUCKET/PATH, to write to." placeholder:"DIR" env:"-"`
	Workers   int           `help:"How many jobs to do at the same time." default:"1"`
	Temp      string        `help:"The directory for drafts and objects being read. Default: within --to, or for a bucket the system's." placeholder:"DIR"`
	UntilDone bool          `help:"End when no job is queued or worked on."`
	Metrics   string        `help:"The address to serve Prometheus metrics on, under /metrics: HOST:PORT on this machine, or unix:PATH. Default: disabled." name:"metrics-listen" placeholder:"HOST:PORT"`
	MaxSize   int64         `help:"The maximum size of a replay, in bytes." default:"4294967296"`
	Inflated  int64         `help:"The maximum size of a compressed replay once inflated, in bytes." name:"max-inflated" default:"17179869184"`
	MaxTime   time.Duration `help:"How long one replay may take." default:"1h"`
	Lease     time.Duration `help:"After how long without a sign of life a job is another worker's, 1s to 1h. Tenants and priorities that have had a worker within a day keep theirs." default:"30s"`
	Reveal    secrets       `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot." placeholder:"NAMES" name:"reveal-secrets"`
	LogFormat string        `help:"The format of the log: text or json." enum:"text,json" default:"text"`
	LogLevel  slog.Level    `help:"The lowest level to log: debug, info, warn or error." default:"info"`
}

// Validate rejects invalid flags, before anything is opened.
func (c *workCmd) Validate() error {
	for _, place := range append([]string{c.To}, c.From...) {
		if bucket.Is(place) {
			if _, err := bucket.Parse(place); err != nil { // without the URL, which may have secrets in it
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
	if err := checkListen(c.Metrics); err != nil {
		return err
	}
	return c.queueFlags.Validate()
}

// Run works until ctx ends.
func (c *workCmd) Run(ctx context.Context, con console) error {
	log := (&serveCmd{LogFormat: c.LogFormat, LogLevel: c.LogLevel}).logger(con)
	debug.SetGCPercent(50) // as export
	waits := func(err error) { log.WarnContext(ctx, "NATS is not ready; waiting for it", "error", err) }
	q, stop, err := c.open(ctx, "work", queue.Options{Lease: c.Lease, Wait: electionWait, Waits: waits},
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.WarnContext(ctx, "NATS is gone; waiting for it")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.InfoContext(ctx, "NATS is back") }))
	if err != nil {
		return err
	}
	defer stop()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	w := &worker{c: c, q: q, log: log, metrics: newWorkMetrics(registry, q)}
	if c.Metrics != "" {
		l, err := listenHere(c.Metrics)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
		defer (*doors)(nil).serve(l, mux, "metrics", log)()
	}
	if err := w.open(ctx, registry); err != nil {
		return err
	}
	defer w.dir.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { w.sweep(ctx) })
	taker, err := q.Taker(workerName())
	if err != nil {
		return err
	}
	defer taker.Close()
	for range c.Workers {
		wg.Go(func() { w.work(ctx, taker) })
	}
	err = c.untilDone(ctx, q)
	cancel()
	wg.Wait()
	return err
}

// electionWait is how long a worker waits at its start for servers that elect a leader, which takes 4 to 9 s where one died, and as long
// again where that one dies, too.
const electionWait = time.Minute

// untilDone returns when ctx ends, and with --until-done as soon as there are no jobs.
func (c *workCmd) untilDone(ctx context.Context, q *queue.Queue) error {
	for c.UntilDone {
		lines, err := q.Lines(ctx)
		if err == nil && len(lines) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
			continue
		}
		break
	}
	<-ctx.Done()
	return nil
}

// listenHere listens on an address of this machine.
func listenHere(addr string) (net.Listener, error) {
	l, err := open(addr, nil)
	if err != nil {
		return nil, err
	}
	if !servesLocally(l) {
		_ = l.Close()
		return nil, usageError{errors.New("--metrics-listen: has no TLS, so it must be on 127.0.0.1, [::1] or a Unix socket")}
	}
	return l, nil
}

// workerName names this process in records.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano()%1_000_000, 36)
}

// worker does jobs.
type worker struct {
	c       *workCmd
	q       *queue.Queue
	log     *slog.Logger
	metrics *workMetrics
	from    []origin
	to      export.Place
	dir     *workdir
}

// open opens the places that the flags name.
func (w *worker) open(ctx context.Context, reg prometheus.Registerer) error {
	var account func(alias string) func(string, bool, int64)
	store := func(alias, url string) (*bucket.Bucket, error) {
		if account == nil {
			account = accountStores(reg)
		}
		return openBucket(ctx, url, bucket.Options{Account: account(alias)})
	}
	for _, place := range w.c.From {
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
	temp := w.c.Temp
	if bucket.Is(w.c.To) {
		b, err := store("to", w.c.To)
		if err != nil {
			return err
		}
		dir, err := newWorkdir(filepath.Join(cmp.Or(temp, os.TempDir()), "replayd-work"))
		w.dir, w.to = dir, results{bucketPlace{b, dir}}
		return err
	}
	// In the same file system; readers of hive partitions do not look into it.
	var err error
	if w.dir, err = newWorkdir(filepath.Join(cmp.Or(temp, w.c.To), ".replayd-work")); err != nil {
		return err
	}
	w.to = results{export.Dir{Path: w.c.To, Temp: w.dir.path}}
	return nil
}

// bucketPlace is a part of a bucket as a place of tables.
type bucketPlace struct {
	*bucket.Bucket
	dir *workdir
}

// Drafts implements export.Place.
func (p bucketPlace) Drafts(string) (string, error) { return p.dir.path, nil }

// Put implements export.Place.
func (p bucketPlace) Put(ctx context.Context, name, draft string) error {
	return withDraft(draft, func(f *os.File, size int64) error { return p.Bucket.Put(ctx, name, f, size) })
}

// Prune implements export.Place. Names are of attempts: nobody puts them again.
func (p bucketPlace) Prune(ctx context.Context, _ string, names []string) error {
	for _, name := range names {
		if err := p.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements export.Place. Nobody else removes files of an attempt.
func (p bucketPlace) Commit(ctx context.Context, name, draft, version string, _ map[string]int64) error {
	err := withDraft(draft, func(f *os.File, size int64) error { return p.Replace(ctx, name, f, size, version) })
	if errors.Is(err, bucket.ErrConflict) {
		err = fmt.Errorf("%w: %w", export.ErrMoved, err)
	}
	return err
}

// withDraft calls a function with a draft and its size.
func withDraft(draft string, put func(f *os.File, size int64) error) error {
	f, err := os.Open(filepath.Clean(draft))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	return put(f, stat.Size())
}

// Version implements export.Place.
func (p bucketPlace) Version(ctx context.Context, name string) (string, error) {
	found, err := p.Look(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return found.Tag, err
}

// Sync implements export.Place. A store has what it has acknowledged.
func (p bucketPlace) Sync([]string) error { return nil }

// Read implements export.Place.
func (p bucketPlace) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	return p.Get(ctx, name, most)
}

// Size implements export.Place.
func (p bucketPlace) Size(ctx context.Context, name string) (int64, error) {
	found, err := p.Look(ctx, name)
	return found.Size, err
}

// results is the place of a worker's results. Its errors are resultsErrors.
type results struct{ export.Place }

// resultsError means that results cannot be written. That says nothing about the job: the credentials of the worker may have expired.
type resultsError struct{ error }

func (e resultsError) Unwrap() error { return e.error }

func ofResults(err error) error {
	if err == nil {
		return nil
	}
	return resultsError{err}
}

// Put implements export.Place.
func (r results) Put(ctx context.Context, name, draft string) error {
	return ofResults(r.Place.Put(ctx, name, draft))
}

// Commit implements export.Place.
func (r results) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	return ofResults(r.Place.Commit(ctx, name, draft, version, files))
}

// Prune implements export.Place.
func (r results) Prune(ctx context.Context, manifest string, names []string) error {
	return ofResults(r.Place.Prune(ctx, manifest, names))
}

// Version implements export.Place.
func (r results) Version(ctx context.Context, name string) (string, error) {
	version, err := r.Place.Version(ctx, name)
	return version, ofResults(err)
}

// Sync implements export.Place.
func (r results) Sync(names []string) error { return ofResults(r.Place.Sync(names)) }

// Remove implements export.Place.
func (r results) Remove(ctx context.Context, name string) error {
	return ofResults(r.Place.Remove(ctx, name))
}

// Read implements export.Place.
func (r results) Read(ctx context.Context, name string, most int64) ([]byte, error) {
	b, err := r.Place.Read(ctx, name, most)
	return b, ofResults(err)
}

// Size implements export.Place.
func (r results) Size(ctx context.Context, name string) (int64, error) {
	n, err := r.Place.Size(ctx, name)
	return n, ofResults(err)
}

// place returns where the results of a job go, for as long as the job is held.
func (w *worker) place(job *queue.Taken) export.Place { return export.While(job.Held, w.to) }

// sweep removes what dead processes left behind, from time to time.
func (w *worker) sweep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
			w.dir.sweep()
		}
	}
}

// work does jobs one after the other, until ctx ends.
func (w *worker) work(ctx context.Context, taker *queue.Taker) {
	for ctx.Err() == nil {
		job, err := taker.Take(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.log.WarnContext(ctx, "no job can be taken", "error", natsError(err))
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

// limits are those of sources.
func (w *worker) limits() source.Limits { return source.Limits{Inflated: w.c.Inflated} }
