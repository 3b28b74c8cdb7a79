package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/internal/natsconn"
)

// Names in JetStream.
const (
	StreamName  = "replayd-jobs"
	RecordsName = "replayd-records"
	ClaimsName  = "replayd-claims"

	subjects = "replayd.jobs"
	wakes    = "replayd.wake"
)

// The times of leases and records, and the number of deliveries.
const (
	Lease         = 30 * time.Second
	MaxDeliveries = 10
	// Keep is how long the record of a job stays after its last change.
	Keep = 30 * 24 * time.Hour
	// window is how long NATS remembers the ids of messages.
	window = 10 * time.Minute
	answer = 5 * time.Second        // how long NATS may take to answer a request
	retry  = 250 * time.Millisecond // how long Open waits before it asks again
)

// Options configure Open. The zero value of a field means its default.
type Options struct {
	// Replicas is the number of servers of a cluster that store a queue that Open makes. Default 1.
	Replicas int
	// Lease is how long a worker keeps a job after its last sign of life, in lines that have had no worker for a day. Default
	// [Lease]. Other lines keep their lease, so that workers with different Options agree.
	Lease time.Duration
	// Wait is how long Open waits for servers that answer, but have no leader or no JetStream yet. Default 0: it fails at once.
	Wait time.Duration
	// Waits is called when Open begins to wait, with the reason. Nil means that nobody is told.
	Waits func(error)
}

// Queue is a connection to the queue.
type Queue struct {
	o       Options
	conn    *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	records jetstream.KeyValue
	claims  jetstream.KeyValue

	mu    sync.Mutex
	lines map[string]jetstream.Consumer // by subject
}

// Errors of a Queue.
var (
	// ErrLost means that another worker has the job now, or that it was cancelled.
	ErrLost = errors.New("the job is no longer this worker's")
	// ErrBusy means that another job writes to the same place.
	ErrBusy = errors.New("another job writes to the same place")
	// ErrUnknown means that no job has the ID.
	ErrUnknown = errors.New("there is no such job")
	// ErrState means that the job's state does not allow the call.
	ErrState = errors.New("the job is in another state")
)

// Open returns the queue on the servers of a connection, and makes a missing one. The caller closes the connection.
func Open(ctx context.Context, conn *nats.Conn, o Options) (*Queue, error) {
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	if o.Lease <= 0 {
		o.Lease = Lease
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(answer))
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(o.Wait); ; {
		q, err := open(ctx, conn, js, o)
		if err == nil || !passes(err) || time.Now().After(deadline) {
			return q, err
		}
		if o.Waits != nil {
			o.Waits(err)
			o.Waits = nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retry):
		}
	}
}

// passes reports whether an error of open may come from servers that were just started, or that elect a leader.
func passes(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code == http.StatusServiceUnavailable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}

func open(ctx context.Context, conn *nats.Conn, js jetstream.JetStream, o Options) (_ *Queue, err error) {
	q := &Queue{o: o, conn: conn, js: js, lines: map[string]jetstream.Consumer{}}
	if q.stream, err = q.openStream(ctx); err != nil {
		return nil, fmt.Errorf("the queue's stream: %w", err)
	}
	if q.records, err = q.openBucket(ctx, RecordsName, Keep); err != nil {
		return nil, fmt.Errorf("the queue's records: %w", err)
	}
	if q.claims, err = q.openBucket(ctx, ClaimsName, Keep); err != nil {
		return nil, fmt.Errorf("the queue's claims: %w", err)
	}
	return q, nil
}

// openStream and openBucket keep the operator's settings of what exists.
func (q *Queue) openStream(ctx context.Context) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, StreamName)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	return q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: StreamName, Description: "jobs of replayd", Subjects: []string{subjects + ".*.*"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, Replicas: q.o.Replicas, Duplicates: window, MaxMsgSize: MaxJob + 1024,
	})
}

func (q *Queue) openBucket(ctx context.Context, name string, keep time.Duration) (jetstream.KeyValue, error) {
	kv, err := q.js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	return q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, History: 1, TTL: keep, Storage: jetstream.FileStorage, Replicas: q.o.Replicas,
	})
}

// ask makes a request of NATS; see natsconn.Ask.
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	return natsconn.Ask(ctx, answer, f)
}

// line returns the subject of a job.
func line(p Priority, tenant string) string { return subjects + "." + string(p) + "." + tenant }

