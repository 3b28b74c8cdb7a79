package service

import (
	"context"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"
)

// Interceptors that observe calls also look at each message, and what two of them do there takes as long as gRPC takes to
// send one. That matters to a daemon with many followers, and it counts what it sends by itself (see counted). So messages
// of streams go past the interceptors that stand between keepStream and restoreStream.

// streamKey is under what a call's context has its stream as gRPC made it.
type streamKey struct{}

// keepStream is the interceptor before those that are to be bypassed.
func keepStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	kept := middleware.WrapServerStream(ss)
	kept.WrappedContext = context.WithValue(ss.Context(), streamKey{}, ss)
	return handler(srv, kept)
}

// restoreStream is the interceptor behind them: the handler gets the kept stream, with the context that they made.
func restoreStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	kept, ok := ss.Context().Value(streamKey{}).(grpc.ServerStream)
	if !ok {
		return handler(srv, ss)
	}
	restored := middleware.WrapServerStream(kept)
	restored.WrappedContext = ss.Context()
	return handler(srv, restored)
}
