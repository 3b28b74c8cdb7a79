package latest

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/stream"
)

const (
	// spacing is the least time between two reads of a game. Games write a tick each 20 ms, with several records: a read that was late is less
	// so the next time.
	spacing = 15 * time.Millisecond
	// settled is how long nothing must have been written before the state after the last record counts.
	settled = time.Second
	// Quiet is how long nothing was written to a game without an end before it is left, until it goes on.
	Quiet = 10 * time.Minute
	// pauseFirst and pauseMost bound how long a game that cannot be read waits before it is tried again.
	pauseFirst, pauseMost = 100 * time.Millisecond, time.Minute
	// batchEvents limits the samples that are made before others may run.
	batchEvents = 4096
)

// reading is the goroutine that keeps a board.
type reading struct {
	*board
	*Boards

	replay  *stream.Replay
	reader  codec.Reader
	stands  codec.Standing
	batch   codec.Batch
	samples samples // of the last tick that has some
	still   samples // for states that may be unfinished
	sampled int32   // the last tick that was stored, if any was
	any     bool
	name    string
	caught  bool      // it has reached the present end
	at      time.Time // of the last read
	grew    time.Time // when the game was written to last
	present int64
	lost    error // why the file does not grow any more
}

// keep reads the game until it is over or ctx ends.
func (b *Boards) keep(ctx context.Context, of *board) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		before := of.versionNow()
		reason, err := b.once(ctx, of)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			of.finish(reason)
			return
		}
		failure := b.Explain(ctx, err, of.key.name)
		if failure.GetReason() == replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND { // it may have another name now
			of.finish(replaydv1.EndReason_END_REASON_REMOVED)
			return
		}
		code := codes.Code(failure.GetCode())
		failure.Retried = code == codes.Unavailable || code == codes.ResourceExhausted
		if of.fail(failure); !failure.GetRetried() {
			return
		}
		if of.versionNow() != before {
			pause = pauseFirst
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (b *board) versionNow() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.version
}

// once reads the game from its present end on. It returns why no more of it follows.
func (b *Boards) once(ctx context.Context, of *board) (reason replaydv1.EndReason, err error) {
	defer func() {
		if p := recover(); p != nil { // of a decoder: this game alone ends
			err = b.Panicked(ctx, p, of.key.name)
		}
	}()
	req := of.wish.Options()
	req.Replay, req.Follow, req.ResolvePlayers = of.key.name, true, req.GetResolvePlayers() && b.Resolves(of.format)
	replay, done, err := b.Open(ctx, of.grant, req)
	if err != nil {
		return 0, err
	}
	defer done()
	r := &reading{board: of, Boards: b, replay: replay, name: replay.Info.GetName(), grew: time.Now(), present: replay.Present}
	if written := replay.Info.GetModifyTime(); written != nil {
		r.grew = written.AsTime()
	}
	r.batch.MaxEvents, r.batch.MaxBytes = batchEvents, maxStateBytes
	if r.samples.of, err = newSampled(replay.Codec, of.wish.Columns); err != nil {
		return 0, err
	}
	r.still.of = r.samples.of
	return r.run(ctx)
}

func (r *reading) run(ctx context.Context) (reason replaydv1.EndReason, err error) {
	options := r.replay.Options
	options.Start = codec.Start{Now: true}
	if r.reader, err = r.replay.Open(options); err != nil {
		return 0, err
	}
	r.stands, _ = r.reader.(codec.Standing)
	if reason, err = r.enter(ctx); err != nil || reason != 0 {
		return reason, err
	}
	r.caught = true
	r.stand(true)
	for {
		err := r.turn(ctx, func() error { return r.reader.Fill(&r.batch) })
		if failed := r.take(); failed != nil {
			return 0, failed
		}
		switch {
		case err == nil, errors.Is(err, codec.ErrYield):
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
		case errors.Is(err, io.EOF):
			if r.commit(); !r.any {
				r.stand(false)
			}
			return replaydv1.EndReason_END_REASON_FINISHED, nil
		case errors.Is(err, codec.ErrDone):
			return replaydv1.EndReason_END_REASON_RANGE_DONE, nil
		case errors.Is(err, decoders.ErrMore):
			r.commit()
			if reason, err := r.more(ctx); err != nil || reason != 0 {
				return reason, err
			}
		default:
			return 0, err
		}
	}
}

