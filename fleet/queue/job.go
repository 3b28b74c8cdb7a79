package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Priority orders the jobs of all tenants.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

var priorities = []Priority{High, Normal, Low}

// Job describes one piece of work for a worker. It never changes, except the source of a job that failed as Denied.
type Job struct {
	// Source is an absolute path, or s3://BUCKET/KEY without parameters.
	Source string `json:"source"`
	// Tag identifies the contents: sha256:HEX of a file, etag:HEX of an object.
	Tag string `json:"tag"`
	// Size is the length of the source, in bytes.
	Size     int64    `json:"size"`
	Tenant   string   `json:"tenant"`
	Priority Priority `json:"priority"`
	// Format is the format of the results, such as parquet.
	Format string `json:"format"`
	// Request selects the events: a StreamEventsRequest as protobuf's JSON, without a replay.
	Request json.RawMessage `json:"request"`
	// Again repeats the job even if its results exist.
	Again bool      `json:"again,omitempty"`
	Added time.Time `json:"added"`
}

var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// MaxJob is the maximum length of a job's JSON, in bytes.
const MaxJob = 64 << 10

// Check returns an error for a job that cannot be added.
func (j *Job) Check() error {
	if !tenantPattern.MatchString(j.Tenant) {
		return errors.New("the tenant: want 1 to 32 letters, digits, _ or -")
	}
	switch j.Priority {
	case High, Normal, Low:
	default:
		return errors.New("the priority: want high, normal or low")
	}
	if j.Source == "" || j.Tag == "" || len(j.Source) > 4096 || j.Size < 0 {
		return errors.New("the source is invalid")
	}
	if b, err := json.Marshal(j); err != nil || len(b) > MaxJob {
		return fmt.Errorf("the job takes more than %d bytes", MaxJob)
	}
	return nil
}

// ID returns the job's ID. It depends on the tenant, the wanted results and the contents of the source, not on the source's name.
// A job that repeats another has its own ID.
func (j *Job) ID() string {
	var request bytes.Buffer
	if json.Compact(&request, j.Request) != nil {
		request.Reset() // Check refuses it
	}
	text := fmt.Sprintf("%q %d %q %q %q", j.Tag, j.Size, j.Tenant, j.Format, request.Bytes())
	if j.Again {
		text += strconv.FormatInt(j.Added.UnixNano(), 10)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// State is the state of a job.
type State string

// The states. Failed jobs are the dead letters: nothing takes them until they are retried.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Over reports whether the job stays in this state until somebody changes it.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Failure says why a job failed.
type Failure struct {
	// Reason is a name such as CORRUPT.
	Reason string `json:"reason,omitempty"`
	// Offset is the place of the failure in the decompressed replay, nil if it has none.
	Offset *int64 `json:"offset,omitempty"`
	// Detail is for people. It contains no secrets.
	Detail string `json:"detail,omitempty"`
}

// Denied is the reason of a job whose source the worker may not read, for example because it is below none of the worker's
// origins.
const Denied = "PERMISSION_DENIED"

// WorkerDied is the reason of a job that was taken too often.
const WorkerDied = "WORKER_DIED"

// Record is a job with its state and history.
type Record struct {
	Failure

	ID    string `json:"id"`
	Job   Job    `json:"job"`
	State State  `json:"state"`
	// Attempts counts how often workers took the job since it was added or retried.
	Attempts int `json:"attempts"`
	// Retries counts how often Retry put the job back into its line.
	Retries int `json:"retries"`
	// Message is the number of the message in the stream that is the job, 0 until a worker takes it. Other messages of the same
	// job are dropped.
	Message uint64 `json:"message,omitempty"`
	// Worker is the worker that has the job, or had it last.
	Worker string `json:"worker,omitempty"`
	// There is true if the results existed before, from this job or another one with the same contents.
	There   bool      `json:"there,omitempty"`
	Claim   string    `json:"claim,omitempty"` // the place that it writes to, once it has begun
	Changed time.Time `json:"changed"`
}
