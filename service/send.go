package service

import (
	"context"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"
)

// Interceptors that observe calls also look at each message, and what two of them do there takes as long as gRPC takes to
// send one. That matters to a daemon with many followers, and it counts what it sends by itself (see counted). So streams
// send past them.

// streamKey is under what a call's context has its stream as gRPC made it.
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
