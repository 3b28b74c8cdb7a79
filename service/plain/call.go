package plain

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"

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

// exchange holds the messages of a call. A goroutine of its own runs the method. Responses go to the goroutine of the request,
// which alone may write the answer: the method may return before its responses are written, and while it still sends.
type exchange struct {
	ctx       context.Context //nolint:containedctx // a grpc.ServerStream has one
	receive   func(m proto.Message) error
	responses chan any // one is buffered, so that a stream goes on while a response is printed
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
	select {
	case e.responses <- m:
		return nil
	case <-e.ctx.Done():
		if f, ok := m.(*frame.Frame); ok {
			f.Free()
		}
		return status.FromContextError(e.ctx.Err()).Err()
	}
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

// call runs a method. receive returns the request, message by message. each is called with every response, and then flush, unless
// another response is there already. It returns nil if the call succeeds.
func (h *Handler) call(
	r *http.Request, method string, receive func(proto.Message) error, each func(any) error, flush func(),
) *fault {
	ctx, cancel := context.WithCancel(contextOf(r))
	defer cancel()
	e := &exchange{ctx: ctx, receive: receive, responses: make(chan any, 1)}
	ended := make(chan error, 1)
	go func() { ended <- h.method(method, e) }()
	var broken error // the error of printing or writing a response
	take := func(m any) {
		if broken == nil {
			broken = each(m)
		}
		switch {
		case broken != nil:
			cancel() // the rest of the answer is not read
		case len(e.responses) == 0:
			flush()
		}
		if f, ok := m.(*frame.Frame); ok {
			f.Free() // once it was written, because its stream counts waiting frames
		}
	}
	for {
		select {
		case m := <-e.responses:
			take(m)
			continue
		case err := <-ended:
			select {
			case m := <-e.responses: // the last response
				take(m)
			default:
			}
			if broken != nil {
				return newFault(codes.Canceled, broken.Error())
			}
			return failed(err)
		}
	}
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