// get returns a record and its revision. It returns ErrUnknown if there is none.
func (q *Queue) get(ctx context.Context, id string) (*Record, uint64, error) {
	entry, err := ask(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return q.records.Get(ctx, id) })
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, 0, ErrUnknown
	}
	if err != nil {
		return nil, 0, err
	}
	r := new(Record)
	if err := json.Unmarshal(entry.Value(), r); err != nil {
		return nil, 0, fmt.Errorf("the record of job %s: %w", id, err)
	}
	return r, entry.Revision(), nil
}

// set changes a record that has a revision, 0 for a new one. It returns ErrLost if the record has another revision.
func (q *Queue) set(ctx context.Context, r *Record, revision uint64) (uint64, error) {
	r.Changed = time.Now().UTC()
	b, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	next, err := ask(ctx, func(ctx context.Context) (uint64, error) { return q.records.Update(ctx, r.ID, b, revision) })
	return next, lost(err)
}

// lost converts the error of a change that expected another revision.
func lost(err error) error {
	if natsconn.Conflict(err) || errors.Is(err, jetstream.ErrKeyExists) {
		return ErrLost
	}
	return err
}

// Get returns the record of a job, or ErrUnknown.
func (q *Queue) Get(ctx context.Context, id string) (*Record, error) {
	r, _, err := q.get(ctx, id)
	return r, err
}

// Each calls the function each with the record of every job, in the order of their last changes, until the function returns false.
// With follow, Each then waits and passes on every change of a record until ctx ends. It calls caughtUp, which may be nil, once all
// records of the moment were passed.
func (q *Queue) Each(ctx context.Context, follow bool, caughtUp func() bool, each func(*Record) bool) error {
	watch, err := q.records.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watch.Updates():
			if !ok {
				return errors.New("the connection to NATS ended")
			}
			if entry == nil {
				if caughtUp != nil && !caughtUp() || !follow {
					return nil
				}
				continue
			}
			r := new(Record)
			if json.Unmarshal(entry.Value(), r) != nil {
				continue // written by another version of the program
			}
			if !each(r) {
				return nil
			}
		}
	}
}

// Cancel cancels a job that is not over, or that failed. A worker that has the job stops, unless it has begun to write results.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	return q.change(ctx, id, func(r *Record) error {
		if r.State == Done || r.State == Cancelled {
			return ErrState
		}
		if r.State == Failed {
			r.Claim = "" // no message remains with which a worker would clean up
		}
		r.State = Cancelled
		return nil
	})
}

// Retry puts a job that failed or was cancelled back into its line. It does the same for a queued job that no worker has had,
// because its Add, or its last Retry, may not have finished.
func (q *Queue) Retry(ctx context.Context, id string) error {
	var again *Record
	err := q.change(ctx, id, func(r *Record) error {
		again = r
		// If the message of a waiting job is still there, begin drops the second.
		if waits := r.State == Queued && r.Attempts == 0; !waits && r.State != Failed && r.State != Cancelled {
			return ErrState
		}
		r.again()
		return nil
	})
	if err != nil {
		return err
	}
	err = q.publish(ctx, message(again))
	q.wake()
	return err
}

// again resets the record of a job that returns to its line.
func (r *Record) again() {
	r.State, r.Failure, r.Attempts, r.Message = Queued, Failure{}, 0, 0
	r.Retries++
}

// change changes a record, even if others do so at the same time.
func (q *Queue) change(ctx context.Context, id string, f func(*Record) error) error {
	for {
		r, revision, err := q.get(ctx, id)
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
		if _, err := q.set(ctx, r, revision); !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// publish puts a message into its line.
func (q *Queue) publish(ctx context.Context, msg *nats.Msg) error {
	_, err := ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) { return q.js.PublishMsg(ctx, msg) })
	return err
}

// wake tells idle workers that there are jobs.
func (q *Queue) wake() { _ = q.conn.Publish(wakes, nil) }

// Line is the number of a tenant's jobs of one priority that are not over, including jobs that workers have.
type Line struct {
	Priority Priority
	Tenant   string
	Jobs     uint64
}

// Lines returns the lines that have jobs, in any order.
func (q *Queue) Lines(ctx context.Context) ([]Line, error) {
	info, err := ask(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return q.stream.Info(ctx, jetstream.WithSubjectFilter(subjects+".*.*"))
	})
	if err != nil {
		return nil, err
	}
	var lines []Line
	for subject, n := range info.State.Subjects {
		if p, tenant, ok := splitSubject(subject); ok && n > 0 {
			lines = append(lines, Line{p, tenant, n})
		}
	}
	return lines, nil
}

// Oldest returns the time since which the oldest job of a priority has been waiting or worked on, or zero if there is none.
func (q *Queue) Oldest(ctx context.Context, p Priority) (time.Time, error) {
	msg, err := ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return q.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(line(p, "*")))
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return msg.Time, nil
}
