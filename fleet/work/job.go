package work

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/internal/natsconn"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
)

// origin is a place from which jobs may read.
type origin struct {
	dir    string // the directory, or the bucket's URL without parameters
	bucket *bucket.Bucket
}

// The errors of jobs.
var (
	errOutside = errors.New("it is below no --from of the worker")
	errRequest = errors.New("what is to be exported is invalid")
	errTooLong = errors.New("it is longer than --max-size")
)

// failureOf describes an error, and says whether the job may succeed later.
func (w *Worker) failureOf(err error) (f queue.Failure, again bool) {
	if damaged, ok := errors.AsType[export.DamagedError](err); ok {
		return queue.Failure{Reason: damaged.Reason, Offset: damaged.Offset, Detail: damaged.Detail}, false
	}
	f.Detail = w.o.Text(err)
	if decoding, ok := errors.AsType[*decoders.Error](err); ok {
		f.Offset = &decoding.Offset
	}
	for _, known := range []struct {
		err    error
		reason string
		again  bool
	}{
		{decoders.ErrTruncated, "TRUNCATED", false},
		{decoders.ErrCorrupt, "CORRUPT", false},
		{decoders.ErrUnsupported, "UNSUPPORTED", false},
		{decoders.ErrLimit, "LIMIT", false},
		{errTooLong, "LIMIT", false},
		{errOutside, queue.Denied, false},
		{errRequest, "INVALID_REQUEST", false},
		{queue.ErrBusy, "BUSY", true},
		{export.ErrMoved, "BUSY", true}, // before the error of the store, because it wraps that
		{source.ErrReplaced, "REPLACED", false},
		{source.ErrShrunk, "REPLACED", false},
		{source.ErrRemoved, "NOT_FOUND", false},
		{catalog.ErrDenied, queue.Denied, false},
		{fs.ErrNotExist, "NOT_FOUND", false},
		{source.ErrDirectory, "NOT_FOUND", false},
		{source.ErrIrregular, "NOT_FOUND", false},
		{fs.ErrPermission, queue.Denied, false},
		{source.ErrStore, "STORE_UNAVAILABLE", true},
		{source.ErrFull, "DISK_FULL", true},
		{syscall.ENOSPC, "DISK_FULL", true},
		{syscall.EDQUOT, "DISK_FULL", true},
		{source.ErrIO, "IO", true},
		{context.DeadlineExceeded, "TIMEOUT", false},
	} {
		if errors.Is(err, known.err) {
			f.Reason = known.reason
			_, results := errors.AsType[resultsError](err)
			return f, known.again || results
		}
	}
	f.Reason = "FAILED"
	if _, ok := errors.AsType[*filter.FieldError](err); ok {
		f.Reason = "INVALID_REQUEST"
	}
	return f, f.Reason == "FAILED"
}

// do does one job and returns its outcome.
func (w *Worker) do(ctx context.Context, job *queue.Taken) {
	begun := time.Now()
	w.metrics.running.Inc()
	defer w.metrics.running.Dec()
	working, cancel := context.WithTimeout(ctx, w.o.MaxTime)
	defer cancel()
	lost := false
	var wg sync.WaitGroup
	extending, stop := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() {
		for {
			pause(extending, job.Every())
			if extending.Err() != nil {
				return
			}
			asking, stop := context.WithTimeout(extending, job.Left())
			err := job.Extend(asking)
			stop()
			if errors.Is(err, queue.ErrLost) || extending.Err() == nil && job.Held() != nil {
				lost = true
				cancel() // also stops unfinished writing
				return
			}
		}
	})
	there, err := w.export(working, job)
	if working.Err() != nil && err != nil && ctx.Err() == nil {
		err = fmt.Errorf("it takes longer than %v: %w", w.o.MaxTime, context.DeadlineExceeded)
	}
	stop()
	wg.Wait()
	result, reported := w.report(ctx, job, there, err, lost || errors.Is(err, queue.ErrLost))
	w.metrics.done(result, job.Record, time.Since(begun))
	attrs := []any{
		"job", job.Record.ID, "source", job.Record.Job.Source, "tenant", job.Record.Job.Tenant, "attempt", job.Record.Attempts,
		"seconds", time.Since(begun).Round(time.Millisecond).Seconds(),
	}
	if reported != nil {
		w.log.WarnContext(ctx, "a job's end could not be reported; another worker will do it again", append(attrs, "error", natsconn.Explain(reported))...)
	}
	if job.Abandoned && err != nil {
		attrs = append(attrs, "left", w.o.Text(err)) // its record says why it ended
	}
	switch result {
	case resultFailed, resultRetried:
		w.log.WarnContext(ctx, result, append(attrs, "reason", job.Record.Reason, "detail", job.Record.Detail)...)
	default:
		w.log.InfoContext(ctx, result, attrs...)
	}
}

// The outcomes of an attempt, for the log and as labels of metrics.
const (
	resultDone      = "done"
	resultThere     = "there"
	resultFailed    = "failed"
	resultRetried   = "retried"
	resultReleased  = "released"
	resultLost      = "lost"
	resultAbandoned = "abandoned"
)

