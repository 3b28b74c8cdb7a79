package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Taken is a job that a worker has. The worker ends it with one of Done, Fail, Later and Release. Extend may be called
// concurrently with the other methods.
type Taken struct {
	// Record is the job's record. Callers must not change it.
	Record *Record
	// Abandoned is true if the job was cancelled, or taken too often. The worker then only removes the files that earlier
	// attempts left in the place of Record.Claim, and calls Abandon.
	Abandoned bool

	q        *Queue
	msg      jetstream.Msg
	revision uint64
	lease    time.Duration
	until    atomic.Int64 // in nanoseconds since epoch: see Held
	claim    *claim
}

// epoch is a moment from which durations do not depend on changes of the clock.
var epoch = time.Now()

// Every returns the interval at which to call Extend.
func (t *Taken) Every() time.Duration { return t.lease / 4 }

// Left returns for how long nobody else can take the job if it is not extended: 0 or less if another worker may have it.
func (t *Taken) Left() time.Duration { return time.Duration(t.until.Load()) - time.Since(epoch) }

// Held returns ErrLost unless the lease lasts. From then on a worker that cannot reach NATS must not write any more, since
// another worker may write.
func (t *Taken) Held() error {
	if t.Left() <= 0 {
		return fmt.Errorf("its lease has lapsed: %w", ErrLost)
	}
	return nil
}

// hold records that the lease began again at a moment, or later.
func (t *Taken) hold(began time.Time) { t.until.Store(int64(began.Sub(epoch) + t.lease)) }

// Extend begins the lease again. It returns ErrLost if the job is no longer this worker's. It returns another error if NATS
// fails; the worker then goes on for as long as the job is Held.
func (t *Taken) Extend(ctx context.Context) error {
	began := time.Now()
	if err := t.msg.InProgress(); err != nil {
		return err
	}
	r, _, err := t.q.get(ctx, t.Record.ID)
	if errors.Is(err, ErrUnknown) || err == nil && (r.State != t.Record.State && !t.Abandoned || r.Worker != t.Record.Worker || r.Attempts != t.Record.Attempts) {
		return ErrLost
	}
	if err == nil { // NATS received the message before it was asked
		t.hold(began)
	}
	return err
}

// Done ends a job successfully. there means that the results existed before.
func (t *Taken) Done(ctx context.Context, there bool) error {
	t.Record.There = there
	return t.end(ctx, Done, Failure{})
}

// Fail ends a job whose repetition would not help: it becomes a dead letter. For an abandoned job, Fail is Abandon.
func (t *Taken) Fail(ctx context.Context, f Failure) error {
	if t.Abandoned {
		return t.Abandon(ctx)
	}
	return t.end(ctx, Failed, f)
}

func (t *Taken) end(ctx context.Context, s State, f Failure) error {
	t.Record.State, t.Record.Failure = s, f
	if _, err := t.q.set(ctx, t.Record, t.revision); err != nil {
		return err
	}
	// If this is lost, the next worker finds that the job is over.
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, t.msg.DoubleAck(ctx) })
	return err
}

// Abandon ends a job that was cancelled or taken too often.
func (t *Taken) Abandon(ctx context.Context) error {
	if t.Record.State == Cancelled {
		t.Record.Claim = "" // from now on others may write there
		return t.end(ctx, Cancelled, t.Record.Failure)
	}
	return t.end(ctx, Failed, t.Record.Failure)
}

// MaxAttempts is how often a job is tried whose failures may pass, such as failures of a store.
const MaxAttempts = 8

// Later puts a job back for some time, which grows with each attempt from a second to 10 minutes. After MaxAttempts the job
// fails. An abandoned job stays abandoned; after some more attempts Later ends it like Abandon.
func (t *Taken) Later(ctx context.Context, f Failure) (failed bool, err error) {
	most := MaxAttempts
	if t.Abandoned {
		most += MaxDeliveries
	}
	if t.Record.Attempts >= most {
		return true, t.Fail(ctx, f)
	}
	pause := min(time.Second<<(2*min(max(t.Record.Attempts-1, 0), 5)), 10*time.Minute)
	pause -= rand.N(pause / 4) //nolint:gosec // nobody gains by guessing it
	return false, t.back(ctx, f, pause)
}

