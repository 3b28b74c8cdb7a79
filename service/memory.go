package service

import (
	"context"
	"errors"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// reservation is the memory of a call's ticket that was taken for a replay's decoder. It is used by one goroutine at a time.
type reservation struct {
	ticket *admission.Ticket
	taken  int64
}

// reserve takes what a decoder takes of a replay of that many bytes, -1 for not known, or returns an
// *admission.RefusedError. What is taken is given back with the ticket, or before that by free.
func reserve(ctx context.Context, c *codec.Codec, size int64) (*reservation, error) {
	r := &reservation{ticket: admission.Of(ctx)}
	err := r.take(c.Cost(size))
	return r, err
}

// reserveToDescribe takes what it takes to describe a replay: less than to decode it, where it is read from front to back.
func reserveToDescribe(ctx context.Context, file *source.File) (*reservation, error) {
	info := file.Info()
	c, err := codecOf(info.Format)
	switch {
	case err != nil:
		return &reservation{}, nil //nolint:nilerr // whoever describes it says what is wrong with the format
	case c.DescribeCost != nil:
		r := &reservation{ticket: admission.Of(ctx)}
		err := r.take(c.DescribeCost(info.Size))
		return r, err
	case !c.RandomAccess:
		info.Size = -1
	}
	return reserve(ctx, c, info.Size)
}

func (r *reservation) take(n int64) error {
	if err := r.ticket.Memory(n); err != nil {
		return err
	}
	r.taken += n
	return nil
}

// free gives everything back.
func (r *reservation) free() {
	_ = r.ticket.Memory(-r.taken)
	r.taken = 0
}

// heldStep is by how much a reservation grows at least: who grows little by little asks now and then.
const heldStep = 1 << 20

// hold sees to it that so much is taken. It gives nothing back: what has grown will again.
func (r *reservation) hold(n int64) error {
	if n <= r.taken {
		return nil
	}
	return r.take(max(n-r.taken, heldStep))
}

// weigh has a Reader fail with an *admission.RefusedError as soon as it holds more than was taken, and more cannot be.
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

// weighed is a Reader that is looked at after everything it does.
type weighed struct {
	codec.Reader

	holder codec.Holder
	taken  *reservation
}

// weighedPresenter is one of a format that has a state.
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

// look returns what the Reader has, or why it may not go on.
func (w *weighed) look(err error) error {
	if err != nil && !errors.Is(err, codec.ErrYield) && !errors.Is(err, decoders.ErrMore) {
		return err // it does not go on anyway
	}
	if refused := w.taken.hold(w.holder.Held()); refused != nil {
		return refused
	}
	return err
}