// report reports the outcome of a job to the queue. It tries for a while, because NATS may be restarting.
func (w *Worker) report(ctx context.Context, job *queue.Taken, there bool, err error, lost bool) (result string, _ error) {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	f, again := queue.Failure{}, false
	if err != nil {
		f, again = w.failureOf(err)
		if !interrupted && !lost && !job.Abandoned && (!again || job.Record.Attempts >= queue.MaxAttempts) && job.Record.Claim != "" {
			// This is the last attempt, and it or an earlier one may have put files.
			if cleaned := w.clean(ctx, job); cleaned != nil {
				w.log.WarnContext(ctx, "files of a failed job may be left", "job", job.Record.ID, "error", w.o.Text(cleaned))
			}
		}
	}
	for {
		var reported error
		switch {
		case lost:
			return resultLost, nil
		case job.Abandoned && err == nil:
			result, reported = resultAbandoned, job.Abandon(ctx)
		case err == nil:
			if result = resultDone; there {
				result = resultThere
			}
			reported = job.Done(ctx, there)
		case interrupted:
			result, reported = resultReleased, job.Release(ctx)
		case again, job.Abandoned: // the files that it left cannot be removed now
			var failed bool
			result = resultRetried
			if failed, reported = job.Later(ctx, f); failed {
				result = resultFailed
			}
		default:
			result, reported = resultFailed, job.Fail(ctx, f)
		}
		if reported == nil || ctx.Err() != nil {
			return result, reported
		}
		if errors.Is(reported, queue.ErrLost) {
			return resultLost, nil
		}
		pause(ctx, time.Second)
	}
}

// export does a job. there means that the results existed already.
func (w *Worker) export(ctx context.Context, job *queue.Taken) (there bool, err error) {
	if job.Abandoned {
		return false, w.clean(ctx, job)
	}
	req, err := requestOf(job.Record.Job.Request)
	if err != nil {
		return false, err
	}
	key, err := export.Selection(req, w.o.Secrets.Reveal)
	if err != nil {
		return false, errRequest
	}
	file, sum, size, err := w.fetch(ctx, &job.Record.Job)
	if err != nil {
		return false, err
	}
	staged := w.o.Staged && job.Record.Job.Format == string(tablefile.Parquet)
	o := export.Options{
		Name: job.Record.Job.Source, Place: w.place(job), Format: tablefile.Format(job.Record.Job.Format), Selection: key, Facts: export.HasFacts(req), Again: job.Record.Job.Again && job.Record.Attempts == 1,
		Sum: sum, Size: size, Tables: describe.TableVersion, Claim: job.Claim, Intend: job.Intend, Staged: staged,
		Attempt: rand.Text(),
	}
	if staged {
		o.Intend = nil // there is one file, and whoever does the job again writes the same
	}
	if !slices.Contains(tableFormats, o.Format) {
		_ = file.Close()
		return false, errRequest
	}
	e := export.New(o)
	defer e.Close()
	err = service.StreamColumns(ctx, file, req, service.Local{Secrets: w.o.Secrets, Version: w.o.Version, Maps: w.o.Maps}, func(f *frame.Frame) error {
		defer f.Free()
		return e.AddFrame(ctx, f)
	})
	if ctx.Err() != nil {
		return false, w.abandoned(ctx, job, e, ctx.Err())
	}
	there = errors.Is(err, export.ErrThere)
	err = e.Conclude(ctx, err, export.DamageOf(err, w.o.Text))
	if err != nil && !there {
		err = w.abandoned(ctx, job, e, err)
	}
	if names := e.Names(); len(names) > 0 {
		if cleaned := w.tidy(ctx, job, there, names); cleaned != nil {
			return false, cleaned
		}
	}
	w.metrics.events.Add(float64(e.Events()))
	return there, err
}

// abandoned removes an attempt's files, if another worker has its job by now. It returns the error of the attempt.
func (w *Worker) abandoned(ctx context.Context, job *queue.Taken, e *export.Export, err error) error {
	if job.Held() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if failed := e.Abandon(ctx, w.to); failed != nil {
			w.log.WarnContext(ctx, "files of an attempt that was lost may be left; no manifest names them", "job", job.Record.ID, "error", w.o.Text(failed))
		}
	}
	return err
}

var tableFormats = []tablefile.Format{tablefile.Parquet, tablefile.Arrow, tablefile.CSV, tablefile.JSONL}

// requestOf returns the request of a job.
func requestOf(text []byte) (*replaydv1.StreamEventsRequest, error) {
	req := new(replaydv1.StreamEventsRequest)
	if err := protojson.Unmarshal(text, req); err != nil {
		return nil, errRequest
	}
	return &replaydv1.StreamEventsRequest{
		Include: req.GetInclude(), Exclude: req.GetExclude(), Where: req.GetWhere(), ResolvePlayers: req.GetResolvePlayers(), FieldColumns: req.GetFieldColumns(), Encoding: replaydv1.Encoding_ENCODING_ARROW,
	}, nil
}

