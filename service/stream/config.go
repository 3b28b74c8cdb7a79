package stream

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/frame"
)

// Defaults and bounds of what a request may ask for.
const (
	DefaultBatchEvents = 512
	MaxBatchEvents     = 16384
	// MaxTableRows is the maximum, and the default, number of events in a batch of tables. Usually the bytes end a batch first.
	MaxTableRows = 131072
	// DefaultTableBytes is the size of values at which a batch of any tables is full. Values in tables are larger than in rows,
	// and clients gain by longer arrays. One more event of table.MaxRowBytes still fits below MaxResponseBytes.
	DefaultTableBytes = 256 << 10
	MaxBatchDelay     = 10 * time.Second
	MaxLastEvents     = 1_000_000
	DefaultHeartbeat  = 15 * time.Second
	MinHeartbeat      = time.Second
	MaxHeartbeat      = 5 * time.Minute
	// MaxResponseBytes bounds every response, so that clients with default limits never fail.
	MaxResponseBytes = 1 << 20
)

// Config configures one subscription.
type Config struct {
	// Replay is the first replay to stream.
	Replay *Replay
	// Start is the start in the first replay.
	Start Start
	// Strict fails the stream if a file lacks the end that its format requires.
	Strict bool
	// Slow is the reaction to a client that falls behind the events of a live replay in memory.
	Slow replaydv1.SlowConsumer
	// Successors finds the next replay; nil ends the stream after the first one. The stream closes it.
	Successors Successors

	// MaxEvents limits the events of a batch.
	MaxEvents int
	// MaxDelay is how long events may wait for a batch to fill while the file has no more bytes.
	MaxDelay time.Duration
	// Heartbeat is the time without another response after which a heartbeat is sent.
	Heartbeat time.Duration

	// Turns shares the processors fairly among callers, and says when one is idle; nil does neither, as if one always were.
	Turns *admission.Turns
	// Caller identifies the caller to Turns.
	Caller string
	// Drain is closed when the server shuts down.
	Drain <-chan struct{}
	// Version is the server's.
	Version string
	// State sends the state at the start of each replay and after gaps.
	State bool
}

// Start is where a stream starts: after Cursor; or at Tick; or with the Last events; or, if Now is true, at the present end. The
// zero value is the beginning of the replay.
type Start struct {
	Cursor *cursor.Cursor
	Tick   *int32
	Last   int
	Now    bool
}

// Replay is one replay to stream: its source, and the selection that is sent.
type Replay struct {
	Opened

	Codec *codec.Codec
	// Info describes the replay; the stream adds the header to it.
	Info *replaydv1.Replay
	// Options apply to all readers of the replay. The stream sets their start, and what it needs for State and Tables.
	Options codec.Options
	// Tables says how events are sent as tables. Nil sends them as rows.
	Tables *Tables
	// Present is the size of the replay in bytes when it was opened, -1 if it is not known.
	Present int64
	// Follower watches a file that may grow; nil if it does not grow.
	Follower Follower
	// Live reports to the client when it has caught up with the live replay.
	Live bool
	// Ahead lets other goroutines read ahead while nobody else needs a processor. Reads that wait for bytes rule it out.
	Ahead bool
}

// Opened is the source of a replay. The stream is its only user, and closes it.
type Opened interface {
	// Open returns a reader of the replay. It may be called several times; only the last reader is used.
	Open(o codec.Options) (codec.Reader, error)
	// Rest reads the bytes after the replay's own end: damage of a compressed file may show only at the end of the file. It
	// returns the damage, or decoders.ErrMore.
	Rest() error
	// Await registers a function that reads call before they wait for bytes on their way. The function returns when ready is
	// closed, or with an error, with which the read then fails.
	Await(wait func(ready <-chan struct{}) error)
	// Complete adds facts to the description of the replay that the stream itself does not know. r has its header.
	Complete(ctx context.Context, r *replaydv1.Replay) error
	// Close frees what the replay holds.
	Close()
}

