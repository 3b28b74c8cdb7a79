package service

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// What things cost in memory, in bytes, from above. Decompressors and decoders tell their own cost; see package source and
// encode.Codec.
const (
	streamCost = 192 << 10 // a batch, what waits to be sent, goroutines
	uploadCost = 512 << 10 // what was received, and what was read ahead
	feedCost   = 5 << 20   // what is kept of a live replay; its decoder tells its own
	watchCost  = 64 << 10
)

// whoOf is for whom a call takes something.
func (s *Server) whoOf(ctx context.Context) admission.Who {
	g, use := access.Of(ctx), access.UseOf(ctx)
	w := admission.Who{Address: AddressKey(use.Address)}
	if g != nil {
		w.Token, w.Rate = g.Key(), g.Quota.Rate
		w.Limits[admission.Streams] = int64(g.Quota.Streams)
		w.Limits[admission.Memory], w.Limits[admission.Spool] = g.Quota.Memory, g.Quota.Spool
	}
	return w
}

// AddressKey tells addresses apart for what is limited for each: IPv6 addresses by their first 64 bits, for whoever has one of
// them has them all. It is empty for addresses of this machine, which are its own users' or a proxy's.
func AddressKey(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.IsLoopback() {
		return ""
	}
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// callerKey tells callers apart that get turns.
func (s *Server) callerKey(ctx context.Context) string {
	w := s.whoOf(ctx)
	return w.Token + " " + w.Address
}

// enter begins a stream, or returns why it may not. The ticket in the context must be returned.
func (s *Server) enter(ctx context.Context, cost int64) (context.Context, *admission.Ticket, error) {
	select {
	case <-s.drain:
		return ctx, nil, stream.ErrDraining
	default:
	}
	t, err := s.Admission.Enter(s.whoOf(ctx), admission.Streams)
	if err != nil {
		return ctx, nil, err
	}
	if err := t.Memory(cost); err != nil {
		t.Return()
		return ctx, nil, err
	}
	return admission.With(ctx, t), t, nil
}

// spend has what reading a file takes be taken of the call's ticket.
func spend(ctx context.Context, file *source.File) {
	if t := admission.Of(ctx); t != nil {
		file.Spend(t)
	}
}

// limitCalls is the interceptor that counts calls which are no streams, and takes a place for each.
func (s *Server) limitCalls(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	t, err := s.Admission.Enter(s.whoOf(ctx), admission.Calls)
	if err != nil {
		return nil, s.fail(ctx, err, "")
	}
	defer t.Return()
	return handler(admission.With(ctx, t), req)
}

// detach is the interceptor that lets a stream's call end when it must, whatever its handler does: while a handler waits for a
// client that never reads, nothing but the end of the call ends that. Returning ends it.
func (s *Server) detach(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	w := &writing{limit: s.SendTimeout, cancel: cancel}
	w.timer = time.AfterFunc(s.SendTimeout, w.look)
	defer w.timer.Stop()
	asked := &asking{timer: time.AfterFunc(s.UploadTimeout, func() { cancel(errStalled) })}
	defer asked.timer.Stop()
	done := make(chan error, 1)
	s.handlers.Go(func() {
		asked.WrappedServerStream = middleware.WrappedServerStream{
			ServerStream: ss, WrappedContext: context.WithValue(ctx, writingKey{}, w),
		}
		done <- handler(srv, asked)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	case <-s.late:
	}
	if cause := context.Cause(ctx); errors.Is(cause, stream.ErrTooSlow) || errors.Is(cause, errStalled) {
		return s.fail(ctx, cause, "")
	}
	select { // it was told to end, and most do at once
	case err := <-done:
		return err
	case <-time.After(handlerGrace):
		return s.fail(ctx, stream.ErrDraining, "")
	}
}

// asking is a stream that ends when its client asks for nothing.
type asking struct {
	middleware.WrappedServerStream

	timer *time.Timer // until the first message has come
}

// RecvMsg implements grpc.ServerStream.
func (a *asking) RecvMsg(m any) error {
	err := a.WrappedServerStream.RecvMsg(m)
	a.timer.Stop()
	return err
}

// handlerGrace is how long a handler that was told to end may take before its call ends without it.
const handlerGrace = 100 * time.Millisecond

// writing knows since when a stream waits for its client.
type writing struct {
	limit  time.Duration
	since  atomic.Int64 // as uptime tells; 0 while it does not
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

type writingKey struct{}

// started is when the process started, for uptime.
var started = time.Now().Add(-1)

// uptime is how long the process has been running, above 0. Unlike the time of day it goes on evenly when somebody sets the
// clock.
func uptime() time.Duration { return time.Since(started) }

// look ends the call when it waits for too long.
func (w *writing) look() {
	since := w.since.Load()
	left := w.limit
	if since != 0 {
		left = w.limit - (uptime() - time.Duration(since))
	}
	if left <= 0 {
		w.cancel(stream.ErrTooSlow)
		return
	}
	w.timer.Reset(max(left, w.limit/4))
}

// begin and end are around each message that is sent.
func (w *writing) begin() {
	if w != nil {
		w.since.Store(int64(uptime()))
	}
}

func (w *writing) end() {
	if w != nil {
		w.since.Store(0)
	}
}

// writingOf is the writing of the call that a context is of, or nil.
func writingOf(ctx context.Context) *writing {
	w, _ := ctx.Value(writingKey{}).(*writing)
	return w
}
