package service

import (
	"context"
	"slices"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"google.golang.org/grpc"
)

// early registers services with a gRPC server so that interceptors run at the headers of every call. For a unary method,
// gRPC runs them when it has received the message, so that a client without a token could make it keep messages. So each unary
// method becomes a stream of one request and one response, which looks the same to clients.
//
// A tap (grpc.InTapHandle) runs at the headers, too. But gRPC never ends the context of a call that a tap refuses: with a timeout
// of years in its headers, each such call would leave a timer behind.
type early struct {
	*grpc.Server

	interceptors []grpc.StreamServerInterceptor // the first is outermost
	// byName maps the full name of each registered method to a function that runs the method with the interceptors.
	byName map[string]func(grpc.ServerStream) error
}

// RegisterService implements grpc.ServiceRegistrar.
func (e early) RegisterService(desc *grpc.ServiceDesc, impl any) {
	streams := *desc
	streams.Methods, streams.Streams = nil, slices.Clone(desc.Streams)
	for _, method := range desc.Methods {
		streams.Streams = append(streams.Streams, grpc.StreamDesc{StreamName: method.MethodName, Handler: streamed(method.Handler)})
	}
	for i := range streams.Streams {
		s := &streams.Streams[i]
		name := "/" + desc.ServiceName + "/" + s.StreamName
		s.Handler = e.intercepted(s.Handler, &grpc.StreamServerInfo{
			FullMethod: name, IsClientStream: s.ClientStreams, IsServerStream: s.ServerStreams,
		})
		e.byName[name] = func(ss grpc.ServerStream) error { return s.Handler(impl, ss) }
	}
	e.Server.RegisterService(&streams, impl)
}

// local registers a handler for calls in this process alone. To the interceptors, and so to tokens, limits, metrics and the log, its calls
// are calls of the method as.
func (e early) local(name, as string, impl any, handler grpc.StreamHandler) {
	h := e.intercepted(handler, &grpc.StreamServerInfo{FullMethod: as, IsServerStream: true})
	e.byName[name] = func(ss grpc.ServerStream) error { return h(impl, ss) }
}

// run runs a registered method for a call in this process.
func (e early) run(name string, ss grpc.ServerStream) error { return e.byName[name](ss) }

// streamed makes a stream's handler of a unary method's.
func streamed(handler grpc.MethodHandler) grpc.StreamHandler {
	return func(srv any, ss grpc.ServerStream) error {
		response, err := handler(srv, ss.Context(), ss.RecvMsg, nil)
		if err != nil {
			return err
		}
		return ss.SendMsg(response)
	}
}

// intercepted returns a handler within the interceptors. gRPC itself would not run them for the former unary methods.
func (e early) intercepted(handler grpc.StreamHandler, info *grpc.StreamServerInfo) grpc.StreamHandler {
	for _, outer := range slices.Backward(e.interceptors) {
		inner := handler
		handler = func(srv any, ss grpc.ServerStream) error { return outer(srv, ss, info, inner) }
	}
	return handler
}

// isUnary reports whether a method was registered as unary.
func isUnary(info *grpc.StreamServerInfo) bool { return !info.IsClientStream && !info.IsServerStream }

// measure returns the interceptor that counts calls, unary calls as unary ones.
func measure(metrics *grpcprom.ServerMetrics) grpc.StreamServerInterceptor {
	unary, stream := metrics.UnaryServerInterceptor(), metrics.StreamServerInterceptor()
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if !isUnary(info) {
			return stream(srv, ss, info, handler)
		}
		_, err := unary(ss.Context(), nil, &grpc.UnaryServerInfo{Server: srv, FullMethod: info.FullMethod},
			func(context.Context, any) (any, error) { return nil, handler(srv, ss) })
		return err
	}
}
