package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/h2guard"
	"github.com/replayd/replayd/service/stream"
)

// detach is the interceptor that ends a stream's call on time even if the handler does not return: a handler that sends to a
// client which never reads is blocked until the call ends, and returning from the interceptor ends the call. The handler has a goroutine
// of its own, but none while its stream is idle.
func (s *Server) detach(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	w := &writing{limit: s.SendTimeout, cancel: cancel}
	w.timer = time.AfterFunc(math.MaxInt64, w.look)
	w.timer.Reset(s.SendTimeout) // look uses the timer, so it must be stored before
	defer w.stop(access.UseOf(ctx))
	asked := &asking{fail: s.fail, long: s.failures.bodies.WithLabelValues(refusedLong)}
	asked.timer = time.AfterFunc(s.patience(info), func() {
		s.failures.bodies.WithLabelValues(refusedLate).Inc()
		cancel(errSilent)
	})
	defer asked.timer.Stop()
	asked.WrappedServerStream = middleware.WrappedServerStream{
		ServerStream: ss, WrappedContext: context.WithValue(ctx, writingKey{}, w),
	}
	done := make(chan error, 1)
	s.handlers.Add(1)
	go s.handle(func() error { deepen(); return handler(srv, asked) }, done)
	over, late := ctx.Done(), s.late
	var grace <-chan time.Time
	for {
		select {
		case err := <-done:
			idle, is := stream.IsIdle(err)
			if !is {
				return err
			}
			idle.Wait()
			go s.handle(idle.Resume, done)
			continue
		case <-grace:
			go s.outlive(done)
			return s.fail(ctx, stream.ErrDraining, "")
		case <-over:
		case <-late:
		}
		if cause := context.Cause(ctx); errors.Is(cause, stream.ErrTooSlow) || errors.Is(cause, errSilent) {
			go s.outlive(done)
			return s.fail(ctx, cause, "")
		}
		over, late = nil, nil
		grace = time.After(handlerGrace) // its context is cancelled, and most handlers return at once
	}
}

// deepen gives its goroutine a stack of 16 KiB at once. Stacks of one size share pages. Those of handlers that wait for their turn would have
// 8 KiB, as have those of calls, which stay while the handlers end: with a thousand followers, half of these pages would be kept for nothing.
//
//go:noinline
func deepen() {
	var room [9 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[9 << 10]byte) { room[0] = 1 }

// handle runs a handler, or goes on with one whose stream was idle, and passes its result on.
func (s *Server) handle(run func() error, done chan<- error) {
	err := run()
	if _, idle := stream.IsIdle(err); !idle {
		s.handlers.Done()
	}
	done <- err
}

// outlive takes the results of a handler whose call has ended. The handler ends, because its context is cancelled.
func (s *Server) outlive(done chan error) {
	for idle, is := stream.IsIdle(<-done); is; idle, is = stream.IsIdle(<-done) {
		idle.Wait()
		s.handle(idle.Resume, done)
	}
}

// requestTimeout is how long the request of a call may take to arrive, or UploadTimeout if that is less. An upload may take
// UploadTimeout for each of its messages.
const requestTimeout = 10 * time.Second

// patience returns how long the request of a call may take to arrive.
func (s *Server) patience(info *grpc.StreamServerInfo) time.Duration {
	if info.IsClientStream {
		return s.UploadTimeout
	}
	return min(s.UploadTimeout, requestTimeout)
}

var (
	// errSilent is the error of a call whose request has not arrived.
	errSilent = errors.New("the request did not arrive in time")
	errLong   = fmt.Errorf("a request may have %d bytes", h2guard.MaxRequest)
)

// asking is a stream that ends if its client sends no request, and refuses one that is too long.
type asking struct {
	middleware.WrappedServerStream

	fail  func(ctx context.Context, err error, replay string) error
	long  prometheus.Counter
	timer *time.Timer // runs until the first message has arrived
	asked bool        // the first message has arrived; used by RecvMsg alone
}

// RecvMsg implements grpc.ServerStream.
func (a *asking) RecvMsg(m any) error {
	err := a.WrappedServerStream.RecvMsg(m)
	if a.asked {
		return err
	}
	a.asked = true
	a.timer.Stop()
	if message, ok := m.(proto.Message); ok && err == nil && proto.Size(message) > h2guard.MaxRequest {
		err = a.fail(a.Context(), errLong, "")
	}
	if status.Code(err) == codes.ResourceExhausted { // from gRPC itself, or from the web
		a.long.Inc()
	}
	return err
}

// handlerGrace is how long a handler may run after its context was cancelled before the call ends without it.
const handlerGrace = 100 * time.Millisecond
