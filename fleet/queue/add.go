package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/internal/natsconn"
)

// MaxAdd is how many jobs Add takes at once.
const MaxAdd = 500

// Added is the result of Add for a job.
type Added struct {
	ID string
	// New is false if the queue had a job with this ID.
	New bool
}

// Add adds up to MaxAdd jobs, in order. After an error it may have added some: add all again to add the rest.
func (q *Queue) Add(ctx context.Context, jobs []Job) ([]Added, error) {
	if len(jobs) > MaxAdd {
		return nil, fmt.Errorf("%d jobs at once, more than %d", len(jobs), MaxAdd)
	}
	results := make([]Added, len(jobs))
	records := make([]*Record, len(jobs))
	pending := make([]jetstream.PubAckFuture, len(jobs))
	for i := range jobs {
		if err := jobs[i].Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", jobs[i].Source, err)
		}
		r := &Record{ID: jobs[i].ID(), Job: jobs[i], State: Queued, Changed: time.Now().UTC()}
		records[i], results[i].ID = r, r.ID
		b, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		msg := &nats.Msg{Subject: "$KV." + RecordsName + "." + r.ID, Data: b}
		if pending[i], err = q.js.PublishMsgAsync(msg, jetstream.WithExpectLastSequencePerSubject(0)); err != nil {
			return nil, err
		}
	}
	var again []int // indices of jobs that have a record
	for i, p := range pending {
		switch err := lost(await(ctx, p)); {
		case errors.Is(err, ErrLost):
			again = append(again, i)
			pending[i] = nil
		case err != nil:
			return nil, err
		default:
			results[i].New = true
			if pending[i], err = q.js.PublishMsgAsync(message(records[i])); err != nil {
				return nil, err
			}
		}
	}
	for _, i := range again {
		var err error
		if results[i].New, err = q.addAgain(ctx, records[i]); err != nil {
			return nil, err
		}
	}
	for _, p := range pending {
		if p == nil {
			continue
		}
		if err := await(ctx, p); err != nil {
			return nil, err
		}
	}
	q.wake()
	return results, nil
}

// await waits for the outcome of a message.
func await(ctx context.Context, p jetstream.PubAckFuture) error {
	timer := time.NewTimer(3 * answer)
	defer timer.Stop()
	select {
	case <-p.Ok():
		return nil
	case err := <-p.Err():
		return err
	case <-timer.C:
		return natsconn.ErrSilent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addAgain adds a job that has a record, and reports whether the job returns to its line. It sends the message again if nobody
// has taken the job: the process that made the record may have died before sending. NATS drops the second of two messages for
// some minutes; later, the worker that takes it does: see Record.Message. A job that failed because its source may not be read is
// done from another source with the same contents.
func (q *Queue) addAgain(ctx context.Context, r *Record) (added bool, err error) {
	var old *Record
	err = q.change(ctx, r.ID, func(known *Record) error {
		old = known
		if known.State != Failed || known.Reason != Denied || known.Job.Source == r.Job.Source {
			return errUnchanged
		}
		known.Job = r.Job
		known.again()
		return nil
	})
	switch {
	case err == nil:
		return true, q.publish(ctx, message(old))
	case !errors.Is(err, errUnchanged):
		return false, err
	case old.State != Queued || old.Attempts > 0:
		return false, nil
	}
	return false, q.publish(ctx, message(old))
}

// errUnchanged means that the record stays the same.
var errUnchanged = errors.New("the record stays")

// message returns the message that puts a job into its line.
func message(r *Record) *nats.Msg {
	b, err := json.Marshal(r.Job)
	if err != nil {
		b = nil // cannot happen: Check has marshalled it
	}
	msg := nats.NewMsg(line(r.Job.Priority, r.Job.Tenant))
	msg.Data = b
	msg.Header.Set(jetstream.MsgIDHeader, r.ID+"."+strconv.Itoa(r.Retries))
	return msg
}

// splitSubject returns the priority and the tenant of a line.
func splitSubject(subject string) (Priority, string, bool) {
	rest, ok := strings.CutPrefix(subject, subjects+".")
	p, tenant, two := strings.Cut(rest, ".")
	return Priority(p), tenant, ok && two && tenantPattern.MatchString(tenant) &&
		(Priority(p) == High || Priority(p) == Normal || Priority(p) == Low)
}
