package service

import (
	"context"
	"errors"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/stream"
)

// detach is the interceptor that ends a stream's call when it must end, even if the handler does not return: a handler that
// sends to a client which never reads is blocked until the call ends, and returning from the interceptor ends the call.
func (s *Server) detach(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	w := &writing{limit: s.SendTimeout, cancel: cancel}
	w.timer = time.AfterFunc(s.SendTimeout, w.look)
	defer w.stop()
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
	select { // its context is cancelled, and most handlers return at once
	case err := <-done:
		return err
	case <-time.After(handlerGrace):
		return s.fail(ctx, stream.ErrDraining, "")
	}
}

// asking is a stream that ends if its client sends no request.
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

// handlerGrace is how long a handler may run after its context was cancelled before the call ends without it.
const handlerGrace = 100 * time.Millisecond
