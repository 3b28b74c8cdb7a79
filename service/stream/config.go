package stream

import (
	"context"
	"errors"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/frame"
)

// Defaults and bounds of what a request may ask for.
const (
	DefaultBatchEvents = 512
	MaxBatchEvents     = 16384
	MaxBatchDelay      = 10 * time.Second
	MaxLastEvents      = 1_000_000
	DefaultHeartbeat   = 15 * time.Second
	MinHeartbeat       = time.Second
	MaxHeartbeat       = 5 * time.Minute
	// MaxResponseBytes bounds every response, so that clients with default limits never fail.
	MaxResponseBytes = 1 << 20
)

// Config is what one subscription streams and how.
type Config struct {
	// Replay is the replay to begin with.
	Replay *Replay
	// Start is where to begin.
	Start Start
	// Strict makes a file that simply stops an error.
	Strict bool
	// Slow is what happens when the client falls out of what is kept of a live replay.
	Slow replaydv1.SlowConsumer
	// Successors finds the replays that come after; nil ends with the first one.
	Successors Successors

	// MaxEvents is how many events a batch may have.
	MaxEvents int
	// MaxDelay is how long events may wait for a batch to fill while the file has nothing more.
	MaxDelay time.Duration
	// Heartbeat is after how long without another response a heartbeat is sent.
	Heartbeat time.Duration

	// Turns hands the processors round among callers; nil does not.
	Turns *admission.Turns
	// Caller is the key of callers that take turns.
	Caller string
	// Drain is closed when the server shuts down.
	Drain <-chan struct{}
	// Version is the server's.
	Version string
	// Positions sends the position of each event.
	Positions bool
	// State sends the state first, where the replay begins to be streamed, and behind gaps.
	State bool
}

// Start is where a stream begins: behind a cursor; or at a tick; or with the last so many events; or at the present end;
// or at the beginning.
type Start struct {
	Cursor *cursor.Cursor
	Tick   *int32
	Last   int
	Now    bool
}

// Replay is one replay to stream.
type Replay struct {
	Codec *codec.Codec
	// Info describes the replay; the stream adds the header to it.
	Info *replaydv1.Replay
	// Filter decides which events are sent; nil sends all.
	Filter *filter.Filter
	// StateFilter returns the filter of the events that a state consists of; a nil filter sends all. It is called when a state
	// is asked for. It may be nil, which sends all.
	StateFilter func() (*filter.Filter, error)
	// Checkpoints returns what keeps states of decoders of the file while it has that identity; nil keeps none.
	Checkpoints func(identity string) codec.Checkpoints
	// Open starts to read the replay. It may be called several times, and the readers are used one after the other.
	Open func(codec.Options) (codec.Reader, error)
	// Rest reads what lies behind the end that the replay has by its own account, and returns what is wrong with it, or
	// decoders.ErrMore: that a compressed file is damaged shows at its end only. Nil where nothing is to be read.
	Rest func() error
	// Present is how many bytes there were when the replay was opened, -1 where that is not known.
	Present int64
	// Follower watches a file that may grow; nil takes the file as it is.
	Follower Follower
	// Live says that the client wants to know when it has caught up with what is there.
	Live bool
	// ResolvePlayers puts beside the numbers of players who they are, and Roster is as in codec.Options.
	ResolvePlayers bool
	Roster         func(*replaydv1.Replay) []byte
	// Complete adds to the description of the replay, which has its header then, what the stream cannot know. It may be nil.
	Complete func(ctx context.Context, r *replaydv1.Replay) error
	// Columns sends events of the kinds that have columns as such.
	Columns bool
	// RevealSecrets sends what is otherwise redacted.
	RevealSecrets bool
	// Close frees what the replay holds. It may be nil.
	Close func()
}

// Follower watches a file that grows.
type Follower interface {
	// Changed receives when Look may return something new.
	Changed() <-chan struct{}
	// Look returns the size of the file in bytes. An error says that it will not grow: it is no longer the file that was
	// opened, or another replay has come after it (ErrSucceeded), or it is complete (ErrComplete). What was written before
	// can still be read, except after source.ErrShrunk. Look is cheap.
	Look() (present int64, err error)
}

// Standing is the state of a replay that is followed, besides its events.
type Standing struct {
	// Name is the file's present name.
	Name string
	// Waiting is what is waited for, where that is not simply more of the file; nil otherwise. It never changes.
	Waiting *replaydv1.Waiting
}

// Stander is a Follower that knows how its file stands. Changed receives when that has changed.
type Stander interface {
	Standing() Standing
}

// Successors finds the replay that comes after another.
type Successors interface {
	// Changed receives when there may be a successor that was not there.
	Changed() <-chan struct{}
	// Next looks for the replay after the last one that was streamed, which is still open.
	Next(ctx context.Context, after Ended) (Next, error)
}

// Ended is how a replay ended that was streamed.
type Ended struct {
	// Finished: its end was read.
	Finished bool
	// Tick is the replay's clock there.
	Tick int32
	// Lost is what Look said of its file.
	Lost error
}

// Next is what comes after a replay: another one; or the end of the stream; or nothing yet.
type Next struct {
	Replay *Replay
	Over   bool
	// Waiting is what is waited for, when it is neither.
	Waiting *replaydv1.Waiting
}

// Send sends a frame and consumes it: it frees the frame's bytes when they are written. It is never called concurrently, and may
// block. A caller may hold the subscription lock only if the outbox is empty, for then Send does not block (see idle).
type Send func(*frame.Frame) error

// Error is why a stream failed, with the cursor behind the last event that was sent.
type Error struct {
	Cursor []byte
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause: a *decoders.Error, one of the errors below, or an error of the input.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrCursorReplay says that a cursor does not belong to the replay.
	ErrCursorReplay = errors.New("the cursor is of another replay")
	// ErrCursorChanged says that the replay is no longer what it was when a cursor was made: something before the cursor's
	// place was edited.
	ErrCursorChanged = errors.New("the replay was changed since the cursor was made")
	// ErrCursorRange says that a cursor names a place that the replay does not have.
	ErrCursorRange = errors.New("the cursor is beyond the end of the replay")
	// ErrDraining says that the server shuts down before the stream could start.
	ErrDraining = errors.New("the server is shutting down")
	// ErrTooSlow says that the client read too slowly and asked to be disconnected then.
	ErrTooSlow = errors.New("the client reads too slowly")
	// ErrComplete says that all bytes that there will be are there.
	ErrComplete = errors.New("the replay is complete")
	// ErrSucceeded says that another replay of the same game server has come after this one.
	ErrSucceeded = errors.New("a newer replay of the same server is there")
)