// Tables says how a stream sends the events of a replay as tables.
type Tables struct {
	// Encoder encodes the tables. It must not be used by any other Replay. Without one the columns themselves are passed on, for a
	// Send in this process: see [frame.Frame.Columns]. A state and tables without rows are then left out.
	Encoder TableEncoder
	// Layout says which columns the tables have.
	Layout *table.Layout
	// Bytes is the size of values at which a batch is full: DefaultTableBytes, or up to the result of TableBytes. The stream
	// takes up to four times as much memory for them.
	Bytes int
}

// TableEncoder encodes the tables of batches.
type TableEncoder interface {
	// Append appends the tables of a set that have rows to b, as entries of a field of type Table with that number.
	Append(b []byte, field protowire.Number, set *table.Set) []byte
	// AppendEmpty appends a table without rows, unless the kind had a table before.
	AppendEmpty(b []byte, field protowire.Number, set *table.Set, kind uint8) []byte
}

// Follower watches a file that grows.
type Follower interface {
	// Changed receives when the result of Look may have changed.
	Changed() <-chan struct{}
	// Look returns the size of the file in bytes. It returns an error if the file will not grow: another file has its name
	// now, the server has begun another replay (ErrSucceeded), or the file is complete (ErrComplete, LeftError). Bytes written before
	// that can still be read, except after source.ErrShrunk. Look is cheap.
	Look() (present int64, err error)
	// Standing returns further news for the client. Changed receives when they have changed.
	Standing() Standing
}

// Standing is what the client of a followed replay learns besides the events.
type Standing struct {
	// Name is the file's present name.
	Name string
	// Waiting describes what the stream waits for, if that is not simply more of the file; nil otherwise. It is immutable.
	Waiting *replaydv1.Waiting
}

// Successors finds the replay that follows another.
type Successors interface {
	// Changed receives when a new successor may exist.
	Changed() <-chan struct{}
	// Next looks for the successor of the last streamed replay, which is still open.
	Next(ctx context.Context, after Ended) (Next, error)
	// Close frees what the search holds.
	Close()
}

// Ended describes the end of a streamed replay.
type Ended struct {
	// Finished is true if the replay's own end was read.
	Finished bool
	// Tick is the replay's clock at the end.
	Tick int32
	// Lost is the error that Look returned for its file.
	Lost error
}

// Next is the result of the search for a successor: Replay; or, if Over is true, the end of the stream; or nothing yet.
type Next struct {
	Replay *Replay
	Over   bool
	// Waiting describes what the stream waits for, if nothing was found yet.
	Waiting *replaydv1.Waiting
}

// Send sends a frame and consumes it: it frees the frame's bytes when they are written. It is never called concurrently, and may
// block. A caller may hold the subscription lock only if the outbox is empty, for then Send does not block (see idle).
type Send func(*frame.Frame) error

// Error is the error of a failed stream, with the cursor after the last sent event.
type Error struct {
	Cursor []byte
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause: a *decoders.Error, one of the errors below, or an error of the input.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrCursorReplay means that the cursor belongs to another replay.
	ErrCursorReplay = errors.New("the cursor is of another replay")
	// ErrCursorChanged means that bytes before the cursor's position have changed since the cursor was made.
	ErrCursorChanged = errors.New("the replay was changed since the cursor was made")
	// ErrCursorRange means that the replay has no such position.
	ErrCursorRange = errors.New("the cursor is beyond the end of the replay")
	// ErrDraining means that the server began to shut down before the stream could start.
	ErrDraining = errors.New("the server is shutting down")
	// ErrTooSlow means that the client read too slowly, and had asked to be disconnected in that case.
	ErrTooSlow = errors.New("the client reads too slowly")
	// ErrComplete means that the file is complete and will not grow.
	ErrComplete = errors.New("the replay is complete")
	// ErrSucceeded means that the same game server has begun another replay.
	ErrSucceeded = errors.New("a newer replay of the same server is there")
)

// LeftError means that whoever wrote the file has left it, whether or not it has an end. It wraps ErrComplete.
type LeftError struct {
	// Why is a sentence.
	Why string
}

func (e *LeftError) Error() string { return "nothing more is written: " + e.Why }

func (*LeftError) Unwrap() error { return ErrComplete }
