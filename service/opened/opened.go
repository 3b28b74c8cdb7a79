package opened

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/temporary"
	"github.com/replayd/replayd/service/watch"
)

// Config holds what an Opener needs to open a daemon's replays. All fields but Watcher are required.
type Config struct {
	Catalog     *catalog.Catalog
	Temporary   *temporary.Store
	Watcher     *watch.Watcher // nil if no replay can be followed
	Index       *index.Index
	Successions *succession.Finder
	Checkpoints *checkpoint.Store
	Admission   *admission.Control
	Secrets     codec.Secrets
	Log         *slog.Logger
	// Drain is closed when the daemon shuts down.
	Drain <-chan struct{}
	// Map is codec.Options.Map for a call.
	Map func(ctx context.Context, r *replaydv1.Replay, use func(file io.ReaderAt, size int64) error) error
	// Complete implements stream.Opened.Complete for every replay. info describes its file.
	Complete func(ctx context.Context, info source.Info, r *replaydv1.Replay) error
}

type completing = func(context.Context, source.Info, *replaydv1.Replay) error

// Opener opens the replays of a daemon. It is safe for concurrent use.
type Opener struct {
	Config
	feeds *feeds
	left  *left
}

// New returns an Opener. The caller must Close it.
func New(c Config) *Opener {
	o := &Opener{Config: c, left: newLeft(c.Index, c.Log)}
	o.feeds = &feeds{config: &o.Config, byKey: map[feedKey]*sharedFeed{}}
	return o
}

// Close ends the background work. No replay may be open.
func (o *Opener) Close() { o.left.close() }

// Feeds returns the number of live replays that are decoded for their followers.
func (o *Opener) Feeds() int { return o.feeds.count() }

// Behind returns how many bytes the slowest feed has still to decode.
func (o *Opener) Behind() int { return o.feeds.behind() }

// LateBytes counts bytes that were appended to replays after their streams had left them.
func (o *Opener) LateBytes() prometheus.Counter { return o.left.bytes }

// Alone returns the configuration of a stream of a file in its present state, without a daemon. It takes ownership of the file. maps is
// the directory of the maps, empty for none.
func Alone(ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, secrets codec.Secrets, maps string) (_ stream.Config, err error) {
	f := own(ctx, file, nil)
	defer f.closeOn(&err)
	q, err := requestOf(ctx, req)
	if err != nil {
		return stream.Config{}, err
	}
	w, err := wantedOf(file, q, secrets, true)
	if err != nil {
		return stream.Config{}, err
	}
	if maps != "" {
		w.options.Map = mapBelow(ctx, maps)
	}
	q.Replay, err = f.take(ctx, w)
	return q.Config, err
}

// Open returns the configuration of a stream of the replay that a request names, and with FollowSuccessors of its successors. If
// the request follows, Open waits for a replay that does not exist yet.
func (o *Opener) Open(ctx context.Context, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	q, err := requestOf(ctx, req)
	if err != nil {
		return stream.Config{}, err
	}
	file, err := o.find(ctx, q)
	if err != nil {
		return stream.Config{}, err
	}
	follow := req.GetFollow() && !temporary.Is(req.GetReplay())
	if q.Replay, err = o.replay(ctx, file, q, follow); err != nil || !req.GetFollowSuccessors() {
		return q.Config, err
	}
	c := q.Config // of which the chain's requests have no replay
	c.Successors, err = o.chain(ctx, q)
	return c, err
}

// Upload returns the configuration of a stream of a file that a client sends. It calls receive once the request is known to be
// valid. receive returns the file, of which Upload takes ownership.
func (o *Opener) Upload(
	ctx context.Context, req *replaydv1.StreamEventsRequest, receive func() (*source.File, error),
) (_ stream.Config, err error) {
	if req.GetFieldColumns() {
		return stream.Config{}, fault.BadRequest("field_columns", "is not possible with an upload, of which the types of fields are not there at once: CreateReplay stores one")
	}
	q, err := requestOf(ctx, req)
	if err != nil {
		return stream.Config{}, err
	}
	file, err := receive()
	if err != nil {
		return stream.Config{}, err
	}
	f := own(ctx, file, o.Complete)
	defer f.closeOn(&err)
	if err := scope.Takes(ctx, file.Info().Format); err != nil {
		return stream.Config{}, err
	}
	w, err := wantedOf(file, q, o.Secrets, false)
	if err != nil {
		return stream.Config{}, err
	}
	var follower stream.Follower
	if !w.codec.RandomAccess { // others are spooled
		// It is read like a growing file, so that decoded events and heartbeats do not wait for bytes that have not arrived.
		ahead, err := file.ReadAhead()
		if err != nil {
			return stream.Config{}, err
		}
		follower = arriving{ahead}
	}
	if q.Replay, err = f.take(ctx, w); err != nil {
		return stream.Config{}, err
	}
	q.Replay.Follower = follower
	return q.Config, nil
}

// arriving is an upload as a stream.Follower.
type arriving struct{ *source.Ahead }

// Look implements stream.Follower.
func (a arriving) Look() (int64, error) {
	n, err := a.Ahead.Look()
	if errors.Is(err, io.EOF) {
		err = stream.ErrComplete
	}
	return n, err
}

// Standing implements stream.Follower.
func (arriving) Standing() stream.Standing { return stream.Standing{} }
