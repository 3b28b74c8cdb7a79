package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// look is the longest time for which an idle Taker waits for a wake-up before it asks NATS for a job by itself.
	look = time.Second
	// stale is the age at which a Taker lists the lines anew.
	stale = 100 * time.Millisecond
)

// shares says with which priority a Taker begins, for each of 16 turns.
var shares = [16]Priority{High, High, High, High, Normal, High, High, High, High, Normal, High, High, Low, High, Normal, High}

// Taker takes jobs for one worker process, for any number of goroutines.
type Taker struct {
	q      *Queue
	worker string
	woken  chan struct{}
	// changed is set when jobs were added since the lines were listed.
	changed atomic.Bool
	sub     *nats.Subscription

	mu     sync.Mutex
	turn   int
	after  map[Priority]string // the tenant that was served last
	lines  []Line
	listed time.Time
}

// Taker returns a Taker for a worker, whose name goes into records. The caller closes it.
func (q *Queue) Taker(worker string) (*Taker, error) {
	t := &Taker{q: q, worker: worker, woken: make(chan struct{}, 1), after: map[Priority]string{}}
	var err error
	t.sub, err = q.conn.Subscribe(wakes, func(*nats.Msg) {
		t.changed.Store(true)
		t.rouse()
	})
	return t, err
}

// Close ends the Taker. Taken jobs stay taken.
func (t *Taker) Close() { _ = t.sub.Unsubscribe() }

func (t *Taker) rouse() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// Take waits for a job. It returns the error of ctx once that has ended. If NATS fails, it returns another error, and the caller
// may call it again.
func (t *Taker) Take(ctx context.Context) (*Taken, error) {
	for {
		began := time.Now()
		msg, err := t.pick(ctx)
		if err != nil {
			return nil, err
		}
		if msg == nil {
			timer := time.NewTimer(min(look, t.q.o.Lease))
			select {
			case <-t.woken:
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		t.rouse() // wake another waiting goroutine: there may be more jobs
		taken, err := t.q.begin(ctx, msg, t.worker, began)
		if err != nil || taken != nil {
			return taken, err
		}
	}
}

// pick takes the message of the next job, or nil if there is none.
func (t *Taker) pick(ctx context.Context) (jetstream.Msg, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := false
	if t.changed.Swap(false) || time.Since(t.listed) > stale {
		lines, err := t.q.Lines(ctx)
		if err != nil {
			return nil, err
		}
		t.lines, t.listed, fresh = lines, time.Now(), true
	}
	for {
		for _, l := range order(t.lines, shares[t.turn%len(shares)], t.after) {
			msg, err := t.q.next(ctx, l)
			if err != nil {
				return nil, err
			}
			if msg != nil {
				t.after[l.Priority] = l.Tenant
				t.turn++
				return msg, nil
			}
			t.lines = slices.DeleteFunc(t.lines, func(o Line) bool { return o.Priority == l.Priority && o.Tenant == l.Tenant })
		}
		if fresh {
			return nil, nil
		}
		lines, err := t.q.Lines(ctx)
		if err != nil {
			return nil, err
		}
		t.lines, t.listed, fresh = lines, time.Now(), true
	}
}

// order returns the lines in the order in which a Taker asks them for a job: the lines of the first priority, then the others.
// Within a priority it begins with the tenant after the last one served.
func order(lines []Line, first Priority, after map[Priority]string) []Line {
	sorted := slices.Clone(lines)
	rank := func(l Line) int {
		if l.Priority == first {
			return -1
		}
		return slices.Index(priorities, l.Priority)
	}
	slices.SortFunc(sorted, func(a, b Line) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		lastA, lastB := a.Tenant <= after[a.Priority], b.Tenant <= after[b.Priority]
		switch {
		case lastA != lastB && lastB:
			return -1
		case lastA != lastB:
			return 1
		case a.Tenant < b.Tenant:
			return -1
		}
		return 1
	})
	return sorted
}

// next takes a message of a line, or returns nil if others have all of its jobs.
func (q *Queue) next(ctx context.Context, l Line) (jetstream.Msg, error) {
	c, err := q.consumer(ctx, l)
	if err != nil {
		return nil, err
	}
	batch, err := c.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	for msg := range batch.Messages() {
		return msg, nil
	}
	err = batch.Error()
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		q.mu.Lock()
		delete(q.lines, line(l.Priority, l.Tenant)) // consumer makes it again
		q.mu.Unlock()
		return nil, nil
	}
	return nil, err
}

