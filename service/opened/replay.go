package opened

import (
	"context"
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
)

// replay is a stream.Opened. It owns the file, the memory that its decoder takes of the call's ticket, and the watch of the file.
type replay struct {
	file     *source.File
	complete completing // nil without a daemon
	codec    *codec.Codec
	cost     int64 // the memory that a reader needs
	memory   reservation
	grows    growing // nil if it does not grow, or is an upload

	next, last source.Input // inputs for the next reader, and of the last one
}

// own returns the replay in a file that was not read yet.
func own(ctx context.Context, file *source.File, complete completing) *replay {
	return &replay{file: file, complete: complete, memory: reservation{ticket: admission.Of(ctx)}}
}

// take takes what reading the replay needs, memory of the call's ticket and the file's bytes, and returns the replay to stream.
// If the file must be unpacked, this unpacks it, so that the client gets the error if that fails.
func (f *replay) take(ctx context.Context, w *wanted) (_ *stream.Replay, err error) {
	f.codec = w.codec
	if f.next, err = describe.Input(ctx, f.file, f.codec); err != nil {
		return nil, err
	}
	f.cost = costToRead(f.next, f.file, f.codec)
	if w.tables != nil {
		f.cost += tablesCost * int64(w.tables.Bytes)
	}
	if w.req.GetFieldColumns() && f.next.At == nil {
		f.cost += widenCost
	}
	if err := f.memory.take(f.cost); err != nil {
		return nil, err
	}
	if w.req.GetFieldColumns() {
		if f.next, err = w.widen(f.next); err != nil {
			return nil, err
		}
	}
	f.memory.fixed = f.file.Cost()
	r := &stream.Replay{
		Opened: f, Codec: w.codec, Info: describe.Info(&w.info), Options: w.options, Tables: w.tables, Present: w.info.Size, Ahead: w.ahead,
	}
	if w.info.Compression != source.Plain {
		r.Present = -1 // the size on disk is not the replay's
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
	if err := f.memory.hold(f.cost); err != nil { // a reader before it has left
		return nil, err
	}
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

// maxRest limits the bytes that are read after the end of the replay in a compressed file, to reach the file's checksum.
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

// replay returns the replay in a file, of which it takes ownership. With follow, the writer of the file may append to it.
// Without, or if the file cannot grow, the replay ends with the present bytes. With the rule NextInDirectory a growing replay
// ends as soon as another one begins.
func (o *Opener) replay(ctx context.Context, file *source.File, q *request, follow bool) (_ *stream.Replay, err error) {
	f := own(ctx, file, o.Complete)
	defer f.closeOn(&err)
	w, err := o.kept(ctx, file, q, !follow)
	if err != nil {
		return nil, err
	}
	r, err := f.take(ctx, w)
	switch {
	case err != nil || !follow || !mayGrow(&w.info, w.codec):
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

// mayGrow reports whether the writer of a file may append to it. A client that follows a game that is compressed, or was moved to
// a bucket, still gets its end and its successors.
func mayGrow(info *source.Info, c *codec.Codec) bool { return info.Growable() && !c.RandomAccess }

var errNoWatcher = errors.New("following needs a watcher")
