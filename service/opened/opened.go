package opened

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/temporary"
	"github.com/replayd/replayd/service/watch"
)

// Config is what a daemon's replays are opened with. All fields but Watcher are required.
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
	// Complete is stream.Opened.Complete of every replay. info is of its file.
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

// Feeds returns how many live replays are decoded for all who follow them.
func (o *Opener) Feeds() int { return o.feeds.count() }

// Behind returns how many bytes the slowest feed has not decoded yet.
func (o *Opener) Behind() int { return o.feeds.behind() }

// LateBytes counts bytes that were appended to replays after their streams had left them.
func (o *Opener) LateBytes() prometheus.Counter { return o.left.bytes }

// Alone returns the configuration of a stream of a file as it is now, without a daemon. It takes ownership of the file.
func Alone(ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, secrets codec.Secrets) (_ stream.Config, err error) {
	f := own(ctx, file, nil)
	defer f.closeOn(&err)
	q, err := requestOf(req)
	if err != nil {
		return stream.Config{}, err
	}
	w, err := wantedOf(file, q, secrets, true)
	if err != nil {
		return stream.Config{}, err
	}
	q.Replay, err = f.take(ctx, w)
	return q.Config, err
}

// Open returns the configuration of a stream of the replay that a request means, and with FollowSuccessors of its successors. If
// the request follows, Open waits for a replay that is not there yet.
func (o *Opener) Open(ctx context.Context, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	q, err := requestOf(req)
	if err != nil {
		return stream.Config{}, err
	}
	file, err := o.find(ctx, req)
	if err != nil {
		return stream.Config{}, err
	}
	if !req.GetFollow() || temporary.Is(req.GetReplay()) {
		q.Replay, err = o.stored(ctx, file, q)
		return q.Config, err
	}
	if q.Replay, err = o.live(ctx, file, q); err != nil || !req.GetFollowSuccessors() {
		return q.Config, err
	}
	c := q.Config // of which the chain's requests have no replay
	c.Successors, err = o.chain(ctx, q)
	return c, err
}

// stored returns a replay as it is now. It takes ownership of the file.
func (o *Opener) stored(ctx context.Context, file *source.File, q *request) (_ *stream.Replay, err error) {
	f := own(ctx, file, o.Complete)
	defer f.closeOn(&err)
	w, err := o.kept(ctx, file, q, true)
	if err != nil {
		return nil, err
	}
	return f.take(ctx, w)
}

// live returns a replay to whose file its writer may append; one that cannot grow is as stored returns it. It takes ownership of the
// file. With the rule NextInDirectory the replay ends as soon as another one begins.
func (o *Opener) live(ctx context.Context, file *source.File, q *request) (_ *stream.Replay, err error) {
	f := own(ctx, file, o.Complete)
	defer f.closeOn(&err)
	w, err := o.kept(ctx, file, q, false)
	if err != nil {
		return nil, err
	}
	r, err := f.take(ctx, w)
	switch {
	case err != nil || !mayGrow(&w.info, w.codec):
		return r, err
	case o.Watcher == nil:
		return nil, errNoWatcher
	}
	if f.grows, err = o.feeds.follow(access.Of(ctx), w, file); err != nil {
		return nil, err
	}
	if q.rule == succession.NextInDirectory {
		f.grows = o.leave(ctx, f.grows, file)
	}
	r.Follower, r.Live = f.grows, true
	return r, nil
}

// mayGrow reports whether the writer of a file may append to it. Whoever follows a game that is compressed, or moved to a bucket,
// gets its end, and its successors, all the same.
func mayGrow(info *source.Info, c *codec.Codec) bool { return info.Growable() && !c.RandomAccess }

var errNoWatcher = errors.New("following needs a watcher")

// Upload returns the configuration of a stream of a file that a client sends. receive is called when the request is known to be
// valid, and returns the file, of which Upload takes ownership.
func (o *Opener) Upload(
	ctx context.Context, req *replaydv1.StreamEventsRequest, receive func() (*source.File, error),
) (_ stream.Config, err error) {
	q, err := requestOf(req)
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
		// Read like a growing file, so that decoded events and heartbeats do not wait for bytes that have not arrived.
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

// replay is a stream.Opened. It owns the file, what its decoder takes of the call's ticket, and what watches the file.
type replay struct {
	file     *source.File
	complete completing // nil without a daemon
	codec    *codec.Codec
	memory   reservation
	grows    growing // nil if it does not grow, or is an upload

	next, last source.Input // of the next reader, of the last one
}

// own returns the replay in a file, of which nothing was read yet.
func own(ctx context.Context, file *source.File, complete completing) *replay {
	return &replay{file: file, complete: complete, memory: reservation{ticket: admission.Of(ctx)}}
}

// take takes what reading the replay needs, memory of the call's ticket and the file's bytes, and returns the replay to stream. A
// file that must be unpacked is unpacked here, so that the client gets the error if that fails.
func (f *replay) take(ctx context.Context, w *wanted) (_ *stream.Replay, err error) {
	f.codec = w.codec
	if f.next, err = describe.Input(ctx, f.file, f.codec); err != nil {
		return nil, err
	}
	size := f.next.Size
	if size < 0 {
		size = w.info.Size // compressed, or not known
	}
	cost := f.codec.Cost(size) + f.file.Cost()
	if w.tables != nil {
		cost += tablesCost * int64(w.tables.Bytes)
	}
	if err := f.memory.take(cost); err != nil {
		return nil, err
	}
	r := &stream.Replay{
		Opened: f, Codec: w.codec, Info: describe.Info(&w.info), Options: w.options, Tables: w.tables, Present: w.info.Size, Ahead: w.ahead,
	}
	if w.info.Compression != source.Plain {
		r.Present = -1 // the size on disk is not that of the replay
	}
	return r, nil
}

// closeOn closes the replay if *err is an error.
func (f *replay) closeOn(err *error) { //nolint:gocritic // a result that is not set yet when this is deferred
	if *err != nil {
		f.Close()
	}
}

// Close implements stream.Opened.
func (f *replay) Close() {
	if f.grows != nil {
		f.grows.close()
	}
	f.memory.free()
	_ = f.file.Close()
}

// Open implements stream.Opened.
func (f *replay) Open(o codec.Options) (codec.Reader, error) {
	if f.grows != nil {
		return f.grows.reader(f.read, o)
	}
	return f.read(o)
}

// read opens a reader of the file.
func (f *replay) read(o codec.Options) (codec.Reader, error) {
	f.last = f.next
	if f.next.At == nil { // such an input can be read only once
		f.next = f.file.Input()
	}
	reader, err := f.codec.Open(f.last, o)
	if err != nil {
		return nil, err
	}
	return f.memory.weigh(reader), nil
}

// maxRest limits how many bytes are read behind the end of the replay in a compressed file, to reach the file's checksum.
const maxRest = 1 << 20

// Rest implements stream.Opened.
func (f *replay) Rest() error {
	if f.next.At != nil || f.file.Info().Compression == source.Plain {
		return nil
	}
	_, err := io.CopyN(io.Discard, f.last.Front, maxRest)
	if errors.Is(err, io.EOF) {
		return decoders.ErrMore
	}
	return err
}

// Await implements stream.Opened.
func (f *replay) Await(wait func(ready <-chan struct{}) error) { f.file.OnWait(wait) }

// Complete implements stream.Opened.
func (f *replay) Complete(ctx context.Context, r *replaydv1.Replay) error {
	if f.complete == nil {
		return nil
	}
	return f.complete(ctx, f.file.Info(), r)
}
