package service

import (
	"context"
	"sync/atomic"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
)

// Interceptors that observe calls also look at each message, and what two of them do there takes as long as gRPC takes to
// send one. That matters to a daemon with many followers, and it counts what it sends by itself (see counted). So streams
// send past them.

// streamKey is the context key of the unwrapped grpc.ServerStream.
type streamKey struct{}

// keepStream is the first interceptor: it keeps the stream for sendMsg.
func keepStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	kept := middleware.WrapServerStream(ss)
	kept.WrappedContext = context.WithValue(ss.Context(), streamKey{}, ss)
	return handler(srv, kept)
}

// sendMsg returns what sends a stream's messages past the interceptors.
func sendMsg(ss grpc.ServerStream) func(any) error {
	if kept, ok := ss.Context().Value(streamKey{}).(grpc.ServerStream); ok {
		return kept.SendMsg
	}
	return ss.SendMsg
}

// patiently sends, and records how long that takes.
func patiently[M any](ctx context.Context, send func(M) error) func(M) error {
	w := writingOf(ctx)
	return func(m M) error {
		w.begin()
		defer w.end()
		return send(m)
	}
}

// counted sends by a stream and counts what is sent.
func (s *Server) counted(ss grpc.ServerStream) stream.Send {
	send, use, w := sendMsg(ss), access.UseOf(ss.Context()), writingOf(ss.Context())
	return func(f *frame.Frame) error {
		n := f.Len() // sending consumes the frame
		w.begin()
		err := send(f)
		w.end()
		if err != nil {
			return err
		}
		s.sentBytes.Add(float64(n))
		use.Sent(n)
		s.sentResponses.Inc()
		return nil
	}
}

// writing knows since when a stream waits for its client.
type writing struct {
	limit  time.Duration
	since  atomic.Int64 // by uptime; 0 while it does not
	cancel context.CancelCauseFunc
	timer  *time.Timer
	over   atomic.Bool // the call has ended
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
	if w.over.Load() { // while this ran, so that stop was too early
		w.timer.Stop()
	}
}

// stop ends the looks.
func (w *writing) stop() {
	w.over.Store(true)
	w.timer.Stop()
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
