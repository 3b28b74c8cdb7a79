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

// Job is what a worker is to do. It never changes, but for the source of one that failed as Denied.
type Job struct {
	// Source is an absolute path, or s3://BUCKET/KEY without parameters.
	Source string `json:"source"`
	// Tag identifies the contents: sha256:HEX of a file, etag:HEX of an object.
	Tag string `json:"tag"`
	// Size is the length of the source, in bytes.
	Size     int64    `json:"size"`
	Tenant   string   `json:"tenant"`
	Priority Priority `json:"priority"`
	// Format is that of the files to write, such as parquet.
	Format string `json:"format"`
	// Request selects the events: a StreamEventsRequest as protobuf's JSON, without a replay.
	Request json.RawMessage `json:"request"`
	// Again also does what was done already.
	Again bool      `json:"again,omitempty"`
	Added time.Time `json:"added"`
}

var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// MaxJob is how long a job's JSON may be, in bytes.
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

// ID returns the job's ID. It depends on the contents, not on their name, on what is wanted, and on the tenant. A job that is to be done
// again has an ID of its own.
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

// State is what became of a job.
type State string

// The states. Failed jobs are the dead letters: nothing takes them until they are retried.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Over reports whether nothing more happens to the job by itself.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Failure says why a job failed.
type Failure struct {
	// Reason is one of few words, such as CORRUPT.
	Reason string `json:"reason,omitempty"`
	// Offset is where in the decompressed replay, nil if it is not at a place.
	Offset *int64 `json:"offset,omitempty"`
	// Detail is for people. It has no secrets in it.
	Detail string `json:"detail,omitempty"`
}

// Denied is the reason of a job whose source the worker may not read, such as one below none of its origins.
const Denied = "PERMISSION_DENIED"

// WorkerDied is the reason of a job that was taken too often.
const WorkerDied = "WORKER_DIED"

// Record is a job and what became of it.
type Record struct {
	Failure

	ID    string `json:"id"`
	Job   Job    `json:"job"`
	State State  `json:"state"`
	// Attempts counts how often it was taken since it was added or retried.
	Attempts int `json:"attempts"`
	// Retries counts how often it was put back into its line by Retry.
	Retries int `json:"retries"`
	// Message is the number of the message in the stream that is the job, 0 until it is taken. Others of the same job are dropped.
	Message uint64 `json:"message,omitempty"`
	// Worker has it, or had it last.
	Worker string `json:"worker,omitempty"`
	// There is set if it was done before, by this job or by another one with the same contents.
	There   bool      `json:"there,omitempty"`
	Claim   string    `json:"claim,omitempty"` // what it writes to, if it has begun
	Changed time.Time `json:"changed"`
}