// consumer returns the consumer of a line.
func (q *Queue) consumer(ctx context.Context, l Line) (jetstream.Consumer, error) {
	subject := line(l.Priority, l.Tenant)
	q.mu.Lock()
	c := q.lines[subject]
	q.mu.Unlock()
	if c != nil {
		return c, nil
	}
	name := string(l.Priority) + "_" + l.Tenant
	existing := func(ctx context.Context) (jetstream.Consumer, error) { return q.js.Consumer(ctx, StreamName, name) }
	c, err := ask(ctx, existing)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
			return q.js.CreateConsumer(ctx, StreamName, jetstream.ConsumerConfig{
				Durable: name, FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.o.Lease,
				MaxDeliver: -1, MaxAckPending: 100_000, MaxWaiting: 10_000, InactiveThreshold: 24 * time.Hour,
			})
		})
		if errors.Is(err, jetstream.ErrConsumerExists) { // another worker has made it meanwhile, with another lease
			c, err = ask(ctx, existing)
		}
	}
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	q.lines[subject] = c
	q.mu.Unlock()
	return c, nil
}

// lease returns the lease of jobs of a line.
func (q *Queue) lease(subject string) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.lines[subject]; c != nil {
		return c.CachedInfo().Config.AckWait
	}
	return q.o.Lease // the consumer was removed meanwhile
}

// begin makes the record of a message say that the worker has the job, for which it asked at a moment. It returns nil if the job
// needs no work.
func (q *Queue) begin(ctx context.Context, msg jetstream.Msg, worker string, began time.Time) (*Taken, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	var job Job
	if len(msg.Data()) > MaxJob || json.Unmarshal(msg.Data(), &job) != nil || job.Check() != nil ||
		line(job.Priority, job.Tenant) != msg.Subject() {
		return nil, msg.TermWithReason("no job")
	}
	t := &Taken{q: q, msg: msg, lease: q.lease(msg.Subject())}
	t.hold(began)
	for {
		r, revision, err := q.get(ctx, job.ID())
		switch {
		case errors.Is(err, ErrUnknown):
			r, revision = &Record{ID: job.ID(), Job: job}, 0
		case err != nil:
			return nil, err
		case r.State == Done, r.State == Failed, r.State == Cancelled && r.Claim == "":
			return nil, msg.Ack()
		case r.Message != 0 && r.Message != meta.Sequence.Stream: // sent twice, by addAgain or Retry: without this case, two workers would
			return nil, msg.Ack() // take the job from each other
		}
		r.Message = meta.Sequence.Stream
		r.Attempts, r.Worker = int(min(meta.NumDelivered, 1<<30)), worker
		switch {
		case r.State == Cancelled:
			t.Abandoned = true
		case r.Attempts > MaxDeliveries:
			t.Abandoned = true
			if r.State = Running; r.Reason == "" {
				r.Failure = Failure{Reason: WorkerDied, Detail: fmt.Sprintf("%d workers took the job and did not report", MaxDeliveries)}
			}
		default:
			r.State, r.Failure = Running, Failure{}
		}
		t.Record = r
		t.revision, err = q.set(ctx, r, revision)
		switch {
		case errors.Is(err, ErrLost):
			continue
		case err != nil:
			return nil, err
		case t.Abandoned && r.Claim == "":
			return nil, t.Abandon(ctx)
		}
		return t, nil
	}
}
