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

// Streams send past the interceptors. Those that observe calls also run for every message, and two of them cost as much as
// gRPC's own sending, which matters to a daemon with many followers. The server counts messages itself (see counted).

// streamKey is the context key of the unwrapped grpc.ServerStream.
type streamKey struct{}

// keepStream is the first interceptor: it keeps the stream for unwrapped.
func keepStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	kept := middleware.WrapServerStream(ss)
	kept.WrappedContext = context.WithValue(ss.Context(), streamKey{}, ss)
	return handler(srv, kept)
}

// unwrapped returns a stream without its interceptors.
func unwrapped(ss grpc.ServerStream) grpc.ServerStream {
	if kept, ok := ss.Context().Value(streamKey{}).(grpc.ServerStream); ok {
		return kept
	}
	return ss
}

// timed returns send with its duration recorded in the call's writing.
func timed[M any](ctx context.Context, send func(M) error) func(M) error {
	w := writingOf(ctx)
	return func(m M) error {
		w.begin()
		defer w.end()
		return send(m)
	}
}

// sent returns the function that counts a response of a call, and its bytes.
func (s *Server) sent(ctx context.Context) func(n int) {
	use := access.UseOf(ctx)
	return func(n int) {
		s.sentBytes.Add(float64(n))
		use.Sent(n)
		s.sentResponses.Inc()
	}
}

// counted returns a stream's Send, which counts responses and bytes. The call's bytes are counted beside what sending changes anyway: with
// a thousand followers, fetching another cache line of each from memory costs more than a hundredth of a tick.
func (s *Server) counted(ss grpc.ServerStream) stream.Send {
	out, w := unwrapped(ss), writingOf(ss.Context())
	return func(f *frame.Frame) error {
		n := f.Len() // sending consumes the frame
		w.begin()
		err := out.SendMsg(f)
		w.end()
		if err != nil {
			return err
		}
		w.count(n)
		s.sentBytes.Add(float64(n))
		s.sentResponses.Inc()
		return nil
	}
}

// writing cancels a call whose stream waits too long for its client to read.
type writing struct {
	limit  time.Duration
	since  atomic.Int64 // the uptime at which the present message began to be sent; 0 while none is
	sent   atomic.Int64 // bytes
	cancel context.CancelCauseFunc
	timer  *time.Timer
	over   atomic.Bool // the call has ended
}

type writingKey struct{}

// started is when the process started, for uptime.
var started = time.Now().Add(-1)

// uptime returns how long the process has been running, at least 1 ns. It is not affected by changes of the system's clock.
func uptime() time.Duration { return time.Since(started) }

// look cancels the call if it waits for too long, and otherwise sets the timer again.
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
	if w.over.Load() { // stop was called before the timer was set again
		w.timer.Stop()
	}
}

// stop stops the timer, and adds what was sent to the use of the call.
func (w *writing) stop(use *access.Use) {
	w.over.Store(true)
	w.timer.Stop()
	use.Sent(int(w.sent.Load()))
}

// begin and end are called around sending a message. w may be nil.
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

// count adds bytes that were sent. w may be nil.
func (w *writing) count(n int) {
	if w != nil {
		w.sent.Add(int64(n))
	}
}

// writingOf returns the writing of a call from its context, or nil.
func writingOf(ctx context.Context) *writing {
	w, _ := ctx.Value(writingKey{}).(*writing)
	return w
}
