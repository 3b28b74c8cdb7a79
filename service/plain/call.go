package plain

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/temporary"
)

// Method runs a method of the service, by its full name, for a call in this process. It does everything that gRPC's server does
// for the method, except for the network.
type Method func(name string, ss grpc.ServerStream) error

// exchange holds the messages of a call. Whatever goroutine of the method sends a response also writes it. The method may return while
// one still sends: the answer is over then.
type exchange struct {
	ctx     context.Context //nolint:containedctx // a grpc.ServerStream has one
	receive func(m proto.Message) error

	mu    sync.Mutex  // held while a response is written
	write func(m any) // ends ctx if it fails
}

// Context implements grpc.ServerStream.
func (e *exchange) Context() context.Context { return e.ctx }

// SetHeader implements grpc.ServerStream.
func (*exchange) SetHeader(metadata.MD) error { return nil }

// SendHeader implements grpc.ServerStream.
func (*exchange) SendHeader(metadata.MD) error { return nil }

// SetTrailer implements grpc.ServerStream.
func (*exchange) SetTrailer(metadata.MD) {}

// RecvMsg implements grpc.ServerStream.
func (e *exchange) RecvMsg(m any) error {
	if err := e.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return e.receive(m.(proto.Message))
}

// SendMsg implements grpc.ServerStream.
func (e *exchange) SendMsg(m any) error {
	if f, ok := m.(*frame.Frame); ok {
		defer f.Free() // once it was written, because its stream counts waiting frames
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() == nil {
		e.write(m)
	}
	if err := e.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// passed lists the headers that the service uses. No other headers reach it, in particular no cookies.
var passed = []string{"Authorization", "X-Forwarded-For", "Range", "If-Range", "If-Match"}

// contextOf returns the context of a call: what the service knows about the caller.
func contextOf(r *http.Request) context.Context {
	md := metadata.MD{}
	for _, name := range passed {
		md.Append(strings.ToLower(name), r.Header.Values(name)...)
	}
	p := &peer.Peer{Addr: address(r.RemoteAddr)}
	if r.TLS != nil {
		p.AuthInfo = credentials.TLSInfo{
			State: *r.TLS, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		}
	}
	return metadata.NewIncomingContext(peer.NewContext(r.Context(), p), md)
}

// address is the address of a client as net/http tells it.
type address string

var _ net.Addr = address("")

// Network implements net.Addr.
func (a address) Network() string {
	if a == "" {
		return ""
	}
	return "tcp"
}

// String implements net.Addr.
func (a address) String() string { return string(a) }

// call runs a method. receive returns the request, message by message. each is called with every response, and then flush. It
// returns nil if the call succeeds.
func (h *Handler) call(
	r *http.Request, method string, receive func(proto.Message) error, each func(any) error, flush func(),
) *fault {
	ctx, cancel := context.WithCancel(contextOf(r))
	var broken error // the error of printing or writing a response
	e := &exchange{ctx: ctx, receive: receive, write: func(m any) {
		if broken = each(m); broken != nil {
			cancel() // the rest of the answer is not read
			return
		}
		flush()
	}}
	err := h.method(method, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	cancel() // whatever the method still sends is not written
	if broken != nil {
		return newFault(codes.Canceled, broken.Error())
	}
	return failed(err)
}

// failed returns the fault of a call that ended with err, nil if it succeeded.
func failed(err error) *fault {
	if err == nil {
		return nil
	}
	s, known := status.FromError(err)
	if !known {
		s = status.FromContextError(err)
	}
	f := faultOf(s.Proto())
	f.sent = temporary.Is(f.Metadata["replay"])
	return f
}

// once returns a function that receives one message.
func once(req proto.Message) func(proto.Message) error {
	return func(m proto.Message) error {
		if req == nil {
			return io.EOF
		}
		proto.Merge(m, req)
		req = nil
		return nil
	}
}