// Release puts a job back at once. Call it when the worker ends.
func (t *Taken) Release(ctx context.Context) error { return t.back(ctx, Failure{}, 0) }

func (t *Taken) back(ctx context.Context, f Failure, pause time.Duration) error {
	if !t.Abandoned {
		t.Record.State, t.Record.Failure = Queued, f
	}
	if _, err := t.q.set(ctx, t.Record, t.revision); err != nil {
		return err
	}
	if pause > 0 {
		return t.msg.NakWithDelay(pause)
	}
	err := t.msg.Nak()
	t.q.wake()
	return err
}

// claim says who writes to a place.
type claim struct {
	Job   string   `json:"job"`
	Names []string `json:"names,omitempty"` // of files that may exist

	key      string
	revision uint64
}

// maxNames is the maximum number of names in a claim: the names of one export, and of earlier ones that did not finish.
const maxNames = 10_000

// Claim makes a job the only one that writes to a place, until the job is over. It returns ErrBusy if another job has claimed the
// place.
func (t *Taken) Claim(ctx context.Context, place string) error {
	key := keyOf(place)
	c := &claim{key: key}
	entry, err := ask(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return t.q.claims.Get(ctx, key) })
	switch {
	case err == nil:
		if json.Unmarshal(entry.Value(), c) != nil {
			c.Job, c.Names = "", nil
		}
		c.revision = entry.Revision()
		if c.Job != t.Record.ID {
			// The worker of a cancelled job may still write, until the job is abandoned.
			other, _, err := t.q.get(ctx, c.Job)
			if err == nil && other.Claim == place && (!other.State.Over() || other.State == Cancelled) {
				return ErrBusy
			}
			if err != nil && !errors.Is(err, ErrUnknown) {
				return err
			}
		}
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return err
	}
	c.Job = t.Record.ID
	if err := t.q.keep(ctx, c); err != nil {
		if errors.Is(err, ErrLost) {
			return ErrBusy
		}
		return err
	}
	t.claim, t.Record.Claim = c, place
	t.revision, err = t.q.set(ctx, t.Record, t.revision)
	return err
}

func (q *Queue) keep(ctx context.Context, c *claim) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	next, err := ask(ctx, func(ctx context.Context) (uint64, error) {
		if c.revision == 0 {
			return q.claims.Create(ctx, c.key, b)
		}
		return q.claims.Update(ctx, c.key, b, c.revision)
	})
	if err == nil {
		c.revision = next
	}
	return lost(err)
}

// Intend notes the names of files that will be put into the claimed place. It is called again before the last file. It returns
// ErrLost if another job has claimed the place meanwhile.
func (t *Taken) Intend(ctx context.Context, names []string) error {
	if t.claim == nil {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(t.claim.Names, name) && len(t.claim.Names) < maxNames {
			t.claim.Names = append(t.claim.Names, name)
		}
	}
	return t.q.keep(ctx, t.claim)
}

// Leftovers returns the names that Intend has noted, for this job and earlier ones: the claimed place contains nothing else.
func (t *Taken) Leftovers() []string {
	if t.claim == nil {
		return nil
	}
	return slices.Clone(t.claim.Names)
}

// Settle forgets the names, once the place has its final contents.
func (t *Taken) Settle(ctx context.Context) error {
	if t.claim == nil || len(t.claim.Names) == 0 {
		return nil
	}
	t.claim.Names = nil
	return t.q.keep(ctx, t.claim)
}

// keyOf returns the key of a place. Keys allow few characters: the ones in names of manifests, and "=".
func keyOf(place string) string { return strings.ReplaceAll(place, "/", ".") }