// clean removes the files that attempts of a job have left, unless one of them was committed. Nobody does the job again.
func (w *Worker) clean(ctx context.Context, job *queue.Taken) error {
	manifest := job.Record.Claim
	if err := job.Claim(ctx, manifest); errors.Is(err, queue.ErrBusy) {
		return nil // the other job removes them
	} else if err != nil {
		return err
	}
	if len(job.Leftovers()) == 0 {
		return nil
	}
	given, err := export.GiveUp(ctx, w.place(job), manifest)
	if err != nil || !given {
		return err
	}
	return w.remove(ctx, job, nil)
}

// tidy removes the files that earlier attempts left beside a finished export.
func (w *Worker) tidy(ctx context.Context, job *queue.Taken, there bool, names []string) error {
	if claimed := job.Record.Claim; there && claimed != "" { // an earlier attempt ended after the manifest and before tidying
		if err := job.Claim(ctx, claimed); errors.Is(err, queue.ErrBusy) {
			return nil // the other job does it
		} else if err != nil {
			return err
		}
	}
	return w.remove(ctx, job, names)
}

// remove removes the files that attempts have left in the claimed place, except the ones to keep.
func (w *Worker) remove(ctx context.Context, job *queue.Taken, kept []string) error {
	for _, name := range job.Leftovers() {
		if fs.ValidPath(name) && !slices.Contains(kept, name) {
			if err := w.place(job).Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return job.Settle(ctx)
}

// fetch opens the source of a job, and returns its SHA-256 and its size. It first copies an object to a file.
func (w *Worker) fetch(ctx context.Context, job *queue.Job) (_ *source.File, sum string, size int64, err error) {
	handle, err := w.handle(ctx, job.Source)
	if err != nil {
		return nil, "", 0, err
	}
	defer func() {
		if err != nil {
			_ = handle.Close()
		}
	}()
	stat, err := handle.Stat()
	if err != nil {
		return nil, "", 0, err
	}
	if size = stat.Size(); size > w.o.MaxSize {
		return nil, "", 0, errTooLong
	}
	h := sha256.New()
	from := readerFunc(io.NewSectionReader(handle, 0, size).Read).until(ctx)
	if object, ok := handle.(bucket.Tagged); ok {
		if ObjectTag(job.Source, object.Tag()) != job.Tag {
			return nil, "", 0, source.ErrReplaced
		}
		spool, err := os.CreateTemp(w.dir.Path(), "source-*")
		if err != nil {
			return nil, "", 0, err
		}
		_ = os.Remove(spool.Name()) // the file ends with the process
		if _, err := io.Copy(io.MultiWriter(spool, h), from); err != nil {
			_ = spool.Close()
			return nil, "", 0, err
		}
		_ = handle.Close()
		handle = spool
	} else if _, err := io.Copy(h, from); err != nil {
		return nil, "", 0, err
	}
	w.metrics.read.Add(float64(size))
	sum = hex.EncodeToString(h.Sum(nil))
	if want, ok := strings.CutPrefix(job.Tag, SumTag); ok && want != sum {
		return nil, "", 0, source.ErrReplaced
	}
	file, err := source.New(handle, source.Origin{Name: job.Source}, w.limits())
	return file, sum, size, err
}

// readerFunc makes an io.Reader of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// until makes a reader end with ctx.
func (f readerFunc) until(ctx context.Context) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f(p)
	})
}

// Prefixes of jobs' tags.
const (
	// SumTag precedes the SHA-256 of a file, in hexadecimal digits.
	SumTag    = "sha256:"
	objectEnd = "etag:"
)

// ObjectTag returns the tag of an object. It contains the object's place, because two objects with one ETag may have different
// contents.
func ObjectTag(url, tag string) string { return objectEnd + tag + " " + url }

// handle opens the source of a job, if it is below an origin. Links cannot lead out.
func (w *Worker) handle(ctx context.Context, name string) (source.Handle, error) {
	for _, from := range w.from {
		if from.bucket != nil {
			if rel, ok := strings.CutPrefix(name, from.dir+"/"); ok && fs.ValidPath(rel) {
				return from.bucket.Open(ctx, rel)
			}
			continue
		}
		rel, err := filepath.Rel(from.dir, name)
		if err != nil || bucket.Is(name) || !filepath.IsAbs(name) || !filepath.IsLocal(rel) || path.Clean(name) != name {
			continue
		}
		return openBelow(from.dir, rel)
	}
	return nil, errOutside
}

// openBelow opens a file below a directory.
func openBelow(dir, rel string) (source.Handle, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	stat, err := root.Stat(rel)
	switch {
	case err != nil && !isErrno(err):
		return nil, errOutside // a link leads out; os.Root has no distinct error for that
	case err != nil:
		return nil, err
	case !stat.Mode().IsRegular(): // opening a device can have effects
		return nil, source.ErrIrregular
	}
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

// isErrno reports whether an error comes from the operating system.
func isErrno(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}