// enter reads the header and goes to the present end.
func (r *reading) enter(ctx context.Context) (reason replaydv1.EndReason, err error) {
	steps := []func() error{
		func() error { return r.reader.Header(r.replay.Info) },
		func() error {
			if r.replay.Info.GetIdentity() != r.key.identity {
				return source.ErrReplaced
			}
			if lacks := r.replay.Codec.Lacks; lacks != nil {
				return r.replay.Options.Filter.Check(&r.replay.Codec.Filters, func(kind uint8) bool { return lacks(r.replay.Info, kind) })
			}
			return nil
		},
		r.reader.Seek,
	}
	for len(steps) > 0 {
		switch err := r.turn(ctx, steps[0]); {
		case err == nil:
			steps = steps[1:]
		case errors.Is(err, source.ErrReplaced):
			return replaydv1.EndReason_END_REASON_REPLACED, nil
		case errors.Is(err, io.EOF): // it has ended before its present end was reached
			return replaydv1.EndReason_END_REASON_FINISHED, nil
		case errors.Is(err, codec.ErrYield):
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
		case errors.Is(err, decoders.ErrMore):
			if reason, err := r.more(ctx); err != nil || reason != 0 {
				return reason, err
			}
		default:
			return 0, err
		}
	}
	if err := r.replay.Complete(ctx, r.replay.Info); err != nil {
		return 0, err
	}
	return 0, r.tell()
}

// tell describes the game to the board.
func (r *reading) tell() error {
	r.replay.Info.Name, r.replay.Info.Header = r.name, nil
	return r.describe(r.replay.Info, listOf(r.replay.Codec.NewEventList()))
}

// turn calls a function of the reader when it is the boards' turn. A game that was read to its present end takes none: it has little to
// read.
func (r *reading) turn(ctx context.Context, f func() error) error {
	r.at = time.Now()
	if r.caught {
		return f()
	}
	return r.Turn(ctx, f)
}

// take takes the events of the batch.
func (r *reading) take() error {
	err := r.samples.add(r.batch.Events)
	r.batch.Reset()
	return err
}

// commit stores the state after the last tick that is complete, if there is another one than before.
func (r *reading) commit() {
	if r.stands == nil {
		return
	}
	if tick, ok := r.stands.Sampled(); ok && (!r.any || tick != r.sampled) {
		r.sampled, r.any = tick, true
		r.update(tick, false, &r.samples, r.at)
	}
}

// stand stores the state after the last record.
func (r *reading) stand(unfinished bool) {
	if r.stands == nil {
		return
	}
	r.stands.Stand(&r.batch)
	r.still.reset()
	r.still.tick = max(r.reader.Tick(), 0)
	err := r.still.add(r.batch.Events)
	if r.batch.Reset(); err == nil && (!r.any || r.still.tick > r.sampled) {
		r.update(r.still.tick, unfinished, &r.still, r.at)
	}
}

// more waits until there may be more to read. It returns why no more follows.
func (r *reading) more(ctx context.Context) (replaydv1.EndReason, error) {
	if r.replay.Follower == nil || r.lost != nil {
		return r.ended()
	}
	timer := time.NewTimer(settled)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-r.replay.Follower.Changed():
			if wait := spacing - time.Since(r.at); wait > 0 {
				time.Sleep(wait)
			}
			if err := r.look(); err != nil || !errors.Is(r.lost, source.ErrShrunk) {
				return 0, err
			}
			return r.ended() // its bytes are others now
		case <-timer.C:
			if time.Since(r.grew) >= Quiet {
				return replaydv1.EndReason_END_REASON_SILENT, nil
			}
			if r.caught {
				r.stand(true)
			}
			timer.Reset(Quiet - time.Since(r.grew))
		}
	}
}

// look looks at the file before more of it is read.
func (r *reading) look() error {
	present, lost := r.replay.Follower.Look()
	if r.lost = lost; present != r.present {
		r.present, r.grew = present, time.Now()
	}
	if now := r.replay.Follower.Standing(); r.caught && now.Name != "" && now.Name != r.name {
		r.name = now.Name
		return r.tell()
	}
	return nil
}

// ended returns why the file has nothing more.
func (r *reading) ended() (replaydv1.EndReason, error) {
	torn := r.reader.Close()
	switch {
	case errors.Is(r.lost, source.ErrShrunk):
		return replaydv1.EndReason_END_REASON_SHRUNK, nil
	case errors.Is(r.lost, source.ErrReplaced):
		return replaydv1.EndReason_END_REASON_REPLACED, nil
	case errors.Is(r.lost, source.ErrRemoved):
		return replaydv1.EndReason_END_REASON_REMOVED, nil
	case r.lost != nil && !errors.Is(r.lost, stream.ErrSucceeded) && !errors.Is(r.lost, stream.ErrComplete):
		return 0, r.lost
	case torn == nil:
		return replaydv1.EndReason_END_REASON_FINISHED, nil
	case !errors.Is(torn, decoders.ErrTruncated):
		return 0, torn
	}
	if r.caught {
		r.stand(true)
	}
	return replaydv1.EndReason_END_REASON_TRUNCATED, nil
}
