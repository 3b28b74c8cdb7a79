package opened

import (
	"context"
	"errors"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
)

// reservation is the memory that a call's ticket has taken for a replay's decoder, until free gives it back. It is used by one
// goroutine at a time.
type reservation struct {
	ticket *admission.Ticket
	taken  int64
	fixed  int64 // the part of taken that is not the decoder's
}

// costToDescribe returns the memory needed to describe the replay in a file. For a replay that is read from front to back, it is
// less than for decoding. If the file must be unpacked for the description, this unpacks it.
func costToDescribe(ctx context.Context, file *source.File) (int64, error) {
	c, err := describe.CodecOf(file.Info().Format)
	switch {
	case err != nil:
		return file.Cost(), nil //nolint:nilerr // describing the replay reports it
	case !c.RandomAccess && c.DescribeCost == nil:
		return c.Cost(-1) + file.Cost(), nil
	}
	in, err := describe.Input(ctx, file, c)
	if err != nil {
		return 0, err
	}
	cost := c.Cost
	if c.DescribeCost != nil {
		cost = c.DescribeCost
	}
	return cost(sizeOf(in, file)) + file.Cost(), nil
}

// costToRead returns the memory needed to decode the replay in a file. in is its input.
func costToRead(in source.Input, file *source.File, c *codec.Codec) int64 {
	return c.Cost(sizeOf(in, file)) + file.Cost()
}

// sizeOf returns the size of the replay in a file, or the file's size if the replay's is not known. in is its input.
func sizeOf(in source.Input, file *source.File) int64 {
	if in.Size < 0 {
		return file.Info().Size
	}
	return in.Size
}

// Describe returns the result of with for a file. It charges the call's ticket for the memory of unpacking the file, which the
// file's Close returns, and for the memory of the description while with runs.
func Describe[T any](ctx context.Context, file *source.File, with func(context.Context, *source.File) (T, error)) (of T, err error) {
	spend(ctx, file)
	r := reservation{ticket: admission.Of(ctx)}
	defer r.free()
	cost, err := costToDescribe(ctx, file)
	if err != nil {
		return of, err
	}
	if err := r.take(cost); err != nil {
		return of, err
	}
	return with(ctx, file)
}

// spend charges the call's ticket for the memory of unpacking a file. The file's Close returns it.
func spend(ctx context.Context, file *source.File) {
	if t := admission.Of(ctx); t != nil && file.Info().Size >= 0 { // an upload has the budget from the beginning
		file.Spend(t)
	}
}

// take takes n bytes more. It returns an *admission.RefusedError if a limit is reached.
func (r *reservation) take(n int64) error {
	if err := r.ticket.Memory(n); err != nil {
		return err
	}
	r.taken += n
	return nil
}

// free gives back all the memory of the reservation.
func (r *reservation) free() {
	_ = r.ticket.Memory(-r.taken)
	r.taken = 0
}

// leave gives back what was taken for the decoder.
func (r *reservation) leave() {
	_ = r.ticket.Memory(r.fixed - r.taken)
	r.taken = r.fixed
}

// heldStep is the least number of bytes by which a reservation grows, so that a slowly growing decoder seldom takes memory.
const heldStep = 1 << 20

// hold grows the reservation to n bytes. It never shrinks the reservation, because a decoder that has grown will grow again.
func (r *reservation) hold(n int64) error {
	if n <= r.taken {
		return nil
	}
	return r.take(max(n-r.taken, heldStep))
}

// weigh returns a Reader that takes more memory when reader holds more than was taken. If that is refused, the Reader fails with
// an *admission.RefusedError.
func (r *reservation) weigh(reader codec.Reader) codec.Reader {
	holder, ok := reader.(codec.Holder)
	if !ok || r.ticket == nil {
		return reader
	}
	w := &weighed{reader, holder, r}
	if p, ok := reader.(codec.Presenter); ok {
		return &weighedPresenter{w, p}
	}
	return w
}

// weighed is a Reader whose memory is checked after each call.
type weighed struct {
	codec.Reader

	holder codec.Holder
	taken  *reservation
}

// weighedPresenter is a weighed Reader of a format that has a state.
type weighedPresenter struct {
	*weighed
	codec.Presenter
}

// Header implements codec.Reader.
func (w *weighed) Header(r *replaydv1.Replay) error { return w.look(w.Reader.Header(r)) }

// Seek implements codec.Reader.
func (w *weighed) Seek() error { return w.look(w.Reader.Seek()) }

// Fill implements codec.Reader.
func (w *weighed) Fill(b *codec.Batch) error { return w.look(w.Reader.Fill(b)) }

// Sampled implements codec.Standing.
func (w *weighed) Sampled() (tick int32, ok bool) {
	if s, has := w.Reader.(codec.Standing); has {
		return s.Sampled()
	}
	return 0, false
}

// Stand implements codec.Standing.
func (w *weighed) Stand(b *codec.Batch) {
	if s, ok := w.Reader.(codec.Standing); ok {
		s.Stand(b)
	}
}

// TicksPerSecond implements codec.Clocked.
func (w *weighed) TicksPerSecond() float64 {
	if c, ok := w.Reader.(codec.Clocked); ok {
		return c.TicksPerSecond()
	}
	return 0
}

// Leave implements codec.Leaver.
func (w *weighed) Leave() {
	if l, ok := w.Reader.(codec.Leaver); ok {
		l.Leave()
	}
	w.taken.leave()
}

// look returns err, or the *admission.RefusedError if the Reader may not hold the memory that it needs.
func (w *weighed) look(err error) error {
	if err != nil && !errors.Is(err, codec.ErrYield) && !errors.Is(err, decoders.ErrMore) {
		return err // the Reader does not continue after err
	}
	if refused := w.taken.hold(w.holder.Held()); refused != nil {
		return refused
	}
	return err
}
